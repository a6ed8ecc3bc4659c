"""Programs written from the C++ header alone build with both families of compilers and equal the ``cpu`` device."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import slangad as sa
from slangad.compiler.driver.compile import compile_inputs
from slangad.compiler.driver.cpp_library import library_text
from slangad.compiler.driver.header_model import header_model
from slangad.compiler.driver.inputs import parse_inputs
from slangad.compiler.driver.model import Options
from slangad.compiler.driver.print_header import field_name, header_text
from slangad.compiler.emit.launch_plan import Factor
from slangad.compiler.emit.model import Mode, ParameterRole
from slangad.compiler.runtime.arrays.modes import RunMode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from slangad.compiler.driver.header_model import HeaderBuffer, HeaderKernel, HeaderMode

pytestmark = pytest.mark.toolchain

STRICT = ("-std=c++17", "-Wall", "-Wextra", "-Werror", "-O1", "-ffp-contract=off")
DEVICES = Path(__file__).parents[1] / "devices"
STRUCTS = {Mode.FORWARD: "Results", Mode.BACKWARD: "Gradients", Mode.JVP: "Tangents"}
DTYPES = {"half": "u2", "float": "f4", "double": "f8", "int": "i4", "uint": "u4"}
CTYPES = {"u2": "std::uint16_t", "f4": "float", "f8": "double", "i4": "std::int32_t", "u4": "std::uint32_t"}
DOMAIN, EXTENT, THREADS = (5000,), 9, 3
PLANE = (61, 83)
FILES = """
#include <cstdio>
#include <string>

template <class T>
std::vector<T> load(const std::string& name, std::size_t count)
{
    std::vector<T> values(count);
    std::FILE* file = std::fopen(name.c_str(), "rb");
    if (!file || std::fread(values.data(), sizeof(T), count, file) != count)
        std::abort();
    std::fclose(file);
    return values;
}

template <class T>
void save(const std::string& name, const std::vector<T>& values)
{
    std::FILE* file = std::fopen(name.c_str(), "wb");
    std::fwrite(values.data(), sizeof(T), values.size(), file);
    std::fclose(file);
}
"""


def _domain(kernel: HeaderKernel) -> tuple[int, ...]:
    """Return a domain; that of a kernel that stores by thread is as large as its tensors."""
    roles = {p.role for entry in kernel.entries for p in entry.parameters if p.parameter in kernel.tensors}
    stores = ParameterRole.RESULT in roles
    return PLANE if kernel.dims > 1 else (EXTENT,) if stores else DOMAIN


def _shape(kernel: HeaderKernel, buffer: HeaderBuffer) -> tuple[int, ...]:
    front = {Factor.DOMAIN: _domain(kernel)}
    shape: tuple[int, ...] = ()
    for factor, tensor in buffer.plan.count.factors:
        shape += front.get(factor, (EXTENT,) * kernel.tensors.get(tensor, 0))
    own = buffer.plan.parameter.shape
    is_number = own == (1,) and not buffer.plan.parameter.path  # a half that is a tensor of one element
    return shape if is_number else (*shape, *own)


def _values(kernel: HeaderKernel, buffer: HeaderBuffer, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    shape = _shape(kernel, buffer)
    scalar = buffer.plan.scalar
    if scalar in ("int", "uint"):
        return rng.integers(0, EXTENT, shape).astype(DTYPES[scalar])
    return rng.uniform(0.1, 1.0, shape).astype("f2" if scalar == "half" else DTYPES[scalar])


def _given(mode: HeaderMode) -> Iterator[HeaderBuffer]:
    for buffer in mode.host:
        role = buffer.plan.parameter.role
        derivative = role in (ParameterRole.TANGENT, ParameterRole.COTANGENT, ParameterRole.ADJOINT)
        if not buffer.internal and (buffer.required or derivative):
            yield buffer


def _texels(buffer: HeaderBuffer, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if buffer.plan.parameter.access == "texture" and values.shape[2:] == (3,):
        return np.concatenate([values, np.zeros((*values.shape[:2], 1), "f4")], 2)
    return values


def _call(
    kernel: HeaderKernel, mode: HeaderMode, folder: Path, rng: np.random.Generator
) -> tuple[str, dict[str, Any], dict[str, HeaderBuffer]]:
    """Return a block of C++ that calls a mode, the arrays by key, and the buffers that it writes by file."""
    name = f"{kernel.name}_{mode.mode.value}"
    lines = [f"using namespace slangad::{kernel.name};", "Inputs inputs;", f"{STRUCTS[mode.mode]} outputs;"]
    arrays: dict[str, Any] = {}
    written: dict[str, HeaderBuffer] = {}
    given = list(_given(mode))
    for number, buffer in enumerate(b for b in mode.host if not b.internal):
        field, dtype = field_name(buffer.key), DTYPES[buffer.plan.scalar]
        target = "inputs" if buffer.is_input else "outputs"
        size = int(np.prod(_shape(kernel, buffer)))
        if buffer in given:
            values = _values(kernel, buffer, rng)
            arrays[buffer.key.replace("adjoint.", "cotangent.")] = values
            values = _texels(buffer, values)
            values.tofile(folder / f"{name}.{field}.in")
            lines.append(f'auto b{number} = load<{CTYPES[dtype]}>("{name}.{field}.in", {values.size});')
        else:
            lines.append(f"std::vector<{CTYPES[dtype]}> b{number}({size});")
        if buffer.plan.parameter.access not in ("read", "texture"):
            written[f"{name}.{field}.out"] = buffer
        lines.append(f"{target}.{field} = b{number};")
    for tensor, rank in kernel.tensors.items():
        lines.append(f"inputs.extents_{tensor} = {{{', '.join([str(EXTENT)] * rank)}}};")
    domain = ", ".join(map(str, _domain(kernel)))
    lines.append(f"{mode.mode.value}(inputs, outputs, {{{domain}}}, {THREADS});")
    numbers = {field_name(b.key): n for n, b in enumerate(b for b in mode.host if not b.internal)}
    lines += [f'save("{file}", b{numbers[field_name(buffer.key)]});' for file, buffer in written.items()]
    return "{\n" + "\n".join(lines) + "\n}", arrays, written


@pytest.mark.parametrize(("file", "compiler"), [("memories", "g++"), ("kinds", "clang++"), ("few", "g++")])
def test_header__every_mode_of_every_kernel__equals_the_cpu_device(
    tmp_path: Path, tool: Callable[[str], str], file: str, compiler: str
) -> None:
    path = DEVICES / f"{file}.py"
    (compiled,) = compile_inputs(parse_inputs([str(path)]), Options(targets=("cpp",)))
    rng = np.random.default_rng(0)
    program = sa.load(str(path), device="cpu")
    (tmp_path / "k.slangad.hpp").write_text(header_text(compiled, library=True), encoding="utf-8")
    (tmp_path / "k.slangad.cpp").write_bytes(library_text(compiled))
    calls = [
        (kernel, mode, *_call(kernel, mode, tmp_path, rng))
        for kernel in header_model(compiled).kernels
        for mode in kernel.modes
        if not kernel.uniforms
    ]
    body = "\n".join(call for _, _, call, _, _ in calls)
    (tmp_path / "main.cpp").write_text(f'#include "k.slangad.hpp"\n{FILES}\nint main()\n{{\n{body}\n}}\n')
    command = [tool(compiler), *STRICT, "main.cpp", "k.slangad.cpp", "-o", "program", "-pthread"]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr[-3000:]
    subprocess.run([tmp_path / "program"], cwd=tmp_path, check=True)
    compared = 0
    for kernel, mode, _, arrays, written in calls:
        expected = program[kernel.name].run(RunMode(mode.mode.value), arrays, domain=_domain(kernel))
        for name, buffer in written.items():
            key = buffer.key.replace("adjoint.", "grad.")
            key = f"jvp.{buffer.plan.parameter.parameter}" if key.startswith("tangent.") else key
            if key not in expected.arrays:  # what is left of the cotangent of an output is no gradient
                assert buffer.plan.parameter.role is ParameterRole.ADJOINT
                continue
            wanted = np.asarray(expected[key])
            found = np.fromfile(tmp_path / name, DTYPES[buffer.plan.scalar])
            found = found.view("f2") if buffer.plan.scalar == "half" else found
            np.testing.assert_allclose(
                found.reshape(wanted.shape).astype("f8"),
                wanted.astype("f8"),
                rtol=2e-3 if wanted.dtype == np.float16 else 2e-5,
                atol=1e-6,
                err_msg=f"{kernel.name} {mode.mode.value} {key}",
            )
            compared += 1
    assert compared > 5


def test_header__packed_buffers__are_bound_as_reflection_says(tmp_path: Path, tool: Callable[[str], str]) -> None:
    path = Path(__file__).parents[2] / "samples/quickstart/brdf.py"
    (compiled,) = compile_inputs(parse_inputs([str(path)]), Options(targets=("wgsl",)))
    (tmp_path / "k.slangad.hpp").write_text(header_text(compiled), encoding="utf-8")
    lines, entry = ['#include "k.slangad.hpp"', "#include <string_view>"], "slangad::fit::fit_backward_wgsl"
    (blocks,) = header_model(compiled).kernels[0].blocks["fit_backward"]
    for number, reflected in enumerate(blocks.blocks):
        name, binding = reflected["name"], reflected["binding"]
        lines.append(f'static_assert(std::string_view({entry}_bindings[{number}].kind) == "{binding["kind"]}");')
        if binding["kind"] == "packed":
            lines.append(f"static_assert({entry}_bindings[{number}].at == {binding['index']});")
            lines.append(f"static_assert({entry}_bindings[{number}].first == {binding['offset']});")
            lines.append(f"static_assert(offsetof({entry}_block, {name}_at) == {binding['offset']});")
    assert len(lines) > 30
    (tmp_path / "main.cpp").write_text("\n".join(lines) + "\n")
    command = [tool("g++"), *STRICT, "-fsyntax-only", "main.cpp"]
    checked = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr[-3000:]


NETWORKS = """
from typing import Annotated, Any

import slangad as sa
from slangad import Array, Each, Param

"""
NETWORK = """
@sa.kernel
def at{width}(x: Each[Array[float, {width}]], net: Param[Annotated[Any, sa.nn.MLP([{width}, {width}])]]) -> Each[float]:
    return net(x)[0]
"""


@pytest.mark.parametrize("level", ["-O1", "-O2", "-O3"])
def test_library__networks__compile_without_warnings(tmp_path: Path, tool: Callable[[str], str], level: str) -> None:
    path = tmp_path / "nets.py"
    path.write_text(NETWORKS + "\n".join(NETWORK.format(width=width) for width in (33, 48, 64)), encoding="utf-8")
    _compile_strictly(path, tmp_path, tool("g++"), level)


def test_library__lists_by_tile__compile_without_warnings(tmp_path: Path, tool: Callable[[str], str]) -> None:
    path = Path(__file__).parents[2] / "samples/splats/splats.py"
    _compile_strictly(path, tmp_path, tool("g++"), "-O2")


def _compile_strictly(path: Path, folder: Path, compiler: str, level: str) -> None:
    """Compile the library of a description; warnings are errors."""
    (compiled,) = compile_inputs(parse_inputs([str(path)]), Options(targets=("cpp",)))
    name = f"{path.stem}.slangad"
    (folder / f"{name}.hpp").write_text(header_text(compiled, library=True), encoding="utf-8")
    (folder / f"{name}.cpp").write_bytes(library_text(compiled))
    command = [compiler, *STRICT, level, "-fno-strict-aliasing", "-c", f"{name}.cpp"]
    built = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr[-3000:]
