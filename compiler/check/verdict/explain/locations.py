"""Locate failures at the derivative that is wrong: the custom derivative, and in it the likeliest statement."""

from __future__ import annotations

import math
import os
import re
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.model.columns import owner_of
from slangad.compiler.check.verdict.explain.causes import NOT_DIFFERENTIABLE
from slangad.compiler.check.verdict.explain.slang_steps import RETURNED, steps_of, text_of_body
from slangad.compiler.check.verdict.explain.steps import NOTHING, Accused, Step, suspect
from slangad.compiler.errors.spans import NOWHERE
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir import types
from slangad.compiler.ir.calls import policy_of
from slangad.compiler.ir.walk import blocks, root, stmt_exprs, walk, walk_stmts
from slangad.compiler.report.model import Leg
from slangad.compiler.slang_text.calls import derivatives_reached, function_at
from slangad.compiler.slang_text.endings import is_slang
from slangad.compiler.slang_text.files import source_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from slangad.compiler.check.model.subject import Subject
    from slangad.compiler.errors.spans import Span
    from slangad.compiler.ir.expressions import Expr
    from slangad.compiler.report.model import Failure, Result
    from slangad.compiler.slang_text.calls import CustomDerivative

_FORWARD: Final = frozenset({Leg.FORWARD, Leg.PRIMAL})
_NOWHERE: Final = frozenset({Leg.COMPILE, Leg.BOUND, Leg.JOINED})
"""Legs whose failures are not about a derivative."""
_LAST_ELEMENT: Final = re.compile(r"(?:\[\d+\])+$")
_DERIVING: Final = frozenset({"bwd_diff", "fwd_diff"})


def with_locations(results: Sequence[Result], subjects: Sequence[Subject], module: ir.Module) -> list[Result]:
    """Return results whose failures have the location of the derivative that is wrong, as far as it is known."""
    functions = {function.key: function for function in module.functions}
    right = {_place(result.span) for result in results if result.verdict.right}
    return [
        replace(result, failures=tuple(_located(one, result, subject, functions, right, module) for one in failures))
        if (failures := result.failures) and not result.because
        else result
        for result, subject in zip(results, subjects, strict=True)
    ]


def _located(
    failure: Failure,
    result: Result,
    subject: Subject,
    functions: Mapping[str, ir.Function],
    right: set[tuple[str, int]],
    module: ir.Module,
) -> Failure:
    if failure.leg in _NOWHERE or not result.span.line:
        return failure
    if subject.facts is not None:
        struct, lost, _ = failure.cause.partition(f" {NOT_DIFFERENTIABLE}")
        span = (
            _struct(struct, module.sources)
            if lost
            else _in_slang(failure, result.span, module.sources, right, subject.memory)
        )
        return replace(failure, span=span) if span.line else failure  # else that of a trap, if one is known
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
                    (right if abs(actual - known) <= bar + tol.SAME_FOUND * abs(known) else wrong).add(path)
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
            agree = all(abs(actual - known) <= bar + tol.SAME_FOUND * abs(known) for actual, known, bar in entries)
            (right if agree else wrong).add(path)
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
    return {"", element[0]} if element else {""}


def _attribute(failure: Failure) -> str:
    """Return the attribute of the derivative that a failure is about."""
    forward = failure.leg in _FORWARD or (failure.leg is Leg.FLOAT32 and failure.message.startswith("forward"))
    return "ForwardDerivative" if forward else "BackwardDerivative"


def _in_slang(
    failure: Failure, span: Span, sources: Sequence[str], right: set[tuple[str, int]], memory: Mapping[str, str]
) -> Span:
    """Return the location in a Slang file; nowhere if the function itself is the best one.

    Args:
        failure: The failure.
        span: The function.
        sources: The files.
        right: The locations of functions that are right.
        memory: The memory in which gradients accumulate, by the memory that they belong to.
    """
    reached = derivatives_reached(span, sources)
    wanted = _attribute(failure)
    derivatives = [one for one in reached if one.attribute == wanted]
    if failure.leg is Leg.TRANSPOSE and not derivatives:
        derivatives = list(reached)
    mine = [one for one in derivatives if _place(one.of.span) == _place(span)]
    if mine:
        own_names = zip(mine[0].of.header.params, mine[0].function.header.params, strict=False)
        return _in_derivative(failure, mine[0], {**dict(own_names), **memory})
    left = [one for one in derivatives if _place(one.of.span) not in right]
    if len(left) == 1:
        return _in_derivative(failure, left[0], memory)
    return _call_in(span, sources) if not left else NOWHERE


def _in_derivative(failure: Failure, derivative: CustomDerivative, names: Mapping[str, str]) -> Span:
    """Return the likeliest statement of a custom derivative, else its name.

    Args:
        failure: The failure.
        derivative: The derivative.
        names: The names that hold gradients there, by the parameters and memory that they belong to.
    """
    of, own = derivative.of, derivative.function
    params = dict(zip(own.header.params, of.header.params, strict=False))
    source = source_of(of.span.file)
    of_value = failure.leg is Leg.PRIMAL
    steps = steps_of(derivative.source, own, params, text_of_body(source, of), of_value=of_value)
    accused, parts = _accused(failure)
    steps = tuple(step for step in steps if _runs(step, failure))
    stored = frozenset(name for step in steps for name in step.stores)
    outputs = _renamed(accused, {name: _in_text(gradient, stored) for name, gradient in names.items()})
    rows = _accused_rows(failure)
    if derivative.attribute == "ForwardDerivative":
        outputs, parts, rows = Accused(frozenset({RETURNED}), frozenset()), rows, NOTHING
    place = suspect(steps, outputs, parts, rows)
    return place if place.line else derivative.function.span


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
    place = suspect(steps, _renamed(accused, outputs), parts)
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
