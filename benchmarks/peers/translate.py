"""Translate the zoo's functions to torch or JAX: from a function of a description to a callable on arrays.

A description is Python, so it is executed, with a substitute for ``slangad`` that computes with the framework. Only
swizzles and ``+=`` are rewritten, because arrays have no swizzles and some can't be changed in place.
"""

from __future__ import annotations

import ast
import builtins
import math
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING

from cases import STRUCTS, InexpressibleError, leaves
from support.zoo_animals import HEAD

if TYPE_CHECKING:
    from collections.abc import Callable

    from cases import Case

OF_ONE = (
    *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "exp2", "log", "log2", "log10"),
    *("sqrt", "floor", "ceil", "trunc", "round", "sign"),
)
"""Functions of one number that all frameworks have."""


@dataclass
class Translated:
    """A function on a list of arrays, and its custom backward function if it has one."""

    run: Callable[[list], list]
    backward: Callable[[list, list], list] | None


def translate(case: Case, ops: SimpleNamespace) -> Translated:
    """Translate a case, and its mutation if that is written by hand.

    Raises:
        InexpressibleError: The framework has no counterpart for a part of it.
    """
    case.refuse()
    animal, backward = case.animal, case.animal.backward
    if case.kind.startswith("own_"):
        backward = backward.replace(*animal.breaks[case.kind.removeprefix("own_")])
    space = _namespace(ops)
    head = HEAD.split("K = ")[1]
    text = f"K = {head}{animal.before}{animal.text_as(animal.name, backward)}"
    tree = ast.fix_missing_locations(_Swizzles().visit(ast.parse(text)))
    flags = __import__("__future__").annotations.compiler_flag
    exec(compile(tree, animal.name, "exec", flags=flags, dont_inherit=True), space)
    function = space[animal.name]

    def run(values: list) -> list:
        return _flat(function(*_arguments(case, values, ops)), ops)

    def back(values: list, seeds: list) -> list:
        seed = seeds[0] if not animal.result.startswith("tuple") else tuple(seeds)
        found = function.own(*_arguments(case, values, ops), seed)
        return _flat(found, ops)

    return Translated(run, back if backward else None)


def _arguments(case: Case, values: list, ops: SimpleNamespace) -> list:
    left = iter(values)
    return [_built(type_, left, ops) for type_ in case.animal.types.values()]


def _built(type_: str, left, ops: SimpleNamespace):
    if type_.startswith("NoDiff["):
        return _built(type_[7:-1], left, ops)
    if type_.startswith("sa.Array["):
        inner, size = type_[9:-1].rsplit(", ", 1)
        if inner in STRUCTS:
            return [_built(inner, left, ops) for _ in range(int(size))]
        return _listed(next(left), len(next(leaves("", type_)).shape))
    if type_ in STRUCTS:
        made = {name: _built(field, left, ops) for name, field in STRUCTS[type_].items()}
        return ops.structs[type_](**made)
    return next(left)


def _listed(value, depth: int):
    return [_listed(value[k], depth - 1) for k in range(value.shape[0])] if depth else value


def _flat(value, ops: SimpleNamespace) -> list:
    """Return a result as a list of arrays, without parts that have no gradient."""
    if isinstance(value, tuple):
        return [leaf for part in value for leaf in _flat(part, ops)]
    name = type(value).__name__
    if name in STRUCTS:
        return [
            leaf
            for field, type_ in STRUCTS[name].items()
            if type_ != "int"
            for leaf in _flat(getattr(value, field), ops)
        ]
    if isinstance(value, list):
        return [ops.stack([_flat(part, ops)[0] for part in value])]
    return [ops.array(value)]


class _Swizzles(ast.NodeTransformer):
    """Rewrite ``v.xz`` to ``swizzle(v, "xz")``, a store into it to a new value, and ``s += x`` to an assignment."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load) or not set(node.attr) <= set("xyzw"):
            return node
        return _call("swizzle", node.value, ast.Constant(node.attr))

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        read = ast.parse(ast.unparse(node.target), mode="eval").body
        return self.visit(ast.Assign([node.target], ast.BinOp(read, node.op, node.value)))

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        return _call("floor_div", node.left, node.right) if isinstance(node.op, ast.FloorDiv) else node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        self.generic_visit(node)
        (target,) = node.targets
        if not isinstance(target, ast.Attribute) or not set(target.attr) <= set("xyzw"):
            return node
        if not isinstance(target.value, ast.Name):
            raise InexpressibleError("it stores into a part of a part")
        name = target.value.id
        value = _call("stored", ast.Name(name, ast.Load()), ast.Constant(target.attr), node.value)
        return ast.Assign([ast.Name(name, ast.Store())], value)


def _call(name: str, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(args), [])


def _namespace(ops: SimpleNamespace) -> dict[str, object]:
    """Return the substitutes for Python's and slangad's names."""
    sa = _stand_in(ops)
    space = {
        **{name: getattr(sa, name) for name in ("float2", "float3", "float4", "float2x2", "float2x3", "float3x3")},
        **{name: getattr(sa, name) for name in ("max", "min", "swizzle", "stored")},
        "sa": sa,
        "math": SimpleNamespace(floor=sa.whole(ops.floor)),
        "floor_div": lambda x, y: ops.stop(ops.floor(x / y)) if ops.is_array(x) else x // y,
        "float": ops.array,
        "int": sa.whole(ops.trunc),
        "round": sa.whole(ops.round),
        "abs": lambda x: ops.abs(x) if ops.is_array(x) else builtins.abs(x),
        "sum": ops.sum,
    }
    space["NoDiff"] = None
    return space


def _stand_in(ops: SimpleNamespace) -> SimpleNamespace:
    """Return the substitute for slangad, with every name that the zoo uses."""
    made = {name: _lifted(getattr(ops, name), ops) for name in OF_ONE}
    made |= _makers(ops) | _of_numbers(ops) | _of_language(ops)
    made |= _clamps(made["min"], made["max"]) | _of_vectors(made["swizzle"], ops)
    return SimpleNamespace(**made)


def _lifted(function: Callable, ops: SimpleNamespace) -> Callable:
    return lambda x: function(ops.array(x))


def _makers(ops: SimpleNamespace) -> dict[str, Callable]:
    """Return constructors of vectors and matrices, and access to their parts."""

    def vector(size: int):
        def make(*parts):
            if len(parts) == 1:
                return ops.stack([parts[0]] * size) if ops.array(parts[0]).ndim == 0 else parts[0]
            entries = [e for p in parts for e in ([p] if ops.array(p).ndim == 0 else [p[k] for k in range(p.shape[0])])]
            return ops.stack(entries)

        return make

    def matrix(rows: int, columns: int):
        return lambda *e: ops.stack(list(e)).reshape(rows, columns)

    def swizzle(value, letters: str):
        picked = [value["xyzw".index(letter)] for letter in letters]
        return picked[0] if len(picked) == 1 else ops.stack(picked)

    def stored(value, letters: str, new):
        parts = [value[k] for k in range(value.shape[0])]
        for place, letter in enumerate(letters):
            parts["xyzw".index(letter)] = new if len(letters) == 1 else new[place]
        return ops.stack(parts)

    return {
        **{f"float{size}": vector(size) for size in (2, 3, 4)},
        **{f"float{rows}x{columns}": matrix(rows, columns) for rows, columns in ((2, 2), (2, 3), (3, 3))},
        "swizzle": swizzle,
        "stored": stored,
    }


def _of_language(ops: SimpleNamespace) -> dict[str, object]:
    """Return substitutes for decorators, loops, structs and arrays."""

    def struct(cls):
        made = dataclass(cls)
        ops.structs[cls.__name__] = made
        return made

    def differentiable(*args, **_):
        def mark(function):
            def backward(own):
                function.own = own
                return own

            function.backward = backward
            return function

        return mark(args[0]) if args else mark

    return {
        "struct": struct,
        "differentiable": differentiable,
        "zeros": lambda cls: cls(**{name: ops.array(0.0) for name in STRUCTS[cls.__name__]}),
        "copy": replace,
        "Array": _Arrays(ops),
        "range": lambda *bounds, **_: builtins.range(*(int(b) for b in bounds)),
        "max_iters": lambda _: True,
    }


def _of_numbers(ops: SimpleNamespace) -> dict[str, Callable]:
    """Return functions of numbers, which also apply per component."""

    def extreme(pair, python):
        def pick(*values):
            if not any(ops.is_array(v) for v in values):
                return python(*values)
            result = ops.array(values[0])
            for value in values[1:]:
                result = pair(result, ops.array(value))
            return result

        return pick

    return {
        "max": extreme(ops.maximum, builtins.max),
        "min": extreme(ops.minimum, builtins.min),
        "whole": lambda rounding: lambda x: ops.stop(rounding(x)) if ops.is_array(x) else int(x),
        "pow": lambda x, y: ops.array(x) ** y,
        "rsqrt": lambda x: 1.0 / ops.sqrt(x),
        "rcp": lambda x: 1.0 / x,
        "frac": lambda x: x - ops.floor(x),
        "any": ops.any,
        "all": ops.all,
        "atan2": ops.atan2,
        "fmod": ops.fmod,
        "isnan": ops.isnan,
        "isfinite": ops.isfinite,
        "select": lambda c, a, b: a if c else b,
        "lerp": lambda a, b, t: a + (b - a) * t,
        "step": lambda edge, x: ops.array(1.0) if x >= edge else ops.array(0.0),
        "degrees": lambda x: x * (180.0 / math.pi),
        "radians": lambda x: x * (math.pi / 180.0),
    }


def _clamps(smaller: Callable, larger: Callable) -> dict[str, Callable]:
    """Return functions that are constant outside their limits."""

    def clamp(x, low, high):
        return smaller(larger(x, low), high)

    def saturate(x):
        return clamp(x, 0.0, 1.0)

    def smoothstep(low, high, x):
        t = saturate((x - low) / (high - low))
        return t * t * (3.0 - 2.0 * t)

    return {"clamp": clamp, "saturate": saturate, "smoothstep": smoothstep}


def _of_vectors(swizzle: Callable, ops: SimpleNamespace) -> dict[str, Callable]:
    """Return functions of vectors and matrices."""

    def dot(a, b):
        return ops.sum(a * b)

    def cross(a, b):
        return swizzle(a, "yzx") * swizzle(b, "zxy") - swizzle(a, "zxy") * swizzle(b, "yzx")

    def length(v):
        return ops.sqrt(ops.sum(v * v))

    def determinant(m):
        if m.shape[0] == 2:
            return m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0]
        return dot(m[0], cross(m[1], m[2]))

    def refract(i, n, eta):
        c = dot(n, i)
        k = 1.0 - eta * eta * (1.0 - c * c)
        return eta * i - (eta * c + ops.sqrt(k)) * n

    return {
        "dot": dot,
        "cross": cross,
        "length": length,
        "distance": lambda a, b: length(a - b),
        "normalize": lambda v: v / length(v),
        "reflect": lambda i, n: i - 2.0 * dot(n, i) * n,
        "refract": refract,
        "mul": ops.matmul,
        "transpose": lambda m: m.T,
        "determinant": determinant,
    }


class _Arrays:
    """Make ``sa.Array[T, N](…)`` a list."""

    def __init__(self, ops: SimpleNamespace) -> None:
        self._ops = ops

    def __getitem__(self, what: tuple) -> Callable[..., list]:
        return lambda *parts: list(parts) if parts else [self._ops.array(0.0) for _ in range(what[1])]
