"""Convert one function of a Slang file to a function and a kernel of the IR, or leave it out with a reason."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from slangad.compiler.frontends.slang.layout import Unlaid, type_of
from slangad.compiler.frontends.slang.ranges import read_ranges
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.types import VOID, Array, Scalar, Struct, Type, carries_gradient, show

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from slangad.compiler.frontends.reading.problems import Problems
    from slangad.compiler.frontends.slang.locations import FunctionLocation
    from slangad.compiler.frontends.slang.reflected import DeclaredFunction, DeclaredParam, DeclaredStruct
    from slangad.compiler.slang_text.headers import Header

_ALL: Final = frozenset({"Differentiable", "BackwardDifferentiable"})
_BACKWARD_ALONE: Final = (
    "it has [BackwardDerivative] alone, so Slang knows no forward mode of it, and gets that of its callers wrong: "
    "add [Differentiable], or [ForwardDerivative(...)]"
)
_CALLS_BACKWARD_ALONE: Final = (
    "it calls {name}, which has [BackwardDerivative] alone, so Slang gets its forward mode wrong: "
    "add [Differentiable] to {name}, or [ForwardDerivative(...)]"
)
_LAYOUTS: Final = frozenset({"row_major", "column_major"})
_FORWARD_ALONE: Final = (
    "it has a forward derivative alone: add [Differentiable], or [BackwardDerivative(...)], for the other"
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A function to compile.

    Attributes:
        declared: The function as reflected.
        symbol: Its qualified name.
        place: Its location.
        attributes: The attributes that its derivatives give it.
        lost: A callee for which Slang gets its forward mode wrong; empty if there is none.
        call: The expression that calls it, where that is no plain call; see ``ir.External``.
    """

    declared: DeclaredFunction
    symbol: str
    place: FunctionLocation
    attributes: frozenset[str] = frozenset()
    lost: str = ""
    call: str = ""


@dataclass(frozen=True, slots=True)
class Converted:
    """A function of the IR, the parameters and results of its kernel, and the entry points that it cannot have."""

    function: ir.Function
    params: tuple[ir.KernelParam, ...]
    results: tuple[ir.KernelResult, ...]
    modes: tuple[str, ...]
    left_out: tuple[ir.LeftOut, ...]

    def kernel(self, name: str) -> ir.Kernel:
        """Return its kernel."""
        return ir.Kernel(name, self.function.key, self.params, self.results, span=self.function.span, modes=self.modes)


def convert(
    candidate: Candidate,
    file: str,
    structs: Mapping[str, DeclaredStruct],
    problems: Problems,
    outer: Collection[str] = (),
) -> Converted:
    """Convert a function.

    Args:
        candidate: The function.
        file: The file that declares it, as the emitted module names it.
        structs: The structs that types mention.
        problems: Receives bad ranges.
        outer: The globals of the file, which ranges may name.

    Raises:
        Unlaid: It cannot be a kernel.
    """
    declared, header = candidate.declared, candidate.place.header
    params = tuple(_params(candidate, structs))
    result = _laid_out("its result", declared.result, structs)
    if result == VOID and all(param.direction == "in" for param in params):
        raise Unlaid("it returns nothing and has no out parameter")
    comments = header.comments if header else ()
    types = {param.name: param.type for param in params if param.direction != "out"}
    cases = [ir.Range(p.name, 0.0, p.type["count"] - 1.0) for p in declared.params if _is_case(p)]
    cases += [one for name, type_ in types.items() for one in _case_ranges(name, type_)]
    function = ir.Function(
        key=f"{candidate.symbol}({', '.join(show(param.type) for param in params)})",
        name=declared.name,
        params=params,
        result=result,
        body=ir.External(candidate.symbol, file, _needs_wrapper(candidate, params, structs), candidate.call),
        owner="" if declared.static or candidate.call else declared.owner,
        ranges=(*cases, *read_ranges(comments, candidate.place.span.file, types, problems, outer)),
        span=candidate.place.span,
    )
    modes, missing = modes_of(header, candidate.attributes)
    if candidate.lost and not missing:
        modes, missing = ("forward", "backward"), (_CALLS_BACKWARD_ALONE.format(name=candidate.lost), ("jvp",))
    left_out = (ir.LeftOut(candidate.symbol, *missing, span=candidate.place.span),) if missing else ()
    return Converted(function, tuple(_kernel_params(function)), tuple(_results(function)), modes, left_out)


def _is_case(param: DeclaredParam) -> bool:
    """Return True if an integer encodes the case of an enum."""
    return param.type["kind"] == "scalar" and "count" in param.type


def _case_ranges(path: str, type_: Type) -> Iterator[ir.Range]:
    """Yield the ranges of integers that encode the cases of an enum, in a value of a type."""
    if isinstance(type_, Scalar) and type_.cases:
        yield ir.Range(path, 0.0, len(type_.cases) - 1.0)
    elif isinstance(type_, Struct):
        for one in type_.fields:
            yield from _case_ranges(f"{path}.{one.name}", one.type)
    elif isinstance(type_, Array):
        yield from _case_ranges(path, type_.element)


def _params(candidate: Candidate, structs: Mapping[str, DeclaredStruct]) -> Iterator[ir.Param]:
    declared, span = candidate.declared, candidate.place.span
    taken = [param.name for param in declared.params]
    if declared.owner and not declared.static:
        type_ = _laid_out("its object", {"kind": "struct", "name": declared.owner}, structs)
        header = candidate.place.header
        passive = structs[declared.owner].differential is None or bool(header and "NoDiffThis" in header.attributes)
        direction = "inout" if declared.mutating else "in"
        yield ir.Param(_free("self", taken), type_, passive, span, direction)
    for number, param in enumerate(declared.params):
        named = param.name.isidentifier() and not param.name.startswith("SLANG_anonymous")
        name = param.name if named else _free(f"arg_{number}", taken)
        shown = f"parameter '{param.name}'" if named else f"parameter {number + 1}"
        if param.direction != "in" and _has_layout(candidate, number):
            raise Unlaid(f"{shown} is a matrix with a layout of its own that is stored to")
        yield ir.Param(name, _laid_out(shown, param.type, structs), param.no_diff, span, param.direction)


def _needs_wrapper(candidate: Candidate, params: Collection[ir.Param], structs: Mapping[str, DeclaredStruct]) -> bool:
    """Return True if Slang can't differentiate a function by its name.

    There are two reasons. The function is an overloaded or a generic method. Or Slang wants a pair for a parameter: an
    object without gradient whose struct is differentiable, or a matrix whose type's name does not show its layout.
    """
    declared = candidate.declared
    if any(_has_layout(candidate, number) for number in range(len(declared.params))):
        return True
    if (declared.overloaded or candidate.symbol.endswith(">")) and declared.owner and not declared.static:
        return True
    pairs = (p.type for p in params if not p.no_diff and isinstance(p.type, Struct) and not carries_gradient(p.type))
    return any(structs[type_.key].differential is not None for type_ in pairs)


def _has_layout(candidate: Candidate, number: int) -> bool:
    """Return True if a parameter has ``row_major`` or ``column_major``. Reflected types do not show it."""
    types = candidate.place.header.types if candidate.place.header else ()
    return number < len(types) and not _LAYOUTS.isdisjoint(types[number].split())


def _laid_out(what: str, record: dict[str, object], structs: Mapping[str, DeclaredStruct]) -> Type:
    try:
        return type_of(record, structs)
    except Unlaid as reason:
        raise Unlaid(f"{what} {reason}", held=reason.held) from None


def _free(wanted: str, taken: Collection[str]) -> str:
    while wanted in taken:
        wanted += "_"
    return wanted


def modes_of(
    header: Header | None, further: frozenset[str]
) -> tuple[tuple[str, ...], tuple[str, tuple[str, ...]] | None]:
    """Return the entry points that a function can have by its attributes, and why it cannot have the others.

    Return no entry points where the attributes are inconclusive: Slang decides then.
    """
    if header is None or any(word.isupper() and len(word) > 1 for word in header.words):
        return (), None
    attributes = further.union(header.attributes)
    backward = "BackwardDerivative" in attributes
    forward = bool(attributes & {"ForwardDerivative", "ForwardDifferentiable"})
    if attributes & _ALL or backward == forward:
        return (), None
    if backward:
        return ("forward", "backward"), (_BACKWARD_ALONE, ("jvp",))
    return ("forward", "jvp"), (_FORWARD_ALONE, ("backward",))


def _kernel_params(function: ir.Function) -> Iterator[ir.KernelParam]:
    for param in function.params:
        if param.direction != "out":
            yield ir.KernelParam(param.name, ir.Memory.EACH, param.type, param.no_diff, param.span)


def _results(function: ir.Function) -> Iterator[ir.KernelResult]:
    """Yield the value that a function returns, then those that it stores: ``x_out`` for an ``inout`` ``x``."""
    taken = {param.name for param in function.params}
    if function.result != VOID:
        yield ir.KernelResult(_free("result", taken), ir.Memory.EACH, function.result)
    for param in function.params:
        if param.direction == "out":
            yield ir.KernelResult(param.name, ir.Memory.EACH, param.type, param.name)
        elif param.direction == "inout":
            yield ir.KernelResult(_free(f"{param.name}_out", taken), ir.Memory.EACH, param.type, param.name)


def kernel_names(functions: tuple[ir.Function, ...]) -> tuple[str, ...]:
    """Return a name for each kernel: the function's with its path, for overloads with their parameters' types."""
    plain = [_word(_symbol(function)) for function in functions]
    names: list[str] = []
    for function, name in zip(functions, plain, strict=True):
        if plain.count(name) > 1:
            types = (_word(show(param.type)) for param in function.params)
            name = "_".join((name, *types))  # noqa: PLW2901  (made longer)
        names.append(_free(name, names))
    return tuple(names)


def _symbol(function: ir.Function) -> str:
    return function.body.symbol if isinstance(function.body, ir.External) else function.name


def _word(text: str) -> str:
    return text if text.isidentifier() else re.sub(r"\W+", "_", text).strip("_")
