"""Let loops in loops add to the gradients of arrays where they lie, and not return whole arrays that are added up.

    void outer_bwd(…)                                  void outer_bwd(…)
        for i:                                             for i:
            gradients = step_gradient(x, …, d_out)   ->        d_out = step_add(x, …, d_out, d_x)      // inout d_x
            d_out = gradients.state
            for k: d_x[k] += gradients.x[k]

``step_add`` is reverse mode of an iteration, which calls ``inner_add`` where the iteration runs another loop: that is
``inner_bwd`` with the caller's arrays in place of zeros. So a nest of any depth adds to elements only.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.build import Fresh, accumulate, fresh_keys, part, zero
from slangad.compiler.ir.types import Array, Struct, is_floating
from slangad.compiler.ir.verify.module import gets_gradient
from slangad.compiler.ir.walk import body_exprs, map_blocks, map_stmt_exprs, rewrite, root, statements
from slangad.compiler.passes.derivatives.written_backward import Adder, result_of, written_adding
from slangad.compiler.passes.lower_tuples import lower_tuples

if TYPE_CHECKING:
    from slangad.compiler.ir.build import Block
    from slangad.compiler.ir.types import Type


def add_in_place(module: ir.Module) -> ir.Module:
    """Return the module with such functions, where loops call loops and give them arrays."""
    functions = {f.key: f for f in module.functions}
    keys, adders = fresh_keys(module), dict[str, Adder]()
    ordered: list[ir.Function] = []
    for function in module.functions:
        step = functions.get(f"{function.key.removesuffix(' backward')} step")
        if function.role is not ir.Role.BACKWARD or not function.key.endswith(" backward") or step is None:
            ordered.append(function)
            continue
        backward = function
        if (adding := written_adding(step, functions, keys, adders)) is not None:
            ordered.append(adding.function)
            backward = replace(function, body=_Calls(function, step, adding).block(statements(function)))
        ordered.append(backward)
        if (of_loop := _adding_loop(backward, keys)) is not None:
            adders[function.of] = of_loop
            ordered.append(of_loop.function)
    called = {e.function for f in ordered for e in body_exprs(statements(f)) if isinstance(e, ir.Call)}
    own = {a.function.key for a in adders.values()}
    kept = tuple(f for f in ordered if f.key not in own or f.key in called)
    if len(kept) == len(module.functions):
        return module
    results = dict.fromkeys(f.result for f in kept if isinstance(f.result, Struct) and f.result.key.endswith(" added"))
    made = tuple(map(ir.StructDef, results))
    return lower_tuples(_without_unused(replace(module, functions=kept, structs=(*module.structs, *made)), module))


def _without_unused(module: ir.Module, before: ir.Module) -> ir.Module:
    """Return the module without structs of gradients that nothing returns any more."""
    gone = _gradients_in(before) - _gradients_in(module)
    return replace(module, structs=tuple(s for s in module.structs if s.struct not in gone))


def _gradients_in(module: ir.Module) -> set[Type]:
    exprs = (e for f in module.functions for e in body_exprs(statements(f)))
    return {e.type for e in exprs if isinstance(e, ir.BackwardCall)}


def _is_array(type_: Type) -> bool:
    """Return True for arrays of floats and of vectors of floats, in arrays too."""
    inside = type_
    while isinstance(inside, Array):
        inside = inside.element
    return inside != type_ and is_floating(inside)


def _adding_loop(backward: ir.Function, keys: Fresh) -> Adder | None:
    """Return the function that adds to a caller's arrays what the backward function of a loop adds to zeros."""
    *body, last = statements(backward)
    flowing = [p for p in backward.params[:-1] if gets_gradient(p)]
    if not isinstance(last, ir.Return) or not isinstance(last.value, ir.Construct) or len(flowing) < 2:
        return None
    found = dict(zip((p.name for p in flowing), last.value.args, strict=True))
    begun = {s.target for s in body if isinstance(s, ir.Assign) and s.value == zero(s.target.type)}
    arrays = {name: g for name, g in found.items() if isinstance(g, ir.Var) and g in begun and _is_array(g.type)}
    others = [p for p in flowing if p.name not in arrays]
    if not arrays or not others:
        return None
    values = tuple(found[p.name] for p in others)
    result = result_of(f"{backward.key} added", backward.name.removesuffix("_bwd"), others)
    value = values[0] if len(values) == 1 else ir.Construct(values, result)
    own = tuple(s for s in body if not (isinstance(s, ir.Assign) and s.target in arrays.values() and s.target in begun
                                        and s.value == zero(s.target.type)))  # fmt: skip
    params = (*backward.params, *(ir.Param(g.name, g.type, direction="inout") for g in arrays.values()))
    made = replace(
        backward, key=keys.name(f"{backward.key} adding"), name=f"{backward.name.removesuffix('_bwd')}_add",
        params=tuple(replace(p, no_diff=False) for p in params), result=result, body=(*own, ir.Return(value)),
        role=ir.Role.PLAIN, of="", doc=("The same, which adds the gradients of arrays to those of its caller.",),
    )  # fmt: skip
    return Adder(made, tuple(arrays))


class _Calls:
    """Replaces the calls of an iteration's reverse mode in the backward function of its loop."""

    def __init__(self, backward: ir.Function, step: ir.Function, adding: Adder) -> None:
        body = statements(backward)
        self._names = Fresh(
            {p.name for p in backward.params} | {e.name for e in body_exprs(body) if isinstance(e, ir.Var)}
        )
        self._flowing = [p for p in step.params if gets_gradient(p)]
        self._step, self._adding = step, adding
        self._totals = {
            s.target.name for s in body if isinstance(s, ir.Assign) and isinstance(s.target, ir.Var)
            if s.value == zero(s.target.type) and _is_array(s.target.type)
        }  # fmt: skip

    def block(self, body: Block) -> Block:
        """Return statements with other calls."""
        made: list[ir.Stmt] = []
        rest = [map_blocks(stmt, self.block) for stmt in body]
        while rest:
            stmt = rest.pop(0)
            match stmt:
                case ir.Assign(ir.Var() as held, ir.BackwardCall(key) as call) if key == self._step.key:
                    count = max((n + 1 for n, s in enumerate(rest) if _reads(s, held)), default=0)
                    made += self._changed(held, call, rest[:count])
                    del rest[:count]
                case _:
                    made.append(stmt)
        return tuple(made)

    def _changed(self, held: ir.Var, call: ir.BackwardCall, after: list[ir.Stmt]) -> Block:
        """Return the call that adds to arrays, and what is left of the statements that read the gradients."""
        assert isinstance(held.type, Struct)  # noqa: S101  (lower_tuples has run, and there are several)
        fields = dict(zip((p.name for p in self._flowing), held.type.fields, strict=True))
        parts = {name: ir.Member(held, f.name, f.type) for name, f in fields.items()}
        added = {n: pair for n, s in enumerate(after) if (pair := _added(s)) is not None}
        before: list[ir.Stmt] = []
        totals: list[ir.Expr] = []
        later: list[ir.Stmt] = []
        direct: set[int] = set()
        for name in self._adding.arrays:
            at = next((n for n, (_, value) in added.items() if value == parts[name]), None)
            total = added[at][0] if at is not None else None
            base = root(total) if total is not None else None
            if total is not None and base is not None and base.name in self._totals and not _shares(total, totals):
                totals.append(total)
            else:
                local = self._names.var(f"d_{name}", parts[name].type)
                before.append(ir.Assign(local, zero(local.type)))
                totals.append(local)
                later += () if total is None else accumulate(total, local, self._names)
            direct |= set() if at is None else {at}
        others = [p.name for p in self._flowing if p.name not in self._adding.arrays]
        result = self._adding.function.result
        again = self._names.var(held.name, result)
        values = {parts[n]: again if len(others) == 1 else part(again, n) for n in others}
        left = tuple(
            map_stmt_exprs(s, lambda e: rewrite(e, lambda x: values.get(x, x)))  # type: ignore[arg-type]
            for n, s in enumerate(after)
            if n not in direct
        )
        if any(_reads(stmt, held) for stmt in left):
            return (ir.Assign(held, call), *after)
        run = ir.Assign(again, ir.Call(self._adding.function.key, (*call.args, *totals), result))
        return (*before, run, *left, *later)


def _reads(stmt: ir.Stmt, var: ir.Var) -> bool:
    return any(e == var for e in body_exprs((stmt,)))


def _shares(total: ir.Expr, others: list[ir.Expr]) -> bool:
    """Return True if an array may be a part of others that a call adds to."""
    return any(root(total) == root(other) for other in others)


def _added(stmt: ir.Stmt) -> tuple[ir.Expr, ir.Expr] | None:
    """Return what a statement adds to, and what it adds: those of ``accumulate``, also over the entries of arrays."""
    match stmt:
        case ir.Assign(target, ir.Binary("+", left, right)) if target == left:
            return target, right
        case ir.For(variable=name, body=(inner,)):
            match _added(inner):
                case (ir.Index(total, ir.Var(one)), ir.Index(value, ir.Var(other))) if one == other == name:
                    return total, value
                case _:
                    return None
        case _:
            return None
