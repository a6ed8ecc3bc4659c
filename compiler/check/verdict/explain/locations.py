"""Locate failures at the derivative that is wrong: the custom derivative, and in it the likeliest statement."""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.model.columns import owner_of
from slangad.compiler.check.verdict.explain.causes import FACTOR, NOT_DIFFERENTIABLE, SOME_SAMPLES, with_failures
from slangad.compiler.check.verdict.explain.slang_steps import RETURNED, clamped_in, steps_of, text_of_body
from slangad.compiler.check.verdict.explain.steps import (
    Accused,
    Missing,
    Step,
    Suspects,
    missing_statement,
    overwriting,
    suspect,
)
from slangad.compiler.errors.spans import NOWHERE
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir import types
from slangad.compiler.ir.calls import policy_of
from slangad.compiler.ir.walk import blocks, root, stmt_exprs, walk, walk_stmts
from slangad.compiler.report.model import Leg
from slangad.compiler.slang_text.brackets import closing
from slangad.compiler.slang_text.calls import derivatives_reached, detached_in, function_at
from slangad.compiler.slang_text.endings import is_slang
from slangad.compiler.slang_text.files import source_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from slangad.compiler.check.model.subject import Subject
    from slangad.compiler.errors.spans import Span
    from slangad.compiler.ir.expressions import Expr
    from slangad.compiler.report.model import Failure, Jacobian, Result
    from slangad.compiler.slang_text.bodies import SlangFunction
    from slangad.compiler.slang_text.calls import CustomDerivative

_FORWARD: Final = frozenset({Leg.FORWARD, Leg.PRIMAL})
_NOWHERE: Final = frozenset({Leg.COMPILE, Leg.BOUND, Leg.JOINED})
"""Legs whose failures are not about a derivative."""
_LAST_ELEMENT: Final = re.compile(r"(?:\[\d+\])+$")
_INDEX: Final = re.compile(r"\[(\d+)\]")
_DERIVING: Final = frozenset({"bwd_diff", "fwd_diff"})
_NOT_TAKEN: Final = "a term is missing beside this line: no statement for this gradient reads {}"
_NOT_STORED: Final = "a term is missing beside this line: no statement stores the gradient's {}"
_OTHERS: Final = "the same values depend on line{} {}, which may be wrong instead"
_MOST_OTHERS: Final = 3
"""The most lines that a note names. More show nothing."""
_OVERWRITES: Final = "this store overwrites what line {} adds"
_DETACHED: Final = "the derivative differentiates {}, which ends a gradient here"


@dataclass(frozen=True, slots=True)
class _Place:
    """The location of a failure, its cause if the location shows it, and other lines that may have the mistake."""

    span: Span
    cause: str = ""
    others: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class _File:
    """The results of a file with their subjects, and the files that it reads."""

    results: Sequence[tuple[Result, Subject]]
    sources: Sequence[str]

    def is_right(self, function: SlangFunction) -> bool:
        """Return True if a function was checked and is right."""
        return any(result.verdict.right for result, _ in self.at(function.span))

    def at(self, span: Span) -> Iterator[tuple[Result, Subject]]:
        """Yield the results of the function at a location: several if it is generic."""
        return (one for one in self.results if _place(one[0].span) == _place(span))

    def without(self, span: Span) -> _File:
        """Return the file without the function at a location."""
        return replace(self, results=[one for one in self.results if _place(one[0].span) != _place(span)])


def with_locations(results: Sequence[Result], subjects: Sequence[Subject], module: ir.Module) -> list[Result]:
    """Return results whose failures have the location of the derivative that is wrong, as far as it is known."""
    functions = {function.key: function for function in module.functions}
    file = _File([*zip(results, subjects, strict=True)], module.sources)
    return [
        with_failures(result, [_located(one, result, subject, functions, file) for one in result.failures])
        if result.failures and not result.because
        else result
        for result, subject in zip(results, subjects, strict=True)
    ]


def _located(
    failure: Failure, result: Result, subject: Subject, functions: Mapping[str, ir.Function], file: _File
) -> Failure:
    if failure.leg in _NOWHERE or not result.span.line:
        return failure
    if subject.facts is not None:
        struct, lost, _ = failure.cause.partition(f" {NOT_DIFFERENTIABLE}")
        place = _Place(_struct(struct, file.sources)) if lost else _in_slang(failure, result.span, subject.memory, file)
        if not place.span.line:
            return failure  # with the location of a trap, if there is one
        lines = " and ".join(str(line) for line in place.others)
        notes = (*failure.notes, _OTHERS.format("s" * (len(place.others) > 1), lines)) if lines else failure.notes
        return replace(failure, span=place.span, cause=place.cause or failure.cause, notes=notes)
    function = functions.get(subject.function)
    return failure if function is None else replace(failure, span=_in_description(failure, function, functions))


def _accused(failure: Failure) -> tuple[Accused, Accused]:
    """Return the parameters that a failure accuses, and their parts, by the Jacobian at its sample."""
    wrong, right = {failure.column} if failure.column else set[str](), set[str]()
    jacobian = failure.jacobian
    if jacobian is not None:
        for found, expected, error in zip(jacobian.found, jacobian.expected, jacobian.error, strict=True):
            for path, actual, known, bar in zip(jacobian.columns, found, expected, error, strict=True):
                if not math.isnan(known):
                    (right if _agrees(actual, known, bar) else wrong).add(path)
    owners = {owner_of(path) for path in wrong}
    parts = [
        {part for path in paths if owner_of(path) in owners for part in _parts(path)}
        for paths in (wrong, right - wrong)
    ]
    others = {owner_of(path) for path in right} - owners
    return Accused(frozenset(owners), frozenset(others)), Accused(frozenset(parts[0]), frozenset(parts[1] - parts[0]))


def _accused_rows(failure: Failure) -> Accused:
    """Return the parts of results that are wrong, and those that are right, at the sample of a failure."""
    wrong, right = {failure.row} if failure.row else set[str](), set[str]()
    jacobian = failure.jacobian
    if jacobian is not None:
        rows = zip(jacobian.rows, jacobian.found, jacobian.expected, jacobian.error, strict=True)
        for path, found, expected, error in rows:
            entries = [one for one in zip(found, expected, error, strict=True) if not math.isnan(one[1])]
            (right if all(_agrees(*entry) for entry in entries) else wrong).add(path)
    parts = [{part for path in paths for part in _parts(path)} for paths in (wrong, right - wrong)]
    return Accused(frozenset(parts[0]), frozenset(parts[1] - parts[0]))


def _parts(path: str) -> set[str]:
    """Return the parts at the end of a path: ``y``, ``position`` and ``position.y`` of ``v[2].position.y``.

    A value without parts in the path has an empty one, and an element also its index: ``[0][1]``.
    """
    fields = path.rpartition("]")[2].split(".")[1:] if "]" in path else path.split(".")[1:]
    if fields:
        return {*fields[-2:], ".".join(fields[-2:])}
    element = _LAST_ELEMENT.search(path)
    array = path.partition("[")[0].split(".")[1:]
    return {"", element[0], *array[-1:]} if element else {""}


def _attribute(failure: Failure) -> str:
    """Return the attribute of the derivative that a failure is about."""
    forward = failure.leg in _FORWARD or (failure.leg is Leg.FLOAT32 and failure.message.startswith("forward"))
    return "ForwardDerivative" if forward else "BackwardDerivative"


def _in_slang(failure: Failure, span: Span, memory: Mapping[str, str], file: _File) -> _Place:
    """Return the location in a Slang file; nowhere if the function itself is the best one.

    Args:
        failure: The failure.
        span: The function.
        memory: The memory in which gradients accumulate, by the memory that they belong to.
        file: The results.
    """
    reached = derivatives_reached(span, file.sources)
    wanted = _attribute(failure)
    derivatives = [one for one in reached if one.attribute == wanted]
    if failure.leg is Leg.TRANSPOSE and not derivatives:
        derivatives = list(reached)
    mine = [one for one in derivatives if _place(one.of.span) == _place(span)]
    if mine:
        own_names = dict(zip(mine[0].of.header.params, mine[0].function.header.params, strict=False))
        held = {name: own_names.get(name, name) for name, gradient in memory.items() if gradient.startswith(f"{name}.")}
        return _in_derivative(failure, mine[0], {**own_names, **memory, **held}, file.without(span))
    left = [one for one in derivatives if not file.is_right(one.of)]
    if len(left) == 1:
        return _in_callee(failure, left[0], memory, file.without(span))
    return _Place(NOWHERE if left else _call_in(span, file.sources))


def _in_callee(failure: Failure, derivative: CustomDerivative, memory: Mapping[str, str], file: _File) -> _Place:
    """Return the likeliest statement of the custom derivative of a callee; that of its own failure if it has one."""
    for result, subject in file.at(derivative.of.span):
        alike = [one for one in result.failures if _attribute(one) == derivative.attribute]
        if not alike:
            continue
        place = _in_slang(alike[0], result.span, subject.memory, file)
        return _Place(place.span if place.span.line else derivative.function.span)
    if owner_of(failure.column) in memory:
        return _in_derivative(failure, derivative, memory, file)
    own = {name: name for name in derivative.function.header.params}
    return _in_derivative(replace(failure, row="", column="", jacobian=None), derivative, own, file)


def _in_derivative(failure: Failure, derivative: CustomDerivative, names: Mapping[str, str], file: _File) -> _Place:
    """Return the likeliest statement of a custom derivative, else its name.

    Args:
        failure: The failure.
        derivative: The derivative.
        names: The names that hold gradients there, by the parameters and memory that they belong to.
        file: The results.
    """
    of, own = derivative.of, derivative.function
    params = dict(zip(own.header.params, of.header.params, strict=False))
    source = source_of(of.span.file)
    of_value = failure.leg is Leg.PRIMAL
    steps = steps_of(derivative.source, own, params, text_of_body(source, of), of_value=of_value)
    accused, parts = _accused(failure)
    steps = tuple(step for step in steps if _runs(step, failure))
    stored = frozenset(name for step in steps for name in step.stores)
    stored_names = {name: _in_text(gradient, stored) for name, gradient in names.items()}
    outputs = _renamed(accused, stored_names)
    rows, columns = _accused_rows(failure), {stored_names.get(name, name): one for name, one in _columns(failure)}
    is_partly = SOME_SAMPLES in failure.cause
    evidence = Suspects(
        outputs,
        parts,
        rows,
        columns,
        is_partly,
        edge=_is_at_edge(failure),
        factor=(failure.ratio or 0.0) if not is_partly and FACTOR in failure.cause else 0.0,
        clamped=clamped_in(source, of) if is_partly and _is_flat(failure) else frozenset(),
    )
    if derivative.attribute == "ForwardDerivative":
        evidence = Suspects(Accused(frozenset({RETURNED}), frozenset()), rows, is_partly=evidence.is_partly)
    elif (missing := _missing(failure, steps, evidence)) is not None:
        value = f"{own.header.params[-1]}{_behind(missing.part)}"
        words = _NOT_STORED.format(missing.part) if missing.is_stored else _NOT_TAKEN.format(value)
        return _Place(missing.span, words)
    if failure.leg is Leg.ACCUMULATION:
        assigned = [step for step in steps if step.target and step.stores & evidence.names.wrong]
        steps = tuple([step for step in assigned if not step.adds] or assigned or steps)
    if (both := overwriting(steps, evidence.names.wrong)) is not None:
        return _Place(both[1].span, _OVERWRITES.format(both[0].span.line))
    place, others = suspect(steps, evidence)
    if not place.line:
        return _Place(derivative.function.span)
    return replace(_differentiated(place, derivative, file), others=others if len(others) <= _MOST_OTHERS else ())


def _columns(failure: Failure) -> Iterator[tuple[str, tuple[list[frozenset[str]], list[frozenset[str]]]]]:
    """Yield the parts of the wrong inputs, and of those that are right and not zero, by value."""
    jacobian = failure.jacobian
    if jacobian is None:
        return
    result: dict[str, tuple[list[frozenset[str]], list[frozenset[str]]]] = {}
    for path, state in _states_of_columns(jacobian):
        if state is not None:
            result.setdefault(owner_of(path), ([], []))[state].append(frozenset(_parts(path)))
    yield from result.items()


def _states_of_columns(jacobian: Jacobian) -> Iterator[tuple[str, bool | None]]:
    """Yield inputs with True if their derivatives are right and not zero, False if one is wrong, else None."""
    for number, path in enumerate(jacobian.columns):
        entries = [
            (found[number], expected[number], error[number])
            for found, expected, error in zip(jacobian.found, jacobian.expected, jacobian.error, strict=True)
            if not math.isnan(expected[number])
        ]
        if all(_agrees(*entry) for entry in entries):
            yield path, True if any(known for _, known, _ in entries) else None
        else:
            yield path, False


def _is_at_edge(failure: Failure) -> bool:
    """Return True if the wrong inputs are the first, or the last, elements of arrays, and other elements are right."""
    states = [] if failure.jacobian is None else [*_states_of_columns(failure.jacobian)]
    indices = {path: [int(one) for one in _INDEX.findall(path)] for path, _ in states}
    wrong = [path for path, state in states if state is False]
    if not wrong or not all(len(indices[path]) == 1 for path in wrong):
        return False
    alike = {_INDEX.sub("[]", path) for path in wrong}
    right = {path for path, state in states if state and _INDEX.sub("[]", path) in alike}
    last = max(indices[path][0] for path in (*wrong, *right))
    at = {indices[path][0] for path in wrong}
    return len(right) > 1 and at in ({0}, {last}) and not at & {indices[path][0] for path in right}


def _is_flat(failure: Failure) -> bool:
    """Return True if the function does not depend on the wrong input at the sample of a failure."""
    return failure.expected == 0.0 and bool(failure.found)


def _missing(failure: Failure, steps: Sequence[Step], evidence: Suspects) -> Missing | None:
    """Return the statement that a custom derivative lacks, if wrong entries are zero and the statements show it."""
    jacobian, owner = failure.jacobian, owner_of(failure.column)
    if jacobian is None or not owner or any(actual for actual in _wrong_entries(jacobian)):
        return None
    columns = [frozenset(_parts(path)) for path in jacobian.columns if owner_of(path) == owner]
    return missing_statement(steps, evidence, ([frozenset(_parts(path)) for path in jacobian.rows], columns))


def _wrong_entries(jacobian: Jacobian) -> Iterator[float]:
    """Yield the wrong entries of a Jacobian."""
    for found, expected, error in zip(jacobian.found, jacobian.expected, jacobian.error, strict=True):
        for actual, known, bar in zip(found, expected, error, strict=True):
            if not math.isnan(known) and not _agrees(actual, known, bar):
                yield actual


def _agrees(actual: float, known: float, bar: float) -> bool:
    return abs(actual - known) <= bar + tol.SAME_FOUND * abs(known)


def _behind(part: str) -> str:
    """Return a part as text has it behind a variable: ``.x``, ``[0]``."""
    return part if part.startswith("[") else f".{part}"


def _differentiated(place: Span, derivative: CustomDerivative, file: _File) -> _Place:
    """Return the location of the mistake if a statement differentiates another function that has it; else its own."""
    tokens = derivative.source.tokens[derivative.function.opening : derivative.function.last]
    inside = [token for token in tokens if (place.line, place.column) <= (token.line, token.column)]
    inside = [token for token in inside if (token.line, token.column) < (place.end_line, place.end_column)]
    for k, token in enumerate(inside[:-2]):
        if token.text not in _DERIVING or inside[k + 1].text != "(":
            continue
        name = inside[closing(inside, k + 1) - 1].text
        for result, subject in file.results:
            if subject.facts is not None and subject.plain.rpartition(".")[2] == name and result.failures:
                found = _in_slang(result.failures[0], result.span, subject.memory, file.without(result.span))
                return found if found.span.line else _Place(result.span)
        detached = detached_in(name, file.sources)
        if detached.line:
            return _Place(detached, _DETACHED.format(name))
    return _Place(place)


def _renamed(accused: Accused, names: Mapping[str, str]) -> Accused:
    """Return parameters by the names of their gradient memory. All are suspects if no wrong one is known."""
    wrong = {names[one] for one in accused.wrong if one in names} or {*names.values()}
    return Accused(frozenset(wrong), frozenset(names[one] for one in accused.right if one in names) - wrong)


def _runs(step: Step, failure: Failure) -> bool:
    """Return False if a flag among the inputs excludes a statement at the sample of a failure."""
    inputs = failure.sample.inputs if failure.sample is not None else ()
    flags = {value.path.replace(".", "_"): bool(value.value) for value in inputs if value.value in (0, 1)}
    return all(flags.get(name, value) == value for name, value in step.guards)


def _in_text(name: str, stored: Collection[str]) -> str:
    """Return the word by which a text names memory: ``weights`` if it is the field ``layer_weights`` of an object."""
    fields = (word for word in stored if name.endswith(f"_{word.removeprefix('_')}"))
    return name if name in stored else max(fields, key=len, default=name)


def _call_in(span: Span, sources: Sequence[str]) -> Span:
    """Return the first ``bwd_diff`` or ``fwd_diff`` in a function; nowhere if there is none."""
    for file in sources:
        source = source_of(file) if is_slang(file) else None
        function = None if source is None else function_at(source, span)
        if source is None or function is None:
            continue
        tokens = source.tokens[function.opening : function.last]
        return next((token.span(source.file) for token in tokens if token.text in _DERIVING), NOWHERE)
    return NOWHERE


def _struct(name: str, sources: Sequence[str]) -> Span:
    """Return the location of the name in the declaration of a struct; nowhere if no file has it."""
    plain = name.rpartition(".")[2].partition("<")[0]
    for source in (source_of(file) for file in sources if is_slang(file)):
        for before, token in pairwise(source.tokens):
            if before.text == "struct" and token.text == plain:
                return token.span(source.file)
    return NOWHERE


def _place(span: Span) -> tuple[str, int]:
    return os.path.realpath(span.file), span.line


def _in_description(failure: Failure, function: ir.Function, functions: Mapping[str, ir.Function]) -> Span:
    """Return the location in a description; nowhere if the function has no custom derivative of that mode."""
    policy = policy_of(function)
    if not isinstance(policy, ir.Custom):
        return NOWHERE
    forward = policy.forward if _attribute(failure) == "ForwardDerivative" else None
    derivative = functions.get(forward or policy.backward or policy.forward or "")
    if derivative is None:
        return NOWHERE
    if not isinstance(derivative.body, tuple):
        return derivative.span
    accused, parts = _accused(failure)
    flowing = [param.name for param in function.params if not param.no_diff]
    outputs = {name: f"{RETURNED} {number}" for number, name in enumerate(flowing)}
    steps = tuple(_steps(derivative.body, len(flowing) if derivative.key == policy.backward else 1))
    place, _ = suspect(steps, Suspects(_renamed(accused, outputs), parts, is_partly=SOME_SAMPLES in failure.cause))
    return place if place.line else derivative.span


def _steps(body: tuple[ir.Stmt, ...], outputs: int) -> Iterator[Step]:
    """Yield the statements of a described derivative; each returned gradient is one."""
    for statement in walk_stmts(body):
        if isinstance(statement, ir.Return) and statement.value is not None:
            value = statement.value
            apart = isinstance(value, ir.Construct) and isinstance(value.type, types.Tuple)
            parts = value.args if isinstance(value, ir.Construct) and apart else (value,) * outputs
            for number, one in enumerate(parts):
                yield _step({f"{RETURNED} {number}"}, (one,), one.span if one.span.line else statement.span)
        elif isinstance(statement, ir.Let):
            yield _step({statement.name}, stmt_exprs(statement), statement.span)
        elif isinstance(statement, ir.Assign):
            target = root(statement.target)
            yield _step({target.name} if target else set(), stmt_exprs(statement), statement.span)
        elif inner := blocks(statement):
            stored = {name for block in inner for one in _steps(block, outputs) for name in one.stores}
            yield replace(_step(stored, stmt_exprs(statement), statement.span), is_head=True)


def _step(stores: set[str], exprs: Sequence[Expr], span: Span) -> Step:
    parts = [one for expr in exprs for one in walk(expr)]
    reads = frozenset(one.name for one in parts if isinstance(one, ir.Var))
    operators = sum(isinstance(one, (ir.Binary, ir.Unary)) for one in parts)
    return Step(frozenset(stores), reads, operators, span)
