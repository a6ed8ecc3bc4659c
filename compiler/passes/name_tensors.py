"""Give tensors and textures of a kernel global names, and decide how their gradients accumulate.

A function with such a parameter is cloned for each tensor or texture that it is called with, without the parameter:

    fn sharp(image: Tensor, i)  image[i] …        ->   fn sharp(i)   @fit.photo[i] …
    kernel fit(photo: Tensor)   sharp(photo, i)         kernel fit()  sharp(i)

Shader languages access memory by name. WGSL and GLSL have no derivatives of functions that take buffers as arguments.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.gradient_flow import Carrying
from slangad.compiler.ir.group_operations import declares_shared
from slangad.compiler.ir.memory_parts import extents_at, scalar_count
from slangad.compiler.ir.types import Tensor, Texture, carries_gradient, count_scalars
from slangad.compiler.ir.walk import (
    body_exprs,
    children,
    map_exprs_of,
    rewrite,
    statements,
    stmt_exprs,
    walk,
    walk_stmts,
)
from slangad.compiler.passes.bound_indices import read_extents
from slangad.compiler.passes.classify_accesses import SHARED, accesses_of, accumulation_of, tile_of
from slangad.compiler.passes.keep_params_in_memory import FEW_SCALARS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from slangad.compiler.passes.classify_accesses import Access

_FEW_SCALARS: Final = 64
"""Scalars. A thread adds up gradients of a tensor by itself up to this size. Larger: threads need more registers."""
Given = tuple[tuple[str, str], ...]
"""The tensor parameters of a clone, each with the key of its buffer."""


def name_tensors(module: ir.Module) -> ir.Module:
    """Return the module with ``buffers``, and with functions that have no tensor or texture parameters.

    Tensors that have names already keep them.
    """
    if not any(_takes_memory(f) or _shares(f) for f in module.functions):
        return module
    clones = _Clones({f.key: f for f in module.functions}, module.buffers)
    kernels = {kernel.function: kernel for kernel in module.kernels}
    for function in module.functions:
        if function.key in kernels:
            clones.add_kernel(kernels[function.key], function)
        elif not _takes_memory(function):
            clones.made[function.key] = function
    named = replace(
        module, functions=tuple(clones.made.values()), buffers=(*module.buffers, *clones.buffers),
        shared=(*module.shared, *clones.shared),
    )  # fmt: skip
    read = frozenset(_read(named))
    return _in_tiles(replace(named, buffers=tuple(_with_accumulation(named, b, read) for b in named.buffers)))


def _takes_memory(function: ir.Function) -> bool:
    return any(_is_memory(p) for p in function.params)


def _shares(function: ir.Function) -> bool:
    return any(declares_shared(stmt) for stmt in statements(function))


def _is_memory(param: ir.Param) -> bool:
    return isinstance(param.type, (Tensor, Texture))


@dataclass(slots=True)
class _Clones:
    """The clones so far, callees first, and the buffers they use; ``known`` ones have names already."""

    functions: Mapping[str, ir.Function]
    known: tuple[ir.Buffer, ...]
    made: dict[str, ir.Function] = field(default_factory=dict)
    buffers: list[ir.Buffer] = field(default_factory=list)
    shared: list[ir.SharedMemory] = field(default_factory=list)

    def add_kernel(self, kernel: ir.Kernel, function: ir.Function) -> None:
        """Add the function of a kernel, and clones of the functions that it calls with tensors."""
        bound = []
        places = {place.name: place for place in kernel.params}
        for param in function.params:
            if isinstance(param.type, (Tensor, Texture)):
                name, *path = param.name.split(".")
                place, key = places[name], f"{kernel.name}.{param.name}"
                passive = place.no_diff or param.no_diff or not carries_gradient(param.type)
                extents = () if place.type == param.type else extents_at(place.type, tuple(path))
                buffer = ir.Buffer(key, kernel.name, name, param.type, passive, path=tuple(path), extents=extents)
                self.buffers.append(replace(buffer, span=place.span))
                bound.append((param.name, key))
        rest = []
        for stmt in statements(function):
            if isinstance(stmt, ir.Let) and isinstance(stmt.type, Tensor):
                key = f"{kernel.name}.{stmt.name}"
                self.shared.append(ir.SharedMemory(key, kernel.name, stmt.name, stmt.type, stmt.span))
                bound.append((stmt.name, key))
            else:
                rest.append(stmt)
        function = replace(function, body=tuple(rest)) if isinstance(function.body, tuple) else function
        self.made[function.key] = self._clone(function, function.key, tuple(bound))

    def _clone(self, function: ir.Function, key: str, tensors: Given) -> ir.Function:
        buffers = dict(tensors)

        def named(expr: ir.Expr) -> ir.Expr:
            match expr:
                case ir.Var(name) if name in buffers:
                    return replace(expr, name=buffers[name])
                case ir.Call() if _takes_memory(self.functions[expr.function]):
                    return self._call(expr)
                case ir.Read(source=ir.Var(key)) if key in self._constant:
                    return ir.NoDiff(expr, expr.type, expr.span)
                case _:
                    return expr

        made = map_exprs_of(function, lambda e: rewrite(e, named))
        kept = tuple(p for p in function.params if not _is_memory(p))
        return replace(made, key=key, params=kept, reads=self._reads(statements(made)))

    @property
    def _constant(self) -> set[str]:
        """Return the buffers that are only read and get no gradient."""
        return {b.key for b in self.buffers if b.no_diff and not (isinstance(b.type, Tensor) and b.type.writes)}

    def _reads(self, body: tuple[ir.Stmt, ...]) -> bool:
        """Return True if statements, or functions they call, read memory that gets a gradient."""
        passive = {b.key for b in (*self.known, *self.buffers) if b.no_diff}
        passive |= {s.key for s in self.shared if not carries_gradient(s.type.element)}
        for expr in (e for s in walk_stmts(body) for e in _read_exprs(s)):
            match expr:
                case ir.Read(source=ir.Var(key)) | ir.Sample(source=ir.Var(key)) if key not in passive:
                    return True
                case ir.Call(function=callee) if self.made[callee].reads:
                    return True
                case _:
                    continue
        return False

    def _call(self, call: ir.Call) -> ir.Call:
        """Return the call of the clone for the call's tensors, which are buffers already."""
        callee = self.functions[call.function]
        pairs = list(zip(callee.params, call.args, strict=True))
        tensors = tuple((p.name, a.name) for p, a in pairs if _is_memory(p) and isinstance(a, ir.Var))
        key = f"{callee.key}[{', '.join(buffer for _, buffer in tensors)}]"
        if key not in self.made:
            self.made[key] = self._clone(callee, key, tensors)
        return replace(call, function=key, args=tuple(a for p, a in pairs if not _is_memory(p)))


def _with_accumulation(module: ir.Module, buffer: ir.Buffer, read: Collection[str]) -> ir.Buffer:
    if isinstance(buffer.type, Texture):
        buffer = replace(buffer, followed=_is_followed(module, buffer))
    if _is_added(module, buffer):
        kind, _, why = accumulation_of(module, buffer)
        return replace(buffer, added=True, accumulation=kind, why=why)
    if not buffer.no_diff and _is_of_small_param(module, buffer):
        return replace(buffer, accumulation=ir.Accumulation.SUM, reach=buffer.extents, read_again=True)
    if buffer.key not in read:
        return buffer
    kernel = next(k for k in module.kernels if k.name == buffer.kernel)
    accesses = set(accesses_of(module, kernel, buffer.key))
    buffer = replace(buffer, read_again=_is_read_again(module, buffer, accesses))
    if buffer.no_diff:
        return buffer
    kind, _, why = accumulation_of(module, buffer, accesses)
    reach = _few_elements(module, buffer) if kind is ir.Accumulation.SHARED else ()
    return replace(buffer, accumulation=ir.Accumulation.SUM if reach else kind, reach=reach, why=why)


def _is_read_again(module: ir.Module, buffer: ir.Buffer, accesses: Collection[Access]) -> bool:
    """Return True if reading an element again costs less than keeping it for reverse mode.

    A cache has what all threads read at a time, and a row that a loop runs along. Slang would keep what each iteration
    reads, for each thread: of ``w[k][i][j]`` in two loops of 32, 4.6 KB.
    """
    if not isinstance(buffer.type, Tensor) or buffer.type.writes:
        return False
    if all(source == SHARED for access in accesses for source in access):
        return True
    return all(access[-1] == SHARED for access in accesses) and _runs_along_rows(module, buffer)


def _runs_along_rows(module: ir.Module, buffer: ir.Buffer) -> bool:
    """Return True if the last index of a read of a buffer is computed from the counter of a loop."""
    for function in module.functions:
        counters = {s.variable for s in walk_stmts(statements(function)) if isinstance(s, ir.For)}
        for expr in body_exprs(statements(function)):
            match expr:
                case ir.Read(source=ir.Var(key), indices=(*_, last)) if key == buffer.key:
                    if any(isinstance(e, ir.Var) and e.name in counters for e in walk(last)):
                        return True
                case _:
                    continue
    return False


def _is_of_small_param(module: ir.Module, buffer: ir.Buffer) -> bool:
    """Return True if a thread adds up the gradient of the whole parameter, read or not, as if it were a value."""
    kernel = next(k for k in module.kernels if k.name == buffer.kernel)
    param = next(p for p in kernel.params if p.name == buffer.param)
    return bool(buffer.extents) and param.memory is ir.Memory.PARAM and scalar_count(param.type) <= FEW_SCALARS


def _in_tiles(module: ir.Module) -> ir.Module:
    """Return the module with the tiles of its kernels, where the user gave none.

    Buffers whose threads agree in other tiles are scattered to.
    """
    apart: set[str] = set()
    kernels = []
    for kernel in module.kernels:
        if kernel.tile is not None:
            kernels.append(kernel)
            continue
        common: tuple[int, ...] = (0,) * kernel.dims
        for buffer in module.buffers:
            if buffer.kernel == kernel.name and buffer.accumulation is ir.Accumulation.TOGETHER:
                blocks = accumulation_of(module, buffer).blocks
                smaller = tuple(math.gcd(a, b) for a, b in zip(common, blocks, strict=True))
                common = smaller if tile_of(smaller) else common
                apart |= set() if smaller == common else {buffer.key}
        walked = any(common) and kernel.dims > 1
        kernels.append(replace(kernel, tile=tile_of(common) if walked else None))
    buffers = tuple(replace(b, accumulation=ir.Accumulation.SCATTER) if b.key in apart else b for b in module.buffers)
    return replace(module, kernels=tuple(kernels), buffers=buffers)


def _few_elements(module: ir.Module, buffer: ir.Buffer) -> tuple[int, ...]:
    """Return the extents that threads read of a tensor, if it is so small that each thread adds up by itself."""
    if not isinstance(buffer.type, Tensor) or buffer.type.writes:
        return ()
    kernel = next(k for k in module.kernels if k.name == buffer.kernel)
    reach = buffer.extents or read_extents(module, kernel, buffer)
    return reach if 0 < math.prod(reach) * count_scalars(buffer.type.element).total() <= _FEW_SCALARS else ()


def _is_followed(module: ir.Module, buffer: ir.Buffer) -> bool:
    """Return True if any coordinates that a texture is sampled at carry gradient."""
    functions = {f.key: f for f in module.functions}
    for function in module.functions:
        samples = [e for e in body_exprs(statements(function)) if isinstance(e, ir.Sample)]
        samples_of_buffer = [s for s in samples if s.source == ir.Var(buffer.key, buffer.type)]
        if samples_of_buffer and any(Carrying(function, functions).carries(s.uv) for s in samples_of_buffer):
            return True
    return False


def _is_added(module: ir.Module, buffer: ir.Buffer) -> bool:
    """Return True if threads add to its elements."""
    stmts = (s for f in module.functions for s in walk_stmts(statements(f)))
    targets = (s.target for s in stmts if isinstance(s, ir.Assign) and s.adds)
    return any(isinstance(t, ir.Read) and t.source == ir.Var(buffer.key, buffer.type) for t in targets)


def _read(module: ir.Module) -> Iterator[str]:
    """Return the buffers of which any function reads an element; stores and extents are no reads."""
    for stmt in (s for f in module.functions for s in walk_stmts(statements(f))):
        for expr in _read_exprs(stmt):
            if isinstance(expr, (ir.Read, ir.Sample)) and isinstance(expr.source, ir.Var):
                yield expr.source.name


def _read_exprs(stmt: ir.Stmt) -> Iterator[ir.Expr]:
    """Return the expressions that a statement evaluates; those of a stored element are its indices."""
    for expr in stmt_exprs(stmt):
        stored = isinstance(stmt, ir.Assign) and expr is stmt.target and isinstance(expr, ir.Read)
        for part in children(expr) if stored else (expr,):
            yield from walk(part)
