"""The zoo's functions in torch or JAX: a function of a description goes in, a callable on arrays comes out.

The text of a description is Python, so it is executed as it stands, with a stand-in for ``slangad`` that computes with
the framework. Only swizzles and ``+=`` are rewritten: arrays have no swizzles, and some can't be changed in place.
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
    """A function on a list of arrays, and its own backward function where it has one."""

    run: Callable[[list], list]
    backward: Callable[[list, list], list] | None


def translate(case: Case, ops: SimpleNamespace) -> Translated:
    """Translate a case; its mutation too if that is written by hand.

    Raises:
        InexpressibleError: It uses what has no counterpart.
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
    """A result as a list of arrays; what has no gradient is left out."""
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
    """``v.xz`` becomes ``swizzle(v, "xz")``, storing into it a new value, and ``s += x`` is no change in place."""

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
    """What stands for Python's and slangad's own names."""
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


def _stand_in(ops: SimpleNamespace) -> SimpleNamespace:  # noqa: C901  (a table)
    def lifted(function):
        return lambda x: function(ops.array(x))

    sa = SimpleNamespace(**{name: lifted(getattr(ops, name)) for name in OF_ONE})

    def vector(size: int):
        def make(*parts):
            if len(parts) == 1:
                return ops.stack([parts[0]] * size) if ops.array(parts[0]).ndim == 0 else parts[0]
            entries = [e for p in parts for e in ([p] if ops.array(p).ndim == 0 else [p[k] for k in range(p.shape[0])])]
            return ops.stack(entries)

        return make

    def extreme(pair, python):
        def pick(*values):
            if not any(ops.is_array(v) for v in values):
                return python(*values)
            result = ops.array(values[0])
            for value in values[1:]:
                result = pair(result, ops.array(value))
            return result

        return pick

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

    def whole(rounding):
        return lambda x: ops.stop(rounding(x)) if ops.is_array(x) else int(x)

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

    def zeros(cls):
        return cls(**{name: ops.array(0.0) for name in STRUCTS[cls.__name__]})

    sa.max, sa.min = extreme(ops.maximum, builtins.max), extreme(ops.minimum, builtins.min)
    sa.float2, sa.float3, sa.float4 = vector(2), vector(3), vector(4)
    sa.float2x2, sa.float2x3, sa.float3x3 = matrix(2, 2), matrix(2, 3), matrix(3, 3)
    sa.swizzle, sa.stored, sa.whole, sa.struct, sa.differentiable = swizzle, stored, whole, struct, differentiable
    sa.zeros, sa.copy, sa.Array = zeros, replace, _Arrays(ops)
    sa.range = lambda *bounds, **_: builtins.range(*(int(b) for b in bounds))
    sa.max_iters = lambda _: True
    sa.pow, sa.atan2, sa.mul = (lambda x, y: ops.array(x) ** y), ops.atan2, ops.matmul
    sa.rsqrt, sa.rcp, sa.frac = (lambda x: 1.0 / ops.sqrt(x)), (lambda x: 1.0 / x), (lambda x: x - ops.floor(x))
    sa.fmod, sa.isnan, sa.isfinite = ops.fmod, ops.isnan, ops.isfinite
    sa.any, sa.all, sa.select = ops.any, ops.all, (lambda c, a, b: a if c else b)
    sa.lerp = lambda a, b, t: a + (b - a) * t
    sa.clamp = lambda x, low, high: sa.min(sa.max(x, low), high)
    sa.saturate = lambda x: sa.clamp(x, 0.0, 1.0)
    sa.step = lambda edge, x: ops.array(1.0) if x >= edge else ops.array(0.0)
    sa.degrees, sa.radians = (lambda x: x * (180.0 / math.pi)), (lambda x: x * (math.pi / 180.0))
    sa.dot = lambda a, b: ops.sum(a * b)
    sa.cross = lambda a, b: swizzle(a, "yzx") * swizzle(b, "zxy") - swizzle(a, "zxy") * swizzle(b, "yzx")
    sa.length = lambda v: ops.sqrt(ops.sum(v * v))
    sa.distance = lambda a, b: sa.length(a - b)
    sa.normalize = lambda v: v / sa.length(v)
    sa.reflect = lambda i, n: i - 2.0 * sa.dot(n, i) * n
    sa.transpose, sa.determinant = (lambda m: m.T), (lambda m: _determinant(m, sa))

    def smoothstep(low, high, x):
        t = sa.saturate((x - low) / (high - low))
        return t * t * (3.0 - 2.0 * t)

    def refract(i, n, eta):
        c = sa.dot(n, i)
        k = 1.0 - eta * eta * (1.0 - c * c)
        return eta * i - (eta * c + ops.sqrt(k)) * n

    sa.smoothstep, sa.refract = smoothstep, refract
    return sa


class _Arrays:
    """``sa.Array[T, N](…)`` as a list."""

    def __init__(self, ops: SimpleNamespace) -> None:
        self._ops = ops

    def __getitem__(self, what: tuple) -> Callable[..., list]:
        return lambda *parts: list(parts) if parts else [self._ops.array(0.0) for _ in range(what[1])]


def _determinant(m, sa: SimpleNamespace):
    if m.shape[0] == 2:
        return m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0]
    return sa.dot(m[0], sa.cross(m[1], m[2]))
