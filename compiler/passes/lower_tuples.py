"""Replace tuples by structs, because Slang's ``Tuple`` has zero gradients if one element carries none.

    def split(x: float) -> tuple[float, int]   ->   struct SplitResult { float part; int index; }
        return part, index                          SplitResult split(float x)

A struct has the names of the one function whose result or gradient it is: of the returned variables, else of those
that a caller stores the parts in, else of a kernel's results. A tuple of several functions has the names of its types:
``struct FloatAndInt { float item0; int item1; }``.
The result of a backward function stays a tuple: it is the list of gradients that the emitter stores one by one.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from slangad.compiler.errors.exhaustive import assert_never
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir import types
from slangad.compiler.ir.build import Fresh
from slangad.compiler.ir.verify.module import gets_gradient
from slangad.compiler.ir.walk import body_exprs, map_blocks, map_stmt_exprs, rewrite, statements, walk_stmts

if TYPE_CHECKING:
    from slangad.compiler.ir.build import Block


def lower_tuples(module: ir.Module) -> ir.Module:
    """Replace every tuple type by a struct."""
    structs = _Structs({d.struct.key for d in module.structs}, _names(module))
    functions = tuple(_function(f, structs) for f in module.functions)
    kernels = tuple(_kernel(k, structs) for k in module.kernels)
    made = tuple(ir.StructDef(s) for s in structs.made.values())
    return replace(module, structs=(*module.structs, *made), functions=functions, kernels=kernels)


def _names(module: ir.Module) -> dict[types.Tuple, tuple[str, tuple[str, ...]]]:
    """Return names of struct and fields for each tuple type that is the result or the gradient of one function."""
    by_key = {function.key: function for function in module.functions}
    results = {k.function: tuple(r.name.replace(".", "_") for r in k.results if not r.param) for k in module.kernels}
    stored = _stored(module)
    found: dict[types.Tuple, dict[tuple[str, str], tuple[str, ...]]] = {}
    for function in module.functions:
        result = function.result
        if isinstance(result, types.Tuple) and function.role is not ir.Role.BACKWARD:
            found.setdefault(result, {})[function.key, f"{_capital(function.name)}Result"] = (
                _returned(function, stored.get(function.key, {}), results.get(function.key, ()))
            )
        for expr in body_exprs(statements(function)):
            if isinstance(expr, ir.BackwardCall) and isinstance(expr.type, types.Tuple):
                of = by_key[expr.function]
                params = tuple(p.name for p in of.params if gets_gradient(p))
                found.setdefault(expr.type, {})[of.key, f"{_capital(of.name)}Gradient"] = params
    only = {type_: next(iter(uses.items())) for type_, uses in found.items() if len(uses) == 1}
    return {type_: (name, fields) for type_, ((_, name), fields) in only.items() if len(fields) == len(type_.elements)}


def _stored(module: ir.Module) -> dict[str, dict[int, set[str]]]:
    """Return the variables that callers store the parts of results in, by function and number of the part."""
    stored: dict[str, dict[int, set[str]]] = {}
    for function in module.functions:
        assigned = [s for s in walk_stmts(statements(function)) if isinstance(s, ir.Assign)]
        calls = {s.target: s.value.function for s in assigned if isinstance(s.value, ir.Call)}
        for stmt in assigned:
            match stmt:
                case ir.Assign(ir.Var(name), ir.Member(ir.Var(type=types.Tuple()) as held, item)) if held in calls:
                    parts = stored.setdefault(calls[held], {})
                    parts.setdefault(int(item.removeprefix("item")), set()).add(name)
    return stored


def _returned(function: ir.Function, stored: dict[int, set[str]], results: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the parts that a function returns; empty if its returns differ.

    Args:
        function: The function.
        stored: The variables that callers store the parts in.
        results: The names of a kernel's results.
    """
    returned = set()
    for stmt in walk_stmts(statements(function)):
        if isinstance(stmt, ir.Return) and isinstance(stmt.value, ir.Construct):
            returned.add(tuple(a.name if isinstance(a, ir.Var) else "" for a in stmt.value.args))
        elif isinstance(stmt, ir.Return):
            return ()
    if len(returned) != 1:
        return ()
    names = [name or _only(stored.get(i, set()), results[i : i + 1], i) for i, name in enumerate(returned.pop())]
    return tuple(names) if len(set(names)) == len(names) else ()


def _only(stored: set[str], results: tuple[str, ...], number: int) -> str:
    """Return the name of a part without a variable."""
    return next(iter(stored)) if len(stored) == 1 else results[0] if results else f"item{number}"


def _capital(name: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in name.split("_"))


@dataclass(slots=True)
class _Structs:
    """The structs so far, one per tuple type; ``names`` has those of structs and fields that the program gives."""

    keys: set[str]
    names: dict[types.Tuple, tuple[str, tuple[str, ...]]]
    made: dict[types.Tuple, types.Struct] = field(default_factory=dict)

    def of(self, type_: types.Type) -> types.Type:
        """Return the type with every tuple in it replaced."""
        match type_:
            case types.Tuple(elements):
                return self._struct(type_, tuple(self.of(e) for e in elements))
            case types.Array(element):
                return replace(type_, element=self.of(element))
            case types.DiffPair(primal):
                return types.DiffPair(self.of(primal))
            case (
                types.Scalar()
                | types.Vector()
                | types.Matrix()
                | types.Struct()
                | types.Tensor()
                | types.Texture()
                | types.Void()
                | types.Weak()
            ):
                return type_
            case _:
                assert_never(type_)

    def _struct(self, type_: types.Tuple, elements: tuple[types.Type, ...]) -> types.Struct:
        if type_ not in self.made:
            items = tuple(f"item{i}" for i in range(len(elements)))
            name, words = self.names.get(type_, ("And".join(_word(e) for e in elements), items))
            fields = tuple(types.Field(word, e) for word, e in zip(words, elements, strict=True))
            self.made[type_] = types.Struct(Fresh(self.keys).name(f"tuple {name}"), name, fields)
        return self.made[type_]

    def member(self, expr: ir.Member) -> ir.Member:
        """Return the access of a field in place of that of an element."""
        made = next((s for s in self.made.values() if s == expr.value.type), None)
        return replace(expr, name=made.fields[int(expr.name.removeprefix("item"))].name) if made is not None else expr


def _word(type_: types.Type) -> str:
    if isinstance(type_, types.Array):
        return f"Array{type_.size}Of{_word(type_.element)}"
    name = types.show(type_)
    return name[:1].upper() + name[1:]


def _function(function: ir.Function, structs: _Structs) -> ir.Function:
    params = tuple(replace(p, type=structs.of(p.type)) for p in function.params)
    result = _list(function.result, structs) if function.role is ir.Role.BACKWARD else structs.of(function.result)
    made = replace(function, params=params, result=result)
    if not isinstance(function.body, tuple):
        return made
    names = Fresh({*(p.name for p in params), *_locals(function.body)})
    return replace(made, body=_block(function.body, structs, names, result))


def _list(result: types.Type, structs: _Structs) -> types.Type:
    return (
        types.Tuple(tuple(structs.of(e) for e in result.elements))
        if isinstance(result, types.Tuple)
        else structs.of(result)
    )


def _locals(body: Block) -> set[str]:
    return {s.target.name for s in walk_stmts(body) if isinstance(s, ir.Assign) and isinstance(s.target, ir.Var)}


def _block(body: Block, structs: _Structs, names: Fresh, result: types.Type) -> Block:
    made: list[ir.Stmt] = []
    for stmt in body:
        if isinstance(stmt, ir.Return) and isinstance(result, types.Tuple):
            made += _return_list(stmt, structs, names, result)
            continue
        lowered = map_stmt_exprs(stmt, lambda e: _expr(e, structs))
        if isinstance(lowered, ir.Let):
            lowered = replace(lowered, type=structs.of(lowered.type))
        made.append(map_blocks(lowered, lambda inner: _block(inner, structs, names, result)))
    return tuple(made)


def _return_list(stmt: ir.Return, structs: _Structs, names: Fresh, result: types.Tuple) -> list[ir.Stmt]:
    """Return the gradients of a backward function one by one."""
    if isinstance(stmt.value, ir.Construct):
        listed = tuple(_expr(a, structs) for a in stmt.value.args)
        return [replace(stmt, value=replace(stmt.value, args=listed, type=result))]
    if stmt.value is None:
        return [stmt]
    value = _expr(stmt.value, structs)
    held = names.var("gradients", value.type)
    parts = tuple(structs.member(ir.Member(held, f"item{i}", e)) for i, e in enumerate(result.elements))
    return [ir.Assign(held, value, stmt.span), replace(stmt, value=ir.Construct(parts, result, stmt.value.span))]


def _expr(expr: ir.Expr, structs: _Structs) -> ir.Expr:
    def lowered(e: ir.Expr) -> ir.Expr:
        made = e if structs.of(e.type) == e.type else replace(e, type=structs.of(e.type))
        return structs.member(made) if isinstance(made, ir.Member) else made

    return rewrite(expr, lowered)


def _kernel(kernel: ir.Kernel, structs: _Structs) -> ir.Kernel:
    return replace(kernel, params=tuple(replace(p, type=structs.of(p.type)) for p in kernel.params))
