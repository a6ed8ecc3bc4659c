"""Find the loops that a group runs for a whole tile."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.build import Fresh, fresh_keys
from slangad.compiler.ir.calls import reached_in_order, value_callees
from slangad.compiler.ir.gradient_flow import Carrying
from slangad.compiler.ir.types import BOOL, Struct, Tensor, Vector, is_floating, is_integral
from slangad.compiler.ir.walk import body_exprs, statements, walk_stmts
from slangad.compiler.ir.whole_tiles import why_no_tile
from slangad.compiler.passes.classify_accesses import blocks_of
from slangad.compiler.passes.gather_reads import entry_type
from slangad.compiler.passes.lower_tuples import lower_tuples
from slangad.compiler.passes.share_tiles.functions import Functions, Made
from slangad.compiler.passes.share_tiles.read import Arguments, callee, taken_in
from slangad.compiler.passes.share_tiles.unshared import unshared_loops

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from slangad.compiler.errors.spans import Span
    from slangad.compiler.ir.types import Type


_MOST_HELD: Final = 64
"""Numbers that a thread holds while the loop runs back: gradients of values from outside it."""


class NotShared(Exception):  # noqa: N818  (it is an answer, not an error)
    """A tile does not share a loop; the message says why."""


def share_tiles(module: ir.Module) -> ir.Module:
    """Return the module with the functions of such loops, one loop a kernel at most, and why others are not shared."""
    loops = {f"{loop.key} loop": loop for loop in module.replayed if loop.way in ("sum", "invert")}
    functions, keys = {f.key: f for f in module.functions}, fresh_keys(module)
    found: list[Made] = []
    alone: dict[tuple[ir.LoopChoice, Span], str] = {}
    refused: dict[str, str] = {}
    for kernel in module.kernels:
        if why_no_tile(kernel):
            continue
        sharer = _Sharer(module, kernel, functions, loops, keys)
        try:
            found += sharer.made()
        except NotShared as error:
            refused[kernel.name] = str(error)
            told = (loops[callee(stmt.value)].choice for _, stmt in sharer.calls())
            alone |= {(choice, choice.span): f"; each thread reads for itself: {error}" for choice in told}
    choices = tuple(replace(c, reason=c.reason + alone.get((c, c.span), "")) for c in module.loops)
    unshared = unshared_loops(module, refused, {made.loop.kernel: made.loop.run for made in found})
    module = replace(module, loops=choices, unshared_loops=unshared)
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

    def calls(self) -> list[tuple[int, ir.Assign]]:
        """Return the calls of loops at the top of the kernel, with their places in its body."""
        body = statements(self.functions[self.kernel.function])
        return [(n, s) for n, s in enumerate(body) if isinstance(s, ir.Assign) and callee(s.value) in self.loops]

    def _loop(self, stmt: ir.Assign) -> ir.ReplayedLoop:
        return self.loops[callee(stmt.value)]

    def made(self) -> list[Made]:
        """Return the loop of the kernel with its functions; nothing if it has none.

        Raises:
            NotShared: A tile can't share it.
        """
        calls = self.calls()
        if not calls:
            return []
        calls = [(n, s) for n, s in calls if self._loop(s).together] or calls
        function = self.functions[self.kernel.function]
        plain = [(n, s) for n, s in calls if self._loop(s).plain]
        firm = [(n, s) for n, s in plain if not (self._loop(s).stops and self._loop(s).watched)]
        (at, stmt), *more = firm or calls
        body, loop = statements(function), self._loop(stmt)
        _require(
            (bool(plain), "it does not count up by 1"),
            (bool(firm), "it may end early, and its state may become too small to divide"),
            (not more, "the kernel has several loops"),
            (not function.owner, "the kernel is a method"),
            (all(p.direction == "in" for p in function.params), "the kernel changes what it takes"),
            (not self._writes(), "the kernel stores in memory, or adds to it"),
            (not self._multiplies(), "the groups of the kernel multiply by matrices"),
            (not any(isinstance(s, ir.Return) for s in walk_stmts(body[:at])), "the kernel may return before it"),
        )
        run = f"{loop.key} run"
        before = tuple(s for s in body[:at] if not (isinstance(s, ir.Assign) and callee(s.value) == run))
        taken = taken_in(self.functions[f"{loop.key} step"], self.functions)
        given = Arguments.of(stmt.value, self.functions, loop.key)
        if taken is None:
            raise NotShared("an iteration does not read memory in one place, at indices that all states have")
        read = taken.item.type
        assert isinstance(read, Struct)  # noqa: S101  (as gather_reads makes it)
        floats = all(_is_float(entry_type(f.type)) for f in read.fields) and _is_float(given.state.type, integers=True)
        carrying = Carrying(replace(function, body=before), self.functions)
        uniform = (given.count, *(given.shared[name] for name in taken.outer))
        _require(
            (floats, "its state is not of floats, integers and bools, or what it reads with a gradient not of floats"),
            (not {*taken.outer} & {*given.active}, "its indices come from values that gradient flows into"),
            (self._in_common(function, uniform), "elements of a tile have iterations or indices of their own"),
            (not self._adds_plainly(taken.step), "it reads elements that belong to one thread"),
        )
        undo = self.functions.get(f"{loop.key} undo")
        maker = Functions(self.kernel, self.functions, self.keys, function, loop, taken, given)
        of_floats = all(_is_float(given.shared[name].type) for name in given.active)
        _require(
            (of_floats, "a gradient flows from it into what is not of floats"),
            (maker.held <= _MOST_HELD, f"gradients of more than {_MOST_HELD} numbers flow from it to its thread"),
        )
        return [maker.made(undo, before, stmt, body[at + 1 :], into_state=carrying.carries(given.state))]

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

    def _multiplies(self) -> bool:
        """Return True if groups multiply by matrices of the kernel: they walk in rows."""
        return any(b.accumulation.is_matrix for b in self.module.buffers if b.kernel == self.kernel.name)

    def _in_common(self, function: ir.Function, exprs: Iterable[ir.Expr]) -> bool:
        """Return True if the elements of each tile have the same values."""
        tile = self.kernel.tile or ()
        return all(
            block % extent == 0
            for blocks in blocks_of(self.kernel, function, exprs)
            for block, extent in zip(blocks, tile, strict=False)
        )


def _require(*conditions: tuple[bool, str]) -> None:
    """Refuse to share a loop for the first condition that does not hold.

    Raises:
        NotShared: One does not; its message is the text beside it.
    """
    for holds, why in conditions:
        if not holds:
            raise NotShared(why)


def _is_float(type_: Type, *, integers: bool = False) -> bool:
    """Return True if a type is its own differential. With ``integers``, fields of integers and bools do not count."""
    match type_:
        case Struct(fields=fields):
            active = (f for f in fields if not (integers and _is_integer(f.type)))
            return all(not f.no_diff and _is_float(f.type) for f in active)
        case _:
            return is_floating(type_)


def _is_integer(type_: Type) -> bool:
    """Return True for integers, bools and vectors of them, which have no gradient."""
    return is_integral(type_) or type_ == BOOL or (isinstance(type_, Vector) and type_.element == BOOL)
