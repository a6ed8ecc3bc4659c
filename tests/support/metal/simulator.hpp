// Runs a group of Metal's threads on a CPU, each on a stack of its own, until it meets the others. It ends the program at much
// of what Metal leaves undefined:
//
// - a barrier, or a function of simdgroup matrices, that not all threads of the group or of the simdgroup reach at the same
//   line, or with the same arguments; a simdgroup has 32 threads, neighbours in the group;
// - an index beyond an array, and a tile beyond the memory of the group, whose size is at most 32 KB;
// - a simdgroup matrix that is read before it is written;
// - an access to the memory of a group by a thread and by a function of simdgroup matrices, or by those of two simdgroups,
//   with no barrier between them that both came by. Accesses of threads alone are not looked at: a reader and a writer look
//   alike here. Two orders of the threads have to give the same bits instead.
//
// Memory of groups is NaN at first. A simdgroup matrix has two entries in each thread, which nothing else can reach.

#ifndef SLANGAD_METAL_SIMULATOR
#define SLANGAD_METAL_SIMULATOR

#include "slangad_groups.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <sys/mman.h>
#include <unistd.h>

namespace simulator
{

const int WIDTH = 32;          // threads of a simdgroup
const int MOST_SIMDGROUPS = 32;
const std::size_t MOST = 32768; // bytes of a group's memory
const std::size_t BLOCK = 16;   // bytes that are looked at together

[[noreturn]] inline void fail(const char* what, int line)
{
    std::fprintf(stderr, "line %d: %s\n", line, what);
    std::exit(3);
}

inline long in_range(long at, long count)
{
    if (at < 0 || at >= count)
        fail("an index beyond an array", 0);
    return at;
}

// The two entries of a simdgroup matrix that a thread has.
class Part
{
    float entries[2];
    bool is_known = false;
    friend struct Whole;
};

// What a thread waits with: the function and its arguments.
struct Call
{
    int function; // 0 and 1: barriers of the group and of the simdgroup
    int line;
    const void* place;
    unsigned long stride;
    bool flag;
    float value;
    Part* result;
    Part* factors[3];
};

inline bool agree(const Call& one, const Call& other)
{
    return one.function == other.function && one.line == other.line && one.place == other.place
        && one.stride == other.stride && one.flag == other.flag && one.value == other.value;
}

// When a simdgroup's threads, loads or stores last reached a block: barriers of the group, and of the simdgroup, before.
struct Access
{
    unsigned group = 0;
    unsigned own = 0;
};

struct Block
{
    Access by[3][MOST_SIMDGROUPS]; // threads, loads, stores
};

struct Group
{
    int threads;
    bool backwards;
    int own;
    int left;
    std::function<void(int)> work;
    std::vector<char> states; // 0 runs, 1 waits, 2 has ended
    std::vector<Call> calls;
    std::vector<const void*> pending; // the last place of each thread's own, and its size
    std::vector<std::size_t> pending_sizes;
    std::vector<int> arrived; // at simdgroups, then at the group
    unsigned barriers;
    unsigned own_barriers[MOST_SIMDGROUPS];
    std::vector<Block> blocks;
    char* memory[8];
    std::size_t sizes[8];
    int memories;
    std::size_t bytes;
};

inline Group group;

inline void add_memory(void* memory, std::size_t size)
{
    group.memory[group.memories] = static_cast<char*>(memory);
    group.sizes[group.memories++] = size;
    group.bytes += (size + BLOCK - 1) / BLOCK * BLOCK;
    if (group.bytes > MOST || group.memories == 8)
        fail("more memory of a group than 32 KB, or than eight arrays", 0);
    group.blocks.resize(group.bytes / BLOCK);
    std::memset(memory, 0xff, size);
}

// Looks at accesses to bytes of a group's memory: kind 0 by a thread, 1 by a load and 2 by a store of a simdgroup.
inline void access(const void* place, std::size_t size, int kind, int line)
{
    const char* from = static_cast<const char*>(place);
    std::size_t first = 0;
    int m = 0;
    for (; m < group.memories; first += (group.sizes[m++] + BLOCK - 1) / BLOCK)
        if (from >= group.memory[m] && from + size <= group.memory[m] + group.sizes[m])
            break;
    if (m == group.memories)
        fail("a tile beyond the group's memory", line);
    const int mine = group.own / WIDTH;
    const std::size_t offset = from - group.memory[m];
    for (std::size_t b = first + offset / BLOCK; b <= first + (offset + size - 1) / BLOCK; ++b)
    {
        Block& block = group.blocks[b];
        for (int other = 0; other < 3; ++other)
            for (int s = 0; s < group.threads / WIDTH; ++s)
            {
                const Access& last = block.by[other][s];
                const bool is_free = (kind == 0 && other == 0) || (kind == 1 && other == 1);
                if (!is_free && (s == mine ? last.own == group.own_barriers[s] : last.group == group.barriers))
                    fail("an access to a group's memory without a barrier after another one", line);
            }
    }
    for (std::size_t b = first + offset / BLOCK; b <= first + (offset + size - 1) / BLOCK; ++b)
        group.blocks[b].by[kind][mine] = {group.barriers, group.own_barriers[mine]};
}

// Looks at the last place that the thread used, unless it is only where a tile begins.
inline void settle(const void* tile, int line)
{
    const void* place = group.pending[group.own];
    group.pending[group.own] = nullptr;
    if (place != nullptr && place != tile)
        access(place, group.pending_sizes[group.own], 0, line);
}

// A thread uses a place, or takes its address for a function of simdgroup matrices: that comes next, then.
inline void touch(const void* place, std::size_t size)
{
    settle(nullptr, 0);
    group.pending[group.own] = place;
    group.pending_sizes[group.own] = size;
}

// Goes on with another thread that runs, of the same simdgroup if there is one: so simdgroups run ahead of each other.
inline void go_on()
{
    const int from = group.own, first = from / WIDTH * WIDTH;
    for (const bool near : {true, false})
    {
        const int count = near ? WIDTH : group.threads, start = near ? first : 0;
        for (int k = 1; k <= count; ++k)
        {
            const int other = start + (from - start + (group.backwards ? count - k : k)) % count;
            if (group.states[other] != 0)
                continue;
            group.own = other;
            if (other != from)
                slangad_groups::stacks().change(from, other);
            return;
        }
    }
    if (group.left > 0)
        fail("threads wait for others, which wait elsewhere or have ended", group.calls[from].line);
    slangad_groups::stacks().leave(from);
}

// Waits until all threads of the group or of the simdgroup are here. The last one does the work of all before they go on.
template<typename Work>
void meet(bool of_simdgroup, const Call& call, Work work)
{
    const int first = of_simdgroup ? group.own / WIDTH * WIDTH : 0, count = of_simdgroup ? WIDTH : group.threads;
    settle(call.place, call.line);
    int& arrived = group.arrived[of_simdgroup ? group.own / WIDTH : group.threads / WIDTH];
    group.calls[group.own] = call;
    if (++arrived < count)
    {
        group.states[group.own] = 1;
        go_on();
        return;
    }
    for (int k = first; k < first + count; ++k)
        if (!agree(group.calls[k], call))
            fail("threads of a group or simdgroup differ in place or arguments", call.line);
    work(&group.calls[first]);
    arrived = 0;
    for (int k = first; k < first + count; ++k)
        group.states[k] = 0;
}

inline void barrier(bool of_simdgroup, bool of_memory, int line)
{
    meet(of_simdgroup, {of_simdgroup, line, nullptr, 0, of_memory, 0, nullptr, {}}, [=](Call*) {
        for (int s = 0; s < group.threads / WIDTH; ++s)
            if (of_memory && (!of_simdgroup || s == group.own / WIDTH))
                ++group.own_barriers[s];
        group.barriers += of_memory && !of_simdgroup;
    });
}

// All entries of a matrix, by the calls of the threads of a simdgroup.
struct Whole
{
    float entries[8][8];

    template<typename Get>
    Whole(Call* calls, Get get)
    {
        for (int k = 0; k < WIDTH; ++k)
        {
            const Part& part = *get(calls[k]);
            if (!part.is_known)
                fail("a simdgroup matrix is read before it is written", calls[k].line);
            std::memcpy(&entries[k / 4][k % 4 * 2], part.entries, sizeof(part.entries));
        }
    }

    template<typename Entry>
    static void set(Call* calls, Entry entry)
    {
        for (int k = 0; k < WIDTH; ++k)
        {
            Part& part = *calls[k].result;
            for (int e = 0; e < 2; ++e)
                part.entries[e] = entry(k / 4, k % 4 * 2 + e);
            part.is_known = true;
        }
    }
};

inline void fill(Part& result, float value, int line)
{
    meet(true, {2, line, nullptr, 0, false, value, &result, {}},
        [=](Call* calls) { Whole::set(calls, [=](int, int) { return value; }); });
}

inline void load(Part& result, const float* place, unsigned long stride, bool flip, int line)
{
    meet(true, {3, line, place, stride, flip, 0, &result, {}}, [=](Call* calls) {
        for (int i = 0; i < 8; ++i)
            access(place + i * stride, 8 * sizeof(float), 1, line);
        Whole::set(calls, [=](int i, int j) { return flip ? place[j * stride + i] : place[i * stride + j]; });
    });
}

inline void store(Part& matrix, float* place, unsigned long stride, bool flip, int line)
{
    meet(true, {4, line, place, stride, flip, 0, nullptr, {&matrix}}, [=](Call* calls) {
        const Whole all(calls, [](const Call& call) { return call.factors[0]; });
        for (int i = 0; i < 8; ++i)
            access(place + i * stride, 8 * sizeof(float), 2, line);
        for (int i = 0; i < 8; ++i)
            for (int j = 0; j < 8; ++j)
                (flip ? place[j * stride + i] : place[i * stride + j]) = all.entries[i][j];
    });
}

inline void multiply_accumulate(Part& result, Part& left, Part& right, Part& start, int line)
{
    meet(true, {5, line, nullptr, 0, false, 0, &result, {&left, &right, &start}}, [=](Call* calls) {
        const Whole a(calls, [](const Call& call) { return call.factors[0]; });
        const Whole b(calls, [](const Call& call) { return call.factors[1]; });
        const Whole c(calls, [](const Call& call) { return call.factors[2]; });
        Whole::set(calls, [&](int i, int j) {
            float sum = c.entries[i][j];
            for (int k = 0; k < 8; ++k)
                sum += a.entries[i][k] * b.entries[k][j];
            return sum;
        });
    });
}

inline void work_of_thread(void*)
{
    group.work(group.own);
    settle(nullptr, 0);
    group.states[group.own] = 2;
    --group.left;
    go_on();
}

// Runs a group of threads.
inline void run(int threads, bool backwards, std::function<void(int)> work)
{
    if (threads % WIDTH != 0 || threads > WIDTH * MOST_SIMDGROUPS)
        fail("a group of no whole simdgroups", 0);
    group.threads = group.left = threads;
    group.backwards = backwards;
    group.own = backwards ? threads - 1 : 0;
    group.work = work;
    group.states.assign(threads, 0);
    group.calls.resize(threads);
    group.pending.assign(threads, nullptr);
    group.pending_sizes.resize(threads);
    group.arrived.assign(threads / WIDTH + 1, 0);
    group.barriers = 1;
    for (unsigned& count : group.own_barriers)
        count = 1;
    group.blocks.assign(group.blocks.size(), Block());
    for (int m = 0; m < group.memories; ++m)
        std::memset(group.memory[m], 0xff, group.sizes[m]);
    slangad_groups::stacks().start(threads, group.own, &work_of_thread, nullptr);
}

// Memory of a buffer, which ends where a page that nobody may touch begins.
inline char* buffer_of(std::size_t size)
{
    const std::size_t page = sysconf(_SC_PAGESIZE), whole = (size + page - 1) / page * page + page;
    char* memory = static_cast<char*>(mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (memory == MAP_FAILED || mprotect(memory + whole - page, page, PROT_NONE) != 0)
        fail("no memory", 0);
    return memory + whole - page - size;
}

// Reads the order of the threads, the number of groups and the buffers, each behind its size, runs the groups one after the
// other, and writes the buffers.
inline int launch(int threads, const std::function<void(int group, int lane, char* const* buffers)>& call)
{
    unsigned long words[3];
    if (std::fread(words, sizeof(words), 1, stdin) != 1)
        fail("no input", 0);
    std::vector<char*> buffers(words[2]);
    std::vector<std::size_t> sizes(words[2]);
    for (std::size_t k = 0; k < buffers.size(); ++k)
    {
        if (std::fread(&sizes[k], sizeof(sizes[k]), 1, stdin) != 1)
            fail("no input", 0);
        buffers[k] = buffer_of(sizes[k]);
        if (sizes[k] > 0 && std::fread(buffers[k], sizes[k], 1, stdin) != 1)
            fail("no input", 0);
    }
    for (int g = 0; g < static_cast<int>(words[1]); ++g)
        run(threads, words[0] != 0, [&](int lane) { call(g, lane, buffers.data()); });
    for (std::size_t k = 0; k < buffers.size(); ++k)
        std::fwrite(buffers[k], 1, sizes[k], stdout);
    return 0;
}

} // namespace simulator

#endif
