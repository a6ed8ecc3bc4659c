"""Make twins that freeze parts declared to carry no gradient, so that differences measure the declared derivative.

``no_diff``, a surrogate or a chosen subgradient declare a derivative other than that of the function. Differences only
evaluate functions. So they use a twin that runs twice: at the sample, where it records the frozen values, and at the
moved point, where it reads them again. The twin then moves as declared:

    no_diff(e)                freeze(e)
    f with a surrogate g      freeze(f(x)) + g(x) - freeze(g(x))
    f straight through        freeze(f(x) - x) + x
    f by differences          freeze(f(x)) + freeze(slope) * (x - freeze(x))
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.model.names import LAUNCHED, is_launch
from slangad.compiler.errors.exhaustive import assert_never
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir import types
from slangad.compiler.ir.build import add, call, divide, multiply, number, part, subtract
from slangad.compiler.ir.calls import callers, policy_of, surrogates, value_callees
from slangad.compiler.ir.walk import (
    blocks,
    body_exprs,
    map_blocks,
    map_body_exprs,
    rewrite,
    root,
    statements,
    stmt_exprs,
    walk,
    walk_stmts,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    import numpy.typing as npt

    from slangad.compiler.errors.spans import Span

BASE: Final = "base_"
_RECORD, _REPLAY = "check:record", "check:replay"
TAPE, STATE = "check_tape", "check_state"
"""Buffers of the twins: the frozen values; how many there are, a flag to read them again, and a flag that the tape was
too short. A run with that flag has no results: a ``NaN`` in place of a value may become an integer, and then vanish."""
PRELUDE: Final = f"""RWStructuredBuffer<float> {TAPE};
RWStructuredBuffer<int> {STATE};

float check_freeze(float v)
{{
    int place = {STATE}[0]++;
    if (place >= {tol.TAPE_SIZE})
    {{
        {STATE}[2] = 1;
        return v;
    }}
    if ({STATE}[1] == 0)
        {TAPE}[place] = v;
    return {TAPE}[place];
}}

"""
"""Text before a module with twins that freeze."""


@dataclass(frozen=True, slots=True)
class TwinModule:
    """A module with twins of its harness kernels.

    Attributes:
        frozen: The twins that freeze declared parts, by harness kernel.
        declaring: The locations of the declared parts, by harness kernel.
        clipped: Harness kernels whose reverse mode goes through a clip.
        watches: The twins that watch loops, by harness kernel.
        indices: The twins that record indices, by kernel that is checked launch by launch.
        asked: By such a kernel, the axes whose extents it reads.
        unclear: Harness kernels with a declared part that no twin freezes.
        racing: The twins whose derivatives run two threads, by harness kernel.
        waving: The twins whose derivatives run the lanes of a wave, by harness kernel.
    """

    module: ir.Module
    frozen: dict[str, str]
    clipped: frozenset[str]
    watches: dict[str, str] = field(default_factory=dict)
    indices: dict[str, str] = field(default_factory=dict)
    asked: dict[str, frozenset[tuple[str, int]]] = field(default_factory=dict)
    unclear: frozenset[str] = frozenset()
    racing: dict[str, str] = field(default_factory=dict)
    waving: dict[str, str] = field(default_factory=dict)
    declaring: dict[str, tuple[Span, ...]] = field(default_factory=dict)

    def of(self, kernel: str) -> tuple[str, str, str, str, str]:
        """Return the names of the twins, in the order of the attributes; empty for those that there are not."""
        twins = (self.frozen, self.watches, self.indices, self.racing, self.waving)
        frozen, watch, indices, racing, waving = (names.get(kernel, "") for names in twins)
        return frozen, watch, indices, racing, waving


def add_frozen_twins(module: ir.Module) -> TwinModule:
    """Add a twin that freezes for every harness kernel whose function reaches a declared derivative."""
    functions = {f.key: f for f in module.functions}
    declaring = {f.key: _declared_at(f, functions) for f in module.functions if _declares(f, functions)}
    touched = reaching(functions, set(declaring))
    clipping = reaching(functions, {f.key for f in module.functions if isinstance(f.derivative, ir.ClipGradient)})
    kernels = [k for k in module.kernels if k.function in touched and not k.function.startswith(LAUNCHED)]
    clipped = frozenset(kernel.name for kernel in module.kernels if kernel.function in clipping)
    if not kernels:
        return TwinModule(module, {}, clipped)
    maker = _Freezer(functions, touched)
    frozen = [maker.frozen(functions[key]) for key in functions if key in touched and not key.startswith(LAUNCHED)]
    twins = [
        (None, _frozen_launch(kernel, maker))
        if is_launch(kernel)
        else _frozen_kernel(functions[kernel.function], kernel, maker)
        for kernel in kernels
    ]
    added = (*maker.helpers(), *frozen, *(function for function, _ in twins if function is not None))
    return TwinModule(
        replace(
            module,
            functions=(*module.functions, *added),
            kernels=(*module.kernels, *(twin for _, twin in twins)),
        ),
        {kernel.name: twin.name for kernel, (_, twin) in zip(kernels, twins, strict=True)},
        clipped,
        declaring={
            kernel.name: tuple(span for key, span in declaring.items() if kernel.function in reaching(functions, {key}))
            for kernel in kernels
        },
    )


def new_state(*rows: int) -> npt.NDArray[np.int32]:
    """Return the second buffer of the twins before a run, or one for each row."""
    return np.zeros((*rows, 3), np.int32)


def has_frozen_twins(module: ir.Module) -> bool:
    """Return True if the text of a module needs the prelude."""
    return any(function.key == _RECORD for function in module.functions)


def reaching(functions: Mapping[str, ir.Function], start: set[str]) -> set[str]:
    """Return the keys of these functions and of all that call them or have them as surrogate, without derivatives."""
    plain = {key: function for key, function in functions.items() if function.role is ir.Role.PLAIN}
    return callers(plain, start & plain.keys(), lambda function: (*value_callees(function), *surrogates(function)))


def _declares(function: ir.Function, functions: dict[str, ir.Function]) -> bool:
    if function.role is not ir.Role.PLAIN or not isinstance(function.body, tuple):
        return False
    if not isinstance(function.derivative, (ir.Automatic, ir.Custom)):
        return True
    if isinstance(function.derivative, ir.Custom):
        return False
    varies = _Varying(function)
    return any(_cuts(e, functions, varies) for e in body_exprs(function.body)) or any(
        _cuts_store(stmt, varies) for stmt in walk_stmts(function.body)
    )


def _declared_at(function: ir.Function, functions: dict[str, ir.Function]) -> Span:
    """Return the location of the first declared part of a function; its own if the function is declared."""
    varies = _Varying(function)
    cuts = (e.span for e in body_exprs(statements(function)) if _cuts(e, functions, varies))
    return next((span for span in cuts if span.file), function.span)


class _Varying:
    """The values in one function that may change while its differentiable parameters move."""

    def __init__(self, function: ir.Function) -> None:
        self._names = {p.name for p in function.params if types.carries_gradient(p.type) and not p.no_diff}
        stmts = list(walk_stmts(statements(function)))
        conditions = [expr for stmt in stmts if blocks(stmt) for expr in stmt_exprs(stmt)]
        stores = [
            (name, stmt)
            for stmt in stmts
            if isinstance(stmt, (ir.Let, ir.Assign))
            if (name := stmt if isinstance(stmt, ir.Let) else root(stmt.target)) is not None
        ]
        while new := {to.name for to, stmt in stores if any(map(self, (*stmt_exprs(stmt), *conditions)))} - self._names:
            self._names |= new

    def __call__(self, expr: ir.Expr) -> bool:
        """Return True if the value of an expression may change."""
        return any(
            isinstance(e, (ir.Read, ir.Sample, ir.Linear)) or (isinstance(e, ir.Var) and e.name in self._names)
            for e in walk(expr)
        )


def _cuts(expr: ir.Expr, functions: dict[str, ir.Function], varies: _Varying) -> bool:
    """Return True if an expression ends the gradient of a value that changes."""
    match expr:
        case ir.NoDiff(value=value):
            return types.carries_gradient(expr.type) and varies(value)
        case ir.Call(args=args):
            params = functions[expr.function].params
            return any(_passive(p) and varies(a) for p, a in zip(params, args, strict=True))
        case ir.Construct(args=args, type=types.Struct(fields=fields)):
            if len(args) != len(fields):
                return any(map(_passive, fields))
            return any(_passive(f) and varies(a) for f, a in zip(fields, args, strict=True))
        case _:
            return False


def _passive(part_: object) -> bool:
    return bool(getattr(part_, "no_diff", False)) and types.carries_gradient(part_.type)  # type: ignore[attr-defined]  # Param or Field


def _cuts_store(stmt: ir.Stmt, varies: _Varying) -> bool:
    return isinstance(stmt, ir.Assign) and _into_passive(stmt.target) and varies(stmt.value)


def _into_passive(target: ir.Expr) -> bool:
    if isinstance(target, ir.Member) and isinstance(target.value.type, types.Struct):
        return any(f.name == target.name and _passive(f) for f in target.value.type.fields)
    return False


class _Freezer:
    """Makes twins of functions that freeze, and the helpers that they call."""

    def __init__(self, functions: dict[str, ir.Function], touched: set[str]) -> None:
        self._functions = functions
        self._touched = touched
        self._types: dict[str, types.Type] = {}

    def key(self, key: str) -> str:
        """Return the key of a function's twin, or its own key if it needs no twin."""
        return f"frozen {key}" if key in self._touched else key

    def frozen(self, function: ir.Function) -> ir.Function:
        """Return the twin of a function."""
        return replace(
            function,
            key=self.key(function.key),
            name=f"{function.name}_frozen",
            body=tuple(self._body(function)),
            differentiable=False,
            derivative=ir.Automatic(),
            prefer="",
            doc=(),
            ranges=(),
        )

    def helpers(self) -> Iterator[ir.Function]:
        """Yield the helpers that twins call."""
        for key, value in ((_RECORD, "0"), (_REPLAY, "1")):
            text = f"{STATE}[0] = 0;\n{STATE}[1] = {value};\nreturn 0;"
            yield ir.Function(key, key.replace(":", "_"), (), types.INT, ir.SlangBody(text), differentiable=False)
        for key, type_ in self._types.items():
            lines = [f"v{_way(leaf.path)} = {_thawed(leaf.type, f'v{_way(leaf.path)}')};" for leaf in _floating(type_)]
            text = "\n".join([*lines, "return v;"])
            name = f"check_freeze_{len(key)}"
            yield ir.Function(key, name, (ir.Param("v", type_),), type_, ir.SlangBody(text), differentiable=False)

    def freeze(self, expr: ir.Expr) -> ir.Expr:
        """Return the value of an expression at the sample."""
        if isinstance(expr, ir.Const) or not any(_floating(expr.type)):
            return expr
        key = f"freeze {types.show(expr.type)}"
        self._types[key] = expr.type
        return ir.Call(key, (expr,), expr.type, expr.span)

    def _body(self, function: ir.Function) -> Iterable[ir.Stmt]:
        match policy := policy_of(function):
            case ir.Automatic() | ir.Custom():
                return self._statements(statements(function))
            case ir.Surrogate():
                soft = ir.Call(self.key(policy.function), self._values(function), function.result)
                return (ir.Return(add(self._fixed(function), subtract(soft, self.freeze(soft)))),)
            case ir.StraightThrough():
                value = next(
                    ir.Var(p.name, p.type) for p in function.params if p.type == function.result and not p.no_diff
                )
                return (ir.Return(add(self.freeze(subtract(self._plain(function), value)), value)),)
            case ir.Subgradient():
                return self._chosen(function, policy)
            case ir.FiniteDifference():
                return self._differences(function, policy)
            case _:
                assert_never(policy)

    def _statements(self, body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
        stored = tuple(_map_stores(body, self.freeze))
        return map_body_exprs(stored, lambda expr: rewrite(expr, self._expr))

    def _expr(self, expr: ir.Expr) -> ir.Expr:
        match expr:
            case ir.NoDiff(value=value):
                return self.freeze(value)
            case ir.Call(function=key, args=args) if key in self._functions:
                params = self._functions[key].params
                kept = tuple(self.freeze(a) if _passive(p) else a for p, a in zip(params, args, strict=True))
                return replace(expr, function=self.key(key), args=kept)
            case ir.Construct(args=args, type=types.Struct(fields=fields)) if len(args) == len(fields):
                kept = tuple(self.freeze(a) if _passive(f) else a for f, a in zip(fields, args, strict=True))
                return replace(expr, args=kept)
            case _:
                return expr

    def _chosen(self, function: ir.Function, policy: ir.Subgradient) -> Iterable[ir.Stmt]:
        value = next(
            ir.Var(p.name, p.type) for p in function.params if types.carries_gradient(p.type) and not p.no_diff
        )
        here = self.freeze(value)
        moved = multiply(number(policy.value, value.type), subtract(value, here))
        at = ir.Binary("==", ir.Var("here", value.type), number(policy.at, value.type), types.BOOL)
        return (
            ir.Let("here", value.type, here),
            ir.If(at, (ir.Return(add(self._fixed(function), moved)),), ()),
            *self._statements(statements(function)),
        )

    def _differences(self, function: ir.Function, policy: ir.FiniteDifference) -> Iterable[ir.Stmt]:
        total: ir.Expr = self._fixed(function)
        body: list[ir.Stmt] = []
        for param in function.params:
            if param.no_diff:
                continue
            for leaf in _floating(param.type):
                body += self._one_difference(function, policy, param, leaf.path, len(body))
                slope = ir.Var(f"slope_{len(body) - 1}", function.result)
                value = _at(ir.Var(param.name, param.type), leaf.path)
                total = add(total, multiply(slope, subtract(value, self.freeze(value))))
        return (*body, ir.Return(total))

    def _one_difference(
        self,
        function: ir.Function,
        policy: ir.FiniteDifference,
        param: ir.Param,
        path: tuple[str | int, ...],
        number_: int,
    ) -> Iterator[ir.Stmt]:
        value = ir.Var(param.name, param.type)
        scalar = _at(value, path)
        step: ir.Expr = number(policy.step, scalar.type)
        if policy.relative:
            step = multiply(step, call("max", scalar.type, number(1.0, scalar.type), call("abs", scalar.type, scalar)))
        up, down = (ir.Var(f"{side}_{number_}", param.type) for side in ("up", "down"))
        for side, moved in ((up, add(scalar, step)), (down, subtract(scalar, step))):
            yield ir.Let(side.name, side.type, value)
            yield ir.Assign(_at(side, path), moved)
        high, low = (
            ir.Call(
                function.key,
                tuple(side if p is param else ir.Var(p.name, p.type) for p in function.params),
                function.result,
            )
            for side in (up, down)
        )
        slope = divide(subtract(high, low), subtract(_at(up, path), _at(down, path)))
        yield ir.Let(f"slope_{number_ + 4}", function.result, self.freeze(slope))

    def _values(self, function: ir.Function) -> tuple[ir.Expr, ...]:
        return tuple(ir.Var(p.name, p.type) for p in function.params)

    def _plain(self, function: ir.Function) -> ir.Expr:
        return ir.Call(function.key, self._values(function), function.result)

    def _fixed(self, function: ir.Function) -> ir.Expr:
        return self.freeze(self._plain(function))


def _map_stores(body: tuple[ir.Stmt, ...], freeze: Callable[[ir.Expr], ir.Expr]) -> Iterator[ir.Stmt]:
    for stmt in body:
        if isinstance(stmt, ir.Assign) and _into_passive(stmt.target):
            yield replace(stmt, value=freeze(stmt.value))
        else:
            yield map_blocks(stmt, lambda block: tuple(_map_stores(block, freeze)))


def _frozen_launch(kernel: ir.Kernel, maker: _Freezer) -> ir.Kernel:
    """Return the kernel with frozen parts. It runs at the sample and then at the moved point."""
    key = maker.key(kernel.function)
    return replace(kernel, name=f"oracle_{kernel.name}", function=key, modes=("forward",))


def _frozen_kernel(function: ir.Function, kernel: ir.Kernel, maker: _Freezer) -> tuple[ir.Function, ir.Kernel]:
    """Return a function of the sample and the moved point, and its kernel."""
    base = tuple(replace(p, name=f"{BASE}{p.name}", no_diff=False) for p in function.params)
    moved = tuple(replace(p, no_diff=False) for p in function.params)
    key, twin = f"oracle {function.key}", maker.key(function.key)
    body = (
        ir.Let("recorded", types.INT, ir.Call(_RECORD, (), types.INT)),
        ir.Let("here", function.result, ir.Call(twin, tuple(ir.Var(p.name, p.type) for p in base), function.result)),
        ir.Let("replayed", types.INT, ir.Call(_REPLAY, (), types.INT)),
        ir.Return(ir.Call(twin, tuple(ir.Var(p.name, p.type) for p in moved), function.result)),
    )
    made = ir.Function(key, f"oracle_{function.name}", (*base, *moved), function.result, body, differentiable=False)
    params = tuple(ir.KernelParam(p.name, ir.Memory.EACH, p.type) for p in (*base, *moved))
    return made, ir.Kernel(f"oracle_{kernel.name}", key, params, kernel.results, modes=("forward",))


def _floating(type_: types.Type) -> list[types.Leaf]:
    return [leaf for leaf in types.leaves(type_) if leaf.type.name in ("half", "float", "double")]


def _way(path: tuple[str | int, ...]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)


def _thawed(scalar: types.Scalar, way: str) -> str:
    return f"check_freeze({way})" if scalar.name == "float" else f"{scalar.name}(check_freeze(float({way})))"


def _at(value: ir.Expr, path: tuple[str | int, ...]) -> ir.Expr:
    for step in path:
        value = part(value, step)
    return value
