"""Print the IR as readable text that can be read back: ``parse(show(module)) == module`` (without spans).

``slangad compile --emit ir`` and ``--dump-after`` print it. An expression has its type (``x::half``) only if the parts
do not imply it. Function keys and names that are not plain identifiers are in quotes.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from slangad.compiler.errors.exhaustive import assert_never
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.default_types import KnownTypes, default_type
from slangad.compiler.ir.distributions import Distribution, Normal, Uniform
from slangad.compiler.ir.text_form.pipelines import show_pipeline
from slangad.compiler.ir.text_form.reader import RESERVED, parse
from slangad.compiler.ir.types import Array, DiffPair, Struct, Tensor, Texture, Tuple, Type, Void, Weak, show_memory
from slangad.compiler.ir.types import show as show_plain
from slangad.compiler.ir.walk import body_exprs, statements, walk_stmts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["parse", "show"]

INDENT: Final = "    "


def show(module: ir.Module) -> str:
    """Return the text of a module."""
    return "\n".join(_module(module)) + "\n"


def _module(module: ir.Module) -> Iterator[str]:
    known = KnownTypes()
    yield f"module {_word(module.name)} from {_quote(module.source)}"
    yield from (f"source {_quote(path)}" for path in module.sources)
    yield from (f"bound {_quote(name)} {_quote(value)}" for name, value in module.bound)
    yield from (f"import {_quote(path)}" for path in module.slang_imports)
    yield from (f"include {_quote(path)}" for path in module.slang_includes)
    yield from (f"taken {_quote(name)}" for name in module.taken)
    yield from (f"for_target {_quote(name)}" for name in module.targets)
    for one in module.sampling:
        samples = "" if one.samples is None else f" samples {one.samples}"
        yield f"sampling {_quote(one.of)}{samples}{'' if one.seed is None else f' seed {one.seed}'}"
    yield from (f"file {_quote(name)}" for name in ([module.file_name] if module.file_name else []))
    yield from (
        f"left_out {_quote(left.function)} {_quote(left.reason)}{_modes(left.modes)}{_targets(left.targets)}"
        for left in module.left_out
    )
    yield from (f"doc {_quote(line)}" for line in module.doc)
    for definition in module.structs:
        yield ""
        yield from _struct(definition)
    for constant in module.constants:
        yield ""
        known.constants[constant.key] = constant.type
        values = " ".join(_number(v) for v in constant.values)
        yield f"constant {_word(constant.key)} {_word(constant.name)}: {show_type(constant.type)} = {values}".rstrip()
    for buffer in module.buffers:
        known.buffers[buffer.key] = buffer.type
        yield from ("", _buffer(buffer))
    for memory in module.shared:
        known.buffers[memory.key] = memory.type
        words = " ".join(_word(word) for word in (memory.key, memory.kernel, memory.name))
        yield from ("", f"shared {words}: {show_type(memory.type)}")
    for function in module.functions:
        yield ""
        yield from _function(function, known)
        known.results[function.key] = function.result
    for kernel in module.kernels:
        yield ""
        yield from _kernel(kernel)
    for pipeline in module.pipelines:
        yield ""
        yield from show_pipeline(pipeline, _word, _quote, show_type)


def _buffer(buffer: ir.Buffer) -> str:
    param = " at ".join(_word(step) for step in (buffer.param, *buffer.path))
    head = f"buffer {_word(buffer.key)} {_word(buffer.kernel)} {param}{_numbers('[', buffer.extents, ']')}"
    no_diff = "no_diff " if buffer.no_diff else ""
    way = f"{'added ' if buffer.added else ''}{'again ' if buffer.read_again else ''}{buffer.accumulation.value}"
    known = f"{_numbers('(', buffer.reach, ')')}{_numbers('of (', buffer.block, ')')}"
    return f"{head}: {no_diff}{show_type(buffer.type)} {way}{known}{''.join(map(_block_axis, buffer.block_axes))}"


def _block_axis(axis: ir.BlockAxis) -> str:
    steps = (_numbers("[", (step.axis, step.times, *step.across), "]") for step in axis.steps)
    return f" axis {axis.low} {axis.extent}{''.join(steps)}"


def _numbers(before: str, values: tuple[int, ...], after: str) -> str:
    return f" {before}{', '.join(map(str, values))}{after}" if values else ""


def _modes(modes: tuple[str, ...]) -> str:
    return "".join(f" mode {_quote(mode)}" for mode in modes)


def _targets(targets: tuple[str, ...]) -> str:
    return "".join(f" target {_quote(target)}" for target in targets)


def _struct(definition: ir.StructDef) -> Iterator[str]:
    struct = definition.struct
    yield f"struct {_word(struct.key)} {_word(struct.name)} {{"
    yield from (f"{INDENT}external {_quote(name)}" for name in ([definition.external] if definition.external else []))
    yield from (f"{INDENT}doc {_quote(line)}" for line in definition.doc)
    yield from (f"{INDENT}initial {_quote(known.path)} {_distribution(known.values)}" for known in definition.initial)
    for f in struct.fields:
        yield f"{INDENT}{'no_diff ' if f.no_diff else ''}{_word(f.name)}: {show_type(f.type)}"
    yield "}"


def _distribution(values: Distribution) -> str:
    match values:
        case Uniform(low, high):
            return f"{_number(low)} {_number(high)}"
        case Normal(deviation):
            return f"normal {_number(deviation)}"


def _function(function: ir.Function, known: KnownTypes) -> Iterator[str]:
    params = ", ".join(_param(p) for p in function.params)
    yield f"function {_word(function.key)} {_word(function.name)}({params}) -> {show_type(function.result)}"
    yield from (f"{INDENT}{line}" for line in _attributes(function))
    match function.body:
        case ir.SlangBody(text):
            yield f"slang {_quote(text)}"
        case ir.External(symbol, file, ambiguous, call):
            ending = f" call {_quote(call)}" if call else ""
            yield f"{'ambiguous ' if ambiguous else ''}external {_quote(symbol)} {_quote(file)}{ending}"
        case body:
            known.locals = local_types(function, known.buffers)
            declared = known.locals.keys() - {p.name for p in function.params}
            shown = ", ".join(f"{_word(n)}: {show_type(t)}" for n, t in known.locals.items() if n in declared)
            if shown:
                yield f"{INDENT}locals {shown}"
            yield "{"
            yield from _block(body, known, INDENT)
            yield "}"


def local_types(function: ir.Function, buffers: Mapping[str, Type]) -> dict[str, Type]:
    """Return the type of each parameter, local and loop variable, from its first use."""
    types_ = {p.name: p.type for p in function.params}
    for expr in body_exprs(statements(function)):
        if isinstance(expr, ir.Var) and expr.name not in buffers:
            types_.setdefault(expr.name, expr.type)
    for stmt in walk_stmts(statements(function)):
        if isinstance(stmt, ir.Let):
            types_.setdefault(stmt.name, stmt.type)
    return types_


def _param(param: ir.Param) -> str:
    words = [word for word in ("no_diff" if param.no_diff else "", param.direction) if word not in ("", "in")]
    return " ".join([*words, f"{_word(param.name)}: {show_type(param.type)}"])


def _attributes(function: ir.Function) -> Iterator[str]:
    if not function.differentiable:
        yield "not_differentiable"
    if function.derivative != ir.Automatic():
        yield f"derivative {_derivative(function.derivative)}"
    if function.role is not ir.Role.PLAIN or function.of:
        yield f"role {function.role.value} {_quote(function.of)}"
    if function.prefer:
        yield f"prefer {_quote(function.prefer)}"
    if function.precision:
        yield f"precision {_quote(function.precision)}"
    if function.on_host:
        yield f"on_host {_quote(function.on_host)}"
    if function.owner or function.static:
        yield f"{'static ' if function.static else ''}owner {_quote(function.owner)}"
    yield from (f"doc {_quote(line)}" for line in function.doc)
    yield from (f"range {_quote(r.path)} {_number(r.low)} {_number(r.high)}" for r in function.ranges)


def _derivative(derivative: ir.Derivative) -> str:
    match derivative:
        case ir.Automatic():
            return "automatic()"
        case ir.Custom(backward, forward):
            return f"custom({_optional(backward)}, {_optional(forward)})"
        case ir.FiniteDifference(step, relative):
            return f"finite_difference({_number(step)}, {_number(relative)})"
        case ir.Surrogate(function):
            return f"surrogate({_quote(function)})"
        case ir.StraightThrough():
            return "straight_through()"
        case ir.ClipGradient(limit, norm, of):
            return f"clip_gradient({_optional(limit)}, {_optional(norm)}, {_derivative(of)})"
        case ir.Subgradient(at, value):
            return f"subgradient({_number(at)}, {_number(value)})"
        case _:
            assert_never(derivative)


def _optional(value: str | float | None) -> str:
    if value is None:
        return "none"
    return _quote(value) if isinstance(value, str) else _number(value)


def _kernel(kernel: ir.Kernel) -> Iterator[str]:
    sizes = ", ".join(str(size) for size in kernel.group_size)
    head = f"kernel {_word(kernel.name)} {_word(kernel.function)} dims {kernel.dims} group ({sizes})"
    tile = f" tile ({', '.join(str(size) for size in kernel.tile)})" if kernel.tile is not None else ""
    yield f"{head}{tile}{' in_step' if kernel.in_step else ''}{_modes(kernel.modes)} {{"
    yield from (f"{INDENT}doc {_quote(line)}" for line in kernel.doc)
    for name, shape in kernel.shapes:
        yield f"{INDENT}shape {_word(name)} ({', '.join(str(extent) for extent in shape)})"
    for p in kernel.params:
        no_diff = "no_diff " if p.no_diff else ""
        yield f"{INDENT}param {no_diff}{_word(p.name)}: {p.memory.value} {show_type(p.type)}"
    for r in kernel.results:
        of = f" of {_quote(r.param)}" if r.param else ""
        yield f"{INDENT}result {_word(r.name)}: {r.memory.value} {show_type(r.type)}{of}"
    yield "}"


def _block(body: tuple[ir.Stmt, ...], known: KnownTypes, indent: str) -> Iterator[str]:
    for stmt in body:
        yield from _stmt(stmt, known, indent)


def _stmt(stmt: ir.Stmt, known: KnownTypes, indent: str) -> Iterator[str]:
    match stmt:
        case ir.If(condition, then, other):
            yield f"{indent}if {show_expr(condition, known)} {{"
            yield from _block(then, known, indent + INDENT)
            if other:
                yield f"{indent}}} else {{"
                yield from _block(other, known, indent + INDENT)
            yield f"{indent}}}"
        case ir.For() | ir.While():
            yield f"{indent}{_loop_head(stmt, known)} {{"
            yield from _block(stmt.body, known, indent + INDENT)
            yield f"{indent}}}"
        case _:
            yield f"{indent}{_simple(stmt, known)}"


def _loop_head(stmt: ir.For | ir.While, known: KnownTypes) -> str:
    keep = "" if stmt.keep is None else f" keep {stmt.keep}"
    if isinstance(stmt, ir.While):
        return f"while {show_expr(stmt.condition, known)} limit {stmt.limit}{keep}"
    start, stop = show_expr(stmt.start, known), show_expr(stmt.stop, known)
    flags = (" bounded" if stmt.bounded else "") + (" unroll" if stmt.unroll else "")
    flags += " together" if stmt.together else ""
    keep += "" if stmt.inverse is None else f" inverse {show_expr(stmt.inverse, known)}"
    return f"for {_word(stmt.variable)} = {start} to {stop} step {stmt.step} limit {stmt.limit}{flags}{keep}"


def _simple(
    stmt: ir.Let | ir.Assign | ir.Break | ir.Continue | ir.Barrier | ir.Return | ir.Comment, known: KnownTypes
) -> str:
    match stmt:
        case ir.Let(name, type_, value):
            initial = "" if value is None else f" = {show_expr(value, known)}"
            return f"let {_word(name)}: {show_type(type_)}{initial}"
        case ir.Assign(target, value):
            return f"set {show_expr(target, known)} {'+' if stmt.adds else ''}= {show_expr(value, known)}"
        case ir.Break():
            return "break"
        case ir.Continue():
            return "continue"
        case ir.Barrier():
            return "barrier"
        case ir.Return(value):
            return "return nothing" if value is None else f"return {show_expr(value, known)}"
        case ir.Comment(text):
            return f"comment {_quote(text)}"
        case _:
            assert_never(stmt)


def show_expr(expr: ir.Expr, known: KnownTypes) -> str:
    """Return the text of an expression, with its type where the parts do not imply it."""
    text = _bare(expr, known)
    return text if expr.type == default_type(expr, known) else f"{text}::{show_type(expr.type)}"


def _bare(expr: ir.Expr, known: KnownTypes) -> str:
    match expr:
        case ir.Const(value=value):
            return _number(value)
        case ir.Var(name):
            return _word(name)
        case ir.ConstantRef(key):
            return f"@{_word(key)}"
        case ir.Unary() | ir.Binary() | ir.Ternary():
            return _operation(expr, known)
        case ir.Member(value, name) | ir.Swizzle(value, name):
            return f"{show_expr(value, known)}.{_word(name)}"
        case ir.Index(value, index):
            return f"{show_expr(value, known)}[{show_expr(index, known)}]"
        case ir.ThreadId(axis):
            return f"thread_id({axis})"
        case ir.ThreadCount(axis):
            return f"thread_count({axis})"
        case ir.Read() | ir.Extent() | ir.Sample() | ir.Linear() | ir.GroupOperation() | ir.Probe():
            return _access(expr, known)
        case _:
            return _application(expr, known)


def _access(expr: ir.Read | ir.Extent | ir.Sample | ir.Linear | ir.GroupOperation | ir.Probe, known: KnownTypes) -> str:
    match expr:
        case ir.Read(source, indices):
            return f"{show_expr(source, known)}[{', '.join(show_expr(i, known) for i in indices)}]"
        case ir.Extent(source, axis):
            return f"extent({show_expr(source, known)}, {axis})"
        case ir.Sample(source, uv):
            return f"sample({show_expr(source, known)}, {show_expr(uv, known)})"
        case ir.Linear(source, indices, value, columns, bias, bias_indices):
            at = "".join(f", {show_expr(i, known)}" for i in indices)
            added = f" plus ({', '.join(show_expr(e, known) for e in (bias, *bias_indices))})" if bias else ""
            return f"linear({show_expr(source, known)}, {columns}, {show_expr(value, known)}{at}){added}"
        case ir.GroupOperation(name, value, size):
            return f"group {name} {size}({show_expr(value, known)})"
        case ir.Probe(name, value):
            return f"probe {_quote(name)}({show_expr(value, known)})"
        case _:
            assert_never(expr)


def _operation(expr: ir.Unary | ir.Binary | ir.Ternary, known: KnownTypes) -> str:
    match expr:
        case ir.Unary(op, x):
            return f"({op} {show_expr(x, known)})"
        case ir.Binary(op, a, b):
            return f"({show_expr(a, known)} {op} {show_expr(b, known)})"
        case ir.Ternary(c, a, b):
            return f"({show_expr(c, known)} ? {show_expr(a, known)} : {show_expr(b, known)})"
        case _:
            assert_never(expr)


def _application(
    expr: ir.Call | ir.Intrinsic | ir.Construct | ir.Cast | ir.NoDiff | ir.MakePair | ir.BackwardCall | ir.ForwardCall,
    known: KnownTypes,
) -> str:
    match expr:
        case ir.Call(function, args):
            head = f"call {_word(function)}"
        case ir.Intrinsic(name, args):
            head = _word(name)
        case ir.Construct(args, type_):
            head = f"new {show_type(type_)}"
        case ir.Cast(operand, type_):
            head, args = f"cast {show_type(type_)}", (operand,)
        case ir.NoDiff(value):
            head, args = "no_diff", (value,)
        case ir.MakePair(primal, tangent):
            head, args = "pair", (primal, tangent)
        case ir.BackwardCall(function, args):
            head = f"bwd_diff {_word(function)}"
        case ir.ForwardCall(function, args):
            head = f"fwd_diff {_word(function)}"
        case _:
            assert_never(expr)
    return f"{head}({', '.join(show_expr(a, known) for a in args)})"


def show_type(type_: Type) -> str:
    """Return a type as the reader accepts it: structs by key."""
    match type_:
        case Struct(key=key):
            return _word(key)
        case Array(element, size):
            return f"Array[{show_type(element)}, {size}]"
        case Tuple(elements):
            return f"tuple[{', '.join(show_type(e) for e in elements)}]"
        case DiffPair(primal):
            return f"DiffPair[{show_type(primal)}]"
        case Tensor() | Texture():
            return show_memory(type_, show_type)
        case Void():
            return "void"
        case Weak(name):
            return f"weak[{name}]"
        case _:
            return show_plain(type_)


def _number(value: float | bool) -> str:  # noqa: FBT001  (a bool is a value here)
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _word(name: str) -> str:
    plain = re.fullmatch(r"[^\W\d]\w*", name) and name not in RESERVED
    return name if plain else _quote(name)


def _quote(text: str) -> str:
    return json.dumps(text)
