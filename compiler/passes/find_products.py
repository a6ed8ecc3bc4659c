"""Find the products of a matrix and an array that all threads of a group compute at the same time.

    for i in 0 .. 64:                                  z = linear(net.w, h) plus net.b
        total = net.b[i]                               for i in 0 .. 64:
        for j in 0 .. 16:                      ->          total = z[i]
            total = total + net.w[i, j] * h[j]             y[i] = max(total, 0)
        y[i] = max(total, 0)

``net.w`` is an array of a large ``Param``. Threads work together only where all of them come by: in the function of
the kernel or a function that it calls, in loops over equal bounds at most, and before any other ``return``. All of
them multiply by the same matrix: ``nets[kind]`` with a ``kind`` for each element is a matrix for each thread. If a use
of the tensor is anything else, its loops stay. A total that begins neither with zero nor with the entry of a bias that
belongs to ``net.w`` alone begins with it still: ``total = x[i]``, then ``total = total + z[i]``.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.calls import differentiated, reached_in_order, value_callees
from slangad.compiler.ir.kernels import Memory
from slangad.compiler.ir.types import DOUBLE, FLOAT, HALF, INT, Array, Tensor, Texture, Type, count_scalars
from slangad.compiler.ir.walk import blocks, body_exprs, evaluated, root, statements, stmt_exprs, walk, walk_stmts
from slangad.compiler.passes.classify_accesses import SHARED, accesses_of
from slangad.compiler.passes.replay_loops.read import stored_in
from slangad.compiler.passes.replay_loops.stay_in_step import is_finite, stay_in_step
from slangad.compiler.passes.store_whole_values import fresh_locals

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from slangad.compiler.ir.build import Fresh
    from slangad.compiler.passes.classify_accesses import Access

MOST_TOTALS: Final = 60_000
"""Entries of the matrices of a kernel. A launch adds up this many totals, a group for each."""
_MOST_ENTRIES: Final = 1024
"""Rows and columns together. A group's memory holds several rows, and the vectors of several threads."""
_GROUP_IN_HALF: Final = 256
"""Threads of the largest group with products in half: so many vectors go through its memory at a time."""
_TOGETHER: Final = (ir.Accumulation.SHARED, ir.Accumulation.SUM)
"""The ways of matrices whose products are loops: those that all threads read at one element at a time."""
_FEWEST: Final = 64
"""Entries of all matrices in a tensor. Where no tensor is larger, each thread adds up by itself."""


def find_products(module: ir.Module) -> ir.Module:
    """Return the module with products in place of the loops that compute them."""
    for kernel in module.kernels:
        found = _Finder(module, kernel).run()
        if (changed := _in_step(module, kernel)) is not None:
            together = _Finder(changed, kernel).run()
            found = together if _products_in(together, kernel) > _products_in(found, kernel) else found
        module = found
    return module


def _products_in(module: ir.Module, kernel: ir.Kernel) -> int:
    return sum(b.accumulation.is_matrix for b in module.buffers if b.kernel == kernel.name)


def _in_step(module: ir.Module, kernel: ir.Kernel) -> ir.Module | None:
    """Return the module with loops that no thread of the kernel leaves; None if it would be the same."""
    finder = _Finder(module, kernel, of_any=True)
    if kernel.in_step or not (multiplying := finder.multiplying()):
        return None
    called = finder.called()
    functions = {f.key: f for f in module.functions}
    finite = {key for key in multiplying if all(map(is_finite, reached_in_order(functions, key, value_callees)))}
    changed = {key: stay_in_step(functions[key], multiplying, finite) for key in called}
    if all(changed[key] == functions[key] for key in called):
        return None
    return replace(module, functions=tuple(changed.get(f.key, f) for f in module.functions))


@dataclass(frozen=True, slots=True)
class _Product:
    """A loop that computes one entry of a product in each turn of the loop around it.

    If the product has a bias, the statement before the loop sets the total to its entry.
    """

    linear: ir.Linear
    shape: tuple[int, int]
    total: ir.Expr

    @property
    def key(self) -> str:
        """The tensor's key."""
        return _key(self.linear.source)

    @property
    def bias(self) -> str:
        """The key of the bias; nothing without."""
        return _key(self.linear.bias) if self.linear.bias else ""


def _key(tensor: ir.Expr) -> str:
    assert isinstance(tensor, ir.Var)  # noqa: S101  (tensors have names already)
    return tensor.name


@dataclass(slots=True)
class _Finder:
    """Finds the products of one kernel."""

    module: ir.Module
    kernel: ir.Kernel
    functions: dict[str, ir.Function] = field(init=False)
    candidates: dict[str, ir.Buffer] = field(init=False)
    biases: dict[str, ir.Buffer] = field(init=False)
    of_any: bool = False
    """Find the products that stay loops too: by matrices of any size, and those of factors that are converted."""
    left_out: dict[str, int] = field(default_factory=dict)
    _accesses: dict[str, tuple[Access, ...]] = field(default_factory=dict)
    _found_uses: dict[str, list[tuple[ir.Function, bool]]] = field(default_factory=dict)
    _found_reads: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.functions = {f.key: f for f in self.module.functions}
        self.candidates = {b.key: b for b in self.module.buffers if self._is_candidate(b)}
        self.biases = self.candidates

    def _is_candidate(self, buffer: ir.Buffer) -> bool:
        many = (ir.Accumulation.SHARED, ir.Accumulation.TOGETHER, ir.Accumulation.SCATTER, ir.Accumulation.SUM)
        known = buffer.kernel == self.kernel.name and buffer.accumulation in many and bool(buffer.extents)
        return known and isinstance(buffer.type, Tensor) and buffer.type.element in (FLOAT, HALF)

    def run(self) -> ir.Module:
        """Return the module with the products, and the reasons why others stay loops."""
        matrices = _Finder(self.module, self.kernel, of_any=True).multiplied()
        if self.kernel.in_step or not matrices:
            return self.module
        module = self._with_products()
        reasons = {key: self._obstacle(key, shape) for key, shape in matrices.items()}
        buffers = tuple(
            replace(b, why=reasons[b.key]) if b.key in reasons and b.accumulation in _TOGETHER and not b.why else b
            for b in module.buffers
        )
        return replace(module, buffers=buffers)

    def multiplied(self) -> dict[str, tuple[int, int]]:
        """Return the shapes of the matrices by which the functions of the kernel multiply, together or not."""
        return {p.key: p.shape for key in self.called() for p in self._products_of(key)}

    def multiplying(self) -> set[str]:
        """Return the functions of the kernel that multiply by matrices, or call others that do."""
        direct = {key for key in self.called() if any(self._products_of(key))}
        return {key for key in self.called() if differentiated(self.functions, key) & direct}

    def _products_of(self, key: str) -> Iterator[_Product]:
        """Yield the products of a function, of all threads together or not."""
        for loop in walk_stmts(statements(self.functions[key])):
            if isinstance(loop, ir.For):
                pairs = (self._product(loop, inner) for inner in loop.body if isinstance(inner, ir.For))
                yield from (product for product in pairs if product is not None)

    def _obstacle(self, key: str, shape: tuple[int, int]) -> str:
        """Return why the products of a tensor stay loops."""
        if why := self._not_simple():
            return why
        if sum(shape) > _MOST_ENTRIES:
            return f"its {shape[0]} rows and {shape[1]} columns are more than {_MOST_ENTRIES} together"
        if key in self.left_out:
            return f"the kernel's matrices have {self.left_out[key]} entries, more than {MOST_TOTALS}"
        if all(math.prod(b.extents) <= _FEWEST for b in self.module.buffers if b.key == key):
            return f"no tensor of matrices has more than {_FEWEST} entries"
        return "not every use of it is a product that all threads of a group compute together"

    def _with_products(self) -> ir.Module:
        if not self.candidates or self._not_simple():
            return self.module
        together = {key for key in self.called() if self._comes_by(key)}
        while refused := self._refused(together):
            self.candidates = {key: b for key, b in self.candidates.items() if key not in refused}
        while refused := self._refused_biases(together):
            self.biases = {key: b for key, b in self.biases.items() if key not in refused}
        products = [p for key in together for p in self._found(self.functions[key]).values()]
        shapes = {p.key: p.shape for p in products}
        if max((math.prod(self.candidates[key].extents) for key in shapes), default=0) <= _FEWEST:
            return self.module
        shapes |= {p.bias: (p.shape[0], 1) for p in products if p.bias}
        made = {key: _Writer(self._found(self.functions[key])).function(self.functions[key]) for key in together}
        functions = tuple(made.get(f.key, f) for f in self.module.functions)
        biases = {p.bias for p in products}
        ways = {key: (ir.Accumulation.MATRIX, "") if key in biases else self._way(key, together) for key in shapes}
        buffers = tuple(
            replace(b, accumulation=ways[b.key][0], why=ways[b.key][1], reach=shapes[b.key]) if b.key in shapes else b
            for b in self.module.buffers
        )
        return replace(self.module, functions=functions, buffers=buffers)

    def _way(self, key: str, together: set[str]) -> tuple[ir.Accumulation, str]:
        """Return how the products of a tensor are computed, and why not in half if a function asks for that."""
        found = ((self.functions[f], p) for f in together for p in self._found(self.functions[f]).values())
        asked = [f.precision == "half" for f, p in found if p.key == key]
        if not any(asked):
            return ir.Accumulation.MATRIX, ""
        threads = math.prod(self.kernel.group_size)
        if not all(asked):
            return ir.Accumulation.MATRIX, "a function of precision float multiplies by it too"
        if threads > _GROUP_IN_HALF:
            return ir.Accumulation.MATRIX, f"the kernel's groups have {threads} threads, more than {_GROUP_IN_HALF}"
        return ir.Accumulation.HALF_MATRIX, ""

    def _not_simple(self) -> str:
        """Return why a thread may not repeat another one's element, or which sums are of doubles; empty if neither."""
        of_kernel = [b for b in self.module.buffers if b.kernel == self.kernel.name]
        if any(isinstance(b.type, Tensor) and b.type.writes for b in of_kernel):
            return "the kernel stores into a tensor"
        if any(b.accumulation is ir.Accumulation.OWN for b in of_kernel):
            return "the kernel reads a tensor at the thread's own element"
        exprs = (e for key in self.called() for e in body_exprs(statements(self.functions[key])))
        if any(isinstance(e, ir.Probe) for e in exprs):
            return "the kernel has a probe"
        places = [*(p.type for p in self.kernel.params), *(r.type for r in self.kernel.results)]
        if any(DOUBLE in count_scalars(_held(type_)) for type_ in places):
            return "the kernel has doubles"
        return "the kernel has an out parameter" if any(result.param for result in self.kernel.results) else ""

    def called(self) -> set[str]:
        """Return the functions that the kernel runs and that are differentiated."""
        return differentiated(self.functions, self.kernel.function)

    def _comes_by(self, key: str) -> bool:
        """Return True if all threads run a function at the same time, wherever it is called."""
        if key == self.kernel.function:
            return _ends_last(self.functions[key])
        uses = self._uses().get(key, [])
        inner = all(f.key in self.called() and is_together for f, is_together in uses)
        return inner and _ends_last(self.functions[key]) and all(self._comes_by(f.key) for f, _ in uses)

    def _uses(self) -> dict[str, list[tuple[ir.Function, bool]]]:
        """Return the uses of each function: in which one, and whether all threads come by."""
        if not self._found_uses:
            for function in self.module.functions:
                for called, is_together in _calls(function, self._uniform(function)):
                    self._found_uses.setdefault(called, []).append((function, is_together))
        return self._found_uses

    def _uniform(self, function: ir.Function) -> frozenset[str]:
        """Return the parameters of the kernel that have one value for all threads, in its own function."""
        if function.key != self.kernel.function:
            return frozenset()
        named = {p.name for p in self.kernel.params if p.memory is Memory.UNIFORM}
        return frozenset(p.name for p in function.params if p.name in named) - {*stored_in(statements(function))}

    def _found(self, function: ir.Function) -> dict[int, _Product]:
        """Return the products of a function by the identity of the loop that computes an entry of each."""
        result: dict[int, _Product] = {}
        for stmt, together in _with_flow(statements(function), self._uniform(function)):
            if isinstance(stmt, ir.For) and together and _ends_last(function):
                for before, inner in pairwise((None, *stmt.body)):
                    product = self._product(stmt, inner) if isinstance(inner, ir.For) else None
                    if product is not None:
                        result[id(inner)] = self._with_bias(product, stmt, before)
        return result

    def _with_bias(self, product: _Product, loop: ir.For, before: ir.Stmt | None) -> _Product:
        """Return a product with its bias, if the statement before its loop sets the total to the bias's entry."""
        match before:
            case ir.Assign(target=ir.Var() as target, value=value) if target == product.total:
                start = _uncast(value)
            case _:
                return product
        match start:
            case ir.Read(source=ir.Var(key) as bias, indices=(*indices, ir.Var(row))) if key in self.biases:
                changed = {name for e in indices for name in _names(e)} & changed_in(loop)
                fits = row == loop.variable and self.biases[key].extents[len(indices) :] == product.shape[:1]
                fits = fits and self._is_one(key, len(indices))
                linear = replace(product.linear, bias=bias, bias_indices=tuple(indices))
                return replace(product, linear=linear) if fits and not changed else product
            case _:
                return product

    def _product(self, loop: ir.For, inner: ir.For) -> _Product | None:
        """Return the product of which a loop in another one computes an entry, if it does that and no more."""
        rows, columns = trips(loop), trips(inner)
        if rows is None or columns is None:
            return None
        match inner.body:
            case (
                ir.Assign(
                    target=total,
                    value=ir.Binary(op="+", left=left, right=ir.Binary(op="*", left=a, right=b)),
                ),
            ) if left == total and total.type == FLOAT and is_total(total, loop.variable):
                a, b = (_uncast(factor, of_any=self.of_any) for factor in (a, b))
                read, factor = (a, b) if isinstance(a, ir.Read) else (b, a)
            case _:
                return None
        linear = self._linear(loop, inner, (rows, columns), (read, factor))
        return _Product(linear, (rows, columns), total) if linear else None

    def _linear(
        self, loop: ir.For, inner: ir.For, shape: tuple[int, int], factors: tuple[ir.Expr, ir.Expr]
    ) -> ir.Linear | None:
        rows, columns = shape
        match factors:
            case (
                ir.Read(source=ir.Var(key) as source, indices=indices),
                ir.Index(value=value, index=ir.Var(name)),
            ) if key in self.candidates and name == inner.variable and value.type == Array(FLOAT, columns):
                before = _before(indices, loop.variable, inner.variable, columns)
            case _:
                return None
        if before is None or not self._fits(key, shape, len(before)):
            return None
        parts: tuple[ir.Expr, ...] = (value,)
        if isinstance(value, ir.Read) and isinstance(value.source.type, Tensor) and not value.source.type.writes:
            parts = value.indices  # an element of a tensor, which is read once
        elif root(value) is None:
            return None
        if any(_names(e) & changed_in(loop) for e in (*before, *parts)):
            return None
        if not self._is_one(key, len(before)):
            return None
        return ir.Linear(source, before, value, columns, None, (), Array(FLOAT, rows), inner.span)

    def _fits(self, key: str, shape: tuple[int, int], before: int) -> bool:
        extents = self.candidates[key].extents
        in_rows = extents[before:] == (math.prod(shape),) and (shape[0] > 1 or not before)
        return (extents[before:] == shape or in_rows) and (self.of_any or sum(shape) <= _MOST_ENTRIES)

    def _is_one(self, key: str, before: int) -> bool:
        """Return True if all threads read the same matrix or bias of a tensor: its first indices are equal."""
        if not before:
            return True
        if key not in self._accesses:
            self._accesses[key] = tuple(accesses_of(self.module, self.kernel, key))
        return all(source == SHARED for access in self._accesses[key] for source in access[:before])

    def _refused(self, together: set[str]) -> set[str]:
        """Return the tensors with another use or products of several shapes, or the largest if all are too many."""
        products = [p for key in together for p in self._found(self.functions[key]).values()]
        reads = self._reads()
        uses = Counter(p.key for p in products)
        shapes = {key: {p.shape for p in products if p.key == key} for key in self.candidates}
        refused = {key for key in self.candidates if reads[key] != uses[key] or len(shapes[key]) != 1}
        sizes = {key: math.prod(b.extents) for key, b in self.candidates.items() if key not in refused}
        if not refused and sum(sizes.values()) > MOST_TOTALS:
            refused = {max(sizes, key=lambda key: sizes[key])}
            self.left_out |= dict.fromkeys(refused, sum(sizes.values()))
        return refused

    def _refused_biases(self, together: set[str]) -> set[str]:
        """Return the biases with another use, and those of products that have another bias or none at some place."""
        products = [p for key in together for p in self._found(self.functions[key]).values()]
        reads, uses = self._reads(), Counter(p.bias for p in products)
        pairs = {(p.key, p.bias) for p in products}
        matrices, biases = Counter(key for key, _ in pairs), Counter(bias for _, bias in pairs)
        refused = {bias for key, bias in pairs if matrices[key] > 1 or biases[bias] > 1 or reads[bias] != uses[bias]}
        return refused - {""}

    def _reads(self) -> Counter[str]:
        """Return how often the functions read each tensor."""
        if not self._found_reads:
            exprs = (e for f in self.module.functions for e in body_exprs(statements(f)))
            self._found_reads.update(
                e.source.name for e in exprs if isinstance(e, ir.Read) and isinstance(e.source, ir.Var)
            )
        return self._found_reads


def _calls(function: ir.Function, uniform: frozenset[str]) -> Iterator[tuple[str, bool]]:
    """Yield the functions that a function uses, and whether all threads come by."""
    for stmt, together in _with_flow(statements(function), uniform):
        for expr in stmt_exprs(stmt):
            for part, certain in evaluated(expr):
                if isinstance(part, (ir.Call, ir.BackwardCall, ir.ForwardCall)):
                    yield part.function, together and certain and isinstance(part, ir.Call)


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes products in place of loops, which are known by identity."""

    products: Mapping[int, _Product]

    def function(self, function: ir.Function) -> ir.Function:
        """Return the function with its products.

        Without sums in loops, nothing is left to compute again in the backward pass but the products themselves.
        """
        if not self.products:
            return function
        body = statements(function)
        body = self._block(body, fresh_locals(function, body))
        sums = (s for loop in walk_stmts(body) if isinstance(loop, (ir.For, ir.While)) for s in walk_stmts(loop.body))
        done = function.prefer == "recompute" and not any(isinstance(s, (ir.For, ir.While)) for s in sums)
        return replace(function, body=body, prefer="" if done else function.prefer)

    def _block(self, body: tuple[ir.Stmt, ...], fresh: Fresh) -> tuple[ir.Stmt, ...]:
        made: list[ir.Stmt] = []
        for stmt in body:
            if not isinstance(stmt, ir.For):
                made.append(stmt)
                continue
            inner: list[ir.Stmt] = []
            for part in stmt.body:
                product = self.products.get(id(part))
                if product is None:
                    inner += self._block((part,), fresh)
                    continue
                whole = fresh.var("product", product.linear.type)
                made.append(ir.Assign(whole, product.linear, stmt.span))
                entry: ir.Expr = ir.Index(whole, ir.Var(stmt.variable, INT), FLOAT, part.span)
                if product.bias or inner[-1:] == [ir.Assign(product.total, ir.Const(0.0, FLOAT))]:
                    inner.pop()
                else:
                    entry = ir.Binary("+", product.total, entry, FLOAT, part.span)
                inner.append(ir.Assign(product.total, entry, part.span))
            made.append(replace(stmt, body=tuple(inner)))
        return tuple(made)


def _uncast(expr: ir.Expr, *, of_any: bool = False) -> ir.Expr:
    """Return an expression without a cast to the type that it has; with ``of_any`` without a cast."""
    return expr.operand if isinstance(expr, ir.Cast) and (of_any or expr.operand.type == expr.type) else expr


def is_total(target: ir.Expr, row: str) -> bool:
    """Return True if a row's sum goes to a local, or to the row's entry of an array."""
    match target:
        case ir.Index(value=ir.Var(), index=ir.Var(name)):
            return name == row
        case _:
            return isinstance(target, ir.Var)


def _held(type_: Type) -> Type:
    return type_.element if isinstance(type_, (Tensor, Texture)) else type_


def trips(loop: ir.For) -> int | None:
    """Return how often a loop from 0 in steps of 1 runs, if that is known."""
    match loop:
        case ir.For(start=ir.Const(value=0), stop=ir.Const(value=int(stop)), step=1) if stop > 0:
            return stop
        case _:
            return None


def _before(indices: tuple[ir.Expr, ...], i: str, j: str, columns: int) -> tuple[ir.Expr, ...] | None:
    """Return the indices before those of an entry; None if the entry is not that of row i and column j."""
    match indices:
        case (*before, ir.Var(row), ir.Var(column)) if row == i and column == j:
            return tuple(before)
        case (*before, ir.Binary(op="+", left=ir.Binary(op="*", left=left, right=right), right=ir.Var(column))):
            pair = {left.name if isinstance(left, ir.Var) else "", right.name if isinstance(right, ir.Var) else ""}
            width = next((e.value for e in (left, right) if isinstance(e, ir.Const)), None)
            return tuple(before) if column == j and i in pair and width == columns else None
        case _:
            return None


def _names(expr: ir.Expr) -> set[str]:
    """Return the locals that an expression reads; with ``""`` if it does more than that."""
    plain = (ir.Var, ir.Const, ir.Index, ir.Member, ir.Binary, ir.Unary, ir.Cast, ir.ConstantRef)
    parts = list(walk(expr))
    return {e.name for e in parts if isinstance(e, ir.Var)} | {"" for e in parts if not isinstance(e, plain)}


def changed_in(loop: ir.For) -> set[str]:
    """Return the locals that a loop changes, and ``""``."""
    names = {loop.variable, ""}
    for stmt in walk_stmts(loop.body):
        match stmt:
            case ir.Let(name=name) | ir.For(variable=name):
                names.add(name)
            case ir.Assign(target=target):
                local = root(target)
                names.add(local.name if local else "")
            case _:
                continue
    return names


def _ends_last(function: ir.Function) -> bool:
    """Return True if a function returns at its end only."""
    body = statements(function)
    inner = (s for stmt in body for block in blocks(stmt) for s in walk_stmts(block))
    return not any(isinstance(s, ir.Return) for s in (*inner, *body[:-1]))


def _with_flow(
    body: tuple[ir.Stmt, ...], uniform: frozenset[str], *, together: bool = True
) -> Iterator[tuple[ir.Stmt, bool]]:
    """Yield every statement, and whether all threads come by: in loops over equal bounds that nothing leaves.

    Bounds are equal if they are constants or of ``uniform`` names.
    """
    for stmt in body:
        yield stmt, together
        for block in blocks(stmt):
            leaves_ = any(isinstance(s, (ir.Break, ir.Continue)) for s in walk_stmts(block))
            equal = isinstance(stmt, ir.For) and all(_is_equal(e, uniform) for e in (stmt.start, stmt.stop))
            yield from _with_flow(block, uniform, together=together and equal and not leaves_)


def _is_equal(expr: ir.Expr, uniform: frozenset[str]) -> bool:
    return isinstance(expr, ir.Const) or (isinstance(expr, ir.Var) and expr.name in uniform)
