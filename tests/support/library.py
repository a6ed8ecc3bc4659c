"""Runs functions of slangad's Slang module on the CPU: value, reverse mode, forward mode, by point and by cotangent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from slangad.compiler.emit.library import DOUBLE, ELEMENTS, FLOAT, HALF, INTEGERS, library_text
from slangad.compiler.runtime.device.cpu_kernels import CpuModule, build_module
from slangad.compiler.toolchain.jobs.request import CompileJob
from support.compiled import compiled

LIBRARY = tuple((name, library_text(name)) for name in (FLOAT, HALF, DOUBLE, INTEGERS, ELEMENTS))
IMPORTS = "".join(f"import {name.removesuffix('.slang')};\n" for name, _ in LIBRARY)
BUFFER = {"half": "float", "float": "float", "double": "double"}
DTYPE = {"half": np.float16, "float": np.float32, "double": np.float64}

KERNEL = """
[Differentiable] {back} f_{name}({parameters}) {{ return {call}; }}

[shader("compute")] [numthreads(1, 1, 1)]
void {name}(
    uint3 at: SV_DispatchThreadID,
    uniform StructuredBuffer<{buffer}> x,
    uniform StructuredBuffer<{buffer}> tangent,
    uniform StructuredBuffer<{buffer}> cotangent,
    uniform RWStructuredBuffer<{buffer}> result)
{{
    int i = int(at.x);
    int o = i * {width};
{points}{tangents}    {back} d_out = {cotangent};
{pairs}    bwd_diff(f_{name})({paired}, d_out);
    var moved = fwd_diff(f_{name})({moved});
    {back} value = f_{name}({plain});
{stores}}}
"""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Function:
    """A function of ``arity`` numbers or vectors, called with ``call`` in Slang: ``sa::pow(x0, x1)``."""

    name: str
    call: str
    arity: int
    type: str
    size: int = 1
    result_size: int = 1

    @property
    def parameters(self) -> list[str]:
        return [f"x{k}" for k in range(self.arity)]

    def kernel(self) -> str:
        """Slang with the function, and an entry point that stores its value, gradients and tangents at each point."""
        m, n, names = self.result_size, self.size * self.arity, self.parameters
        loads = [(p, k * self.size) for k, p in enumerate(names)]
        stored = [f"{v}{_entry(m, c)}" for v in ("value", "moved.p", "moved.d") for c in range(m)]
        stored += [f"p{p}.d{_entry(self.size, c)}" for p in names for c in range(self.size)]
        of, back = _shape(self.type, self.size), _shape(self.type, m)
        buffer = BUFFER[self.type]
        return KERNEL.format(
            name=self.name,
            call=self.call,
            back=back,
            buffer=buffer,
            width=3 * m + n,
            parameters=", ".join(f"{of} {p}" for p in names),
            points="".join(f"    {of} {p} = {self._read(of, 'x', self.size, n, at)};\n" for p, at in loads),
            tangents="".join(f"    {of} d{p} = {self._read(of, 'tangent', self.size, n, at)};\n" for p, at in loads),
            cotangent=self._read(back, "cotangent", m, m, 0),
            pairs="".join(f"    var p{p} = diffPair({p});\n" for p in names),
            paired=", ".join(f"p{p}" for p in names),
            moved=", ".join(f"diffPair({p}, d{p})" for p in names),
            plain=", ".join(names),
            stores="".join(f"    result[o + {at}] = {buffer}({what});\n" for at, what in enumerate(stored)),
        )

    def _read(self, type_: str, buffer: str, size: int, stride: int, first: int) -> str:
        return f"{type_}({', '.join(f'{self.type}({buffer}[i * {stride} + {first + c}])' for c in range(size))})"


@dataclass(frozen=True)
class Found:
    """What a function gave at N points: results (N, size of the result), and its gradient (N, arguments)."""

    value: Floats
    forward_value: Floats
    tangent: Floats
    gradient: Floats


def build(functions: list[Function], more: str = "") -> CpuModule:
    """One CPU module with an entry point for every function, which may call functions of ``more``."""
    source = IMPORTS + more + "\n".join(f.kernel() for f in functions)
    names = tuple(f.name for f in functions)
    job = CompileJob("library.slang", source, names, ("cpp",), modules=LIBRARY, whole=True)
    result = compiled(job)
    assert not result.messages, result.messages
    return build_module(result.artefacts[0].data, result.reflection_text("cpp"))


def run(module: CpuModule, function: Function, x: Floats, tangent: Floats, cotangent: Floats) -> Found:
    """Everything the function gives at points ``x`` (N, arguments), rounded to its type by the caller."""
    dtype = np.float64 if BUFFER[function.type] == "double" else np.float32
    m, n = function.result_size, function.size * function.arity
    result = np.full((len(x), 3 * m + n), np.nan, dtype)
    buffers = {"x": _flat(x, len(x), n, dtype), "tangent": _flat(tangent, len(x), n, dtype)}
    buffers |= {"cotangent": _flat(cotangent, len(x), m, dtype), "result": result.reshape(-1)}
    module.launch(function.name, (len(x), 1, 1), buffers, {}, workers=1)
    wide = result.astype(np.float64)
    return Found(wide[:, :m], wide[:, m : 2 * m], wide[:, 2 * m : 3 * m], wide[:, 3 * m :])


def _flat(values: Floats, count: int, width: int, dtype: type[np.floating]) -> npt.NDArray[np.floating]:
    return np.ascontiguousarray(np.broadcast_to(values, (count, width)), dtype).reshape(-1)


def _shape(type_: str, size: int) -> str:
    return type_ if size == 1 else f"{type_}{size}"


def _entry(size: int, component: int) -> str:
    return "" if size == 1 else f".{'xyzw'[component]}"
