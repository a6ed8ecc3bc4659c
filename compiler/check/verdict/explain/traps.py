"""Name the traps of Slang that may explain the failures of a function.

Each row of the table is a case in which Slang silently gives a wrong gradient (docs/slang-notes.md): where it shows,
its sign in the text, what happens, and what to write instead. A row names a *likely* cause. No verdict depends on it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Final

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.verdict.explain import trap_signs as signs
from slangad.compiler.check.verdict.explain import trap_stores as stores
from slangad.compiler.check.verdict.explain.causes import NEVER_STORED, NOT_DIFFERENTIABLE
from slangad.compiler.errors.spans import Span
from slangad.compiler.report.model import Leg, LegState
from slangad.compiler.slang_text.calls import codes_of, same_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from slangad.compiler.check.verdict.explain.trap_signs import Sign
    from slangad.compiler.report.model import Failure, Result
    from slangad.compiler.slang_text.calls import FunctionCode

_REVERSE: Final = frozenset({Leg.REVERSE, Leg.TRANSPOSE})
_FORWARD: Final = frozenset({Leg.FORWARD, Leg.TRANSPOSE, Leg.PRIMAL})
_MEMORY: Final = _REVERSE | {Leg.FLOAT32, Leg.COMPILE}
"""The legs of traps that overrun memory. They may be right in one precision, or die."""
_BIT_CASTS: Final = ("asuint", "asint", "asfloat", "asuint16", "asint16", "asfloat16", "f32tof16", "f16tof32")
_BOUND: Final = "loop bound"
_POWER: Final = "pow of small or negative"
_NOTHING: Final = "no gradient reaches this input"


@dataclass(frozen=True, slots=True)
class Trap:
    """One way in which Slang gets a gradient wrong.

    Attributes:
        name: The name of the trap.
        legs: The legs that show it.
        fits: Returns True if a failure may come from it.
        find: Finds its signs in a function.
        message: The effect there. ``{}`` is the text of the sign.
        remedy: The text to write instead.
        of_custom_derivatives: True if it is a trap of custom derivatives.
    """

    name: str
    legs: frozenset[Leg]
    fits: Callable[[Failure], bool]
    find: Callable[[FunctionCode], Iterator[Sign]]
    message: str
    remedy: str
    of_custom_derivatives: bool = False


def _any(_: Failure) -> bool:
    return True


def _ran(failure: Failure) -> bool:
    """Return True unless the failure is a rejected build."""
    return failure.leg is not Leg.COMPILE or failure.message.startswith(("it crashes", "it does not end"))


def _zero(failure: Failure) -> bool:
    return failure.found == 0.0


def _not_of_reverse_alone(failure: Failure) -> bool:
    """Return True unless the failure compares reverse mode with itself."""
    return not failure.message.startswith("reverse mode")


def _zero_or_value(failure: Failure) -> bool:
    """Return True for a derivative of 0, and for another value in forward mode. The rest of a function may hide a 0."""
    return _zero(failure) or failure.leg is Leg.PRIMAL


def _is_unset(failure: Failure) -> bool:
    return failure.cause == NEVER_STORED


def _finite(failure: Failure) -> bool:
    return failure.found is not None and math.isfinite(failure.found) and not _is_unset(failure)


def _some(failure: Failure) -> bool:
    return _finite(failure) and not _zero(failure)


def _at_chosen_input(failure: Failure) -> bool:
    """Return True if a failure is at an input that was chosen, such as a number of the text, and not at all inputs."""
    chosen = failure.sample is not None and failure.sample.origin != "random"
    return chosen and _some(failure) and "at some samples" in failure.cause


def _not_a_number(failure: Failure) -> bool:
    return failure.found is not None and math.isnan(failure.found)


TRAPS: Final[tuple[Trap, ...]] = (
    Trap(
        "backward alone",
        _FORWARD,
        _not_of_reverse_alone,
        signs.backward_alone,
        "{} has [BackwardDerivative] alone, so forward mode of its callers lacks its tangent and its value",
        "add [Differentiable] to it, or [ForwardDerivative(...)]",
    ),
    Trap(
        "forgotten parameter",
        _REVERSE,
        lambda failure: _zero(failure) or _is_unset(failure),
        signs.forgotten,
        "{}, so its gradient is 0 or any number",
        "store diffPair(x.p, gradient) into every pair of the derivative",
        of_custom_derivatives=True,
    ),
    Trap(
        "acos of clamp",
        _FORWARD,
        _not_a_number,
        signs.inverse_of_clamp,
        "{} of a clamped value: at the end of the range forward mode multiplies an infinite slope by 0",
        "clamp a little inside of -1 and 1, or give it a [ForwardDerivative]",
    ),
    Trap(
        "fmod",
        _REVERSE | _FORWARD,
        _finite,
        lambda code: signs.calls_of(code, "fmod"),
        "{} has no gradient for its second argument",
        "write x - y * trunc(x / y), with trunc in no_diff",
    ),
    Trap(
        _POWER,
        _REVERSE | _FORWARD,
        _zero_or_value,
        signs.powers,
        "the gradients of {} are 0 where the base is below 1e-6, negative ones too, and so is forward mode's value",
        "multiply (x * x) where the exponent is an integer, or scale the base",
    ),
    Trap(
        "vector with scalar",
        _REVERSE,
        _finite,
        signs.vectors_with_scalars,
        "{}: reverse mode loses a gradient where a vector meets a scalar from a loop, or a scalar parameter before it",
        "make the scalar a vector first, float3(s)",
    ),
    Trap(
        "treated as differentiable",
        _REVERSE | _FORWARD | {Leg.PRIMAL},
        _finite,
        signs.treated,
        "derivatives take {} as 0, since it is [TreatAsDifferentiable]",
        "leave the attribute out, and call it with no_diff",
    ),
    Trap(
        "differentiable call in no_diff",
        _REVERSE | _FORWARD,
        _some,
        signs.differentiated_anyway,
        "Slang differentiates {} all the same if that function is differentiable",
        "write detach(...) in place of no_diff",
    ),
    Trap(
        "bits of floats",
        _REVERSE | _FORWARD,
        _finite,
        lambda code: signs.calls_of(code, *_BIT_CASTS, moving=True),
        "{} ends the gradient: a value made from the bits of a float has none",
        "compute with the float itself, or declare a custom derivative if that is intended",
    ),
    Trap(
        "index of a branch",
        _REVERSE,
        _finite,
        signs.branched_indices,
        "{} stands in a loop and a branch gives its index: in C++, CUDA and Metal reverse mode may take another one",
        "read it in a function whose custom derivative adds into a zero, or compute the index with %, min or select",
    ),
    Trap(
        "equal indices",
        _REVERSE,
        _finite,
        lambda code: chain(signs.meeting_indices(code), signs.gathered(code)),
        "{} may be one element, and then reverse mode keeps the gradient of only one of them",
        "read elements in a function whose custom backward derivative adds into a zero",
    ),
    Trap(
        "uneven nest of loops",
        _MEMORY,
        _ran,
        signs.uneven_nests,
        "this loop is nested in the loop of {}, which runs another number of iterations: the values that reverse mode "
        "stores for one overwrite those for the other, on other devices perhaps in another way",
        "give both loops the same [MaxIters(n)], or move the inner one into a function",
    ),
    Trap(
        "confused variables",
        _REVERSE | _FORWARD,
        _any,
        stores.confused,
        "parts of {} where branches or loops meet: Slang confuses their values",
        "store all of a value at once, v = float2(e, v.y); for an array call a function that returns a changed copy",
    ),
    Trap(
        _BOUND,
        _MEMORY | {Leg.BOUND},
        _ran,
        signs.declared_bounds,
        "if the loop runs more iterations than {} declares, reverse mode is wrong or overruns its memory",
        "raise the bound, or end the loop at it",
    ),
    Trap(
        "constant vector with stored parts",
        _FORWARD,
        _any,
        signs.constant_beginnings,
        "'{}' begins as numbers and has parts stored before a branch: forward mode takes values for tangents",
        "store all of the vector at once, or begin with detach(...)",
    ),
    Trap(
        "clamped near zero",
        frozenset({Leg.REVERSE, Leg.FORWARD}),
        _some,
        lambda code: signs.calls_of(code, "rcp", "sqrt", "rsqrt", "length", "distance", "normalize", moving=True),
        "the gradient of {} is clamped where its argument is near 0 (or very large)",
        "for rcp write 1.0 / x; for the others scale the argument, or declare a custom derivative",
    ),
    Trap(
        "tie of min or max",
        frozenset({Leg.REVERSE, Leg.FORWARD}),
        _at_chosen_input,
        lambda code: signs.calls_of(code, "min", "max", "clamp", moving=True),
        "if the arguments of {} are equal at this input, each of them gets half of the gradient",
        "choose with a condition, x < y ? x : y, or declare a range without this input",
    ),
)
"""The traps, the most specific ones first."""


def with_traps(result: Result, sources: Sequence[str]) -> Result:
    """Return a result whose failures name the traps with signs in the text.

    Args:
        result: The result of a function in a Slang file.
        sources: The files that it may call into.
    """
    if not result.failures or result.verdict.right:
        return result
    codes = codes_of(result.span, sources)
    kept = any(leg.leg is Leg.BOUND and leg.state is LegState.AGREES for leg in result.legs)
    # Few traps change values: where forward mode's are wrong, a power is likelier than the traps of gradients alone.
    power = _finite if any(failure.leg is Leg.PRIMAL for failure in result.failures) else _zero_or_value
    traps = [replace(t, fits=power) if t.name == _POWER else t for t in TRAPS if not (kept and t.name == _BOUND)]
    failures = tuple(_named(failure, codes, result.span.file, traps) for failure in result.failures)
    reason = result.reason
    for old, new in zip(result.failures, failures, strict=True):
        if old.cause and reason.endswith(old.cause):
            reason = reason.removesuffix(old.cause) + new.cause
        elif reason == old.message and new.cause:
            reason = f"{reason}; {new.cause}"
    return replace(result, failures=failures, reason=reason)


def _named(failure: Failure, codes: Sequence[FunctionCode], file: str, traps: Sequence[Trap]) -> Failure:
    """Return the failure with the likeliest traps in its cause."""
    if NOT_DIFFERENTIABLE in failure.cause:
        return failure
    named: dict[str, str] = {}
    lines: set[Span] = set()
    for trap, code, sign in _seen(failure, codes, traps):
        lines.add(Span(code.file, sign.line, 1, sign.line, 1))
        place = f"line {sign.line}" if same_file(code.file, file) else f"{code.file}:{sign.line}"
        named.setdefault(trap.name, f"{place}: {trap.message.format(sign.what)}. Remedy: {trap.remedy}")
    if not named:
        return failure
    known = _NOTHING if failure.cause.startswith(_NOTHING) else "" if _is_unset(failure) else failure.cause
    likely = "Slang's trap, " + "; or ".join(list(named.values())[: tol.TRAPS_SHOWN])
    span = next(iter(lines)) if len(lines) == 1 else failure.span
    return replace(failure, cause=f"{known}; {likely}" if known else likely, span=span)


def _seen(
    failure: Failure, codes: Sequence[FunctionCode], traps: Sequence[Trap]
) -> Iterator[tuple[Trap, FunctionCode, Sign]]:
    """Yield the traps that fit a failure, with their signs."""
    through = [code for code in codes if not (code.apart or (code.replaced and failure.leg in _REVERSE))]
    for trap in traps:
        if failure.leg in trap.legs and trap.fits(failure):
            for code in (one for one in through if one.derivative == trap.of_custom_derivatives):
                yield from ((trap, code, sign) for sign in trap.find(code))
