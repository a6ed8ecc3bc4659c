"""Recognise the layers of networks: products with matrices, and functions of single entries between them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from slangad.compiler.ir.calls import differentiated
from slangad.compiler.ir.nodes import (
    Accumulation,
    Automatic,
    Call,
    Comment,
    Const,
    Custom,
    Intrinsic,
    Let,
    Linear,
    Return,
    Var,
)
from slangad.compiler.ir.types import FLOAT, Array
from slangad.compiler.ir.walk import body_exprs, statements

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from slangad.compiler.ir.nodes import Buffer, Expr, Function, Module


_TILE: Final = 16
"""Rows and columns of a tile of a matrix unit."""
MOST_TOGETHER: Final = 700
"""The most rows and columns together of a matrix that CUDA's matrix units multiply by."""
MOST_ON_TILES: Final = 128
"""The most rows, and the most columns, of a matrix that Vulkan's matrix units multiply by."""
MOST_ON_SIMDGROUPS: Final = 64
"""The same of Metal's."""
LEAST_IN_FLOAT: Final = 33
"""The least rows, or columns, of a matrix in float that they multiply by."""
MEMORY_ON_TILES: Final = 2304
"""Blocks of four floats in a group's memory where Vulkan's matrix units multiply."""
MOST_RESIDENT: Final = 640
"""Those for matrices that stay there, so that a group puts them there once and not for each product."""
_RECTIFIED: Final = range(33, 129)
"""Entries of products that pay as halfs and fit into a thread's registers: a pass of CUDA's matrix units gives 64."""
_WAVE: Final = 32
_MOST_THREADS: Final = 256
_OF_VECTORS: Final = 96 * _MOST_THREADS // _WAVE
"""Blocks through which the vectors of all waves go."""


class Layer(NamedTuple):
    """How the products of one matrix follow others.

    Attributes:
        before: The key of the function that all vectors go through right before the product; nothing without.
        takes_tiles: True if all vectors are products themselves, with that function between at most.
        gives_tiles: True if all products go to such layers only.
        takes_rectified: True if all vectors are the positive parts of products, in half on matrix units.
        gives_rectified: True if all products go to such layers only.
    """

    before: str = ""
    takes_tiles: bool = False
    gives_tiles: bool = False
    takes_rectified: bool = False
    gives_rectified: bool = False


def entry_key(key: str) -> str:
    """Return the key of the function of one entry, for that of the function of an array."""
    return f"{key} entry"


def is_entrywise(expr: Expr, functions: Mapping[str, Function]) -> bool:
    """Return True for a call that computes each entry of an array in the same way from that of its one argument.

    It may then be computed on entries of any threads' arrays. ``map_entries`` makes such functions: they read neither
    other entries nor anything else that differs between threads.
    """
    if not isinstance(expr, Call) or len(expr.args) != 1 or entry_key(expr.function) not in functions:
        return False
    function, entry = functions[expr.function], functions[entry_key(expr.function)]
    result = function.result
    of_floats = isinstance(result, Array) and result.element == FLOAT and function.params[0].type == result
    reads = {e.name for e in body_exprs(statements(entry)) if isinstance(e, Var)}
    return of_floats and isinstance(function.derivative, Custom) and entry.params[-1].name not in reads


def multiplying(module: Module) -> set[str]:
    """Return the keys of the functions that Slang differentiates in kernels that multiply by matrices together."""
    functions = {f.key: f for f in module.functions}
    kernels = {b.kernel for b in module.buffers if b.accumulation.is_matrix}
    roots = (kernel.function for kernel in module.kernels if kernel.name in kernels)
    return {key for root in roots for key in differentiated(functions, root) if functions[key].differentiable}


def layers_of(module: Module) -> dict[str, Layer]:
    """Return the layer of each matrix, by the key of its tensor."""
    if not any(b.accumulation.is_matrix for b in module.buffers):
        return {}
    functions = {f.key: f for f in module.functions}
    products = [e for f in module.functions for e in body_exprs(statements(f)) if isinstance(e, Linear)]
    before = {key: Layer(function) for key, function in _functions_before(products, functions).items()}
    inner = [(_key(p), vector_of(p, before)) for p in products]
    pairs = [(_key(value), key) for key, value in inner if isinstance(value, Linear)]
    uses, given, taken = Counter(key for key, _ in inner), Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    matrices = {b.key: b for b in module.buffers if b.accumulation.is_matrix}
    gives = {key for key in uses if given[key] == uses[key] and matrices[key].reach[0] % _TILE == 0}
    takes = {key for key in uses if taken[key] == uses[key]}
    gives -= {a for a, b in pairs if _units(matrices[a]) != _units(matrices[b])}
    _agree(pairs, gives, takes)
    in_half = {key for key in uses if matrices[key].accumulation is Accumulation.HALF_MATRIX}
    halfs = {key for key in in_half if _units(matrices[key]) == (True, True)}
    gives_rectified = {key for key in gives & halfs if matrices[key].reach[0] in _RECTIFIED}
    takes_rectified = {key for key in takes & halfs if _is_positive_part(entry_key(before[key].before), functions)}
    _agree(pairs, gives_rectified, takes_rectified)
    return {
        key: Layer(layer.before, key in takes, key in gives, key in takes_rectified, key in gives_rectified)
        for key, layer in before.items()
    }


def _agree(pairs: Iterable[tuple[str, str]], gives: set[str], takes: set[str]) -> None:
    """Leave those that give to such only that take, and those that take from such only that give."""
    while wrong := [(a, b) for a, b in pairs if (a in gives) != (b in takes)]:
        gives -= {a for a, _ in wrong}
        takes -= {b for _, b in wrong}


def _is_positive_part(key: str, functions: Mapping[str, Function]) -> bool:
    """Return True if a function computes max(x, 0) of its first parameter x, with the derivative that follows."""
    function = functions.get(key)
    if function is None or function.derivative != Automatic() or function.params[0].no_diff:
        return False
    x = Var(function.params[0].name, function.params[0].type)
    match tuple(s for s in statements(function) if not isinstance(s, Comment)):
        case (Return(value=value),):
            pass
        case (Let(name=name, value=value), Return(value=Var(name=result))) if result == name:
            pass
        case _:
            return False
    match value:
        case Call(function=inner, args=(argument, *_)):
            return argument == x and _is_positive_part(inner, functions)
        case Intrinsic(name="max", args=(first, second)):
            return {first, second} == {x, Const(0.0, FLOAT)}
        case _:
            return False


def _units(matrix: Buffer) -> tuple[bool, bool]:
    """Return for CUDA and Vulkan whether matrix units multiply by a matrix: ``on_units`` of slangad_linear.slang."""
    size, in_half = max(matrix.reach), matrix.accumulation is Accumulation.HALF_MATRIX
    return sum(matrix.reach) <= MOST_TOGETHER, size <= MOST_ON_TILES and (in_half or size >= LEAST_IN_FLOAT)


class Resident(NamedTuple):
    """Where matrices stay in a group's memory, by their keys, in blocks of four floats; and the blocks before them."""

    places: Mapping[str, int]
    room: int


def residents_of(matrices: Sequence[Buffer], group: int) -> Resident:
    """Return which of a kernel's matrices stay in the memory of a group on Vulkan's matrix units: the largest that fit.

    None does where there is another product: its function takes all of that memory.

    Args:
        matrices: All matrices of the kernel.
        group: The threads of a group.
    """
    blocks = {m.key: _blocks_of(m) for m in matrices}
    places: dict[str, int] = {}
    room = MEMORY_ON_TILES
    if group % _WAVE == 0 and group <= _MOST_THREADS and all(_units(m)[1] for m in matrices):
        for matrix in sorted(matrices, key=lambda m: -blocks[m.key]):
            left = [blocks[m.key] for m in matrices if m.key not in (*places, matrix.key)]
            used = MEMORY_ON_TILES - room + blocks[matrix.key]
            fits = used <= MOST_RESIDENT and max(left, default=0) + _OF_VECTORS <= MEMORY_ON_TILES - used
            if fits and matrix.extents == matrix.reach:
                room = places[matrix.key] = room - blocks[matrix.key]
    return Resident(places, room)


def _blocks_of(matrix: Buffer) -> int:
    """Return the blocks of four floats that a matrix takes as halfs, or as two halfs for each entry."""
    rows, columns = (-(-extent // _TILE) for extent in matrix.reach)
    terms = 1 if matrix.accumulation is Accumulation.HALF_MATRIX else 2
    return terms * _TILE * rows * (2 * columns + 1)


def vector_of(product: Linear, layers: Mapping[str, Layer]) -> Expr:
    """Return the vector of a product, before the function of its layer."""
    value = product.value
    return value.args[0] if isinstance(value, Call) and layers[_key(product)].before else value


def _key(product: Linear) -> str:
    assert isinstance(product.source, Var)  # noqa: S101  (tensors have names already)
    return product.source.name


def _functions_before(products: Iterable[Linear], functions: Mapping[str, Function]) -> dict[str, str]:
    """Return the function that all vectors go through right before a product, by the matrix; nothing if they differ."""
    found: dict[str, set[str]] = {}
    for product in products:
        value = product.value
        key = value.function if isinstance(value, Call) and is_entrywise(value, functions) else ""
        found.setdefault(_key(product), set()).add(key)
    return {matrix: "" if others else key for matrix, (key, *others) in found.items()}
