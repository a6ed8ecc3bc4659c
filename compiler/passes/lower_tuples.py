"""Replace tuples by structs: Slang's ``Tuple`` has zero gradients if one element carries none.

    def split(x: float) -> tuple[float, int]   ->   struct FloatAndInt { float item0; int item1; }
                                                    FloatAndInt split(float x)

A backward function's own result stays a tuple: it is the list of gradients that the emitter stores one by one.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from slangad.compiler.errors.exhaustive import assert_never
from slangad.compiler.ir.build import Fresh
from slangad.compiler.ir.nodes import Assign, Construct, Let, Member, Return, Role, StructDef, Var
from slangad.compiler.ir.types import (
    Array,
    DiffPair,
    Field,
    Matrix,
    Scalar,
    Struct,
    Tensor,
    Texture,
    Tuple,
    Type,
    Vector,
    Void,
    Weak,
    show,
)
from slangad.compiler.ir.walk import map_blocks, map_stmt_exprs, rewrite, walk_stmts

if TYPE_CHECKING:
    from slangad.compiler.ir.build import Block
    from slangad.compiler.ir.nodes import Expr, Function, Kernel, Module, Stmt


def lower_tuples(module: Module) -> Module:
    """Replace every tuple type by a struct."""
    structs = _Structs({d.struct.key for d in module.structs})
    functions = tuple(_function(f, structs) for f in module.functions)
    kernels = tuple(_kernel(k, structs) for k in module.kernels)
    made = tuple(StructDef(s) for s in structs.made.values())
    return replace(module, structs=(*module.structs, *made), functions=functions, kernels=kernels)


@dataclass(slots=True)
class _Structs:
    """The structs made so far, one per tuple type."""

    keys: set[str]
    made: dict[Tuple, Struct] = field(default_factory=dict)

    def of(self, type_: Type) -> Type:
        """Return the type with every tuple in it replaced."""
        match type_:
            case Tuple(elements):
                return self._struct(type_, tuple(self.of(e) for e in elements))
            case Array(element):
                return replace(type_, element=self.of(element))
            case DiffPair(primal):
                return DiffPair(self.of(primal))
            case Scalar() | Vector() | Matrix() | Struct() | Tensor() | Texture() | Void() | Weak():
                return type_
            case _:
                assert_never(type_)

    def _struct(self, type_: Tuple, elements: tuple[Type, ...]) -> Struct:
        if type_ not in self.made:
            name = "And".join(_word(e) for e in elements)
            fields = tuple(Field(f"item{i}", e) for i, e in enumerate(elements))
            self.made[type_] = Struct(Fresh(self.keys).name(f"tuple {name}"), name, fields)
        return self.made[type_]


def _word(type_: Type) -> str:
    if isinstance(type_, Array):
        return f"Array{type_.size}Of{_word(type_.element)}"
    name = show(type_)
    return name[:1].upper() + name[1:]


def _function(function: Function, structs: _Structs) -> Function:
    params = tuple(replace(p, type=structs.of(p.type)) for p in function.params)
    result = _list(function.result, structs) if function.role is Role.BACKWARD else structs.of(function.result)
    made = replace(function, params=params, result=result)
    if not isinstance(function.body, tuple):
        return made
    names = Fresh({*(p.name for p in params), *_locals(function.body)})
    return replace(made, body=_block(function.body, structs, names, result))


def _list(result: Type, structs: _Structs) -> Type:
    return Tuple(tuple(structs.of(e) for e in result.elements)) if isinstance(result, Tuple) else structs.of(result)


def _locals(body: Block) -> set[str]:
    return {s.target.name for s in walk_stmts(body) if isinstance(s, Assign) and isinstance(s.target, Var)}


def _block(body: Block, structs: _Structs, names: Fresh, result: Type) -> Block:
    made: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, Return) and isinstance(result, Tuple):
            made += _return_list(stmt, structs, names, result)
            continue
        lowered = map_stmt_exprs(stmt, lambda e: _expr(e, structs))
        if isinstance(lowered, Let):
            lowered = replace(lowered, type=structs.of(lowered.type))
        made.append(map_blocks(lowered, lambda inner: _block(inner, structs, names, result)))
    return tuple(made)


def _return_list(stmt: Return, structs: _Structs, names: Fresh, result: Tuple) -> list[Stmt]:
    """Return gradients one by one, of a backward function."""
    if isinstance(stmt.value, Construct):
        listed = tuple(_expr(a, structs) for a in stmt.value.args)
        return [replace(stmt, value=replace(stmt.value, args=listed, type=result))]
    if stmt.value is None:
        return [stmt]
    value = _expr(stmt.value, structs)
    held = names.var("gradients", value.type)
    parts = tuple(Member(held, f"item{i}", e) for i, e in enumerate(result.elements))
    return [Assign(held, value, stmt.span), replace(stmt, value=Construct(parts, result, stmt.value.span))]


def _expr(expr: Expr, structs: _Structs) -> Expr:
    return rewrite(expr, lambda e: e if structs.of(e.type) == e.type else replace(e, type=structs.of(e.type)))


def _kernel(kernel: Kernel, structs: _Structs) -> Kernel:
    return replace(kernel, params=tuple(replace(p, type=structs.of(p.type)) for p in kernel.params))
