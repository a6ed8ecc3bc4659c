"""Try one device, and print one line of JSON on stdout.

A broken driver may crash, so this runs in a process of its own:
``python -m slangad.compiler.runtime.device.probe vulkan``.
"""

from __future__ import annotations

import json
import os
import sys

COUNT = 64
SOURCE = """
[shader("compute")] [numthreads(64, 1, 1)]
void probe(uint3 thread: SV_DispatchThreadID, RWStructuredBuffer<float> result)
{
    result[thread.x] = 2.0f * float(thread.x);
}
"""
"""Doubles the thread's number: wrong results show that a device doesn't only exist but also works."""


def main(name: str) -> dict[str, object]:
    """Run a small kernel on the device; print its name and if the result is right."""
    match name:
        case "cpu":
            adapter, values = _run_on_cpu()
        case "webgpu":
            adapter, values = _run_on_webgpu()
        case _:
            adapter, values = _run_on_slangpy(name)
    right = values == [2.0 * index for index in range(COUNT)]
    return {"works": right, "adapter": adapter, "reason": "" if right else "it computes wrong results"}


def _run_on_cpu() -> tuple[str, list[float]]:
    import numpy as np

    from slangad.compiler.runtime.device.cpu_kernels import build_module

    result = np.zeros(COUNT, np.float32)
    code, reflection = _compile("cpp")
    build_module(code, reflection).launch("probe", (COUNT, 1, 1), {"result": result}, {})
    return f"{os.cpu_count()} threads", [float(value) for value in result]


def _compile(target: str) -> tuple[bytes, str]:
    from slangad.compiler.toolchain.jobs.request import CompileJob
    from slangad.compiler.toolchain.session import compile_here

    result = compile_here([CompileJob("probe.slang", SOURCE, ("probe",), (target,))])[0]
    return result.artefacts[0].data, result.reflection[0][2]


def _run_on_slangpy(name: str) -> tuple[str, list[float]]:
    import numpy as np
    import slangpy

    device = slangpy.Device(type=getattr(slangpy.DeviceType, name), enable_print=False)
    module = device.load_module_from_source("probe", SOURCE)
    kernel = device.create_compute_kernel(device.link_program([module], [module.entry_point("probe")]))
    usage = slangpy.BufferUsage.shader_resource | slangpy.BufferUsage.unordered_access
    result = device.create_buffer(element_count=COUNT, struct_size=4, usage=usage)
    kernel.dispatch(thread_count=[COUNT, 1, 1], result=result)
    return device.info.adapter_name, [float(value) for value in result.to_numpy().view(np.float32)]


def _run_on_webgpu() -> tuple[str, list[float]]:
    import wgpu
    import wgpu.utils.compute

    adapter = wgpu.gpu.request_adapter_sync(power_preference="high-performance")
    code, _ = _compile("wgsl")
    text = code.decode().replace("fn probe(", "fn main(")  # the one name this function of wgpu knows
    result = wgpu.utils.compute.compute_with_buffers({}, {0: (COUNT, "f")}, text, n=1)
    return str(adapter.info["device"]), [float(value) for value in result[0]]


if __name__ == "__main__":
    report: dict[str, object]
    answer = os.dup(1)
    os.dup2(2, 1)  # drivers and libraries print to stdout too; the answer goes out alone
    try:
        report = main(sys.argv[1])
    except Exception as error:
        report = {"works": False, "adapter": "", "reason": next(iter(str(error).splitlines()), type(error).__name__)}
    with os.fdopen(answer, "w") as stream:
        stream.write(json.dumps(report))
