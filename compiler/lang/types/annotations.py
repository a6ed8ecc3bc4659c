"""Annotations: the memory of a value, and the IR type.

``NoDiff[float3]``, ``Each[T]``, ``Tensor[T, 2]`` and similar forms make ``Memory`` records. ``memory_annotation`` reads
any annotation as a record. ``ir_type`` reads an annotation that names the type of a value.
"""

from __future__ import annotations

import types
import typing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, Final, Generic, Literal, TypeVar

from slangad.compiler.ir.types import (
    BOOL,
    FLOAT,
    INT,
    VOID,
    Matrix,
    Scalar,
    Struct,
    Texture,
    Tuple,
    Type,
    Vector,
    carries_gradient,
)
from slangad.compiler.ir.types import Array as ArrayType
from slangad.compiler.ir.types import DiffPair as PairType
from slangad.compiler.ir.types import Tensor as TensorType
from slangad.compiler.lang.errors import AnnotationError
from slangad.compiler.lang.types.arrays import Array, ArrayValue

if TYPE_CHECKING:
    from slangad.compiler.lang.types.vectors import float2, int2

T = TypeVar("T")
N = TypeVar("N")

MemoryName = Literal[
    "value", "each", "param", "uniform", "tensor", "out_tensor", "inout_tensor", "texture2d", "sum", "mean"
]
FILTERS: Final = ("bilinear", "nearest")
ADDRESSES: Final = ("clamp", "repeat", "mirror")
_PYTHON: Final[dict[object, Type]] = {float: FLOAT, int: INT, bool: BOOL, None: VOID, types.NoneType: VOID}


@dataclass(frozen=True, slots=True)
class TextureOptions:
    """The sampling options of a texture."""

    address: str = "clamp"
    filter: str = "bilinear"


@dataclass(frozen=True, slots=True)
class Memory:
    """The parts of one annotation.

    Attributes:
        memory: The memory; ``value`` for an ordinary parameter.
        value: The annotation of the value, for ``ir_type``.
        no_diff: True if it carries no gradient.
        rank: The number of indices of a tensor.
        options: The sampling options of a texture.
    """

    memory: MemoryName
    value: object
    no_diff: bool = False
    rank: int = 0
    options: TextureOptions | None = None

    def __call__(self, *_: object) -> object:
        """Refuse the call. Forms are callable so that ``typing`` takes them as annotations."""
        raise AnnotationError(f"{_FORMS[self.memory]}[…] is an annotation, not a value")


_FORMS: Final[dict[str, str]] = {
    "value": "NoDiff",
    "each": "Each",
    "param": "Param",
    "uniform": "Uniform",
    "tensor": "Tensor",
    "out_tensor": "OutTensor",
    "inout_tensor": "InOutTensor",
    "texture2d": "Texture2D",
    "sum": "Sum",
    "mean": "Mean",
}


def _element(form: str, annotation: object) -> tuple[object, bool]:
    """Return the annotation inside a form, and True if it was in ``NoDiff``."""
    annotation = described_type(annotation)
    if not isinstance(annotation, Memory):
        return annotation, False
    if annotation.memory != "value":
        raise AnnotationError(f"{form}[{_FORMS[annotation.memory]}[…]] declares memory twice")
    return annotation.value, annotation.no_diff


def _place(memory: MemoryName, annotation: object) -> Memory:
    value, no_diff = _element(_FORMS[memory], annotation)
    return Memory(memory, value, no_diff=no_diff)


def _tensor(memory: MemoryName, parts: object) -> Memory:
    annotation, rank = parts if isinstance(parts, tuple) and len(parts) == 2 else (parts, 1)
    rank = getattr(rank, "__args__", (rank,))[0]
    form = _FORMS[memory]
    if not isinstance(rank, int) or isinstance(rank, bool) or not 1 <= rank <= 4:
        raise AnnotationError(f"the rank of a {form} is {rank!r}, not 1 to 4", f"write {form}[float, 2]")
    value, no_diff = _element(form, annotation)
    return Memory(memory, value, no_diff=no_diff, rank=rank)


def texture(value: object, *, address: str = "clamp", filter: str = "bilinear") -> Memory:  # noqa: A002  (the language's)
    """Return the annotation of a texture with sampling options.

    Args:
        value: The texel type: ``float`` to ``float4``.
        address: ``clamp``, ``repeat`` or ``mirror``: the texel for coordinates outside [0, 1].
        filter: ``bilinear`` or ``nearest``.

    Raises:
        AnnotationError: for an unknown option.
    """
    if address not in ADDRESSES:
        raise AnnotationError(f"a texture's address is {address!r}", f"one of {', '.join(ADDRESSES)}")
    if filter not in FILTERS:
        raise AnnotationError(f"a texture's filter is {filter!r}", f"one of {', '.join(FILTERS)}")
    texel, no_diff = _element("Texture2D", value)
    return Memory("texture2d", texel, no_diff=no_diff, options=TextureOptions(address, filter))


def _texture(parts: object) -> Memory:
    value, *words = parts if isinstance(parts, tuple) else (parts,)
    options: dict[str, str] = {}
    for word in words:
        word = getattr(word, "__args__", (word,))[0]  # noqa: PLW2901  (Literal["repeat"] for type checkers)
        options["filter" if word in FILTERS else "address"] = word
    return texture(value, **options)


def _no_diff(annotation: object) -> Memory:
    annotation = described_type(annotation)
    if isinstance(annotation, Memory):
        return replace(annotation, no_diff=True)
    return Memory("value", annotation, no_diff=True)


if TYPE_CHECKING:
    NoDiff = Annotated[T, "no_diff"]
    Each = Annotated[T, "each"]
    Param = Annotated[T, "param"]
    Uniform = Annotated[T, "uniform"]
    Sum = Annotated[T, "sum"]
    Mean = Annotated[T, "mean"]

    class TensorOf(Generic[T]):
        """The elements of a ``Tensor``: ``w[i, j]``, read."""

        shape: tuple[int, ...]

        def __getitem__(self, index: int | tuple[int, ...]) -> T: ...
        def __len__(self) -> int: ...

    class InOutTensorOf(TensorOf[T]):
        """The elements of an ``InOutTensor``, read and written."""

        def __setitem__(self, index: int | tuple[int, ...], value: T) -> None: ...

    class OutTensorOf(Generic[T]):
        """The elements of an ``OutTensor``, stored. Checkers take ``out[i] += value`` for a read and a store."""

        shape: tuple[int, ...]

        def __getitem__(self, index: int | tuple[int, ...]) -> T: ...
        def __setitem__(self, index: int | tuple[int, ...], value: T) -> None: ...
        def __len__(self) -> int: ...

    class Texture2DOf(Generic[T]):
        """The texels of a texture."""

        size: int2

        def sample(self, uv: float2, lod: float = ...) -> T: ...  # noqa: D102  (declared for checkers)
        def load(self, row: int, column: int) -> T: ...  # noqa: D102  (declared for checkers)

    MYPY = False  # mypy takes it as True
    if MYPY:
        # mypy accepts numbers as arguments of a type only where the type is a variable without a type, or has a plugin
        Tensor: Any
        OutTensor: Any
        InOutTensor: Any
        Texture2D: Any
    else:

        class Tensor(TensorOf[Any]):
            """Random access: ``w[i, j]``; its gradient is scattered."""

            def __class_getitem__(cls, parts: Any) -> Any: ...  # noqa: ANN401  (numbers and words are no types)

        class OutTensor(OutTensorOf[Any]):
            """Random-access output."""

            def __class_getitem__(cls, parts: Any) -> Any: ...  # noqa: ANN401

        class InOutTensor(InOutTensorOf[Any]):
            """Read and written in place."""

            def __class_getitem__(cls, parts: Any) -> Any: ...  # noqa: ANN401

        class Texture2D(Texture2DOf[Any]):
            """A texture sampled by hardware."""

            def __class_getitem__(cls, parts: Any) -> Any: ...  # noqa: ANN401

    class DiffPair(Generic[T]):
        """A value and its tangent."""

        p: T
        d: T

else:

    class NoDiff:
        """A value without gradient."""

        def __class_getitem__(cls, annotation: object) -> Memory:
            return _no_diff(annotation)

    class Each:
        """One element per thread."""

        def __class_getitem__(cls, annotation: object) -> Memory:
            return _place("each", annotation)

    class Param:
        """One value shared by all threads, trained."""

        def __class_getitem__(cls, annotation: object) -> Memory:
            return _place("param", annotation)

    class Uniform:
        """One value shared by all threads, not trained."""

        def __class_getitem__(cls, annotation: object) -> Memory:
            return _place("uniform", annotation)

    class Sum:
        """A result added up over all threads."""

        def __class_getitem__(cls, annotation: object) -> Memory:
            return _place("sum", annotation)

    class Mean:
        """A result averaged over all threads."""

        def __class_getitem__(cls, annotation: object) -> Memory:
            return _place("mean", annotation)

    class Tensor:
        """Random access: ``w[i, j]``; its gradient is scattered."""

        def __class_getitem__(cls, parts: object) -> Memory:
            return _tensor("tensor", parts)

    class OutTensor:
        """Random-access output."""

        def __class_getitem__(cls, parts: object) -> Memory:
            return _tensor("out_tensor", parts)

    class InOutTensor:
        """Read and written in place."""

        def __class_getitem__(cls, parts: object) -> Memory:
            return _tensor("inout_tensor", parts)

    class Texture2D:
        """A texture sampled by hardware."""

        def __class_getitem__(cls, parts: object) -> Memory:
            return _texture(parts)

    class DiffPair:
        """A value and its tangent, as an annotation."""

        def __class_getitem__(cls, annotation: object) -> PairForm:
            return PairForm(annotation)


@dataclass(frozen=True, slots=True)
class PairForm:
    """``sa.DiffPair[T]`` as an annotation."""

    value: object

    def __call__(self, *_: object) -> object:
        """Refuse the call."""
        raise AnnotationError("DiffPair[…] is an annotation", "make one with sa.diff_pair(value, tangent)")


def described_type(annotation: object) -> object:
    """Return the type or memory that ``Annotated[X, T]`` holds for slangad: ``T`` if it names one, else ``X``.

    Type checkers read ``X``. Annotations of other forms are returned as they are.
    """
    if typing.get_origin(annotation) is not Annotated:
        return annotation
    read_by_checkers, *metadata = typing.get_args(annotation)
    return next((described_type(m) for m in metadata if _names_type(m)), read_by_checkers)


def _names_type(annotation: object) -> bool:
    if isinstance(annotation, Memory):
        return True
    try:
        ir_type(annotation)
    except AnnotationError:
        return False
    return annotation is not None


def ir_type(annotation: object) -> Type:
    """Return the type an annotation names.

    Raises:
        AnnotationError: if it names none, or names a memory.
    """
    annotation = described_type(annotation)
    if isinstance(annotation, Memory):
        form = _FORMS[annotation.memory]
        if annotation.memory == "value":
            raise AnnotationError(f"{form}[…] goes around the type of a parameter or field, not inside it")
        raise AnnotationError(f"{form}[…] belongs to kernels", "an ordinary parameter has the type itself")
    known = _named_type(annotation)
    if known is not None:
        return known
    if typing.get_origin(annotation) is tuple:
        return _tuple_type(typing.get_args(annotation))
    raise AnnotationError(f"{_show(annotation)} is not a type of the language", _advice(annotation))


def _named_type(annotation: object) -> Type | None:
    if isinstance(annotation, PairForm):
        return _pair_type(ir_type(annotation.value))
    if isinstance(annotation, type):
        if issubclass(annotation, ArrayValue):
            return ArrayType(_stored_type(annotation), annotation.size)
        fixed = getattr(annotation, "slangad_type", None)
        if isinstance(fixed, (Scalar, Vector, Matrix)):
            return fixed
        record = annotation.__dict__.get("__slangad_struct__")
        if record is not None:
            type_: Type = record.type
            return type_
    return _PYTHON.get(annotation) if annotation is None or isinstance(annotation, type) else None


def _stored_type(array: type[ArrayValue]) -> Type:
    element = ir_type(array.element)
    if isinstance(element, (Scalar, Vector, Matrix, ArrayType, Struct)):
        return element
    raise AnnotationError(f"{_show(array)} can't hold {_show(array.element)}", "numbers, vectors, arrays and structs")


def _pair_type(primal: Type) -> Type:
    if not carries_gradient(primal):
        raise AnnotationError("DiffPair of a type that has no gradient")
    return PairType(primal)


def _tuple_type(elements: tuple[object, ...]) -> Type:
    if not elements or Ellipsis in elements:
        raise AnnotationError("a tuple annotation names each element", "write tuple[float, float3]")
    return Tuple(tuple(ir_type(e) for e in elements))


def _show(annotation: object) -> str:
    if isinstance(annotation, str):
        return repr(annotation)
    return getattr(annotation, "__name__", None) or str(annotation)


def _advice(annotation: object) -> str:
    origin = typing.get_origin(annotation) or annotation
    if origin is list or origin is tuple:
        return "write Array[float, N], or tuple[float, float3] for several results"
    if origin is Array:
        return "write Array[float, N]"
    if origin in (Each, Param, Uniform, Tensor, OutTensor, InOutTensor, Texture2D, NoDiff, Sum, Mean):
        return "it needs its element type in brackets"
    if getattr(annotation, "__module__", "").startswith("numpy"):
        return "write float, sa.Array[float, N], or sa.Tensor[float, rank] in a kernel"
    if isinstance(annotation, type):
        return "decorate the class with @sa.struct, or use float, int, bool, float3, Array[float, N], …"
    return "use float, int, bool, sa.uint, float3, float4x4, Array[float, N] or a struct"


def memory_annotation(annotation: object) -> Memory:
    """Return any annotation as a ``Memory`` record, ``value`` if it names no memory.

    The type inside is not read yet: call ``ir_type`` on the record's ``value``.
    """
    annotation = described_type(annotation)
    return annotation if isinstance(annotation, Memory) else Memory("value", annotation)


def parameter_type(memory: Memory, element: Type) -> Type:
    """Return the type of a parameter: of the value one thread sees, or the tensor or texture."""
    match memory.memory:
        case "tensor" | "out_tensor" | "inout_tensor":
            return TensorType(element, memory.rank, memory.memory != "out_tensor", memory.memory != "tensor")
        case "texture2d":
            options = memory.options
            return Texture(element) if options is None else Texture(element, options.address, options.filter)
        case _:
            return element


@dataclass(frozen=True, slots=True)
class ResultAnnotation:
    """The parts of a kernel's result annotation; ``is_tuple`` if they were written as a tuple."""

    parts: tuple[Memory, ...]
    is_tuple: bool = field(default=False)


def result_annotation(annotation: object) -> ResultAnnotation:
    """Return the parts of a result annotation: none for ``None``, one for a single result, several for a tuple."""
    if annotation is None or annotation is types.NoneType:
        return ResultAnnotation(())
    if typing.get_origin(annotation) is tuple:
        return ResultAnnotation(tuple(memory_annotation(a) for a in typing.get_args(annotation)), is_tuple=True)
    return ResultAnnotation((memory_annotation(annotation),))
