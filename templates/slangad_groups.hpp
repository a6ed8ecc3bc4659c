// SPDX-License-Identifier: Apache-2.0
//
// The threads of a group on the CPU, for what they compute together: each has a stack of its own and runs until it meets
// the others. Then the next one runs, in the order of their places, or in the opposite order.

#ifndef SLANGAD_GROUPS_HPP
#define SLANGAD_GROUPS_HPP

#if defined(_WIN32)
#ifndef NOMINMAX
#define NOMINMAX
#endif
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#else
#if defined(__APPLE__) && !defined(_XOPEN_SOURCE)
#define _XOPEN_SOURCE 600
#endif
#include <ucontext.h>
#endif
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace
{
namespace slangad_groups
{

// The stacks of some threads of a group, and the change from one to another. They serve one group after the other.
class Stacks
{
public:
    using Work = void (*)(void* group);

    // Runs the work of the first thread on its stack, until a thread changes to the caller.
    void start(std::uint32_t threads, std::uint32_t first, Work work, void* group);
    // Goes on with another thread, or with the caller.
    void change(std::uint32_t from, std::uint32_t to) { swap(from + 1, to + 1); }
    void leave(std::uint32_t from) { swap(from + 1, 0); }

private:
    static const std::size_t SIZE = 1 << 20; // bytes; pages that no thread touches take no memory
    Work work_ = nullptr;
    void* group_ = nullptr;

    [[noreturn]] static void begin(Stacks* self)
    {
        for (;;)
            self->work_(self->group_); // changes to another stack when it has ended
    }

    void swap(std::uint32_t from, std::uint32_t to);

#if defined(_WIN32)
    std::vector<void*> fibers_; // the caller's first
    static void __stdcall entry(void* self) { begin(static_cast<Stacks*>(self)); }
#else
    struct Place
    {
        ucontext_t context;
        void* jump[5];
        bool has_begun;
        std::unique_ptr<char[]> stack;
    };
    std::vector<std::unique_ptr<Place>> places_; // the caller's first
    static void entry();
#endif
};

inline Stacks& stacks()
{
    static thread_local Stacks found; // of the CPU's thread
    return found;
}

#if defined(_WIN32)

inline void Stacks::start(std::uint32_t threads, std::uint32_t first, Work work, void* group)
{
    work_ = work;
    group_ = group;
    if (fibers_.empty())
        fibers_.push_back(IsThreadAFiber() ? GetCurrentFiber() : ConvertThreadToFiber(nullptr));
    while (fibers_.size() <= threads)
        fibers_.push_back(CreateFiber(SIZE, &Stacks::entry, this));
    SwitchToFiber(fibers_[first + 1]);
}

inline void Stacks::swap(std::uint32_t, std::uint32_t to) { SwitchToFiber(fibers_[to]); }

#else

inline void Stacks::entry() { begin(&stacks()); }

inline void Stacks::start(std::uint32_t threads, std::uint32_t first, Work work, void* group)
{
    work_ = work;
    group_ = group;
    while (places_.size() <= threads)
    {
        places_.emplace_back(new Place());
        if (places_.size() == 1)
            continue;
        Place& made = *places_.back();
        made.stack.reset(new char[SIZE]);
        getcontext(&made.context);
        made.context.uc_stack.ss_sp = made.stack.get();
        made.context.uc_stack.ss_size = SIZE;
        makecontext(&made.context, &Stacks::entry, 0);
    }
    swap(0, first + 1);
}

#if defined(__GNUC__) && defined(__x86_64__)

// A change of contexts asks the system, so it is for the first time only.
__attribute__((noinline)) inline void Stacks::swap(std::uint32_t from, std::uint32_t to)
{
    Place& other = *places_[to];
    if (__builtin_setjmp(places_[from]->jump))
        return;
    if (other.has_begun || to == 0)
        __builtin_longjmp(other.jump, 1);
    other.has_begun = true;
    setcontext(&other.context);
}

#else

inline void Stacks::swap(std::uint32_t from, std::uint32_t to)
{
    swapcontext(&places_[from]->context, &places_[to]->context);
}

#endif

#endif

// The threads of a group.
class Group
{
public:
    using Entry = void (*)(void* place, void* parameters, void* globals);

    double cells[1024] = {};
    std::vector<std::unique_ptr<double[]>> memories; // what the threads share
    std::vector<std::size_t> sizes;
    std::uint32_t own = 0;
    bool backwards = false;

    // Runs an entry point once for each thread, from its place in the group.
    template<typename Place>
    void run(std::uint32_t threads, Entry entry, const Place& first, void* parameters, void* globals)
    {
        std::vector<Place> places(threads, first);
        for (std::uint32_t k = 0; k < threads; ++k)
            places[k].groupThreadID.x = k;
        entry_ = entry;
        places_ = reinterpret_cast<char*>(places.data());
        step_ = sizeof(Place);
        parameters_ = parameters;
        globals_ = globals;
        running_.assign(threads, 1);
        own = foremost();
        stacks().start(threads, own, &Group::work, this);
    }

    // The thread that runs before the others.
    std::uint32_t foremost() const { return backwards ? static_cast<std::uint32_t>(running_.size()) - 1 : 0; }

    // Waits until all other threads of the group that run have come here.
    void meet()
    {
        const std::uint32_t from = own;
        if (next())
            stacks().change(from, own);
    }

private:
    Entry entry_ = nullptr;
    char* places_ = nullptr;
    std::size_t step_ = 0;
    void* parameters_ = nullptr;
    void* globals_ = nullptr;
    std::vector<char> running_;

    // Makes the next thread that runs the own one; returns whether it is another one.
    bool next()
    {
        const std::uint32_t count = static_cast<std::uint32_t>(running_.size());
        std::uint32_t other = own;
        for (std::uint32_t k = 1; k < count; ++k)
        {
            if (backwards)
                other = other > 0 ? other - 1 : count - 1;
            else
                other = other + 1 < count ? other + 1 : 0;
            if (running_[other])
            {
                own = other;
                return true;
            }
        }
        return false;
    }

    static void work(void* group)
    {
        Group& self = *static_cast<Group*>(group);
        self.entry_(self.places_ + self.own * self.step_, self.parameters_, self.globals_);
        const std::uint32_t from = self.own;
        self.running_[from] = 0;
        if (self.next())
            stacks().change(from, self.own);
        else
            stacks().leave(from);
    }
};

inline Group& group()
{
    static thread_local Group found; // of the CPU's thread
    return found;
}

inline void meet() { group().meet(); }
inline double& at(std::int32_t place) { return group().cells[place]; }
inline bool leads() { return group().own == group().foremost(); }
inline double own() { return group().cells[group().own]; }
inline void give(double value) { group().cells[group().own] = value; }
inline std::uint32_t enter(std::uint32_t place, std::uint32_t) { return place; }

// Memory that all threads of the group share, by its number in the entry point.
template<typename T>
T& shared(std::size_t number)
{
    Group& found = group();
    const std::size_t size = (sizeof(T) + sizeof(double) - 1) / sizeof(double);
    if (found.memories.size() <= number)
    {
        found.memories.resize(number + 1);
        found.sizes.resize(number + 1);
    }
    if (found.sizes[number] < size)
    {
        found.memories[number].reset(new double[size]());
        found.sizes[number] = size;
    }
    return *reinterpret_cast<T*>(found.memories[number].get());
}

// Runs an entry point for all threads of a group at its first thread, and does nothing at the others.
template<typename Place>
void run(std::uint32_t threads, Group::Entry entry, void* place, void* parameters, void* globals)
{
    const Place& first = *static_cast<const Place*>(place);
    if (first.groupThreadID.x == 0 && first.groupThreadID.y == 0 && first.groupThreadID.z == 0)
        group().run(threads, entry, first, parameters, globals);
}

} // namespace slangad_groups
} // namespace

#endif
