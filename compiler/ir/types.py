"""Types of the IR: frozen values, equal when they mean the same. Front ends produce them, every node carries one."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FLOATING: Final = ("half", "float", "double")
INTEGRAL: Final = ("int", "uint")
SCALAR_NAMES: Final = (*FLOATING, *INTEGRAL, "bool")


@dataclass(frozen=True, slots=True)
class Scalar:
    """``half`` (16 bit), ``float`` (32), ``double`` (64), ``int`` (32), ``uint`` (32) or ``bool``.

    ``cases`` are the values of an enum of a Slang file for which an ``int`` stands: it counts them from 0.
    """

    name: str
    cases: tuple[str, ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Vector:
    """A vector of 2 to 4 components."""

    element: Scalar
    size: int


@dataclass(frozen=True, slots=True)
class Matrix:
    """A matrix of 2 to 4 rows and columns of floating-point entries; ``m[i]`` is a row."""

    element: Scalar
    rows: int
    columns: int


@dataclass(frozen=True, slots=True)
class Array:
    """A fixed number of values of one type."""

    element: Type
    size: int


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a struct; a ``no_diff`` field carries no gradient."""

    name: str
    type: Type
    no_diff: bool = False


@dataclass(frozen=True, slots=True)
class Struct:
    """A struct. ``key`` distinguishes equal names of different factories or modules; ``name`` is the user's."""

    key: str
    name: str
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Tuple:
    """Several results of one function."""

    elements: tuple[Type, ...]


@dataclass(frozen=True, slots=True)
class DiffPair:
    """A differential pair: primal ``.p`` and tangent ``.d`` of one type."""

    primal: Type


@dataclass(frozen=True, slots=True)
class Tensor:
    """Random access to values in memory by ``rank`` indices; ``reads`` and ``writes`` are the permitted accesses.

    Only parameters have this type, and the memory that a group shares, which has ``extents``.
    """

    element: Type
    rank: int
    reads: bool = True
    writes: bool = False
    extents: tuple[int, ...] = ()

    @property
    def is_shared(self) -> bool:
        """True for the memory of a group."""
        return bool(self.extents)


@dataclass(frozen=True, slots=True)
class Texture:
    """Texels of floats, sampled by coordinates in [0, 1] (x along the last axis) or read by row and column.

    ``address`` is ``clamp``, ``repeat`` or ``mirror``; ``filter`` is ``bilinear`` or ``nearest``. Only parameters have
    this type.
    """

    element: Type
    address: str = "clamp"
    filter: str = "bilinear"


@dataclass(frozen=True, slots=True)
class Void:
    """No value."""


@dataclass(frozen=True, slots=True)
class Weak:
    """The type of a literal (``int`` or ``float``) until its context decides; never in a finished module."""

    name: str


Type = Scalar | Vector | Matrix | Array | Struct | Tuple | DiffPair | Tensor | Texture | Void | Weak

HALF: Final = Scalar("half")
FLOAT: Final = Scalar("float")
DOUBLE: Final = Scalar("double")
INT: Final = Scalar("int")
UINT: Final = Scalar("uint")
BOOL: Final = Scalar("bool")
VOID: Final = Void()
WEAK_INT: Final = Weak("int")
WEAK_FLOAT: Final = Weak("float")


def show(type_: Type) -> str:
    """Return the user's name of a type: ``float3``, ``float2x4``, ``Array[float, 4]``, ``Material``."""
    match type_:
        case Scalar(name=name) | Struct(name=name):
            return name
        case Vector(element, size):
            return f"{element.name}{size}"
        case Matrix(element, rows, columns):
            return f"{element.name}{rows}x{columns}"
        case Array(element, size):
            return f"Array[{show(element)}, {size}]"
        case Tuple(elements):
            return "tuple[" + ", ".join(show(e) for e in elements) + "]"
        case DiffPair(primal):
            return f"DiffPair[{show(primal)}]"
        case Tensor() | Texture():
            return show_memory(type_, show)
        case Void():
            return "None"
        case Weak(name):
            return f"{name} literal"


def show_memory(type_: Tensor | Texture, show_element: Callable[[Type], str]) -> str:
    """Return the name of the type of a memory, given a function that names the type of its elements."""
    if isinstance(type_, Tensor) and type_.is_shared:
        return f"Shared[{show_element(type_.element)}, {', '.join(map(str, type_.extents))}]"
    if isinstance(type_, Tensor):
        form = "InOutTensor" if type_.reads and type_.writes else "OutTensor" if type_.writes else "Tensor"
        return f"{form}[{show_element(type_.element)}, {type_.rank}]"
    words = [word for word in (type_.address, type_.filter) if word not in ("clamp", "bilinear")]
    return f"Texture2D[{', '.join([show_element(type_.element), *words])}]"


def element_of(type_: Type) -> Scalar | None:
    """Return the scalar type of a scalar, vector or matrix; None for other types. ``Weak`` has its default."""
    match type_:
        case Scalar():
            return type_
        case Vector(element=element) | Matrix(element=element):
            return element
        case Weak(name):
            return Scalar(name)
        case _:
            return None


def with_element(type_: Type, element: Scalar) -> Type:
    """Return the same shape with another scalar: ``float3`` with ``bool`` is ``bool3``."""
    match type_:
        case Vector(size=size):
            return Vector(element, size)
        case Matrix(rows=rows, columns=columns):
            return Matrix(element, rows, columns)
        case _:
            return element


def half_as_float(type_: Type) -> Type:
    """Return the type with ``float`` in place of ``half``; arrays are converted entry by entry, other types stay."""
    if isinstance(type_, Array):
        return Array(half_as_float(type_.element), type_.size)
    return with_element(type_, FLOAT) if element_of(type_) == HALF else type_


def is_floating(type_: Type) -> bool:
    """Return True if a scalar, vector or matrix has floating-point components."""
    element = element_of(type_)
    return element is not None and element.name in FLOATING


def is_integral(type_: Type) -> bool:
    """Return True if a scalar, vector or matrix has ``int`` or ``uint`` components."""
    element = element_of(type_)
    return element is not None and element.name in INTEGRAL


def is_scalar(type_: Type) -> bool:
    """Return True if it is one number or bool (literals included)."""
    return isinstance(type_, (Scalar, Weak))


def strengthen(type_: Type) -> Type:
    """Return the default type of a literal: ``int`` or ``float``."""
    return Scalar(type_.name) if isinstance(type_, Weak) else type_


def carries_gradient(type_: Type) -> bool:
    """Return True if a value of this type has any differentiable component."""
    match type_:
        case Scalar() | Vector() | Matrix():
            return is_floating(type_)
        case Array(element=element) | Tensor(element=element) | Texture(element=element):
            return carries_gradient(element)
        case Struct(fields=fields):
            return any(not f.no_diff and carries_gradient(f.type) for f in fields)
        case Tuple(elements):
            return any(carries_gradient(e) for e in elements)
        case DiffPair() | Void() | Weak():
            return False


def join_scalars(a: Scalar | Weak, b: Scalar | Weak) -> Scalar | Weak | None:
    """Return the common scalar type of two operands, or None if the user must write a conversion.

    ``int`` and a floating type meet in the floating type, literals take the other's type,
    ``half``/``float``/``double`` and ``int``/``uint`` do not mix.
    """
    if a == b:
        return a
    if isinstance(a, Weak) and isinstance(b, Weak):
        return WEAK_FLOAT
    if isinstance(a, Weak):
        return _join_literal(a, b)
    if isinstance(b, Weak):
        return _join_literal(b, a)
    if a.name == "int" and b.name in FLOATING:
        return b
    if b.name == "int" and a.name in FLOATING:
        return a
    return None


def _join_literal(literal: Weak, other: Scalar | Weak) -> Scalar | Weak | None:
    if other.name == "bool":
        return None
    if literal.name == "float" and other.name in INTEGRAL:
        return FLOAT if other.name == "int" else None
    return other


def join(a: Type, b: Type) -> Type | None:
    """Return the common type of two values. Scalars join and spread over vectors and matrices; others must be equal."""
    if a == b:
        return a
    ea, eb = element_of_weak(a), element_of_weak(b)
    if ea is None or eb is None:
        return None
    element = join_scalars(ea, eb)
    if element is None:
        return None
    if is_scalar(a) and is_scalar(b):
        return element
    shaped = b if is_scalar(a) else a
    same_shape = is_scalar(a) or is_scalar(b) or with_element(a, BOOL) == with_element(b, BOOL)
    return with_element(shaped, _strong(element)) if same_shape else None


def element_of_weak(type_: Type) -> Scalar | Weak | None:
    """Return the same as ``element_of``, but keep literals."""
    return type_ if isinstance(type_, Weak) else element_of(type_)


def _strong(element: Scalar | Weak) -> Scalar:
    return Scalar(element.name)


@dataclass(frozen=True, slots=True)
class Leaf:
    """One scalar inside a value: the steps to it (field names, indices) and its type."""

    path: tuple[str | int, ...]
    type: Scalar
    no_diff: bool


def leaves(type_: Type, path: tuple[str | int, ...] = (), *, no_diff: bool = False) -> Iterator[Leaf]:
    """Yield every scalar of a value in memory order: struct fields, array entries, matrix rows, vector components."""
    if isinstance(type_, Scalar):
        yield Leaf(path, type_, no_diff or not is_floating(type_))
    for step, part, passive in _parts(type_):
        yield from leaves(part, (*path, step), no_diff=no_diff or passive)


@cache
def count_scalars(type_: Type) -> Counter[Scalar]:
    """Return the number of scalars of each type in a value, in no time for arrays of any size. Don't change it."""
    match type_:
        case Scalar():
            return Counter({type_: 1})
        case Vector(element, size) | Array(element, size):
            return Counter({scalar: n * size for scalar, n in count_scalars(element).items()})
        case _:
            return sum((count_scalars(part) for _, part, _ in _parts(type_)), Counter())


def _parts(type_: Type) -> Iterator[tuple[str | int, Type, bool]]:
    """Yield the parts of a value: the step to each part, its type, and True if it carries no gradient."""
    match type_:
        case Vector(element, size) | Array(element, size):
            yield from ((i, element, False) for i in range(size))
        case Matrix(element, rows, columns):
            yield from ((i, Vector(element, columns), False) for i in range(rows))
        case Struct(fields=fields):
            yield from ((f.name, f.type, f.no_diff) for f in fields)
        case Tuple(elements):
            yield from ((i, element, False) for i, element in enumerate(elements))
        case _:
            return
