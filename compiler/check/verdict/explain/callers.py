"""Find functions that are wrong because of a callee, and instances that are wrong like another one.

A caller's automatic derivative uses those of its callees, so it is wrong if one of them is. That is one mistake, not
two. A caller with custom derivatives is never excused. Nor is one whose modes disagree if those of its callees agree:
if each part of a function has the same derivative in both modes, so has the function. So something else is wrong, such
as a loop's inverse. Instances of one generic function share its text, and so its mistakes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from slangad.compiler.check.model.names import LAUNCHED, OF_STAGE, TWIN
from slangad.compiler.ir.calls import closure, policy_of, surrogates, value_callees
from slangad.compiler.ir.nodes import Automatic, Subgradient
from slangad.compiler.report.model import Leg, LegState, NoteKind, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from slangad.compiler.check.model.subject import Subject
    from slangad.compiler.ir.nodes import Function, Module
    from slangad.compiler.report.model import Result

_INHERITED: Final = frozenset({Leg.REVERSE, Leg.FORWARD, Leg.TRANSPOSE, Leg.FLOAT32, Leg.ACCUMULATION})
_HARDER: Final = {
    Verdict.FAIL: {Verdict.FAIL},
    Verdict.KINK_BAD: {Verdict.FAIL, Verdict.KINK_BAD},
    Verdict.PRECISION: {Verdict.FAIL, Verdict.PRECISION},
}
"""The verdicts of a callee that explain a verdict of its caller."""
_ALIKE: Final = "wrong in the same way as '{}', an instance of the same function: correct that first, and check again"


def with_causes_in_callees(results: Sequence[Result], subjects: Sequence[Subject], module: Module) -> list[Result]:
    """Return results that name the callee that makes them wrong.

    Args:
        results: One result for each subject.
        subjects: The subjects.
        module: The module with their functions.
    """
    functions = {function.key: function for function in module.functions}
    wrong = {k for k, result in enumerate(results) if is_derivative(result)}
    calls = {k: set(called(subjects, k, functions, module)) & wrong for k in wrong}
    because = {k: _because(k, calls[k], results) for k in wrong}
    unexplained = {k: callees for k, callees in because.items() if callees and not _explain(k, callees, results)}
    because |= {k: [] for k in unexplained}
    roots = _roots(because)
    made = list(results)
    for k, callees in unexplained.items():
        made[k] = _with_note(results[k], tuple(results[b].function for b in callees))
    alike = _alike(roots, subjects, results)
    roots -= alike.keys()
    for k, first in alike.items():
        made[k] = _excused(results[k], (results[first].function,), _ALIKE.format(results[first].function))
    for k in wrong - roots - alike.keys():
        culprits = because[k]
        names = tuple(results[b].function for b in culprits if b in roots) or tuple(
            results[b].function for b in culprits
        )
        made[k] = _excused(results[k], names, _reason(names))
    return made


def _roots(because: Mapping[int, Sequence[int]]) -> set[int]:
    """Return the wrong functions that no callee explains, and the first of those that only explain each other."""
    roots = {k for k, callees in because.items() if not callees}
    for k in sorted(because):
        reached = closure(because[k], lambda one: because[one])
        if k in reached and roots.isdisjoint(reached):
            roots.add(k)
    return roots


def _excused(result: Result, because: tuple[str, ...], reason: str) -> Result:
    notes = tuple(note for note in result.notes if note.kind is not NoteKind.SAMPLES)
    return replace(result, because=because, reason=reason, notes=notes)


def _alike(roots: Iterable[int], subjects: Sequence[Subject], results: Sequence[Result]) -> dict[int, int]:
    """Return the instances of generic functions that are wrong in the same way as an earlier instance, each with it."""
    seen: dict[object, int] = {}
    collected: dict[int, int] = {}
    for k in sorted(roots):
        subject, result = subjects[k], results[k]
        legs = frozenset(failure.leg for failure in result.failures)
        first = seen.setdefault((subject.plain, subject.span, result.verdict, legs), k)
        if subject.plain != subject.name and first != k:
            collected[k] = first
    return collected


def is_derivative(result: Result) -> bool:
    """Return True if only derivatives are wrong."""
    return result.verdict in _HARDER and all(failure.leg in _INHERITED for failure in result.failures)


def _because(number: int, called: Iterable[int], results: Sequence[Result]) -> list[int]:
    return sorted(k for k in called if results[k].verdict in _HARDER[results[number].verdict])


def _explain(number: int, callees: Iterable[int], results: Sequence[Result]) -> bool:
    """Return False if the modes of a function disagree, though those of its wrong callees agree."""

    def states(k: int) -> set[LegState]:
        return {leg.state for leg in results[k].legs if leg.leg is Leg.TRANSPOSE}

    agree = all(states(k) == {LegState.AGREES} for k in callees)
    return not (agree and states(number) == {LegState.DISAGREES})


def _with_note(result: Result, names: Sequence[str]) -> Result:
    """Return a result whose first failure says that its callees are wrong too."""
    note = f"it calls {_shown(names)}, which is wrong too; but only here do forward and reverse mode disagree"
    first, *others = result.failures
    return replace(result, failures=(replace(first, notes=(*first.notes, note)), *others))


def _shown(names: Sequence[str]) -> str:
    return " and ".join(f"'{name}'" for name in names)


def _reason(names: Sequence[str]) -> str:
    return f"its derivative is made from that of {_shown(names)}, which is wrong: correct that first, and check again"


def called(
    subjects: Sequence[Subject], number: int, functions: Mapping[str, Function], module: Module
) -> Iterator[int]:
    """Yield the numbers of the subjects that a subject's automatic derivative uses."""
    subject = subjects[number]
    if subject.facts is not None:
        candidates = [k for k, other in enumerate(subjects) if other.facts is not None and k != number]
        yield from (k for k in candidates if subjects[k].plain.rpartition(".")[2] in subject.facts.calls)
        return
    stages = subject.pipeline.kernels if subject.pipeline else ()
    start = {kernel.function for kernel in module.kernels if kernel.name in stages} or {subject.function}
    reached = {
        _described(key) for key in closure(start, lambda key: _sources(functions[key]) if key in functions else ())
    }
    if subject.pipeline is None:
        reached.discard(subject.function)
    yield from (k for k, other in enumerate(subjects) if k != number and other.function in reached and other.function)


def _described(key: str) -> str:
    """Return the key that a function has in the description: twins and launches add to it."""
    return key.removeprefix(LAUNCHED).removeprefix(OF_STAGE).removesuffix(TWIN)


def _sources(function: Function) -> Iterable[str]:
    """Return the functions that a derivative uses; none if the derivative is custom."""
    by_body = isinstance(policy_of(function), (Automatic, Subgradient))
    return value_callees(function) if by_body else surrogates(function)
