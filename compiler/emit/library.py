"""Choose the Slang library modules that an emitted file imports, and read their text.

There is one module for each type of number, so that a file compiles only the types it uses.
"""

from __future__ import annotations

import re
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from slangad.compiler.emit.model import Mode, ParameterRole, ThreadWork
from slangad.compiler.emit.text.intrinsics import is_own
from slangad.compiler.ir.nodes import Accumulation, Function, Intrinsic, Module, SlangBody
from slangad.compiler.ir.types import DOUBLE as DOUBLE_TYPE
from slangad.compiler.ir.types import FLOAT as FLOAT_TYPE
from slangad.compiler.ir.types import UINT as UINT_TYPE
from slangad.compiler.ir.types import element_of, is_integral, show
from slangad.compiler.ir.walk import body_exprs, statements

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from slangad.compiler.emit.model import EntryParameter, EntryPoint
    from slangad.compiler.ir.types import Scalar

FLOAT: Final = "slangad.slang"
HALF: Final = "slangad_half.slang"
DOUBLE: Final = "slangad_double.slang"
INTEGERS: Final = "slangad_integers.slang"
ELEMENTS: Final = "slangad_elements.slang"
SUMS: Final = "slangad_sums.slang"
SUMS_DOUBLE: Final = "slangad_sums_double.slang"
SUMS_INTEGERS: Final = "slangad_sums_integers.slang"
TENSORS: Final = "slangad_tensors.slang"
TENSORS_INTEGERS: Final = "slangad_tensors_integers.slang"
TENSORS_DOUBLE: Final = "slangad_tensors_double.slang"
EXACT: Final = "slangad_exact.slang"
TILES: Final = "slangad_tiles.slang"
GROUPS: Final = "slangad_groups.slang"
TEXTURES: Final = "slangad_textures.slang"
LINEAR: Final = "slangad_linear.slang"
_PARTS: Final = {
    SUMS: ("slangad_sums_last.slang",),
    LINEAR: (
        "slangad_linear_mma.slang",
        "slangad_linear_mma_half.slang",
        "slangad_linear_tiles.slang",
        "slangad_linear_simdgroup.slang",
        "slangad_linear_rectified.slang",
    ),
}
"""The rest of a library: what only some devices have."""

_BY_TYPE: Final = {
    "float": (FLOAT,),
    "half": (FLOAT, HALF),
    "double": (DOUBLE,),
    "int": (INTEGERS,),
    "uint": (INTEGERS,),
}
_SUMS: Final = {
    FLOAT_TYPE: (SUMS, "sa"),
    DOUBLE_TYPE: (SUMS_DOUBLE, "sa.doubles"),
    UINT_TYPE: (SUMS_INTEGERS, "sa.integers"),
}
"""The library that adds up a type of number, and its namespace."""


def libraries_of(module: Module, others: Iterable[str] = ()) -> dict[str, str]:
    """Return file name and text of every library that a function calls, and of others, in a fixed order."""
    needed = {name for f in module.functions for e in body_exprs(statements(f)) for name in _needed_by(e)}
    needed |= {name for f in module.functions for name in _named_in_text(f)}
    needed |= set(others)
    return {name: library_text(name) for name in sorted(needed)}


def memory_libraries(entries: Iterable[EntryPoint]) -> Iterator[str]:
    """Yield the libraries that entry points need for shared memory."""
    for entry in entries:
        if entry.work is ThreadWork.STRIDED and not entry.totals:
            yield SUMS
        if entry.tile:
            yield TILES
        for parameter in entry.parameters:
            yield from _libraries_of_parameter(entry, parameter)


def _libraries_of_parameter(entry: EntryPoint, parameter: EntryParameter) -> Iterator[str]:
    if parameter.is_exact:
        yield EXACT
    match parameter.role:
        case ParameterRole.PARTIALS:
            yield _SUMS[parameter.scalar][0]
        case ParameterRole.TOTALS if is_integral(parameter.scalar) and not parameter.is_exact:
            yield from (TENSORS, TENSORS_INTEGERS)
        case ParameterRole.TOTALS | ParameterRole.ADJOINT | ParameterRole.PROBE:
            yield TENSORS
        case ParameterRole.INPUT | ParameterRole.RESULT if _is_left_alone(entry, parameter):
            yield TENSORS
        case ParameterRole.GRADIENT | ParameterRole.RESULT if _adds_doubles(entry, parameter):
            yield TENSORS_DOUBLE
        case ParameterRole.SAMPLER:
            yield TEXTURES
        case _:
            return


def _is_left_alone(entry: EntryPoint, parameter: EntryParameter) -> bool:
    """Return True for a tensor that a kernel writes, and reverse mode does not: its stores ask ``sa.replay``."""
    return entry.mode is Mode.BACKWARD and parameter.shared and parameter.type.startswith("RW")


def _adds_doubles(entry: EntryPoint, parameter: EntryParameter) -> bool:
    """Return True if a scattered gradient, or output, of doubles is added up from copies."""
    exact = any(one.is_exact for one in entry.parameters)
    return entry.work is ThreadWork.SCALARS and parameter.scalar == DOUBLE_TYPE and not exact


def sum_libraries(module: Module) -> Iterator[str]:
    """Yield the libraries for the sums of a thread, if threads add up elements of tensors without atomics."""
    ways = {buffer.accumulation for buffer in module.buffers}
    if any(way in (Accumulation.SUM, Accumulation.BLOCK) or way.is_matrix for way in ways):
        yield SUMS
    if any(way.is_matrix for way in ways):
        yield LINEAR


def sums_namespace(scalar: Scalar) -> str:
    """Return the namespace of the functions that add up floats, doubles or uints."""
    return _SUMS[scalar][1]


def _needed_by(expr: object) -> tuple[str, ...]:
    if not isinstance(expr, Intrinsic) or not is_own(expr):
        return ()
    if expr.name in ("at", "element", "with", "counted"):
        return (ELEMENTS,)
    element = element_of(expr.args[0].type)
    assert element is not None  # noqa: S101  (the library's functions take numbers, vectors and matrices)
    return _BY_TYPE[element.name]


def _named_in_text(function: Function) -> Iterator[str]:
    """Yield the libraries that a body in Slang may call: those with a name in its text, for the types that it uses."""
    if not isinstance(function.body, SlangBody):
        return
    text = function.body.text
    called = re.findall(r"\bsa\s*(?:::|\.)\s*(\w+)", text)
    if not called:
        return
    seen = " ".join((text, *(show(p.type) for p in function.params), show(function.result)))
    types = [name for name in ("half", "double") if name in seen]
    for library in (FLOAT, INTEGERS, ELEMENTS, *(_BY_TYPE[name][-1] for name in types)):
        if re.search(rf"\b(?:{'|'.join(called)})\s*[(<]", library_text(library)):
            yield library


def library_text(name: str) -> str:
    """Return the text of one of slangad's Slang libraries; for other numbers, that for floats with other type names."""
    if name == DOUBLE:
        text = re.sub(r"\bfloat(?=[234]?\b)", "double", library_text(FLOAT))
        return text.replace("module slangad;", "module slangad_double;")
    for scalar, (library, namespace) in _SUMS.items():
        if name == library != SUMS:
            text = re.sub(r"\b(float|double)\b", scalar.name, _template(SUMS))
            text = text.replace("module slangad_sums;", f"module {library.removesuffix('.slang')};")
            return text.replace("public namespace sa\n", f"public namespace {namespace}\n")
    return "\n".join(map(_template, (name, *_PARTS.get(name, ()))))


def _template(name: str) -> str:
    return (files("slangad") / "templates" / name).read_text(encoding="utf-8")
