"""The types of a function's locals: each is the join of all values assigned to it, as in Slang.

The types follow from the tree, the parameters' types and the outside names. A local has a type if all its assignments
have one; other locals are Python's. Thus ``x = 0`` that later becomes a float is a float from the start.
"""

from __future__ import annotations

import ast
import builtins
from types import FunctionType
from typing import TYPE_CHECKING, Final

from slangad.compiler.ir.types import (
    BOOL,
    FLOAT,
    INT,
    WEAK_FLOAT,
    WEAK_INT,
    Array,
    DiffPair,
    Matrix,
    Struct,
    Tensor,
    Texture,
    Tuple,
    Type,
    Vector,
    Weak,
    element_of,
    element_of_weak,
    is_integral,
    join,
    strengthen,
    with_element,
)
from slangad.compiler.lang.decorators import derivatives, loops
from slangad.compiler.lang.decorators.functions import DescribedFunction, describe
from slangad.compiler.lang.decorators.generic import GenericFunction
from slangad.compiler.lang.decorators.signature import signature_of
from slangad.compiler.lang.decorators.struct import CALL, described_struct
from slangad.compiler.lang.errors import DescriptionError, TypeRuleError
from slangad.compiler.lang.execution.names import MISSING, Outside
from slangad.compiler.lang.execution.runtime import constant
from slangad.compiler.lang.intrinsics import INTRINSICS, python_equivalents
from slangad.compiler.lang.types import copies
from slangad.compiler.lang.types.annotations import ir_type
from slangad.compiler.lang.types.intrinsic_functions import IntrinsicFunction
from slangad.compiler.lang.types.parts import places
from slangad.compiler.lang.types.records import CLASSES
from slangad.compiler.lang.types.values import try_type_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROUNDS: Final = 12
Assignment = tuple[ast.expr, ast.expr | None, ast.AST]


class Locals:
    """The types of the expressions of one function, from the types of its locals."""

    def __init__(self, tree: ast.FunctionDef, parameters: Mapping[str, Type], outside: Outside) -> None:
        self.tree = tree
        self.parameters = dict(parameters)
        self.outside = outside
        self.types: dict[str, Type | None] = dict(parameters)
        self._unknown: set[str] = set()
        self._solve()

    def of_name(self, name: str) -> Type | None:
        """Return the type of a local or parameter, None if it is not known."""
        return self.types.get(name)

    def _solve(self) -> None:
        """Infer types until none changes. Untyped values are assumed to fit; those left at the end are unknown."""
        for _ in range(ROUNDS):
            types_ = self._round()
            unknown = {n for n, t in self._assigned() if t is None or n not in types_} - self._unknown
            if types_ == self.types and not unknown:
                return
            if types_ == self.types:
                self._unknown |= unknown
            self.types = types_
        self.types = dict(self.parameters)

    def _round(self) -> dict[str, Type | None]:
        result: dict[str, Type | None] = dict(self.parameters)
        for name, type_ in self._assigned():
            before = result.get(name)
            met = join(before, type_) if before is not None and type_ is not None else before or type_
            if met is None and before is not None:
                self._unknown.add(name)
            if met is not None:
                result[name] = met
        return {name: None if name in self._unknown else strengthen(t) for name, t in result.items() if t is not None}

    def _assigned(self) -> Iterator[tuple[str, Type | None]]:
        for node in ast.walk(self.tree):
            match node:
                case ast.Assign(targets=targets, value=value):
                    for target in targets:
                        yield from _spread(target, self.type_of(value))
                case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation):
                    yield name, self.annotated(annotation)
                case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
                    read = ast.Name(target.id, ast.Load())
                    yield name, self.type_of(ast.BinOp(read, op, value))
                case ast.For(target=target, iter=values):
                    yield from _spread(target, self.item_of(values))
                case _:
                    pass

    def annotated(self, annotation: ast.expr) -> Type | None:
        """Return the type that an annotation inside the body names."""
        entity = self.outside.find(annotation)
        if isinstance(annotation, ast.Subscript):
            entity = self._evaluate(annotation)
        try:
            return None if entity is MISSING else ir_type(entity)
        except DescriptionError:
            return None

    def _evaluate(self, node: ast.Subscript) -> object:
        """Return the object of an annotation such as ``Array[float, 4]``."""
        head = self.outside.find(node.value)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        values = [
            self._evaluate(p) if isinstance(p, ast.Subscript)
            else p.value if isinstance(p, ast.Constant) else self.outside.find(p)
            for p in parts
        ]  # fmt: skip
        if head is MISSING or MISSING in values:
            return MISSING
        try:
            return head[tuple(values) if len(values) > 1 else values[0]]  # type: ignore[index]  # errors end it
        except (TypeError, DescriptionError):
            return MISSING

    # --- expressions -------------------------------------------------------------------------------------------------

    def type_of(self, node: ast.expr) -> Type | None:
        """Return the type of an expression, None when it is not known."""
        match node:
            case ast.Constant(value=value):
                return try_type_of(value)
            case ast.Name(id=name):
                return self.types[name] if name in self.types else self._constant(node)
            case ast.Compare() | ast.BoolOp() | ast.UnaryOp():
                return self._logic(node)
            case ast.BinOp(left=left, op=op, right=right):
                return self._binary(left, op, right)
            case ast.IfExp(body=body, orelse=other):
                return self._joined(body, other)
            case ast.Tuple(elts=elements):
                return self._tuple(elements)
            case ast.Call(func=function, args=args, keywords=keywords):
                return self._call(function, args, keywords)
            case ast.Attribute(value=value, attr=name):
                return self._attribute(node, value, name)
            case ast.Subscript(value=value, slice=place):
                return self._subscript(value, place)
            case _:
                return None

    def _logic(self, node: ast.Compare | ast.BoolOp | ast.UnaryOp) -> Type | None:
        match node:
            case ast.UnaryOp(op=ast.Not()) | ast.BoolOp():
                return BOOL
            case ast.UnaryOp(operand=operand):
                return self.type_of(operand)
            case ast.Compare(left=left, comparators=[right]):
                met = self._joined(left, right)
                return with_element(met, BOOL) if isinstance(met, Vector) else BOOL
            case _:
                return BOOL

    def _constant(self, node: ast.expr) -> Type | None:
        entity = self.outside.find(node)
        return None if entity is MISSING or isinstance(entity, type) else try_type_of(constant(entity))

    def _joined(self, *nodes: ast.expr) -> Type | None:
        types = [self.type_of(n) for n in nodes]
        met = types[0]
        for type_ in types[1:]:
            met = None if met is None or type_ is None else join(met, type_)
        return met

    def _binary(self, left: ast.expr, op: ast.operator, right: ast.expr) -> Type | None:
        if isinstance(op, ast.MatMult):
            return self._row("mul", [left, right])
        if isinstance(op, ast.Pow):
            return self._power(left, right)
        met = self._joined(left, right)
        if met is None or element_of(met) == BOOL:
            return None
        if isinstance(op, ast.Div):
            return _divided(met)
        return met

    def _power(self, left: ast.expr, right: ast.expr) -> Type | None:
        base, exponent = self.type_of(left), self.type_of(right)
        if base is None or exponent is None:
            return None
        if exponent == WEAK_INT and not isinstance(right, ast.UnaryOp):
            return base
        floating = _divided(base)
        return join(floating, exponent) if floating is not None and not is_integral(exponent) else floating

    def _tuple(self, elements: list[ast.expr]) -> Type | None:
        types = [self.type_of(e) for e in elements]
        return None if None in types else Tuple(tuple(t for t in types if t is not None))

    def _row(self, name: str, args: list[ast.expr]) -> Type | None:
        types = [self.type_of(a) for a in args]
        try:
            return INTRINSICS[name].rule([t for t in types if t is not None]).result if None not in types else None
        except TypeRuleError:
            return None

    def _call(self, function: ast.expr, args: list[ast.expr], keywords: list[ast.keyword]) -> Type | None:
        entity = self.outside.find(function)
        if entity is MISSING:
            return self._method(function)
        if isinstance(entity, IntrinsicFunction):
            return self._row(entity.name, args)
        if isinstance(entity, GenericFunction):
            return self._generic(entity, args, keywords)
        if isinstance(entity, (DescribedFunction, FunctionType)):
            return self._described(entity, args)
        if isinstance(entity, type):
            return self._constructed(entity, args)
        row = _hashed(entity)
        if row is not None:
            return self._row(row, args) if row != "pow" or len(args) != 2 else self._power(*args)
        if entity is builtins.len:
            return INT if args and isinstance(self.type_of(args[0]), Tensor) else WEAK_INT
        return None

    def _described(self, described: DescribedFunction[..., object] | FunctionType, args: list[ast.expr]) -> Type | None:
        if described in (derivatives.no_diff, copies.copy) and len(args) == 1:
            return self.type_of(args[0])
        if described is derivatives.probe and len(args) == 2:
            return self.type_of(args[1])
        if described in (loops.thread_id, loops.thread_count):
            return INT
        if isinstance(described, FunctionType) and described.__module__.startswith("slangad."):
            return None
        try:
            return signature_of(described if isinstance(described, DescribedFunction) else describe(described)).result
        except DescriptionError:
            return None

    def _constructed(self, class_: type, args: list[ast.expr]) -> Type | None:
        row = python_equivalents.get(class_)
        if row is not None:
            return self._row(row, args)
        try:
            return ir_type(class_)
        except DescriptionError:
            return None

    def _generic(self, generic: GenericFunction, args: list[ast.expr], keywords: list[ast.keyword]) -> Type | None:
        types = [self.type_of(a) for a in args]
        named = {k.arg: self.type_of(k.value) for k in keywords if k.arg is not None}
        if None in types or None in named.values():
            return None
        try:
            known = {name: t for name, t in named.items() if t is not None}
            return signature_of(generic.instance([t for t in types if t is not None], known)).result
        except DescriptionError:
            return None

    def _method(self, function: ast.expr) -> Type | None:
        if isinstance(function, ast.Attribute):
            owner = self.type_of(function.value)
            if isinstance(owner, Texture):
                return owner.element
            method = self._method_of(owner, function.attr)
            if method is not None:
                return self._described(method, [])
        method = self._method_of(self.type_of(function), CALL)
        return self._described(method, []) if method is not None else None

    @staticmethod
    def _method_of(owner: Type | None, name: str) -> DescribedFunction[..., object] | None:
        record = described_struct(CLASSES.get(owner)) if isinstance(owner, Struct) else None
        return record.methods.get(name) if record is not None else None

    def _attribute(self, node: ast.expr, value: ast.expr, name: str) -> Type | None:
        owner = self.type_of(value)
        match owner:
            case Vector(element, size):
                components = places(name, size)
                if components is None:
                    return None
                return element if len(components) == 1 else Vector(element, len(components))
            case Struct(fields=fields):
                return next((f.type for f in fields if f.name == name), None)
            case DiffPair(primal):
                return primal
            case Tensor(rank=rank):
                return Tuple((INT,) * rank)
            case Texture():
                return Vector(INT, 2)
            case None:
                return self._constant(node)
            case _:
                return None

    def _subscript(self, value: ast.expr, place: ast.expr) -> Type | None:
        owner = self.type_of(value)
        if isinstance(owner, Tensor):
            return owner.element
        depth = len(place.elts) if isinstance(place, ast.Tuple) else 1
        for _ in range(depth):
            owner = self._entry(owner, place)
        return owner

    def _entry(self, owner: Type | None, place: ast.expr) -> Type | None:
        match owner:
            case Vector(element=element):
                return element
            case Array(element=element):
                return element
            case Matrix(element, _, columns):
                return Vector(element, columns)
            case Tuple(elements) if isinstance(place, ast.Constant) and isinstance(place.value, int):
                return elements[place.value] if place.value < len(elements) else None
            case _:
                return None

    def item_of(self, values: ast.expr) -> Type | None:
        """Return the type of the items of a ``for`` loop."""
        if isinstance(values, ast.Tuple):
            return self._joined(*values.elts) if values.elts else None
        if isinstance(values, ast.Call):
            return self._turn(self.outside.find(values.func), values)
        return self._entry(self.type_of(values), values)

    def _turn(self, function: object, values: ast.Call) -> Type | None:
        items = [self.item_of(a) for a in values.args]
        if function in (builtins.range, loops.range, loops.group_range):
            return INT
        if None in items or not items:
            return None
        known = tuple(i for i in items if i is not None)
        if function is builtins.enumerate:
            return Tuple((INT, known[0]))
        if function is builtins.zip:
            return Tuple(known)
        return known[0] if function is builtins.reversed else None


def _spread(target: ast.expr, type_: Type | None) -> Iterator[tuple[str, Type | None]]:
    """Yield the names of a target with their parts of a type."""
    if isinstance(target, ast.Name):
        yield target.id, type_
    elif isinstance(target, (ast.Tuple, ast.List)):
        parts = _parts(type_, len(target.elts))
        for element, part in zip(target.elts, parts, strict=True):
            yield from _spread(element, part)


def _parts(type_: Type | None, count: int) -> list[Type | None]:
    match type_:
        case Tuple(elements) if len(elements) == count:
            return list(elements)
        case Vector(element=element, size=size) if size == count:
            return [element] * count
        case Array(element=element, size=size) if size == count:
            return [element] * count
        case _:
            return [None] * count


def _divided(type_: Type) -> Type | None:
    """Return the type of a quotient: floating."""
    element = element_of_weak(type_)
    if element is None or element == BOOL:
        return None
    if isinstance(element, Weak):
        return WEAK_FLOAT
    return with_element(type_, FLOAT) if is_integral(type_) else type_


def _hashed(function: object) -> str | None:
    try:
        return python_equivalents.get(function)
    except TypeError:
        return None
