#ifndef SLANGAD_RUNTIME_2
#define SLANGAD_RUNTIME_2

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

/// What all headers of slangad share.
namespace slangad_runtime
{
/// Memory of the caller: a pointer and a number of scalars. A vector or an array converts to it.
template <class T>
struct Buffer
{
    T* data = nullptr;
    std::size_t count = 0;

    Buffer() = default;
    Buffer(T* first, std::size_t scalars) : data(first), count(scalars) {}

    template <class C, class = std::enable_if_t<std::is_convertible_v<decltype(std::declval<C&>().data()), T*>>>
    Buffer(C& container) : data(container.data()), count(container.size())
    {
    }
};

/// A buffer in a block of parameters of the targets cpp and cuda. ``count`` is in elements.
struct BufferReference
{
    void* data = nullptr;
    std::size_t count = 0;
};

using Groups = std::array<std::uint32_t, 3>;
using Words = std::vector<std::uint32_t>;

/// A buffer of a mode; ``scalars`` is its size. The words are those of docs/manifest.md.
template <class Sizes>
struct BufferInfo
{
    const char* key;
    const char* role;
    const char* scalar;
    std::size_t components;
    const char* start;
    std::size_t (*scalars)(const Sizes&);
};

/// Where a parameter of an entry point is bound.
template <class Sizes>
struct BindingInfo
{
    const char* parameter;
    const char* role;
    const char* key;  // its buffer among those of the mode, or its uniform; empty if ``value`` computes it
    const char* kind; // ``uniform``: it lies in a block; ``packed``: several share the binding
    std::size_t at;   // an index, or the offset in the block
    std::size_t size; // bytes in the block
    bool shared;      // true for the module's block
    std::size_t element; // of a buffer: scalars of an element, in which BufferReference counts
    std::size_t first; // packed: the offset in the block of its first element's number, a ``uint32_t``
    Words (*value)(const Sizes&);
};

/// Where a block of values is bound. Without a block, ``size`` is 0.
struct BlockInfo
{
    const char* kind;
    std::size_t index;
    std::size_t size;
};

/// The code of an entry point for a target, in a file of the output folder.
template <class Sizes>
struct ArtefactInfo
{
    const char* target;
    const char* file;
    const char* entry;
    const char* features; // what the device has to have, with spaces between
    const BindingInfo<Sizes>* bindings;
    std::size_t binding_count;
    BlockInfo block;
    BlockInfo globals; // the module's block
};

/// One launch of a mode, in groups of ``group`` threads.
template <class Sizes>
struct LaunchInfo
{
    const char* entry;
    Groups group;
    Groups (*groups)(const Sizes&);
    const ArtefactInfo<Sizes>* artefacts;
    std::size_t artefact_count;

    const ArtefactInfo<Sizes>& artefact(const std::string& target) const
    {
        for (std::size_t k = 0; k < artefact_count; ++k)
            if (artefacts[k].target == target)
                return artefacts[k];
        throw std::invalid_argument(std::string(entry) + " was not compiled for " + target);
    }
};

template <std::size_t N>
constexpr std::size_t product(const std::array<std::uint32_t, N>& extents)
{
    std::size_t result = 1;
    for (std::size_t axis = 0; axis < N; ++axis)
        result *= extents[axis];
    return result;
}

inline Words words(std::uint32_t value) { return {value}; }

template <std::size_t N>
Words words(const std::array<std::uint32_t, N>& values)
{
    return {values.begin(), values.end()};
}

constexpr std::size_t divided_up(std::size_t number, std::size_t by) { return (number + by - 1) / by; }

/// Groups for threads along one axis, which continue in rows.
constexpr Groups flat_groups(std::size_t threads, std::size_t group)
{
    const std::size_t row = std::size_t{GROUPS_A_ROW} * group;
    if (threads <= row)
        return {static_cast<std::uint32_t>(divided_up(threads, group)), 1, 1};
    return {GROUPS_A_ROW, static_cast<std::uint32_t>(divided_up(threads, row)), 1};
}

/// Groups for a thread at each location of a domain; x is its last axis.
template <std::size_t N>
constexpr Groups axis_groups(const std::array<std::uint32_t, N>& domain, const Groups& group)
{
    std::array<std::size_t, 3> extents = {1, 1, 1};
    for (std::size_t axis = 0; axis < N; ++axis)
        extents[axis] = domain[N - 1 - axis];
    Groups groups = {1, 1, 1};
    bool in_rows = false;
    for (std::size_t axis = 0; axis < 3; ++axis)
    {
        groups[axis] = static_cast<std::uint32_t>(divided_up(extents[axis], group[axis]));
        in_rows = in_rows || groups[axis] > GROUPS_A_ROW;
    }
    if (!in_rows)
        return groups;
    const std::size_t row = std::size_t{GROUPS_A_ROW} * group[0] * group[2];
    const std::size_t rows = divided_up(product(domain), row);
    return {GROUPS_A_ROW, static_cast<std::uint32_t>(divided_up(rows, group[1])), 1};
}

/// How the CPU divides work: the ``parts`` that share the domain, and the threads of a launch.
inline unsigned threads_of(unsigned wanted)
{
    return wanted ? wanted : std::max(1u, std::thread::hardware_concurrency());
}

inline unsigned workers_of(std::size_t work, unsigned threads, std::size_t work_a_worker)
{
    return static_cast<unsigned>(std::max<std::size_t>(1, std::min<std::size_t>(threads, work / work_a_worker)));
}

inline std::uint32_t parts_of(std::size_t elements, unsigned threads)
{
    const std::size_t most = std::size_t{PARTS_A_THREAD} * threads;
    return static_cast<std::uint32_t>(std::max<std::size_t>(1, std::min(most, elements / ELEMENTS_A_PART)));
}

/// A buffer of a launch: the caller's memory, or memory of its own if the caller gives none.
template <class T>
struct Memory
{
    std::vector<std::remove_const_t<T>> own;
    T* data = nullptr;
    std::size_t count = 0;

    Memory(const Buffer<T>& given, std::size_t needed, int start, bool required, const char* what)
        : data(given.data), count(needed)
    {
        if ((given.data != nullptr || required) && given.count < needed)
            throw std::invalid_argument(
                std::string(what) + " has " + std::to_string(given.count) + " scalars and needs " +
                std::to_string(needed));
        if (given.data == nullptr)
        {
            own.assign(needed, static_cast<std::remove_const_t<T>>(start));
            data = own.data();
        }
    }

    BufferReference reference(std::size_t scalars_an_element, std::size_t slice = 0, std::size_t slices = 1) const
    {
        T* first = data + slice * (count / slices);
        return {const_cast<std::remove_const_t<T>*>(first), count / slices / scalars_an_element};
    }
};

using Entry = void (*)(void*, void*, void*);

/// Run ``run(start, end, block)`` for ranges of ``count`` groups on some threads.
template <class Run>
void spread(std::uint32_t count, unsigned workers, bool own_blocks, const Run& run)
{
    const std::uint64_t pieces =
        own_blocks ? workers : std::max<std::uint64_t>(1, std::min<std::uint64_t>(count, workers * 4u));
    std::atomic<std::uint64_t> next{0};
    const auto work = [&] {
        for (std::uint64_t piece = next++; piece < pieces; piece = next++)
            run(static_cast<std::uint32_t>(count * piece / pieces),
                static_cast<std::uint32_t>(count * (piece + 1) / pieces),
                own_blocks ? static_cast<std::size_t>(piece) : 0);
    };
    struct Helpers
    {
        std::vector<std::thread> threads;
        ~Helpers()
        {
            for (std::thread& thread : threads)
                thread.join();
        }
    } helpers;
    for (unsigned worker = 1; worker < workers; ++worker)
        helpers.threads.emplace_back(work);
    work();
}

/// Launch an entry point. There is one block of parameters, or one for each worker.
template <class Parameters, class Globals>
void launch(
    Entry entry, bool first_threads, const Groups& groups, unsigned workers, std::vector<Parameters>& parameters,
    std::vector<Globals>& globals)
{
    const std::size_t axis = static_cast<std::size_t>(std::max_element(groups.begin(), groups.end()) - groups.begin());
    spread(groups[axis], workers, parameters.size() > 1, [&](std::uint32_t start, std::uint32_t end, std::size_t block) {
        if (first_threads)
        {
            for (std::uint32_t group = start; group < end; ++group)
            {
                std::array<std::uint32_t, 6> place = {group, 0, 0, 0, 0, 0};
                entry(place.data(), &parameters[block], &globals[block]);
            }
            return;
        }
        std::array<std::uint32_t, 6> range = {0, 0, 0, groups[0], groups[1], groups[2]};
        range[axis] = start;
        range[3 + axis] = end;
        entry(range.data(), &parameters[block], &globals[block]);
    });
}
} // namespace slangad_runtime

#endif
