"""Find the loops that a group runs for a whole tile."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.build import Fresh, fresh_keys
from slangad.compiler.ir.calls import reached_in_order, value_callees
from slangad.compiler.ir.gradient_flow import Carrying
from slangad.compiler.ir.types import Struct, Tensor, is_floating
from slangad.compiler.ir.walk import body_exprs, statements, walk_stmts
from slangad.compiler.passes.classify_accesses import blocks_of
from slangad.compiler.passes.lower_tuples import lower_tuples
from slangad.compiler.passes.share_tiles.functions import Functions, Made
from slangad.compiler.passes.share_tiles.read import Arguments, callee, is_passive, taken_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from slangad.compiler.ir.types import Type

_FEWEST: Final = 128
"""Elements of a tile: a wave with four elements a thread. Fewer: a group would have several tiles."""


def share_tiles(module: ir.Module) -> ir.Module:
    """Return the module with the functions of such loops, one loop a kernel at most."""
    loops = {
        f"{loop.key} loop": loop
        for loop in module.replayed
        if loop.plain and loop.way in ("sum", "invert") and not (loop.stops and loop.watched)
    }
    functions, keys = {f.key: f for f in module.functions}, fresh_keys(module)
    found = [
        made
        for kernel in module.kernels
        if loops and kernel.tile and kernel.dims > 1 and math.prod(kernel.tile) >= _FEWEST
        if (made := _Sharer(module, kernel, functions, loops, keys).made()) is not None
    ]
    if not found:
        return module
    ordered: list[ir.Function] = []
    for function in module.functions:
        ordered.append(function)
        ordered += (new for made in found if function.key == made.after for new in made.functions)
    structs = tuple(ir.StructDef(struct) for made in found for struct in made.structs)
    tile_loops = tuple(made.loop for made in found)
    shared = replace(module, functions=tuple(ordered), structs=(*module.structs, *structs), tile_loops=tile_loops)
    return lower_tuples(shared)  # those of written derivatives, which call others


@dataclass(slots=True)
class _Sharer:
    """Looks for the loop of one kernel."""

    module: ir.Module
    kernel: ir.Kernel
    functions: Mapping[str, ir.Function]
    loops: Mapping[str, ir.ReplayedLoop]
    keys: Fresh

    def made(self) -> Made | None:
        """Return the loop with its functions; None if there is none."""
        function = self.functions[self.kernel.function]
        if function.owner or any(p.direction != "in" for p in function.params) or self._writes():
            return None
        body = statements(function)
        calls = [(n, s) for n, s in enumerate(body) if isinstance(s, ir.Assign) and callee(s.value) in self.loops]
        if len(calls) != 1 or any(isinstance(s, ir.Return) for s in walk_stmts(body[: calls[0][0]])):
            return None
        ((at, stmt),) = calls
        assert isinstance(stmt, ir.Assign)  # noqa: S101  (chosen above)
        loop = self.loops[callee(stmt.value)]
        run = f"{loop.key} run"
        before = tuple(s for s in body[:at] if not (isinstance(s, ir.Assign) and callee(s.value) == run))
        taken = taken_in(self.functions[f"{loop.key} step"], self.functions)
        given = Arguments.of(stmt.value, self.functions, loop.key)
        if taken is None or not _is_float(taken.item.type) or not _is_float(given.state.type, but=loop.stops):
            return None
        if any(p.name in taken.outer and not is_passive(p) for p in taken.step.params[2:]) or not given.passive:
            return None
        carrying = Carrying(replace(function, body=before), self.functions)
        uniform = (given.count, *(given.shared[name] for name in taken.outer))
        if carrying.carries(given.state) or not self._in_common(function, uniform):
            return None
        if self._adds_plainly(taken.step):
            return None
        undo = self.functions.get(f"{loop.key} undo")
        maker = Functions(self.kernel, self.functions, self.keys, function, loop, taken, given)
        return maker.made(undo, before, stmt, body[at + 1 :])

    def _adds_plainly(self, step: ir.Function) -> bool:
        """Return True if iterations read elements that belong to one thread, which adds to their gradients plainly.

        Places past the domain repeat the last element in the loop, so that two threads would add.
        """
        own = {b.key for b in self.module.buffers if b.accumulation is ir.Accumulation.OWN}
        run = reached_in_order(self.functions, step.key, value_callees)
        exprs = (e for function in run for e in body_exprs(statements(function)))
        return any(isinstance(e, ir.Read) and isinstance(e.source, ir.Var) and e.source.name in own for e in exprs)

    def _writes(self) -> bool:
        """Return True if threads store in memory of the kernel or add to it."""
        own = [b for b in self.module.buffers if b.kernel == self.kernel.name]
        return any(b.added or (isinstance(b.type, Tensor) and b.type.writes) for b in own)

    def _in_common(self, function: ir.Function, exprs: Iterable[ir.Expr]) -> bool:
        """Return True if the elements of each tile have the same values."""
        tile = self.kernel.tile or ()
        return all(
            block % extent == 0
            for blocks in blocks_of(self.kernel, function, exprs)
            for block, extent in zip(blocks, tile, strict=False)
        )


def _is_float(type_: Type, but: str = "") -> bool:
    """Return True if a type is its own differential. A field named ``but`` does not count."""
    match type_:
        case Struct(fields=fields):
            return all(not f.no_diff and _is_float(f.type) for f in fields if f.name != but)
        case _:
            return is_floating(type_)
