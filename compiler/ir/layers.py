"""Recognise the layers of networks: products with matrices, and functions of single entries between them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from slangad.compiler.ir.nodes import Accumulation, Call, Custom, Linear, Var
from slangad.compiler.ir.types import FLOAT, Array
from slangad.compiler.ir.walk import body_exprs, statements

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from slangad.compiler.ir.nodes import Expr, Function, Module


_TILE: Final = 16
"""Rows and columns of a tile of a matrix unit."""


class Layer(NamedTuple):
    """How the products of one matrix follow others.

    Attributes:
        before: The key of the function that all vectors go through right before the product; nothing without.
        takes_tiles: True if all vectors are products in half themselves, with that function between at most.
        gives_tiles: True if all products, which are in half, go to such layers only.
    """

    before: str = ""
    takes_tiles: bool = False
    gives_tiles: bool = False


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
    index = entry.params[-1].name
    fits = function.params[0].type == function.result and isinstance(function.result, Array)
    of_floats = isinstance(function.result, Array) and function.result.element == FLOAT
    places = (e for e in body_exprs(statements(entry)) if isinstance(e, Var) and e.name == index)
    return fits and of_floats and isinstance(function.derivative, Custom) and not any(True for _ in places)


def layers_of(module: Module) -> dict[str, Layer]:
    """Return the layer of each matrix, by the key of its tensor."""
    functions = {f.key: f for f in module.functions}
    products = [e for f in module.functions for e in body_exprs(statements(f)) if isinstance(e, Linear)]
    before = _functions_before(products, functions)
    inner = [(_key(p), _inner(p, before)) for p in products]
    pairs = [(_key(value), key) for key, value in inner if isinstance(value, Linear)]
    uses, given, taken = Counter(key for key, _ in inner), Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    in_half = {b.key: b.reach[0] for b in module.buffers if b.accumulation is Accumulation.HALF_MATRIX}
    gives = {key for key in uses if given[key] == uses[key] and in_half.get(key, 1) % _TILE == 0}
    takes = {key for key in uses if taken[key] == uses[key] and key in in_half}
    while wrong := [(a, b) for a, b in pairs if (a in gives) != (b in takes)]:
        gives -= {a for a, _ in wrong}
        takes -= {b for _, b in wrong}
    return {key: Layer(before.get(key, ""), key in takes, key in gives) for key in uses}


def _key(product: Linear) -> str:
    assert isinstance(product.source, Var)  # noqa: S101  (tensors have names already)
    return product.source.name


def _functions_before(products: Iterable[Linear], functions: Mapping[str, Function]) -> dict[str, str]:
    """Return the function that all vectors go through right before a product, by the matrix, where it is the same."""
    found: dict[str, set[str]] = {}
    for product in products:
        value = product.value
        key = value.function if isinstance(value, Call) and is_entrywise(value, functions) else ""
        found.setdefault(_key(product), set()).add(key)
    return {matrix: key for matrix, (key, *others) in found.items() if key and not others}


def _inner(product: Linear, before: Mapping[str, str]) -> Expr:
    """Return the vector of a product before the function that it goes through."""
    value = product.value
    return value.args[0] if isinstance(value, Call) and before.get(_key(product)) else value
