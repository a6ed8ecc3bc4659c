"""Record in twins which threads of a group access the memory that they share, and between which barriers.

A twin passes every index into ``Shared`` memory through a function that keeps, for each element, the last store and the
last read with their threads, and the number of barriers before. Two threads that access an element between the same
barriers are in a race if one of them stores:

    row[k] = x                  row[access(k, k, line 9, stores)] = x
    sa.barrier()        ->      sa.barrier(); waited()
    y = row[k + 1]              y = row[access(k + 1, k + 1, line 11)]

Only ``sa.barrier()`` counts. Operations of a group, such as ``sa.group_sum``, wait for memory on some devices only.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.build import add, multiply
from slangad.compiler.ir.types import INT
from slangad.compiler.ir.walk import body_exprs, map_blocks, map_stmt_exprs, rewrite, statements

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy as np
    import numpy.typing as npt

    from slangad.compiler.errors.spans import Span

ACCESSES: Final = "check_accesses"
"""The buffer: a race of a store with a read, then one of two stores, then the last accesses of every element."""
HEAD: Final = 8
"""Ints. The part of the buffer before the elements: for each kind of race a flag, the element, and both accesses."""
PER_ELEMENT: Final = 6
"""Ints. The last store of an element and its last read: the interval between barriers, the thread, and the access."""
_BEGIN, _WAITED, _ACCESS = "check:group_begin", "check:group_waited", "check:group_access"
_EPOCH: Final = "check_interval"
PRELUDE: Final = f"RWStructuredBuffer<int> {ACCESSES};\nstatic int {_EPOCH} = 0;\n\n"
"""Text before a module with twins that record accesses."""
_BEGIN_BODY: Final = f"""{_EPOCH} = 1 + 1024 * ((i / height * 64 + j / width) * 64 + k / depth);
return 0;"""
_WAITED_BODY: Final = f"""{_EPOCH} += 1;
return 0;"""
_ACCESS_BODY: Final = f"""uint count, stride;
{ACCESSES}.GetDimensions(count, stride);
int at = {HEAD} + {PER_ELEMENT} * element;
if (!sa.present || element < 0 || at + {PER_ELEMENT} > int(count))
    return index;
int own = int(sa.place_in_group);
bool stores = access % 2 == 1;
int other = -1;
if ({ACCESSES}[at] == {_EPOCH} && {ACCESSES}[at + 1] != own)
    other = {ACCESSES}[at + 2];
else if (stores && {ACCESSES}[at + 3] == {_EPOCH} && {ACCESSES}[at + 4] != own)
    other = {ACCESSES}[at + 5];
int race = stores && other % 2 == 1 ? 4 : 0;
if (other >= 0 && {ACCESSES}[race] == 0)
{{
    {ACCESSES}[race] = 1;
    {ACCESSES}[race + 1] = element;
    {ACCESSES}[race + 2] = other;
    {ACCESSES}[race + 3] = access;
}}
int kind = stores ? 0 : 3;
bool again = !stores && {ACCESSES}[at + 3] == {_EPOCH};
if (!again)
{{
    {ACCESSES}[at + kind] = {_EPOCH};
    {ACCESSES}[at + kind + 1] = own;
    {ACCESSES}[at + kind + 2] = access;
}}
else if ({ACCESSES}[at + 4] != own)
    {ACCESSES}[at + 4] = -1;
return index;"""
_HELPERS: Final = {
    _BEGIN: (("i", "j", "k", "height", "width", "depth"), _BEGIN_BODY),
    _WAITED: ((), _WAITED_BODY),
    _ACCESS: (("index", "element", "access"), _ACCESS_BODY),
}


@dataclass(frozen=True, slots=True)
class GroupRace:
    """Two threads of a group that access one element between the same barriers.

    Attributes:
        memory: The memory's name.
        element: The element's index as users write it.
        lines: The lines of both accesses, a store first; 0 if unknown.
        both_store: True if both store; then the result may still be the same in any order.
    """

    memory: str
    element: str
    lines: tuple[int, int]
    both_store: bool

    @property
    def words(self) -> str:
        """Return the race in words, without the remedy."""
        first, second = (f" in line {line}" if line else "" for line in self.lines)
        place = f"{self.memory}[{self.element}]"
        if self.both_store:
            other = second if second and second != first else ""
            return f"two threads store to {place}{first}{f' and{other}' if other else ''}"
        return f"a thread stores to {place}{first}, and another thread reads it{second}"


def with_accesses(module: ir.Module, twins: Iterable[ir.Kernel]) -> ir.Module:
    """Return a module whose twins record the accesses to memory of groups, if a twin has such memory."""
    kernels = {kernel.name: kernel for kernel in twins}
    shared = [memory for memory in module.shared if memory.kernel in kernels]
    if not shared:
        return module
    starts: dict[str, int] = {}
    for kernel in dict.fromkeys(memory.kernel for memory in shared):
        starts |= _starts(memory for memory in shared if memory.kernel == kernel)
    recorder = _Recorder(starts, {memory.key: memory.type.extents for memory in shared})
    begun = {kernels[memory.kernel].function: kernels[memory.kernel] for memory in shared}
    functions = (recorder.function(function, begun.get(function.key)) for function in module.functions)
    return replace(module, functions=(*_helpers(), *functions))


def records_accesses(module: ir.Module) -> bool:
    """Return True if the text of a module needs the prelude."""
    return any(function.key == _ACCESS for function in module.functions)


def buffer_size(shared: Iterable[ir.SharedMemory]) -> int:
    """Return the number of ints in the buffer of a kernel with this memory."""
    return HEAD + PER_ELEMENT * sum(_count(memory) for memory in shared)


def race_in(recorded: npt.NDArray[np.int32], shared: Iterable[ir.SharedMemory]) -> GroupRace | None:
    """Return the race that a launch has recorded; a store with a read comes before two stores."""
    for both_store, (found, element, *accesses) in ((False, recorded[:4].tolist()), (True, recorded[4:HEAD].tolist())):
        if found:
            name, index = _place(element, shared)
            lines = [access // 2 for access in sorted(accesses, key=lambda access: access % 2 == 0)]
            return GroupRace(name, index, (lines[0], lines[1]), both_store)
    return None


def _place(element: int, shared: Iterable[ir.SharedMemory]) -> tuple[str, str]:
    """Return the memory of an element, and its index there."""
    for memory in shared:
        if element < _count(memory):
            indices = []
            for extent in reversed(memory.type.extents):
                indices.append(str(element % extent))
                element //= extent
            return memory.name, ", ".join(reversed(indices))
        element -= _count(memory)
    return "", ""


def _count(memory: ir.SharedMemory) -> int:
    return math.prod(memory.type.extents)


def _starts(shared: Iterable[ir.SharedMemory]) -> dict[str, int]:
    """Return the number of the first element of each memory of a kernel."""
    starts, start = {}, 0
    for memory in shared:
        starts[memory.key] = start
        start += _count(memory)
    return starts


def _helpers() -> Iterator[ir.Function]:
    for key, (names, text) in _HELPERS.items():
        params = tuple(ir.Param(name, INT) for name in names)
        yield ir.Function(key, key.replace(":", "_"), params, INT, ir.SlangBody(text), differentiable=False)


@dataclass(frozen=True, slots=True)
class _Recorder:
    """Makes functions record their accesses.

    Attributes:
        starts: The number of the first element of each memory, by its key.
        extents: Its extents.
        numbers: Numbers for the names of locals.
    """

    starts: dict[str, int]
    extents: dict[str, tuple[int, ...]]
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def function(self, function: ir.Function, kernel: ir.Kernel | None) -> ir.Function:
        """Return a function that records; ``kernel`` is the twin of which it is the body."""
        if not isinstance(function.body, tuple):
            return function
        if kernel is None and not any(self._is_shared(e) for e in body_exprs(statements(function))):
            return function
        body = tuple(self._statements(function.body))
        return replace(function, body=body if kernel is None else (_begin(kernel), *body))

    def _statements(self, body: tuple[ir.Stmt, ...]) -> Iterator[ir.Stmt]:
        for stmt in body:
            if isinstance(stmt, ir.Assign) and isinstance(stmt.target, ir.Read) and self._is_shared(stmt.target):
                yield from self._stored(stmt, stmt.target)
                continue
            recorded = map_stmt_exprs(stmt, partial(self._reads, span=stmt.span))
            yield map_blocks(recorded, lambda block: tuple(self._statements(block)))
            if isinstance(stmt, ir.Barrier):
                yield ir.Let(f"check_waited_{next(self.numbers)}", INT, ir.Call(_WAITED, (), INT))

    def _stored(self, stmt: ir.Assign, target: ir.Read) -> Iterator[ir.Stmt]:
        """Yield a store after its value, whose reads come first."""
        value = ir.Var(f"check_stored_{next(self.numbers)}", stmt.value.type)
        yield ir.Let(value.name, value.type, self._reads(stmt.value, stmt.span), stmt.span)
        indices = tuple(self._reads(index, stmt.span) for index in target.indices)
        element = self._accessed(replace(target, indices=indices), stmt.span, stores=True)
        yield replace(stmt, target=element, value=value)

    def _reads(self, expr: ir.Expr, span: Span) -> ir.Expr:
        """Return an expression of a statement with its reads recorded."""

        def recorded(part: ir.Expr) -> ir.Expr:
            if not isinstance(part, ir.Read) or not self._is_shared(part):
                return part
            return self._accessed(part, part.span if part.span.line else span, stores=False)

        return rewrite(expr, recorded)

    def _is_shared(self, expr: ir.Expr) -> bool:
        return isinstance(expr, ir.Read) and isinstance(expr.source, ir.Var) and expr.source.name in self.starts

    def _accessed(self, read: ir.Read, span: Span, *, stores: bool) -> ir.Read:
        """Return a read, or the element of a store, whose first index is recorded with the number of the element."""
        assert isinstance(read.source, ir.Var)  # noqa: S101  (it is shared)
        key = read.source.name
        indices = [index if index.type == INT else ir.Cast(index, INT) for index in read.indices]
        element = indices[0]
        for extent, index in zip(self.extents[key][1:], indices[1:], strict=True):
            element = add(multiply(element, ir.Const(extent, INT)), index)
        element = add(element, ir.Const(self.starts[key], INT))
        access = ir.Const(2 * span.line + int(stores), INT)
        return replace(read, indices=(ir.Call(_ACCESS, (indices[0], element, access), INT), *indices[1:]))


def _begin(kernel: ir.Kernel) -> ir.Stmt:
    """Return the statement with which a thread begins: blocks of the domain have intervals of their own."""
    ids: list[ir.Expr] = [ir.ThreadId(axis, INT) for axis in range(kernel.dims)]
    extents: list[ir.Expr] = [ir.Const(extent, INT) for extent in kernel.group_size]
    ids += [ir.Const(0, INT)] * (3 - len(ids))
    extents += [ir.Const(1, INT)] * (3 - len(extents))
    return ir.Let("check_began", INT, ir.Call(_BEGIN, (*ids, *extents), INT))
