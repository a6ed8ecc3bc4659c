"""Runs functions of slangad's Slang module on the CPU: value, reverse mode, forward mode, by point and by cotangent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from slangad.compiler.emit.library import DOUBLE, ELEMENTS, FLOAT, HALF, INTEGERS, library_text
from slangad.compiler.runtime.cpu import CpuModule, build_module
from slangad.compiler.toolchain.request import CompileJob
from slangad.compiler.toolchain.session import compile_here

LIBRARY = tuple((name, library_text(name)) for name in (FLOAT, HALF, DOUBLE, INTEGERS, ELEMENTS))
IMPORTS = "".join(f"import {name.removesuffix('.slang')};\n" for name, _ in LIBRARY)
BUFFER = {"half": "float", "float": "float", "double": "double"}
DTYPE = {"half": np.float16, "float": np.float32, "double": np.float64}

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
        of, back = _shape(self.type, self.size), _shape(self.type, self.result_size)
        buffer, n, m = BUFFER[self.type], self.size * self.arity, self.result_size
        lines = [
            f"[Differentiable] {back} f_{self.name}({', '.join(f'{of} {p}' for p in self.parameters)}) {{ return {self.call}; }}",
            f'[shader("compute")] [numthreads(1, 1, 1)] void {self.name}(uint3 at: SV_DispatchThreadID,',
            f"    uniform StructuredBuffer<{buffer}> x, uniform StructuredBuffer<{buffer}> tangent,",
            f"    uniform StructuredBuffer<{buffer}> cotangent, uniform RWStructuredBuffer<{buffer}> result)",
            "{ int i = int(at.x);",
            *(f"    {of} {p} = {self._read(of, 'x', self.size, n, k * self.size)};" for k, p in enumerate(self.parameters)),
            *(f"    {of} d{p} = {self._read(of, 'tangent', self.size, n, k * self.size)};" for k, p in enumerate(self.parameters)),
            f"    {back} d_out = {self._read(back, 'cotangent', m, m, 0)};",
            *(f"    var p{p} = diffPair({p});" for p in self.parameters),
            f"    bwd_diff(f_{self.name})({', '.join(f'p{p}' for p in self.parameters)}, d_out);",
            f"    var moved = fwd_diff(f_{self.name})({', '.join(f'diffPair({p}, d{p})' for p in self.parameters)});",
            f"    {back} value = f_{self.name}({', '.join(self.parameters)});",
            f"    int o = i * {3 * m + n};",
            *(f"    result[o + {k * m + c}] = {buffer}({v}{_entry(m, c)});" for k, v in enumerate(("value", "moved.p", "moved.d")) for c in range(m)),
            *(
                f"    result[o + {3 * m + k * self.size + c}] = {buffer}(p{p}.d{_entry(self.size, c)});"
                for k, p in enumerate(self.parameters)
                for c in range(self.size)
            ),
            "}",
        ]
        return "\n".join(lines)

    def _read(self, type_: str, buffer: str, size: int, stride: int, first: int) -> str:
        return f"{type_}({', '.join(f'{self.type}({buffer}[i * {stride} + {first + c}])' for c in range(size))})"


@dataclass(frozen=True)
class Found:
    """What one function gave at N points: ``value`` and its copy from forward mode (N, results), ``gradient`` (N, arguments)."""

    value: Floats
    forward_value: Floats
    tangent: Floats
    gradient: Floats


def build(functions: list[Function], more: str = "") -> CpuModule:
    """One CPU module with an entry point for every function, which may call functions of ``more``."""
    source = IMPORTS + more + "\n".join(f.kernel() for f in functions)
    job = CompileJob("library.slang", source, tuple(f.name for f in functions), ("cpp",), modules=LIBRARY, whole=True)
    (result,) = compile_here([job])
    assert not result.messages, result.messages
    return build_module(result.artefacts[0].data, result.reflection_text("cpp"))


def run(module: CpuModule, function: Function, x: Floats, tangent: Floats, cotangent: Floats) -> Found:
    """Everything the function gives at points ``x`` (N, arguments), rounded to its type by the caller."""
    dtype = np.float64 if BUFFER[function.type] == "double" else np.float32
    m, n = function.result_size, function.size * function.arity
    result = np.full((len(x), 3 * m + n), np.nan, dtype)
    given = {"x": x, "tangent": tangent, "cotangent": cotangent}
    buffers = {name: np.ascontiguousarray(np.broadcast_to(v, (len(x), n if name != "cotangent" else m)), dtype) for name, v in given.items()}
    module.launch(function.name, (len(x), 1, 1), {**{k: v.reshape(-1) for k, v in buffers.items()}, "result": result.reshape(-1)}, {}, workers=1)
    wide = result.astype(np.float64)
    return Found(wide[:, :m], wide[:, m : 2 * m], wide[:, 2 * m : 3 * m], wide[:, 3 * m :])


def _shape(type_: str, size: int) -> str:
    return type_ if size == 1 else f"{type_}{size}"


def _entry(size: int, component: int) -> str:
    return "" if size == 1 else f".{'xyzw'[component]}"
