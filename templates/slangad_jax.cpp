// What XLA calls for a kernel among JAX's operations. It hands the memory of the arrays on to Python.
#include <cstdint>
#include <string>
#include <vector>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace
{

constexpr int most_characters = 4096;

/// Runs the kernel `number` on arrays of the host or, in a stream, of a GPU. Returns other than 0 with a message if it
/// fails.
using Run = int (*)(
    int64_t number, int on_gpu, void* stream, void** arguments, void** results, char* message, int size);

Run run = nullptr;

ffi::Error called(
    bool on_gpu, void* stream, int64_t number, ffi::RemainingArgs arguments, ffi::RemainingRets results)
{
    std::vector<void*> given, made;
    for (size_t i = 0; i < arguments.size(); ++i)
        given.push_back(arguments.get<ffi::AnyBuffer>(i)->untyped_data());
    for (size_t i = 0; i < results.size(); ++i)
        made.push_back((*results.get<ffi::AnyBuffer>(i))->untyped_data());
    std::string message(most_characters, '\0');
    if (run(number, on_gpu, stream, given.data(), made.data(), message.data(), most_characters) == 0)
        return ffi::Error::Success();
    return ffi::Error(ffi::ErrorCode::kInternal, message.c_str());
}

ffi::Error called_on_cpu(int64_t number, ffi::RemainingArgs arguments, ffi::RemainingRets results)
{
    return called(false, nullptr, number, arguments, results);
}

ffi::Error called_on_cuda(void* stream, int64_t number, ffi::RemainingArgs arguments, ffi::RemainingRets results)
{
    return called(true, stream, number, arguments, results);
}

} // namespace

XLA_FFI_DEFINE_HANDLER_SYMBOL(
    slangad_on_cpu,
    called_on_cpu,
    ffi::Ffi::Bind().Attr<int64_t>("number").RemainingArgs().RemainingRets());

XLA_FFI_DEFINE_HANDLER_SYMBOL(
    slangad_on_cuda,
    called_on_cuda,
    ffi::Ffi::Bind().Ctx<ffi::PlatformStream<void*>>().Attr<int64_t>("number").RemainingArgs().RemainingRets());

#ifdef _WIN32
extern "C" __declspec(dllexport)
#else
extern "C" __attribute__((visibility("default")))
#endif
void slangad_run_with(Run function)
{
    run = function;
}
