"""Print expressions with parentheses only where the precedence table requires them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from slangad.compiler.emit.print.differentials import differential_of, value_of
from slangad.compiler.emit.print.formulas import comment, spelled
from slangad.compiler.emit.print.tables import entry_of, sizes_of
from slangad.compiler.emit.text.intrinsics import spelling
from slangad.compiler.emit.text.literals import literal
from slangad.compiler.errors.exhaustive import assert_never
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir import types
from slangad.compiler.ir.layers import vector_of
from slangad.compiler.ir.walk import children

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slangad.compiler.emit.memory.tensors import MemoryNames
    from slangad.compiler.emit.print.context import PrintContext

_LEVELS: Final = (
    ("?:",), ("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", "<=", ">", ">="), ("<<", ">>"),
    ("+", "-"), ("*", "/", "%"),
)  # fmt: skip
PRECEDENCE: Final = {op: level for level, ops in enumerate(_LEVELS, start=1) for op in ops}
UNARY: Final = len(_LEVELS) + 1
POSTFIX: Final = UNARY + 1
ANY: Final = 0


def print_expr(ctx: PrintContext, expr: ir.Expr, outer: int = ANY) -> None:
    """Print an expression, in parentheses if it binds less tightly than ``outer``."""
    span = expr.span
    if isinstance(expr, ir.Const) and expr.formula is not None:
        expr = spelled(expr, ctx.names.integers) or expr
    precedence = _precedence(expr)
    with ctx.writer.origin(span):
        if precedence < outer:
            ctx.writer.write("(")
        _print(ctx, expr, precedence)
        if precedence < outer:
            ctx.writer.write(")")


def _precedence(expr: ir.Expr) -> int:
    match expr:
        case ir.Binary(op=op):
            return PRECEDENCE[op]
        case ir.Ternary():
            return PRECEDENCE["?:"]
        case ir.Unary():
            return UNARY
        case ir.Const(value=value, type=types.Scalar(name)) if name != "bool" and _negative(value):
            return UNARY
        case ir.NoDiff(value=ir.Call() | ir.BackwardCall() | ir.Intrinsic(name="element")):
            return UNARY
        case ir.Construct() if _is_opaque_zero(expr):
            return UNARY
        case _:
            return POSTFIX


def _negative(value: float) -> bool:
    return str(value).startswith("-")


def _print(ctx: PrintContext, expr: ir.Expr, precedence: int) -> None:
    match expr:
        case ir.Const() | ir.Var() | ir.ConstantRef() | ir.ThreadId() | ir.ThreadCount():
            _atom(ctx, expr)
        case ir.Unary() | ir.Binary() | ir.Ternary():
            _operation(ctx, expr, precedence)
        case ir.Call() | ir.Intrinsic() | ir.Construct() | ir.Cast():
            _application(ctx, expr)
        case ir.Member() | ir.Swizzle() | ir.Index():
            _part(ctx, expr)
        case ir.NoDiff():
            _no_diff(ctx, expr)
        case ir.MakePair() | ir.BackwardCall() | ir.ForwardCall():
            _derivative(ctx, expr)
        case ir.Read() | ir.Extent() | ir.Sample() | ir.Linear() | ir.GroupOperation() | ir.Probe():
            _access(ctx, expr)
        case _:
            assert_never(expr)


def _atom(ctx: PrintContext, expr: ir.Const | ir.Var | ir.ConstantRef | ir.ThreadId | ir.ThreadCount) -> None:
    match expr:
        case ir.Const(value=value, type=types.Scalar() as type_):
            ctx.writer.write(literal(value, type_) + comment(expr, ctx.names.constants))
        case ir.Const():
            raise TypeError(f"constant of type {expr.type}")
        case ir.Var(name):
            ctx.writer.write(ctx.local(name))
        case ir.ConstantRef(key):
            if not _table(ctx, expr):
                ctx.writer.write(ctx.names.constants[key])
        case ir.ThreadId(axis):
            ctx.writer.write(ctx.thread("thread_id", axis))
        case ir.ThreadCount(axis):
            ctx.writer.write(ctx.thread("thread_count", axis))


def _operation(ctx: PrintContext, expr: ir.Unary | ir.Binary | ir.Ternary, precedence: int) -> None:
    match expr:
        case ir.Unary():
            _unary(ctx, expr)
        case ir.Binary(op, left, right):
            print_expr(ctx, left, precedence)
            ctx.writer.write(f" {op} ")
            print_expr(ctx, right, precedence + 1)
        case ir.Ternary(condition, then, other):
            print_expr(ctx, condition, precedence + 1)
            ctx.writer.write(" ? ")
            print_expr(ctx, then, precedence + 1)
            ctx.writer.write(" : ")
            print_expr(ctx, other, precedence)


def _access(
    ctx: PrintContext, expr: ir.Read | ir.Extent | ir.Sample | ir.Linear | ir.GroupOperation | ir.Probe
) -> None:
    match expr:
        case ir.Read(source=source, indices=indices, type=type_):
            names = memory_names(ctx, source)
            element = source.type.element if isinstance(source.type, (types.Tensor, types.Texture)) else type_
            ctx.writer.write(names.read if type_ == element else names.read_as_float)
            print_args(ctx, indices)
        case ir.Extent(source=source, axis=axis):
            one = isinstance(source.type, types.Tensor) and source.type.rank == 1
            extents = memory_names(ctx, source).extents
            ctx.writer.write(f"int({extents})" if one else f"int({extents}.{'xyzw'[axis]})")
        case ir.Sample(source=source, uv=uv):
            ctx.writer.write(memory_names(ctx, source).sample)
            print_args(ctx, (uv,))
        case ir.Linear(source=source, indices=indices, bias_indices=bias_indices):
            ctx.writer.write(memory_names(ctx, source).times)
            print_args(ctx, (*indices, *bias_indices, vector_of(expr, ctx.names.layers)))
        case ir.GroupOperation(name=name, value=value, size=size, type=type_):
            sizes = f"{size}, {type_.size}" if isinstance(type_, types.Vector) else f"{size}"
            ctx.writer.write(f"sa.{name}<{sizes}>")
            print_args(ctx, (value,))
        case ir.Probe(name=name, value=value, type=type_):
            ctx.writer.write(ctx.names.probes[name, type_].function)
            print_args(ctx, (value,))
        case _:
            assert_never(expr)


def memory_names(ctx: PrintContext, source: ir.Expr) -> MemoryNames:
    """Return the names of the parts of the tensor or texture of an expression."""
    if not isinstance(source, ir.Var):
        raise TypeError("memory is referred to by name")
    return ctx.names.memory[source.name]


def _application(ctx: PrintContext, expr: ir.Call | ir.Intrinsic | ir.Construct | ir.Cast) -> None:
    match expr:
        case ir.Call():
            _call(ctx, expr)
        case ir.Intrinsic():
            ctx.writer.write(spelling(expr))
            print_args(ctx, expr.args)
        case ir.Construct():
            _construct(ctx, expr)
        case ir.Cast(operand, type_):
            ctx.writer.write(ctx.names.spell(type_))
            print_args(ctx, (operand,))


def _unary(ctx: PrintContext, expr: ir.Unary) -> None:
    ctx.writer.write(expr.op)
    print_expr(ctx, expr.operand, UNARY if _precedence(expr.operand) != UNARY else POSTFIX)


def print_args(ctx: PrintContext, args: Sequence[ir.Expr]) -> None:
    """Print arguments in parentheses."""
    ctx.writer.write("(")
    _list(ctx, args)
    ctx.writer.write(")")


def _list(ctx: PrintContext, args: Sequence[ir.Expr]) -> None:
    for position, arg in enumerate(args):
        if position:
            ctx.writer.write(", ")
        print_expr(ctx, arg)


def _call(ctx: PrintContext, expr: ir.Call) -> None:
    function = ctx.names.functions[expr.function]
    args = expr.args
    if function.owner and not function.static:
        print_expr(ctx, args[0], POSTFIX)
        ctx.writer.write(f".{ctx.names.method(function)}")
        args = args[1:]
    else:
        ctx.writer.write(ctx.names.call(function))
    print_args(ctx, args)


def _is_opaque_zero(expr: ir.Construct) -> bool:
    """Return True for zeros of a struct with structs in it: Slang can't differentiate its own initialiser of that."""
    return not expr.args and isinstance(expr.type, types.Struct) and _holds_structs(expr.type)


def _holds_structs(type_: types.Struct) -> bool:
    return any(_struct_in(field.type) is not None for field in type_.fields)


def _struct_in(type_: types.Type) -> types.Struct | None:
    """Return the struct of a field, directly or in arrays."""
    while isinstance(type_, types.Array):
        type_ = type_.element
    return type_ if isinstance(type_, types.Struct) else None


def _listed(expr: ir.Construct) -> ir.Construct:
    """Return zeros of an array entry by entry, if Slang can't differentiate its own initialiser of the entries."""
    inner = _struct_in(expr.type)
    if expr.args or not isinstance(expr.type, types.Array) or inner is None or not _holds_structs(inner):
        return expr
    return replace(expr, args=(ir.Construct((), expr.type.element, expr.span),) * expr.type.size)


def _construct(ctx: PrintContext, expr: ir.Construct) -> None:
    expr = _listed(expr)
    if _is_opaque_zero(expr):
        ctx.writer.write("no_diff ")
    ctx.writer.write(ctx.names.spell.generic(expr.type))
    zero = (ir.Const(0, expr.type.element),) if isinstance(expr.type, (types.Vector, types.Matrix)) else ()
    print_args(ctx, expr.args or zero)


def print_initial(ctx: PrintContext, expr: ir.Expr) -> None:
    """Print the value of a declaration: arrays as lists in braces."""
    if not (isinstance(expr, ir.Construct) and isinstance(expr.type, types.Array)):
        print_expr(ctx, expr)
        return
    expr = _listed(expr)
    with ctx.writer.origin(expr.span):
        ctx.writer.write("{")
        for position, arg in enumerate(expr.args):
            if position:
                ctx.writer.write(", ")
            print_initial(ctx, arg)
        ctx.writer.write("}")


def _table(ctx: PrintContext, expr: ir.Index | ir.ConstantRef) -> bool:
    """Print what is read of a table of tables; returns False at other expressions."""
    entry = entry_of(expr, ctx.names.tables)
    if entry is None or entry[2] is not expr:
        return False
    key, at = entry[0].key, entry[1]
    given = len(sizes_of(entry[0].type)) - len(sizes_of(expr.type))
    if sizes_of(expr.type):
        ctx.names.rows.add((key, given))
        cut = "no_diff " if ctx.differentiable and types.carries_gradient(expr.type) else ""
        ctx.writer.write(f"{cut}{ctx.names.tables[key][given]}")
        print_args(ctx, () if at is None else (at,))
    else:
        assert at is not None  # noqa: S101  (an entry has indices)
        ctx.writer.write(f"{ctx.names.constants[key]}[")
        print_expr(ctx, at)
        ctx.writer.write("]")
    return True


def _part(ctx: PrintContext, expr: ir.Member | ir.Swizzle | ir.Index) -> None:
    if isinstance(expr, ir.Index) and _table(ctx, expr):
        return
    if isinstance(expr, ir.Member) and _is_tangent(expr):
        value_of(ctx, expr.type, lambda: _plain_part(ctx, expr))
    else:
        _plain_part(ctx, expr)


def _is_tangent(expr: ir.Expr) -> bool:
    """Return True if an expression is the tangent of a pair, or a field that Slang's differential type has too."""
    match expr:
        case ir.Member(value=value, name="d") if isinstance(value.type, types.DiffPair):
            return True
        case ir.Member(value=value, name=name, type=type_) if isinstance(value.type, types.Struct):
            kept = any(f.name == name and not f.no_diff for f in value.type.fields)
            return kept and types.carries_gradient(type_) and _is_tangent(value)
        case _:
            return False


def _plain_part(ctx: PrintContext, expr: ir.Member | ir.Swizzle | ir.Index) -> None:
    if isinstance(expr, ir.Member) and isinstance(expr.value, ir.Member) and _is_tangent(expr):
        with ctx.writer.origin(expr.value.span):
            _plain_part(ctx, expr.value)
    else:
        print_expr(ctx, expr.value, POSTFIX)
    match expr:
        case ir.Member(value, name):
            ctx.writer.write(f".{_member_name(ctx, value, name)}")
        case ir.Swizzle(components=components):
            ctx.writer.write(f".{components}")
        case ir.Index(index=index):
            ctx.writer.write("[")
            print_expr(ctx, index)
            ctx.writer.write("]")


def _member_name(ctx: PrintContext, value: ir.Expr, name: str) -> str:
    match value.type:
        case types.DiffPair():
            return name
        case _:
            return ctx.names.field(value.type, name)


def _no_diff(ctx: PrintContext, expr: ir.NoDiff) -> None:
    value = expr.value
    if _is_cut(ctx, value):
        ctx.writer.write("no_diff ")
        print_expr(ctx, value, UNARY)
    elif types.carries_gradient(expr.type) and not (
        isinstance(value, ir.Read) and memory_names(ctx, value.source).passive
    ):
        ctx.writer.write("detach")
        print_args(ctx, (value,))
    else:
        print_expr(ctx, value, POSTFIX)


def _is_cut(ctx: PrintContext, value: ir.Expr) -> bool:
    """Return True if it is a call of a function that is not differentiable, which ``no_diff`` cuts."""
    match value:
        case ir.Call(function=key):
            return not ctx.names.functions[key].differentiable
        case ir.Intrinsic(name="element", type=type_):
            return types.carries_gradient(type_)
        case _:
            return isinstance(value, ir.BackwardCall)


def _is_literal(expr: ir.Expr) -> bool:
    """Return True if Slang takes it for a float, independent of its type."""
    match expr:
        case ir.Const(type=types.Scalar()):
            return True
        case ir.Unary() | ir.Binary():
            return all(_is_literal(child) for child in children(expr))
        case _:
            return False


def _derivative(ctx: PrintContext, expr: ir.MakePair | ir.BackwardCall | ir.ForwardCall) -> None:
    match expr:
        case ir.MakePair(primal, tangent):
            whole = f"DifferentialPair<{ctx.names.spell.generic(primal.type)}>"
            ctx.writer.write(f"{whole if _is_literal(primal) else 'diffPair'}(")
            print_expr(ctx, primal)
            ctx.writer.write(", ")
            differential_of(ctx, tangent.type, lambda: print_expr(ctx, tangent))
            ctx.writer.write(")")
        case ir.BackwardCall(function, args):
            ctx.writer.write(ctx.names.gradients[function])
            print_args(ctx, args)
        case ir.ForwardCall(function, args):
            ctx.writer.write(f"fwd_diff({ctx.names.reference(ctx.names.functions[function])})")
            print_args(ctx, args)
