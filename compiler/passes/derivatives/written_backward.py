"""Write the reverse mode of a short function as a function of its own, by source transformation.

    fn f(x, y) { p = x * exp(y)             fn f_bwd(x, y, d_out) { exp_y = exp(y)
                 return min(p, 2.0) }  ->                           p = x * exp_y
                                                                    d_p = p < 2.0 ? d_out : p == 2.0 ? 0.5 * d_out : 0.0
                                                                    return d_p * exp_y, d_p * p }

Slang's own adds zeros to each cotangent and finds values again that reverse mode shares with the primal. The function
has what reverse mode needs of the primal first, then the cotangents, last statement first. A cotangent begins with its
first term. Nothing is computed twice. Loops and reads of memory are left to Slang.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import TYPE_CHECKING, Final

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.build import Fresh, part, zero
from slangad.compiler.ir.gradient_flow import Carrying, stops_gradient
from slangad.compiler.ir.types import BOOL, Array, Field, Matrix, Struct, Tensor, Texture, Tuple, Vector, is_scalar
from slangad.compiler.ir.verify.module import gets_gradient, gradient_type
from slangad.compiler.ir.walk import body_exprs, map_body_exprs, map_children, rewrite, root, statements
from slangad.compiler.passes.derivatives.cotangents import (
    Cotangents,
    Term,
    construct,
    flowing,
    part_of,
    plus,
)
from slangad.compiler.passes.derivatives.early_returns import with_one_return
from slangad.compiler.passes.derivatives.maker import Maker, gradients
from slangad.compiler.passes.derivatives.partials import composed_value, folded
from slangad.compiler.passes.derivatives.shorten import shorten
from slangad.compiler.passes.derivatives.single_assignment import (
    NotWrittenError,
    SingleAssignment,
    component,
    refuse,
    steps_of,
)
from slangad.compiler.passes.derivatives.transposes import Transposes, has_transpose
from slangad.compiler.passes.store_whole_values import fresh_locals

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from slangad.compiler.errors.spans import Span
    from slangad.compiler.ir.build import Block
    from slangad.compiler.ir.types import Type
    from slangad.compiler.passes.derivatives.cotangents import Path

    _Side = tuple[Block, dict[ir.Expr, ir.Expr]]


def written_backward(function: ir.Function, functions: Mapping[str, ir.Function], keys: Fresh) -> ir.Function | None:
    """Return a function for ``ir.Custom`` that gives the gradients of Slang's reverse mode; None if Slang has to.

    If it calls the gradients of functions with several of them, these are tuples: ``lower_tuples`` has to follow.

    Args:
        function: A function without a derivative policy, after the passes that lower these.
        functions: The functions of the module by key.
        keys: Makes the key of the new function.
    """
    joined = with_one_return(function)
    if joined is None:
        return None
    maker = Maker(joined, keys)
    memories = any(isinstance(p.type, (Tensor, Texture)) or p.direction != "in" for p in function.params)
    if function.derivative != ir.Automatic() or not maker.active or memories:
        return None
    try:
        body = _Writer(maker, functions).body()
    except NotWrittenError:
        return None
    return maker.backward_function(body)


@dataclass(frozen=True, slots=True)
class Adder:
    """A function that returns the gradients of reverse mode, except those of arrays, which it adds to inout parameters.

    Attributes:
        function: It takes the values, the cotangent of the result, then the arrays. It returns a struct of the
            gradients, by the names of the parameters, or the only one.
        arrays: The names of the parameters of the differentiated function that these belong to.
    """

    function: ir.Function
    arrays: tuple[str, ...]


def written_adding(
    function: ir.Function, functions: Mapping[str, ir.Function], keys: Fresh, adders: Mapping[str, Adder]
) -> Adder | None:
    """Return reverse mode of an iteration that adds to arrays; None if it calls none of ``adders``, or Slang has to.

    Its first parameter is the state, whose gradient it returns.
    """
    called = {e.function for e in body_exprs(statements(function)) if isinstance(e, ir.Call)}
    joined = with_one_return(function)
    if joined is None or not called & adders.keys() or function.derivative != ir.Automatic():
        return None
    maker = Maker(joined, keys)
    arrays = [p for p in maker.active if isinstance(p.type, Array) and p is not joined.params[0]]
    others = tuple(p for p in maker.active if p not in arrays)
    if not arrays or not others:
        return None
    names = fresh_locals(joined, statements(joined))
    names.taken.add(maker.seed.name)
    totals = {p.name: names.var(f"d_{p.name}", p.type) for p in arrays}
    result = result_of(f"{function.key} added", function.name, others)
    try:
        body = _Writer(maker, functions, adders, totals).body(result)
    except NotWrittenError:
        return None
    seed = ir.Param(maker.seed.name, function.result)
    added = (ir.Param(total.name, total.type, direction="inout") for total in totals.values())
    made = ir.Function(
        keys.name(f"{function.key} adding"), f"{function.name}_add",
        (*(replace(p, no_diff=False) for p in function.params), seed, *added), result, body,
        differentiable=False, span=function.span, reads=function.reads,
        doc=(f"Reverse mode of {function.name}, which adds the gradients of arrays to those of its caller.",),
    )  # fmt: skip
    return Adder(made, tuple(totals))


def result_of(key: str, name: str, others: Collection[ir.Param]) -> Type:
    """Return the type of the gradients that an adder returns."""
    if len(others) == 1:
        return next(iter(others)).type
    title = "".join(word[:1].upper() + word[1:] for word in name.rsplit(".", 1)[-1].split("_"))
    return Struct(key, f"{title}Gradient", tuple(Field(p.name, p.type) for p in others))


_HINTS: Final = {"+": "sum", "-": "difference", "*": "product", "/": "quotient"}
_ARITHMETIC: Final = frozenset("+-*/")
"""Operators that may have a scalar beside a vector."""


class _Writer:
    """The statements of a backward function so far."""

    def __init__(
        self,
        maker: Maker,
        functions: Mapping[str, ir.Function],
        adders: Mapping[str, Adder] | None = None,
        totals: Mapping[str, ir.Var] | None = None,
    ) -> None:
        self.maker, self.functions = maker, functions
        self.adders, self.totals = adders or {}, totals or {}
        self.running: set[str] = set()
        function = maker.function
        before, value = SingleAssignment(function, Carrying(function, functions), maker.seed.name).body()
        self.primal = (*before, ir.Assign(ir.Var("result#", function.result), value, _last_span(function)))
        self.carrying = Carrying(replace(function, body=self.primal), functions)
        self.cotangents = Cotangents(self.bind)
        self.transposes = Transposes(self.carrying.carries, self.value, self.cotangent_of)
        self.code: list[ir.Stmt] = []
        self.span: Span = function.span
        self.locals: dict[str, ir.Var] = {p.name: ir.Var(p.name, p.type) for p in function.params}
        self.values: dict[str, ir.Expr] = {}
        self.known: dict[ir.Expr, ir.Expr] = {}
        self.sides: dict[int, list[dict[ir.Expr, ir.Expr]]] = {}
        self.temporary: set[str] = set()

    def body(self, result: Type | None = None) -> Block:
        """Return the body: the primal, then reverse mode. ``result`` is the type of the gradients, if not a tuple."""
        self._forward(self.primal)
        self.cotangents.add(self.locals["result#"], Term(self.maker.seed))
        self._reverse(tuple(self.code))
        for name, total in self.totals.items():
            self._add_to(total, self.cotangents.take(self.locals[name], total.name, keep=True))
        flowing = (p for p in self.maker.active if p.name not in self.totals)
        values = [self._cotangent(self.locals[p.name], keep=True) for p in flowing]
        names = [*(p.name for p in self.maker.function.params), self.maker.seed.name]
        names += [total.name for total in self.totals.values()]
        last = gradients(values)
        if len(values) > 1 and result is not None:
            last = ir.Return(ir.Construct(tuple(values), result))
        code = map_body_exprs((*self.code, last), _without_no_diff)
        return shorten(code, names, self.temporary, self.running)

    def _add_to(self, total: ir.Var, found: Mapping[Path, Term]) -> None:
        """Write the additions of a function's own terms to an array of its caller."""
        for path, term in found.items():
            if not path:
                refuse("it adds a whole array")
            target = _at(total, path)
            self.code.append(ir.Assign(target, plus(target, term), self.span))

    def _cotangent(self, var: ir.Var, *, keep: bool) -> ir.Expr:
        """Return the cotangent of a local as one value."""
        return _assembled(self.cotangents.take(var, _hint_of_cotangent(var), keep=keep), var.type)

    # --- values ---

    def bind(self, value: ir.Expr, hint: str, *, keep: bool) -> ir.Expr:
        """Return a local with a value, one of before if possible; a short value itself."""
        if _is_short(value):
            return value
        if value not in self.known:
            var = self._new(hint, value.type)
            if not keep:
                self.temporary.add(var.name)
            self._set(var, value)
        return self.known[value]

    def cotangent_of(self, value: ir.Expr, operand: ir.Expr) -> ir.Expr:
        """Return a local with a term of the cotangent of an operand, which has other uses too."""
        of = root(operand)
        return self.bind(value, "d_value" if of is None else _hint_of_cotangent(of), keep=False)

    def _new(self, hint: str, type_: Type) -> ir.Var:
        """Return a new local, whose name is no version of a user's."""
        var = ir.Var(f"{hint}#new{len(self.locals)}", type_)
        self.locals[var.name] = var
        return var

    def _set(self, var: ir.Var, value: ir.Expr) -> None:
        self.code.append(ir.Assign(var, value, self.span))
        self.locals[var.name] = var
        self.values[var.name] = value
        if not _is_short(value):
            self.known.setdefault(value, var)
        if self.carrying.carries(value):
            self.carrying.mark(var.name)

    def value(self, expr: ir.Expr) -> ir.Expr:
        """Return a value as a local, a part of one, or a number; its operands, too."""
        flat = self._flat(expr)
        return self.bind(flat, _hint(flat, self.functions), keep=False)

    def _flat(self, expr: ir.Expr) -> ir.Expr:
        """Return an operation on locals, parts of locals, and numbers."""
        match expr:
            case ir.NoDiff(value):
                return replace(expr, value=self.value(value))
            case ir.Call(function=key) if self.functions[key].reads:
                refuse("it calls a function that reads memory")
            case ir.Intrinsic() if (nested := folded(expr)) != expr:
                return self._flat(nested)
            case ir.Binary("&&" | "||", left):
                return replace(expr, left=self.value(left), right=rewrite(expr.right, _folded_numbers))
            case ir.Ternary(condition) if not self.carrying.carries(expr):
                sides = rewrite(expr.then, _folded_numbers), rewrite(expr.other, _folded_numbers)
                return _folded_numbers(replace(expr, condition=self.value(condition), then=sides[0], other=sides[1]))
            case ir.Binary(op, left, right) if op in _ARITHMETIC and isinstance(expr.type, Vector):
                a, b = _unspread(left), _unspread(right)
                both = is_scalar(a.type) and is_scalar(b.type)
                return replace(expr, left=self.value(left if both else a), right=self.value(b))
            case _:
                return self._part(_folded_numbers(map_children(expr, self.value)))

    def _part(self, expr: ir.Expr) -> ir.Expr:
        """Return the part of a value that lists its parts, if the user gave the value no name."""
        match expr:
            case ir.Member(ir.Var(name) as var, step):
                pass
            case ir.Swizzle(ir.Var(name) as var, letters) if len(letters) == 1:
                step = "xyzw".index(letters)
            case ir.Index(ir.Var(name) as var, ir.Const(step)) if not isinstance(var.type, Matrix):
                step = int(step)
            case _:
                return expr
        value = self.values.get(name)
        if isinstance(value, ir.Construct) and ("#" in name or not isinstance(var.type, Vector)):
            found = part_of(value, step)
            return expr if isinstance(found, (ir.Member, ir.Swizzle, ir.Index)) and found.value == value else found
        return expr

    # --- the primal ---

    def _forward(self, body: Block) -> None:
        for stmt in body:
            self.span = stmt.span
            match stmt:
                case ir.Assign(ir.Var() as var, value):
                    flat = self._flat(value)
                    self._set(var, self.known.get(flat, flat))
                case ir.If(condition, then, other):
                    held = self.value(condition)
                    sides = [self._side(partial(self._forward, block)) for block in (then, other)]
                    made = ir.If(held, sides[0][0], sides[1][0], stmt.span)
                    self.sides[id(made)] = [known for _, known in sides]
                    self.code.append(made)
                case _:
                    refuse(f"it has a {type(stmt).__name__}")

    def _side(self, write: Callable[[], None], known: Mapping[ir.Expr, ir.Expr] | None = None) -> _Side:
        """Return the statements that a call writes, and the values that are known there; ``known`` are more of them."""
        code, outer = self.code, self.known
        self.code, self.known = [], {**outer, **(known or {})}
        write()
        made = tuple(self.code), self.known
        self.code, self.known = code, outer
        return made

    # --- reverse mode ---

    def _reverse(self, body: Block) -> None:
        for stmt in reversed(body):
            self.span = stmt.span
            match stmt:
                case ir.Assign(ir.Var() as var, value):
                    self._pull(var, value)
                case ir.If():
                    self._pull_branch(stmt)
                case _:
                    refuse(f"it has a {type(stmt).__name__}")

    def _pull(self, var: ir.Var, value: ir.Expr) -> None:
        """Take the cotangent of a local, and add its parts to the cotangents of the operands of its value."""
        found = self.cotangents.take(var, _hint_of_cotangent(var), keep=var.name not in self.temporary)
        if not found:
            return
        if isinstance(value, ir.Call):
            self._pull_call(value, _assembled(found, var.type))
            return
        for path, term in found.items():
            self._pull_part(value, path, term)

    def _pull_part(self, value: ir.Expr, path: Path, d: Term) -> None:
        if not self.carrying.carries(value):
            return
        if not path:
            self._pull_value(value, d)
        elif isinstance(value, ir.Construct):
            if value.args:
                self._pull_part(part_of(value, path[0]), path[1:], d)
        elif _is_short(value):
            self._pull_part(component(value, path[0]), path[1:], d)
        else:
            refuse("it computes a struct or an array in one expression")

    def _pull_value(self, value: ir.Expr, d: Term) -> None:
        if isinstance(value, ir.Intrinsic) and not has_transpose(value):
            self._pull_composed(composed_value(value), d)
            return
        for operand, term in self.transposes.of(value, d):
            if self.carrying.carries(operand):
                self.cotangents.add(operand, term)

    def _pull_composed(self, composed: ir.Expr, d: Term) -> None:
        """Write the definition of an intrinsic, then its reverse mode. Nothing that is known counts: it may be past."""
        first, known, self.known = len(self.code), self.known, {}
        value = self.value(composed)
        made = tuple(self.code[first:])
        self.known = known
        self.cotangents.add(value, d)
        self._reverse(made)

    def _pull_call(self, call: ir.Call, seed: ir.Expr) -> None:
        callee = self.functions[call.function]
        active = [(p, arg) for p, arg in zip(callee.params, call.args, strict=True) if gets_gradient(p)]
        if stops_gradient(callee) or not any(self.carrying.carries(arg) for _, arg in active):
            return
        if isinstance(callee.body, ir.External):
            refuse("it calls a function of a Slang file")
        if callee.key in self.adders:
            self._pull_adder(self.adders[callee.key], call, active, seed)
            return
        type_ = self._gradient_type(callee)
        held = self.bind(ir.BackwardCall(callee.key, (*call.args, seed), type_), "gradients", keep=False)
        for number, (_, arg) in enumerate(active):
            if len(active) == 1:
                gradient = held
            elif isinstance(type_, Struct):
                gradient = part(held, type_.fields[number].name)
            else:
                gradient = part(held, number)
            if self.carrying.carries(arg):
                self.cotangents.add(arg, Term(gradient))

    def _pull_adder(
        self, adder: Adder, call: ir.Call, active: list[tuple[ir.Param, ir.Expr]], seed: ir.Expr
    ) -> None:
        """Call a function that adds to arrays: those of the caller, or zeros."""
        arrays: list[ir.Expr] = []
        begun: list[tuple[ir.Expr, ir.Expr]] = []
        for param, arg in active:
            if param.name not in adder.arrays:
                continue
            if isinstance(arg, ir.Var) and arg.name in self.totals and self.totals[arg.name] not in arrays:
                arrays.append(self.totals[arg.name])
                continue
            local = self._new(f"d_{param.name}", param.type)
            self.code.append(ir.Assign(local, zero(param.type), self.span))
            arrays.append(local)
            begun.append((arg, local))
        held = self._new("gradients", adder.function.result)
        run = ir.Call(adder.function.key, (*call.args, seed, *arrays), held.type)
        self.code.append(ir.Assign(held, run, self.span))
        self.running.add(held.name)
        others = [(param, arg) for param, arg in active if param.name not in adder.arrays]
        begun += ((arg, held if len(others) == 1 else part(held, param.name)) for param, arg in others)
        for arg, gradient in begun:
            if self.carrying.carries(arg):
                self.cotangents.add(arg, Term(gradient))

    def _gradient_type(self, callee: ir.Function) -> Type:
        """Return the type of the gradients: the struct that the module has for them already, if it has one."""
        wanted = gradient_type(callee.params)
        calls = (
            e.type
            for function in self.functions.values()
            for e in body_exprs(statements(function))
            if isinstance(e, ir.BackwardCall) and e.function == callee.key
        )
        return next((t for t in calls if isinstance(t, Struct)), wanted) if isinstance(wanted, Tuple) else wanted

    def _pull_branch(self, stmt: ir.If) -> None:
        """Write the same branch, which takes cotangents back through the side that was taken."""
        joined = [self.locals[name] for name in _stores(stmt.then) if name in {*_stores(stmt.other)}]
        given = {var: self.cotangents.take(var, _hint_of_cotangent(var), keep=True) for var in joined}
        if not any(given.values()):
            return
        outer = self.cotangents.of
        sides: list[Block] = []
        added: list[dict[tuple[str, Path], Term]] = []
        for block, known in zip((stmt.then, stmt.other), self.sides[id(stmt)], strict=True):
            self.cotangents.of = {}
            found: dict[tuple[str, Path], Term] = {}
            for var, terms in given.items():
                for path, term in terms.items():
                    self.cotangents.add(_at(var, path), term)

            def write(block: Block = block, found: dict[tuple[str, Path], Term] = found) -> None:
                self._reverse(block)
                for name in [*self.cotangents.of]:
                    var = self.locals[name]
                    terms = self.cotangents.take(var, _hint_of_cotangent(var), keep=False)
                    found.update({(name, path): term for path, term in terms.items()})

            sides.append(self._side(write, known)[0])
            added.append(found)
        self.cotangents.of = outer
        for name, path in dict.fromkeys([*added[0], *added[1]]):
            one, other = (terms.get((name, path)) for terms in added)
            if one is not None and one == other:
                self.cotangents.add(_at(self.locals[name], path), one)
            else:
                sides = self._join(self.locals[name], path, [one, other], sides)
        if any(sides):
            self.code.append(ir.If(stmt.condition, sides[0], sides[1], stmt.span))

    def _join(self, var: ir.Var, path: Path, terms: list[Term | None], sides: list[Block]) -> list[Block]:
        """Return the sides of a branch with stores of a cotangent, to which each adds its term."""
        hint = "_".join(map(str, (_hint_of_cotangent(var), *path)))
        before = self.cotangents.take_path(var, path, hint)
        to = _at(var, path)
        joined = self._new(hint, to.type)
        made: list[Block] = []
        for term, side in zip(terms, sides, strict=True):
            if before is None:
                total = zero(to.type) if term is None else term.signed
            else:
                total = before.signed if term is None else plus(before.signed, term)
            made.append((*side, ir.Assign(joined, total, self.span)))
        self.cotangents.add(to, Term(joined))
        return made


def _assembled(found: Mapping[Path, Term], type_: Type, path: Path = ()) -> ir.Expr:
    """Return a value from the cotangents of its parts."""
    if path in found:
        return found[path].signed
    if not any(p[: len(path)] == path for p in found):
        return _zeros(type_)
    types = dict(flowing(type_))
    fields = {f.name: _zeros(f.type) for f in type_.fields} if isinstance(type_, Struct) else {}
    parts = [
        _assembled(found, types[step], (*path, step)) if step in types else fields[str(step)]
        for step in steps_of(type_)
    ]
    return construct(parts, type_)


def _zeros(type_: Type) -> ir.Expr:
    """Return zeros, field by field: Slang's own for structs in structs are for differentiated functions only."""
    match type_:
        case Struct(fields=fields):
            return ir.Construct(tuple(_zeros(f.type) for f in fields), type_)
        case Array(Struct() as element, size):
            return ir.Construct((_zeros(element),) * size, type_)
        case _:
            return zero(type_)


def _at(var: ir.Expr, path: Path) -> ir.Expr:
    return reduce(component, path, var)


def _last_span(function: ir.Function) -> Span:
    return statements(function)[-1].span


def _stores(block: Block) -> list[str]:
    return [s.target.name for s in block if isinstance(s, ir.Assign) and isinstance(s.target, ir.Var)]


def _hint_of_cotangent(var: ir.Var) -> str:
    return f"d_{var.name.split('#')[0]}"


def _hint(expr: ir.Expr, functions: Mapping[str, ir.Function]) -> str:
    """Return the name of a value that the user gave none."""
    match expr:
        case ir.Binary(op) if op in _HINTS:
            return _HINTS[op]
        case ir.Binary() | ir.Unary("!"):
            return "condition"
        case ir.Intrinsic(name, args):
            of = args[0].name if isinstance(args[0], ir.Var) and "#" not in args[0].name else "value"
            return f"{name}_{of}"
        case ir.Call(function=key):
            return f"{functions[key].name}_value"
        case _:
            return "value"


def _is_short(expr: ir.Expr) -> bool:
    """Return True for a local, a part of one, or a number, which need no local."""
    match expr:
        case ir.Const() | ir.Var() | ir.ConstantRef():
            return True
        case ir.Construct(args):
            return all(isinstance(arg, ir.Const) for arg in args)
        case ir.Member(value) | ir.Swizzle(value) | ir.NoDiff(value) | ir.Index(value, ir.Const()):
            return _is_short(value)
        case _:
            return False


def _unspread(expr: ir.Expr) -> ir.Expr:
    """Return the scalar that is spread over a vector."""
    match expr:
        case ir.Construct((arg,)) if is_scalar(arg.type):
            return arg
        case _:
            return expr


def _without_no_diff(expr: ir.Expr) -> ir.Expr:
    return rewrite(expr, lambda e: e.value if isinstance(e, ir.NoDiff) else e)


def _folded_numbers(expr: ir.Expr) -> ir.Expr:
    """Return the value of an operation on numbers that the rules of intrinsics leave behind."""
    match expr:
        case ir.Binary("==", ir.Const(a), ir.Const(b)):
            return ir.Const(a == b, BOOL)
        case ir.Binary("-", ir.Const(a), ir.Const(b), type_):
            return ir.Const(a - b, type_)
        case ir.Ternary(ir.Const(condition), then, other):
            return then if condition else other
        case _:
            return expr
