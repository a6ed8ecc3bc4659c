"""Find objectives that are sums or means of squared errors against one input.

A kernel qualifies if each thread returns ``w * (e.x * e.x + e.y * e.y + …)``. There ``e`` is the difference of any
value and the thread's element of the input, and ``w`` is a number. The element is that of an ``Each``, or that of a
``Tensor`` at the thread's indices, ``image[sa.thread_id(0), sa.thread_id(1)]``. The function of a thread is evaluated
symbolically: expressions replace its locals, constant loops and calls as far as these contain the input. Examples::

    sa.nn.l2(found, image)                        w = 1 / channels
    e = found - image; return sa.dot(e, e)        w = 1
    return 0.5 * (found - image) ** 2             w = 0.5
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, islice
from typing import TYPE_CHECKING, Final

from slangad.compiler.ir.build import arithmetic
from slangad.compiler.ir.nodes import (
    Assign,
    Binary,
    Call,
    Comment,
    Const,
    Construct,
    Expr,
    For,
    Function,
    Index,
    Intrinsic,
    Kernel,
    Let,
    Memory,
    NoDiff,
    Probe,
    Read,
    Return,
    Stmt,
    Swizzle,
    ThreadId,
    Unary,
    Var,
    by_value,
)
from slangad.compiler.ir.pipelines import ValueArgument
from slangad.compiler.ir.types import INT, Scalar, Tensor, Vector, is_floating
from slangad.compiler.ir.walk import map_children, root, walk, walk_stmts

if TYPE_CHECKING:
    from slangad.compiler.ir.nodes import Module
    from slangad.compiler.ir.pipelines import Stage
    from slangad.compiler.ir.types import Type
    from slangad.compiler.runtime.pipeline.runnable import RunnablePipeline

_NODES: Final = 400
"""Nodes of an expression that a local stands for. Larger: longer descriptions of an error are understood."""
_ITERATIONS: Final = 16
"""Iterations of a loop that are evaluated one by one. Larger: errors over longer arrays are understood."""
_CALLS: Final = 8
"""Calls inside one another that are evaluated. Larger: errors behind more functions are understood."""

Weights = Mapping[tuple[str, int], float]
"""The weight of the squared error of each component of an input."""


class _NotUnderstoodError(Exception):
    """A statement may end the function early, or changes memory."""


@dataclass(frozen=True, slots=True)
class SquaredErrors:
    """An objective that is a sum or mean over threads of squared errors.

    Attributes:
        target: The parameter of the pipeline that predictions are compared with.
        channels: The scalars of one of its elements.
        weight: The factor of each squared error of a scalar.
        is_mean: True if the objective is a mean over threads, False if it is a sum.
        reading_stage: The index of the stage whose threads read the target from a tensor, each at its own indices; None
            if the target is an ``Each``.
    """

    target: str
    channels: int
    weight: float
    is_mean: bool
    reading_stage: int | None = None


def squared_errors(runnable: RunnablePipeline, module: Module) -> SquaredErrors | None:
    """Return how the objective consists of squared errors against a parameter that is not trained, else None."""
    objective = runnable.objective
    if objective is None:
        return None
    stages = enumerate(runnable.pipeline.stages)
    number, stage = next(((i, s) for i, s in stages if objective.value in s.results), (0, None))
    if stage is None:
        return None
    kernel = next((one for one in module.kernels if one.name == stage.kernel), None)
    if kernel is None or len(kernel.results) != 1:
        return None
    targets = _targets(runnable, kernel, stage)
    weights = _weights_of(kernel, module, targets)
    if len({name for name, _ in weights}) != 1:
        return None
    name, weight = next(iter(weights))[0], next(iter(weights.values()))
    element, memory = next((_element(p.type), p.memory) for p in kernel.params if p.name == name)
    channels = element.size if isinstance(element, Vector) else 1
    if len(weights) < channels or weight <= 0.0 or not all(math.isclose(weight, w) for w in weights.values()):
        return None
    read_by = number if memory is Memory.TENSOR else None
    return SquaredErrors(targets[name], channels, weight, objective.memory is Memory.MEAN, read_by)


def _targets(runnable: RunnablePipeline, kernel: Kernel, stage: Stage) -> dict[str, str]:
    """Return parameters of the pipeline by the parameters of the kernel of which a thread may have one element."""
    given = {p.name for p in runnable.pipeline.params} - set(runnable.trained)
    return {
        param.name: argument.value
        for param, argument in zip(kernel.params, stage.arguments, strict=True)
        if isinstance(argument, ValueArgument) and argument.value in given
        if param.memory in (Memory.EACH, Memory.TENSOR) and _is_floats(_element(param.type))
    }


def _element(type_: Type) -> Type:
    return type_.element if isinstance(type_, Tensor) else type_


def _is_floats(type_: Type) -> bool:
    return isinstance(type_, (Scalar, Vector)) and is_floating(type_)


def _weights_of(kernel: Kernel, module: Module, targets: Mapping[str, str]) -> Weights:
    """Return the weights of the squared errors that a thread of a kernel returns; none if it returns anything else."""
    functions = {function.key: function for function in module.functions}
    values = by_value(kernel, module.buffers)
    names = {value.name: f"target {value.name}" for value in values if value.name in targets}
    tensors = {
        buffer.key: f"target {buffer.param}"
        for buffer in module.buffers
        if buffer.kernel == kernel.name and buffer.param in targets and not buffer.path
    }
    evaluation = _Evaluation(functions, frozenset((*names.values(), *tensors.values())), tensors)
    arguments = [Var(names.get(value.name, f"given {value.name}"), value.type) for value in values]
    try:
        returned = evaluation.returned(functions[kernel.function], arguments)
    except _NotUnderstoodError:
        return {}
    found = _weights(returned, evaluation.targets)
    return {} if found is None else {(name.removeprefix("target "), i): w for (name, i), w in found.items()}


# --- what a thread returns ---


@dataclass
class _Evaluation:
    """Replace the locals of functions by their values, as far as these contain a target.

    Other locals become variables with a name of their own for each assignment, so equal expressions have equal values.
    """

    functions: Mapping[str, Function]
    targets: frozenset[str]
    tensors: Mapping[str, str]
    depth: int = 0
    numbers: Iterator[int] = field(default_factory=count)

    def returned(self, function: Function, arguments: Sequence[Expr]) -> Expr:
        """Return the result of a function.

        Raises:
            _NotUnderstoodError: It has no body, or returns under a condition.
        """
        if not isinstance(function.body, tuple) or self.depth >= _CALLS:
            raise _NotUnderstoodError
        self.depth += 1
        try:
            locals_ = dict(zip((param.name for param in function.params), arguments, strict=True))
            result = self._run(function.body, locals_)
        finally:
            self.depth -= 1
        if result is None:
            raise _NotUnderstoodError
        return result

    def _run(self, body: tuple[Stmt, ...], locals_: dict[str, Expr]) -> Expr | None:
        """Run statements; return the value of the ``return`` among them, if there is one."""
        for stmt in body:
            match stmt:
                case Return(value=value) if value is not None:
                    return self._value(value, locals_)
                case Let(name=name, type=type_, value=value):
                    locals_[name] = self._new(name, type_) if value is None else self._kept(name, value, locals_)
                case Assign(target=Var(name=name), value=value):
                    locals_[name] = self._kept(name, value, locals_)
                case For(start=Const(value=start), stop=Const(value=stop)) if self._unrolls(stmt, locals_):
                    for i in range(int(start), int(stop), stmt.step):
                        locals_[stmt.variable] = Const(i, INT)
                        self._run(stmt.body, locals_)
                case Comment():
                    pass
                case _:
                    self._forget(stmt, locals_)
        return None

    def _unrolls(self, loop: For, locals_: dict[str, Expr]) -> bool:
        """Return True if a loop consists of assignments, is short, and uses a target."""
        assert isinstance(loop.start, Const)  # noqa: S101  (the caller looked)
        assert isinstance(loop.stop, Const)  # noqa: S101
        iterations = len(range(int(loop.start.value), int(loop.stop.value), loop.step))
        plain = all(isinstance(stmt, (Let, Assign, Comment)) for stmt in loop.body)
        read = (part for stmt in loop.body for expr in _read_by(stmt) for part in walk(expr))
        known = (locals_.get(part.name, part) for part in read if isinstance(part, Var))
        return plain and iterations <= _ITERATIONS and any(self._has_target(value) for value in known)

    def _forget(self, stmt: Stmt, locals_: dict[str, Expr]) -> None:
        """Give the locals that a statement changes values of their own.

        Raises:
            _NotUnderstoodError: It may return, or it changes memory.
        """
        for part in walk_stmts((stmt,)):
            match part:
                case Return():
                    raise _NotUnderstoodError
                case Assign(target=target):
                    changed = root(target)
                    if changed is None or changed.name not in locals_:
                        raise _NotUnderstoodError
                    locals_[changed.name] = self._new(changed.name, changed.type)
                case Let(name=name, type=type_):
                    locals_[name] = self._new(name, type_)
                case For(variable=name):
                    locals_[name] = self._new(name, INT)
                case _:
                    pass

    def _new(self, name: str, type_: Type) -> Expr:
        return Var(f"{name} {next(self.numbers)}", type_)

    def _kept(self, name: str, value: Expr, locals_: dict[str, Expr]) -> Expr:
        """Return the value of a local: an expression if it contains a target and is small, else a new variable."""
        found = self._value(value, locals_)
        small = sum(1 for _ in islice(walk(found), _NODES)) < _NODES
        known = isinstance(found, (Var, Const, ThreadId)) or self._has_target(found)
        return found if small and known else self._new(name, value.type)

    def _has_target(self, expr: Expr) -> bool:
        return any(isinstance(part, Var) and part.name in self.targets for part in islice(walk(expr), _NODES))

    def _value(self, expr: Expr, locals_: dict[str, Expr]) -> Expr:
        """Return an expression with the values of locals, without what changes derivatives only."""
        inner = map_children(expr, lambda child: self._value(child, locals_))
        match inner:
            case Var(name=name):
                return locals_.get(name, inner)
            case Read(source=Var(name=key), indices=indices) if key in self.tensors and _is_own(indices):
                return Var(self.tensors[key], inner.type)
            case NoDiff(value=value) | Probe(value=value):
                return value
            case Swizzle(value=value, components=components) if len(components) == 1:
                return _component(value, "xyzw".index(components))
            case Index(value=value, index=Const(value=place)) if isinstance(value.type, Vector):
                return _component(value, int(place))
            case Call(function=key, args=args) if any(self._has_target(one) for one in args):
                try:
                    return self.returned(self.functions[key], args)
                except (_NotUnderstoodError, KeyError):
                    return inner
            case _:
                return inner


def _is_own(indices: Sequence[Expr]) -> bool:
    """Return True for the indices of the thread, one per axis in order."""
    return all(isinstance(index, ThreadId) and index.axis == axis for axis, index in enumerate(indices))


def _read_by(stmt: Stmt) -> tuple[Expr, ...]:
    """Return the expressions whose values an assignment uses."""
    value = stmt.value if isinstance(stmt, (Let, Assign)) else None
    return () if value is None else (value,)


def _component(vector: Expr, place: int) -> Expr:
    """Return a component of a vector: that of its operands, if it is computed by component."""
    if not isinstance(vector.type, Vector):
        return vector
    match vector:
        case Binary(op=op, left=left, right=right):
            return arithmetic(op, _component(left, place), _component(right, place))
        case Unary(operand=operand):
            return Unary(vector.op, _component(operand, place), vector.type.element)
        case Construct(args=(only,)) if isinstance(only.type, Scalar):
            return only
        case Construct(args=args) if len(args) == vector.type.size:
            return args[place]
        case Swizzle(value=value, components=components):
            return _component(value, "xyzw".index(components[place]))
        case _:
            pass
    return Index(vector, Const(place, INT), vector.type.element)


# --- its form ---


def _weights(expr: Expr, targets: frozenset[str]) -> Weights | None:
    """Return the weights of squared errors of which an expression is the sum, or None."""
    match expr:
        case Const(value=0):
            return {}
        case Binary(op="+", left=left, right=right):
            return _joined(_weights(left, targets), _weights(right, targets))
        case Binary(op="*", left=Const(value=number), right=of) | Binary(op="*", left=of, right=Const(value=number)):
            return _scaled(_weights(of, targets), float(number))
        case Binary(op="/", left=of, right=Const(value=number)) if number:
            return _scaled(_weights(of, targets), 1.0 / float(number))
        case Binary(op="*", left=left, right=right) if left == right:
            error = _error(left, targets)
            return None if error is None else {error: 1.0}
        case Intrinsic(name="dot", args=(left, right)) if isinstance(left.type, Vector):
            found: Weights | None = {}
            for place in range(left.type.size):
                square = arithmetic("*", _component(left, place), _component(right, place))
                found = _joined(found, _weights(square, targets))
            return found
        case _:
            return None


def _joined(first: Weights | None, second: Weights | None) -> Weights | None:
    """Return the weights of a sum. Two errors of one component are no error of one prediction."""
    if first is None or second is None or first.keys() & second.keys():
        return None
    return {**first, **second}


def _scaled(weights: Weights | None, factor: float) -> Weights | None:
    return None if weights is None else {key: factor * weight for key, weight in weights.items()}


def _error(expr: Expr, targets: frozenset[str]) -> tuple[str, int] | None:
    """Return the component of a target from which an expression is the difference, or None."""
    match expr:
        case Unary(op="-", operand=operand) | Intrinsic(name="abs", args=(operand,)):
            return _error(operand, targets)
        case Binary(op="-", left=left, right=right):
            return _target(right, targets) or _target(left, targets)
        case _:
            return None


def _target(expr: Expr, targets: frozenset[str]) -> tuple[str, int] | None:
    match expr:
        case Var(name=name) if name in targets and isinstance(expr.type, Scalar):
            return name, 0
        case Index(value=Var(name=name), index=Const(value=place)) if name in targets:
            return name, int(place)
        case _:
            return None
