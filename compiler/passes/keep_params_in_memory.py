"""Leave large ``Param``s, and those with halfs, in memory: a thread reads the entries that it uses, and holds no copy.

A struct or array of more than ``FEW_SCALARS`` scalars becomes one tensor for each of its arrays. So does a parameter of
any size with a half that gets a gradient: a thread's sums of it are float in a tensor, and half in a value. A function
with a part of it as argument is cloned, with the tensors and the indices on the way to the part:

    fn layer(l: Layer, x)     l.w[i][j] * x[j]          ->   fn layer(l.w: Tensor, l_at, x)   l.w[l_at, i, j] * x[j]
    kernel fit(net: Net)      layer(net.layers[k], x)        kernel fit(net.layers.w: Tensor)  layer(net.layers.w, k, x)

``name_tensors`` then gives the tensors names, and decides how their gradients accumulate. A ``Param`` is passed by
value as before if it is used as a whole value: stored in a struct, returned, or an argument of a function with a custom
derivative.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.calls import value_callees
from slangad.compiler.ir.memory_parts import memory_parts, scalar_count
from slangad.compiler.ir.types import HALF, INT, Array, Struct, Tuple, Type, element_of
from slangad.compiler.ir.walk import map_blocks, map_children, map_stmt_exprs, root, statements, walk, walk_stmts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from slangad.compiler.errors.spans import Span

FEW_SCALARS: Final = 64
"""Scalars. A ``Param`` up to this size is passed by value. Larger: threads need more registers."""
_MOST_AXES: Final = 4
"""Axes that a tensor can have."""


def keep_params_in_memory(module: ir.Module) -> ir.Module:
    """Return the module with functions of kernels that have tensors in place of their large parameters."""
    clones = _Clones({f.key: f for f in module.functions})
    called = {key for f in module.functions for key in value_callees(f)}
    for kernel in module.kernels:
        large = [p for p in kernel.params if stays_in_memory(p)]
        if kernel.function in called:  # by a kernel of fused stages, which passes a value
            large = [p for p in large if _is_large(p.type)]
        while large and (refused := clones.try_kernel(kernel, frozenset(p.name for p in large))):
            large = [p for p in large if p.name != refused]
    return replace(module, functions=tuple(clones.in_order(module.functions))) if clones.made else module


def stays_in_memory(param: ir.KernelParam) -> bool:
    """Return True if the function of a kernel gets tensors in place of a parameter, where that is possible."""
    if param.memory is not ir.Memory.PARAM or _has_tuple(param.type):
        return False
    few_axes = all(len(part.extents) <= _MOST_AXES for part in memory_parts(param.type))
    return few_axes and (_is_large(param.type) or (not param.no_diff and _has_trained_half(param.type)))


def _is_large(type_: Type) -> bool:
    return isinstance(type_, (Struct, Array)) and scalar_count(type_) > FEW_SCALARS


def _has_trained_half(type_: Type) -> bool:
    """Return True if any half of a value gets a gradient."""
    return any(not part.no_diff and element_of(part.element) == HALF for part in memory_parts(type_))


def _has_tuple(type_: Type) -> bool:
    match type_:
        case Tuple():
            return True
        case Array(element):
            return _has_tuple(element)
        case Struct(fields=fields):
            return any(_has_tuple(f.type) for f in fields)
        case _:
            return False


class _WholeError(Exception):
    """A part of a parameter is used as a whole value; the argument is the parameter's name in the kernel."""


@dataclass(frozen=True, slots=True)
class _View:
    """A part of a large parameter, in a function that has its tensors.

    Attributes:
        param: The parameter of this function to which the tensors belong.
        of: The parameter of the kernel.
        path: The fields from the parameter to the part.
        indices: Those of the arrays on the way, outermost first.
        type: The part's type.
    """

    param: str
    of: str
    path: tuple[str, ...]
    indices: tuple[ir.Expr, ...]
    type: Type

    @property
    def is_value(self) -> bool:
        """Return True if it is one entry of a tensor."""
        return not isinstance(self.type, (Struct, Array))

    def tensors(self) -> Iterator[ir.Param]:
        """Yield the tensors of the part, as parameters."""
        before = len(self.indices)
        for part in memory_parts(self.type):
            rank = max(1, before + len(part.arrays))
            name = ".".join((self.param, *self.path, *part.path))
            yield ir.Param(name, replace(part.tensor, rank=rank), no_diff=part.no_diff)

    def read(self, span: Span) -> ir.Expr:
        """Return the read of an entry."""
        (tensor,) = self.tensors()
        indices = self.indices or (ir.Const(0, INT),)
        return ir.Read(ir.Var(tensor.name, tensor.type), indices, self.type, span)


@dataclass(slots=True)
class _Clones:
    """The clones so far by key, callees first."""

    functions: Mapping[str, ir.Function]
    made: dict[str, ir.Function] = field(default_factory=dict)

    def try_kernel(self, kernel: ir.Kernel, large: frozenset[str]) -> str:
        """Clone the function of a kernel. Return the parameter that is used as a whole value, if one is."""
        function = self.functions[kernel.function]
        views = {p.name: _View(p.name, p.name, (), (), p.type) for p in function.params if p.name in large}
        before = dict(self.made)
        try:
            self.made[function.key] = self._clone(function, function.key, views)
        except _WholeError as error:
            self.made = before
            return str(error)
        return ""

    def in_order(self, functions: tuple[ir.Function, ...]) -> Iterator[ir.Function]:
        """Yield all functions, each clone at the place of the last function that it calls or later."""
        kernels = {key for key in self.made if key in self.functions}
        yield from (f for f in functions if f.key not in kernels)
        yield from self.made.values()

    def _clone(self, function: ir.Function, key: str, views: Mapping[str, _View]) -> ir.Function:
        """Return the function with tensors and indices in place of some parameters."""
        if views:
            _require_plain(function, next(iter(views.values())).of)
        params = tuple(new for p in function.params for new in _params(p, views.get(p.name)))
        body = _Body(self, views, Counter(_stored(statements(function)))).block(statements(function))
        made = replace(function, key=key, params=params, body=body)
        object_ = views.get("self")
        if not function.owner or object_ is None or not isinstance(object_.type, Struct):
            return made
        return replace(made, owner="", name=f"{object_.type.name}_{function.name}")

    def call(self, expr: ir.Call, arg_views: tuple[_View | None, ...], args: tuple[ir.Expr, ...]) -> ir.Expr:
        """Return the call of the clone for arguments that are parts of large parameters."""
        callee = self.functions[expr.function]
        views: dict[str, _View] = {}
        passed: list[ir.Expr] = []
        for param, view, arg in zip(callee.params, arg_views, args, strict=True):
            if view is None:
                passed.append(arg)
                continue
            index_vars = tuple(ir.Var(_index_name(param.name, n), INT) for n in range(len(view.indices)))
            views[param.name] = _View(param.name, view.of, (), index_vars, param.type)
            passed += [ir.Var(tensor.name, tensor.type) for tensor in view.tensors()]
            passed += view.indices
        key = f"{callee.key}[{', '.join(f'{name}: {len(view.indices)}' for name, view in views.items())}]"
        if key not in self.made:
            self.made[key] = self._clone(callee, key, views)
        return replace(expr, function=key, args=tuple(passed))


def _require_plain(function: ir.Function, param: str) -> None:
    """Refuse a function whose derivative is not made of its body."""
    plain = isinstance(function.body, tuple) and function.role is ir.Role.PLAIN
    if not plain or not isinstance(function.derivative, ir.Automatic):
        raise _WholeError(param)


def _params(param: ir.Param, view: _View | None) -> Iterator[ir.Param]:
    if view is None:
        yield param
        return
    yield from (replace(tensor, span=param.span) for tensor in view.tensors())
    yield from (ir.Param(_index_name(param.name, n), INT, no_diff=True) for n in range(len(view.indices)))


def _index_name(param: str, number: int) -> str:
    return f"{param}_at{number or ''}"


def _stored(body: tuple[ir.Stmt, ...]) -> Iterator[str]:
    """Yield the names that are stored into or declared, once for each time."""
    for stmt in walk_stmts(body):
        match stmt:
            case ir.Assign(target=target) if (stored_in := root(target)) is not None:
                yield stored_in.name
            case ir.Let(name=name) | ir.For(variable=name):
                yield name
            case _:
                continue


@dataclass(slots=True)
class _Body:
    """The body of a clone: the views of its parameters and of the locals that stand for a part of one."""

    clones: _Clones
    views: Mapping[str, _View]
    stored: Mapping[str, int]

    def block(self, body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
        """Return the statements of a block; a local that is a part of a parameter is known until its end."""
        inner = replace(self, views=dict(self.views))
        return tuple(new for stmt in body for new in inner._stmt(stmt))

    def _stmt(self, stmt: ir.Stmt) -> Iterator[ir.Stmt]:
        match stmt:
            case ir.Let(name=name, value=value) | ir.Assign(target=ir.Var(name=name), value=value) if (
                value is not None and (view := self._view(value)) and not view.is_value
            ):
                if self.stored[name] > 1 or not all(map(self._is_fixed, view.indices)):
                    yield from self._copy(stmt, ir.Var(name, view.type), view)
                else:
                    self.views = {**self.views, name: view}
            case ir.Assign(target=target) if (variable := root(target)) is not None and variable.name in self.views:
                raise _WholeError(self.views[variable.name].of)
            case _:
                yield map_blocks(map_stmt_exprs(stmt, self._expr), self.block)

    def _copy(self, stmt: ir.Let | ir.Assign, local: ir.Var, view: _View) -> Iterator[ir.Stmt]:
        """Yield the statements that copy an array into a local, which is changed afterwards."""
        if not isinstance(view.type, Array) or local.name in self.views:
            raise _WholeError(view.of)
        yield replace(stmt, value=ir.Construct((), view.type, stmt.span))
        yield self._copies(local, view, stmt.span)

    def _copies(self, target: ir.Expr, view: _View, span: Span) -> ir.Stmt:
        if not isinstance(view.type, Array):
            return ir.Assign(target, self._value(view, span), span)
        element, size = view.type.element, view.type.size
        counter = ir.Var(self._counter(len(view.indices)), INT)
        entry = replace(view, indices=(*view.indices, counter), type=element)
        inner = self._copies(ir.Index(target, counter, element), entry, span)
        start, stop = ir.Const(0, INT), ir.Const(size, INT)
        return ir.For(counter.name, start, stop, 1, size, bounded=True, unroll=False, body=(inner,), span=span)

    def _counter(self, depth: int) -> str:
        """Return a name that the function doesn't use."""
        return next(name for n in range(len(self.stored) + 1) if (name := f"entry{depth}_{n}") not in self.stored)

    def _is_fixed(self, index: ir.Expr) -> bool:
        """Return True if an index has the same value as long as a local that uses it is known."""
        variables = [e for e in walk(index) if isinstance(e, ir.Var)]
        simple = all(isinstance(e, (ir.Const, ir.Var, ir.Unary, ir.Binary)) for e in walk(index))
        return simple and all(self.stored[v.name] <= 1 for v in variables)

    def _view(self, expr: ir.Expr) -> _View | None:
        """Return the part of a large parameter that an expression is; None for any other value."""
        match expr:
            case ir.Var(name=name):
                return self.views.get(name)
            case ir.Member(value=value, name=name) if (view := self._view(value)) and not view.is_value:
                return replace(view, path=(*view.path, name), type=expr.type)
            case ir.Index(value=value, index=index) if (view := self._view(value)) and isinstance(view.type, Array):
                return replace(view, indices=(*view.indices, self._expr(index)), type=expr.type)
            case _:
                return None

    def _expr(self, expr: ir.Expr) -> ir.Expr:
        view = self._view(expr)
        if view is not None:
            return self._value(view, expr.span)
        if isinstance(expr, ir.Call):
            views = tuple(self._argument(arg) for arg in expr.args)
            if any(views):
                args = tuple(arg if of else self._expr(arg) for arg, of in zip(expr.args, views, strict=True))
                return self.clones.call(expr, views, args)
        return map_children(expr, self._expr)

    def _argument(self, arg: ir.Expr) -> _View | None:
        """Return the part that an argument is, if the function is cloned for it: no single number, vector or matrix."""
        view = self._view(arg)
        return view if view and not view.is_value else None

    def _value(self, view: _View, span: Span) -> ir.Expr:
        """Return the value of a part; a small array or struct is made of its entries."""
        if view.is_value:
            return view.read(span)
        if scalar_count(view.type) > FEW_SCALARS:
            raise _WholeError(view.of)
        match view.type:
            case Struct(fields=fields):
                parts = [replace(view, path=(*view.path, f.name), type=f.type) for f in fields]
            case Array(element, size):
                entries = (ir.Const(k, INT) for k in range(size))
                parts = [replace(view, indices=(*view.indices, k), type=element) for k in entries]
            case _:
                raise TypeError(f"{view.type} is an entry")
        return ir.Construct(tuple(self._value(part, span) for part in parts), view.type, span)
