// Trains the curve of samples/curve on an NVIDIA GPU, through CUDA's driver and the header that slangad writes.

#include "../curve/train.hpp"

#include <cuda.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

namespace
{
void check(CUresult result, const char* what)
{
    if (result != CUDA_SUCCESS)
        throw std::runtime_error(std::string(what) + ": CUresult " + std::to_string(result));
}

/// The first device, with its primary context.
struct Gpu
{
    CUdevice device = 0;
    CUcontext context = nullptr;

    Gpu()
    {
        check(cuInit(0), "cuInit");
        check(cuDeviceGet(&device, 0), "cuDeviceGet");
        check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
        check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
    }

    Gpu(const Gpu&) = delete;
    ~Gpu() { cuDevicePrimaryCtxRelease(device); }
};

/// Managed memory, which the host sees too.
struct Memory
{
    CUdeviceptr address = 0;
    std::size_t count;

    explicit Memory(std::size_t scalars) : count(scalars)
    {
        check(cuMemAllocManaged(&address, count * sizeof(float), CU_MEM_ATTACH_GLOBAL), "cuMemAllocManaged");
    }

    Memory(const Memory&) = delete;
    ~Memory() { cuMemFree(address); }
    float* data() const { return reinterpret_cast<float*>(address); }
};

/// A mode of a kernel: its buffers, and its launches in order. Its scalars have four bytes.
template <class Sizes>
class Mode
{
public:
    template <std::size_t B, std::size_t L>
    Mode(
        Gpu&, const std::array<slangad_runtime::BufferInfo<Sizes>, B>& buffers,
        const std::array<slangad_runtime::LaunchInfo<Sizes>, L>& launches, const Sizes& sizes,
        const std::string& folder)
    {
        for (const auto& buffer : buffers)
        {
            memory.try_emplace(buffer.key, buffer.scalars(sizes));
            starts.emplace_back(buffer.key, buffer.start);
        }
        for (const auto& launch : launches)
            prepare(launch, sizes, folder);
    }

    Mode(const Mode&) = delete;

    ~Mode()
    {
        for (const Launch& launch : prepared)
            cuModuleUnload(launch.module);
    }

    /// The contents of a buffer; valid until the mode ends.
    float* operator[](const std::string& key) { return memory.at(key).data(); }

    void set(const std::string& key, const std::vector<float>& values)
    {
        std::copy(values.begin(), values.end(), (*this)[key]);
    }

    /// Launch all entry points of the mode and wait. Gradients start at zero, cotangents at one.
    void run()
    {
        for (const auto& [key, start] : starts)
            if (start == "zero" || start == "one")
                std::fill((*this)[key], (*this)[key] + memory.at(key).count, start == "one" ? 1.0f : 0.0f);
        for (Launch& launch : prepared)
        {
            std::size_t size = launch.arguments.size();
            void* extra[] = {
                CU_LAUNCH_PARAM_BUFFER_POINTER, launch.arguments.data(), CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                CU_LAUNCH_PARAM_END};
            const slangad_runtime::Groups &n = launch.groups, &of = launch.group;
            check(
                cuLaunchKernel(launch.function, n[0], n[1], n[2], of[0], of[1], of[2], 0, nullptr, nullptr, extra),
                "cuLaunchKernel");
        }
        check(cuCtxSynchronize(), "cuCtxSynchronize");
    }

private:
    struct Launch
    {
        CUmodule module = nullptr;
        CUfunction function = nullptr;
        slangad_runtime::Groups groups = {}, group = {};
        std::vector<unsigned char> arguments;
    };

    std::map<std::string, Memory> memory;
    std::vector<std::pair<std::string, std::string>> starts;
    std::vector<Launch> prepared;

    /// The bytes of a block: pointers and sizes of buffers, and what ``value`` computes, at their offsets.
    std::vector<unsigned char> block(
        const slangad_runtime::ArtefactInfo<Sizes>& code, std::size_t bytes, bool shared, const Sizes& sizes) const
    {
        std::vector<unsigned char> result(bytes);
        for (std::size_t k = 0; k < code.binding_count; ++k)
        {
            const auto& binding = code.bindings[k];
            if (binding.shared != shared)
                continue;
            if (binding.value != nullptr)
            {
                const slangad_runtime::Words words = binding.value(sizes);
                std::memcpy(result.data() + binding.at, words.data(), words.size() * sizeof(std::uint32_t));
                continue;
            }
            const Memory& bound = memory.at(binding.key);
            const slangad_runtime::BufferReference reference = {bound.data(), bound.count / binding.element};
            std::memcpy(result.data() + binding.at, &reference, sizeof reference);
        }
        return result;
    }

    void prepare(const slangad_runtime::LaunchInfo<Sizes>& launch, const Sizes& sizes, const std::string& folder)
    {
        const slangad_runtime::ArtefactInfo<Sizes>& code = launch.artefact("cuda");
        const std::string source = code.file, name = source.substr(0, source.rfind('.')) + ".ptx";
        std::ostringstream text;
        text << std::ifstream(folder + "/" + name, std::ios::binary).rdbuf();
        Launch result;
        check(cuModuleLoadData(&result.module, text.str().c_str()), name.c_str());
        check(cuModuleGetFunction(&result.function, result.module, code.entry), code.entry);
        result.groups = launch.groups(sizes);
        result.group = launch.group;
        result.arguments = block(code, code.block.size, false, sizes);
        const std::vector<unsigned char> globals = block(code, code.globals.size, true, sizes);
        CUdeviceptr address = 0;
        std::size_t size = 0;
        if (!globals.empty() && cuModuleGetGlobal(&address, &size, result.module, "SLANG_globalParams") == CUDA_SUCCESS)
            check(cuMemcpyHtoD(address, globals.data(), std::min(size, globals.size())), "cuMemcpyHtoD");
        prepared.push_back(result);
    }
};
} // namespace

int main(int count, char** words)
{
    Gpu gpu;
    train<Mode>(gpu, count > 1 ? words[1] : "shaders", count > 2 ? std::atoi(words[2]) : 200, count > 3 ? words[3] : nullptr);
}
