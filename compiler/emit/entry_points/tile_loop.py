"""Print how a group runs the loop of a kernel for a whole tile in reverse mode (``ir.TileLoop``).

    for each element of the thread:   entry = splats_enter(…)
    for k, first to last:             shared: read once by the group; common: computed once by the thread;
                                      for each element: state = splats_blend(…)
    for each element of the thread:   bwd_diff(splats_rest)(…)
    for k, last to first:             for each element: state = splats_unblend(…), bwd_diff(splats_blend)(…)
                                      the gradients of the elements are added up, then those of the wave
    for each element of the thread:   bwd_diff(splats_lead)(…), if gradients flow from the loop to what is before it

Iterations that leave a state too small to be undone in any element of a tile run back for one element at a time. So
does everything where the domain has no whole tiles, and on targets without waves.

Where elements leave the loop early, each has the number of its iterations, and the state before the last of them, from
which it is undone. A wave goes on until all its elements have left, a group until all its waves have.
"""

from __future__ import annotations

import functools
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from slangad.compiler.emit.entry_points.calls import print_call
from slangad.compiler.emit.entry_points.memory_classes import EachParam
from slangad.compiler.emit.entry_points.tile_memory import PrintedTileLoop, field_of, fields_of_entry
from slangad.compiler.emit.model import Mode
from slangad.compiler.emit.print.differentials import is_own_differential, spell_differential
from slangad.compiler.ir.nodes import Binary, Call, Const, Index, Read, Sample
from slangad.compiler.ir.types import Struct, is_integral
from slangad.compiler.ir.walk import body_exprs, statements
from slangad.compiler.passes.share_tiles import ELEMENTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slangad.compiler.emit.entry_points.entry import ParameterPrinter, PrintedEntry
    from slangad.compiler.emit.print.context import ModuleNames
    from slangad.compiler.emit.text.writer import Writer
    from slangad.compiler.ir.nodes import Function, Param
    from slangad.compiler.ir.types import Type


@contextmanager
def elements_one_by_one(entry: PrintedEntry, writer: Writer, tile: PrintedTileLoop) -> Iterator[str]:
    """Print the work on a tile; yield the lane of an element in the loop over elements that threads take one by one."""
    local = entry.scope.local
    apart, n = local("apart"), local("n")
    extents = ", ".join(map(str, entry.tile))
    writer.line(f"bool {apart} = !sa.in_tiles<{extents}>({local('domain')});")
    writer.line("#if defined(SLANGAD_WAVES)")
    writer.line(f"if (!{apart})")
    with writer.block():
        _Printer(entry, writer, tile, entry.scope.names).print()
    writer.line("#endif")
    writer.line(f"for (uint {n} = 0; {apart} && {n} < sa.elements<{ELEMENTS}>(); ++{n})")
    with writer.block():
        yield f"{local('lane')} + {tile.threads(entry.tile)} * {n}"


@dataclass(frozen=True, slots=True)
class _Printer:
    """Prints the work on one tile."""

    entry: PrintedEntry
    writer: Writer
    tile: PrintedTileLoop
    names: ModuleNames

    def print(self) -> None:
        """Print the loop forward, what follows it, and the loop backward."""
        local, writer, loop = self.entry.scope.local, self.writer, self.tile.loop
        enter, rest = self._function(loop.enter), self._function(loop.rest)
        state_type = rest.params[-1].type
        entries, states = local("entries"), local("states")
        declare = self.names.spell.declare
        writer.line(f"{self.names.spell(enter.result)} {entries}[{ELEMENTS}];")
        writer.line(f"{declare(state_type, states)}[{ELEMENTS}];")
        with self._each_element(clamped=True):
            arguments = ", ".join(self._arguments(enter))
            writer.line(f"{entries}[{local('n')}] = {self.names.call(enter)}({arguments});")
            writer.line(f"{states}[{local('n')}] = {entries}[{local('n')}].{field_of(self.names, loop.enter, 0)};")
        if loop.stops:
            writer.line(f"int {local('ran')}[{ELEMENTS}] = {{}};")
            writer.line(f"int {local('loaded')} = 0;")
            writer.line(f"bool {local('done')} = false;")
        if self._before:
            writer.line(f"{declare(state_type, self._before)}[{ELEMENTS}] = {states};")
        if loop.lit:
            self._print_lit()
            writer.line(f"int {local('undoable')} = {local('lit')} ? 0 : -1;")
        self._forward()
        self._print_rest(rest, state_type)
        if self._before:
            writer.line(f"{states} = {self._before};")
        count, begin = local("stop"), local("begin")
        if loop.stops:
            self._print_last()
        if loop.lit:
            writer.line(f"int {begin} = sa.least_of_group(max({local('undoable')}, 0), {local('lane')});")
            writer.line(f"if ({begin} < {count})")
            with writer.block():
                self._print_tail(state_type)
        self._backward(state_type, begin if loop.lit else local("last") if loop.stops else count)
        if loop.lead:
            self._print_lead()

    @property
    def _before(self) -> str:
        """The local with the state of each element before its last iteration; empty if reverse mode needs none."""
        return self.entry.scope.local("before") if self.tile.loop.stops and self.tile.loop.undo else ""

    def _print_last(self) -> None:
        """Print the number of iterations of the wave, and of the group."""
        local, writer = self.entry.scope.local, self.writer
        writer.line(f"int {local('ran_in_wave')} = sa.most_of_wave({self._most});")
        writer.line(f"int {local('last')} = -sa.least_of_group(-{local('ran_in_wave')}, {local('lane')});")

    def _function(self, key: str) -> Function:
        return self.names.functions[key]

    @contextmanager
    def _each_element(self, *, clamped: bool = False) -> Iterator[None]:
        """Yield the loop over the elements of the thread, where each has its index; past the domain the last one."""
        entry, writer, local = self.entry, self.writer, self.entry.scope.local
        domain, id_, n = local("domain"), local("id"), local("n")
        sizes = ", ".join(map(str, (ELEMENTS, *entry.tile)))
        place = f"sa.place_of<{sizes}>({local('turn')}, {local('lane')}, {n}, {domain})"
        with self._unrolled():
            writer.line(f"uint{entry.kernel.dims} {id_} = {f'min({place}, {domain} - 1)' if clamped else place};")
            if clamped:
                self._print_index()
            yield

    def _print_index(self) -> None:
        entry, local = self.entry, self.entry.scope.local
        self.writer.line(f"uint {entry.scope.index} = {flat_index(local('id'), local('domain'), entry.kernel.dims)};")

    @property
    def _stops(self) -> str:
        """The Slang name of the field of a state that says that an element has left the loop."""
        type_ = self._function(self.tile.loop.rest).params[-1].type
        assert isinstance(type_, Struct)  # noqa: S101  (as the pass makes it)
        return self.names.field(type_, self.tile.loop.stops)

    @contextmanager
    def _unrolled(self, condition: str = "") -> Iterator[None]:
        n = self.entry.scope.local("n")
        self.writer.line("[ForceUnroll]")
        self.writer.line(f"for (uint {n} = 0; {n} < {ELEMENTS}; ++{n})")
        with self.writer.block():
            if not condition:
                yield
                return
            self.writer.line(f"if ({condition})")
            with self.writer.block():
                yield

    def _arguments(self, function: Function) -> list[str]:
        """Print loads of what a function of an element takes, and return the arguments."""
        found = [place.argument(self.writer, Mode.FORWARD) for place in self._places(function)]
        return [*found, *_thread_values(self.entry, function.params)]

    def _places(self, function: Function) -> tuple[ParameterPrinter, ...]:
        """Return the kernel's parameters that a function of an element has, too."""
        wanted = {param.name for param in function.params}
        pairs = zip(self.entry.places, self.entry.function.params, strict=True)
        return tuple(place for place, param in pairs if param.name in wanted)

    def _forward(self) -> None:
        local, writer, loop = self.entry.scope.local, self.writer, self.tile.loop
        threads, first, k, n = self.tile.threads(self.entry.tile), local("first"), local("k"), local("n")
        count, states = local("stop"), local("states")
        writer.line(f"int {count} = {local('entries')}[0].{field_of(self.names, loop.enter, 1)};")
        writer.line(f"for (int {first} = 0; {first} < {count}; {first} += {threads})")
        with writer.block():
            going = ""
            if loop.stops:
                going = f" && sa.any_of_wave(!{local('done')})"
                writer.line(f"if ({first} > 0 && sa.least_of_group({local('done')} ? 1 : 0, {local('lane')}) == 1)")
                with writer.indented():
                    writer.line("break;")
                writer.line(f"{local('loaded')} = {first};")
            writer.line(f"{self.tile.load}({local('entries')}[0], {first}, {local('lane')});")
            writer.line(f"for (int {k} = {first}; {k} < min({first} + {threads}, {count}){going}; ++{k})")
            with writer.block():
                self._get()
                self._print_common()
                with self._unrolled():
                    if loop.stops:
                        self._print_iteration_of_going()
                    else:
                        writer.line(f"{states}[{n}] = {self._iteration(loop.blend)};")
                if loop.lit:
                    self._print_lit()
                    undoable = local("undoable")
                    writer.line(f"{undoable} += {local('lit')} & ({undoable} == {k}) ? 1 : 0;")
                if loop.stops:
                    stopped = " && ".join(f"{states}[{n}].{self._stops}" for n in range(ELEMENTS))
                    writer.line(f"{local('done')} = {stopped};")

    def _print_iteration_of_going(self) -> None:
        """Print an iteration of an element that may have left."""
        local, writer, n = self.entry.scope.local, self.writer, self.entry.scope.local("n")
        state, next_, going = f"{local('states')}[{n}]", local("next"), local("going")
        type_ = self._function(self.tile.loop.rest).params[-1].type
        if not self._is_plain(self.tile.loop.blend):
            writer.line(f"if (!{state}.{self._stops})")
            with writer.block():
                if self._before:
                    writer.line(f"{self._before}[{n}] = {state};")
                writer.line(f"{state} = {self._iteration(self.tile.loop.blend)};")
                writer.line(f"{local('ran')}[{n}] += 1;")
            return
        writer.line(f"{self.names.spell.declare(type_, next_)} = {self._iteration(self.tile.loop.blend)};")
        writer.line(f"bool {going} = !{state}.{self._stops};")
        if self._before:
            writer.line(f"{self._before}[{n}] = {going} ? {state} : {self._before}[{n}];")
        writer.line(f"{state} = {going} ? {next_} : {state};")
        writer.line(f"{local('ran')}[{n}] += {going} ? 1 : 0;")

    def _is_plain(self, key: str) -> bool:
        """Return True if a function may run for nothing: a choice of its value is faster than a branch around it."""
        exprs = [*body_exprs(statements(self._function(key)))]
        indices = (e.index for e in exprs if isinstance(e, Index))
        whole = (e for e in exprs if isinstance(e, Binary) and e.op in ("/", "%") and is_integral(e.type))
        calls = any(isinstance(e, (Read, Sample, Call)) for e in exprs)
        return not calls and not any(whole) and all(isinstance(index, Const) for index in indices)

    def _print_lit(self) -> None:
        """Print whether the states of all elements are large enough to be undone: `&`, since `&&` would be branches."""
        lit, n = self.entry.scope.local("lit"), self.entry.scope.local("n")
        self.writer.line(f"bool {lit} = true;")
        with self._unrolled():
            holds = self.names.call(self._function(self.tile.loop.lit))
            self.writer.line(f"{lit} = {lit} & {holds}({self.entry.scope.local('states')}[{n}]);")

    def _get(self) -> None:
        local, take = self.entry.scope.local, self._function(self.tile.loop.take)
        shown = f"{self.tile.memory}[{local('k')} - {local('first')}]"
        self.writer.line(f"{self.names.spell(take.result)} {local('shared')} = {shown};")

    def _iteration(self, key: str) -> str:
        """Return the call of a function of an iteration for an element."""
        function = self._function(key)
        return f"{self.names.call(function)}({', '.join(self._inputs(function))})"

    def _inputs(self, function: Function, *, paired: bool = False) -> list[str]:
        """Return the arguments of a function of an iteration; pairs for the state and what it gives gradients to."""
        local = self.entry.scope.local
        state = local("state_pair", "tile") if paired else f"{local('states')}[{local('n')}]"
        return [state, *(self._value(param, local("n"), paired=paired) for param in function.params[1:])]

    def _value(self, param: Param, element: str, *, paired: bool = False) -> str:
        """Return the argument for a parameter of a function of an iteration, except its state."""
        local, loop, names = self.entry.scope.local, self.tile.loop, self.names
        take = self._function(loop.take)
        assert isinstance(take.result, Struct)  # noqa: S101  (as the pass makes it)
        shared = [f.name for f in take.result.fields]
        if paired and param.name == shared[0]:
            return local("item_pair")
        if param.name in shared:
            return f"{local('shared')}.{names.field(take.result, param.name)}"
        if param.type == self._common:
            return local("common_pair" if paired else "common")
        if paired and param in self._captured:
            return local(f"{_outer_word(param)}_pair")
        if param.name == take.params[0].name:
            return local("k")
        (found,) = fields_of_entry(names, loop, (param,), f"{local('entries')}[{element}]")
        return found

    @property
    def _common(self) -> Type | None:
        """The struct of what a thread computes once for all its elements, if any."""
        return self._function(self.tile.loop.common).result if self.tile.loop.common else None

    def _print_common(self) -> None:
        """Print what the elements of the thread have in common in an iteration."""
        if self.tile.loop.common:
            function = self._function(self.tile.loop.common)
            arguments = ", ".join(self._value(param, "0") for param in function.params)
            call = f"{self.names.call(function)}({arguments})"
            self.writer.line(f"{self.names.spell(function.result)} {self.entry.scope.local('common')} = {call};")

    def _print_rest(self, rest: Function, state_type: Type) -> None:
        """Print reverse mode of what follows the loop; elements outside the domain have no gradient."""
        local, writer, entry = self.entry.scope.local, self.writer, self.entry
        n, pair, d_states = local("n"), local("state_pair", "tile"), local("d_states")
        writer.line(f"{self._differential(state_type, d_states)}[{ELEMENTS}];")
        generic = self.names.spell.generic(state_type)
        for place in self._parted:
            type_ = spell_differential(self.names, place.param.type)
            writer.line(f"{type_} {local(f'{place.param.name}_part')}[{ELEMENTS}];")
        for param in self._captured:
            shape = "" if param.name in self.tile.loop.per_thread else f"[{ELEMENTS}]"
            writer.line(f"{self.names.spell(param.type)} {local(f'd_{_outer_word(param)}')}{shape} = {{}};")
        with self._each_element():
            writer.line(f"{d_states}[{n}] = {{}};")
            writer.line(f"if (all({local('id')} < {local('domain')}))")
            with writer.block():
                self._print_index()
                writer.line(f"DifferentialPair<{generic}> {pair} = diffPair({local('states')}[{n}]);")
                more = (*_thread_values(entry, rest.params[:-1]), pair)
                parts = tuple(replace(p, waits=self._part(p)) if p in self._parted else p for p in self._places(rest))
                of_rest = replace(entry, function=rest, places=parts, kept=self.tile.kept)
                print_call(of_rest, writer, more)
                writer.line(f"{d_states}[{n}] = {pair}.d;")

    def _differential(self, type_: Type, name: str) -> str:
        """Return the declaration of a local for the gradient of a state."""
        if not is_own_differential(type_):
            return f"{self.names.spell(type_)}.Differential {name}"
        return self.names.spell.declare(type_, name)

    def _print_tail(self, state_type: Type) -> None:
        """Print reverse mode of the iterations that not all elements can undo, for one element at a time."""
        local, writer, loop, names = self.entry.scope.local, self.writer, self.tile.loop, self.names
        m, n, entry, d_state, end = (local(word) for word in ("m", "n", "entry", "d_state", "end"))
        run, tail, enter = self._function(loop.run), self._function(loop.tail), self._function(loop.enter)
        writer.line(f"for (uint {m} = 0; {m} < {ELEMENTS}; ++{m})")
        with writer.block():
            writer.line(f"{names.spell(enter.result)} {entry} = {local('entries')}[0];")
            into, out_of = (
                ("", "") if is_own_differential(state_type) else (names.from_differential, names.to_differential)
            )
            writer.line(f"{names.spell.declare(state_type, d_state)} = {into}({local('d_states')}[0]);")
            with self._one_of_elements():
                writer.line(f"{entry} = {local('entries')}[{n}];")
                writer.line(f"{d_state} = {into}({local('d_states')}[{n}]);")
            given = ", ".join((f"{entry}.{field_of(names, loop.enter, 0)}", *self._outer(run.params[1:])))
            writer.line(f"{names.spell(run.result)} {end} = {names.call(run)}({given});")
            others = ", ".join((*self._outer(tail.params[:-3]), end, local("begin"), d_state))
            writer.line(f"{names.spell(tail.result)} {local('tail')} = {names.call(tail)}({others});")
            with self._one_of_elements():
                tail_state = f"{local('tail')}.{field_of(names, loop.tail, 0)}"
                writer.line(f"{local('d_states')}[{n}] = {out_of}({tail_state});")
                writer.line(f"{local('states')}[{n}] = {local('tail')}.{field_of(names, loop.tail, 1)};")
                gains = [f"{local('tail')}.{field_of(names, loop.tail, 2 + m)}" for m in range(len(self._captured))]
                for param, gain in zip(self._captured, gains, strict=True):
                    self._print_gain(self._total(param), param, gain)

    @contextmanager
    def _one_of_elements(self) -> Iterator[None]:
        """Yield a branch for the element with the number ``m``, so that arrays have constant indices only."""
        with self._unrolled():
            self.writer.line(f"if ({self.entry.scope.local('n')} == {self.entry.scope.local('m')})")
            with self.writer.block():
                yield

    def _outer(self, params: tuple[Param, ...]) -> list[str]:
        """Return the arguments of the loop's own functions: the number of iterations, and what they read."""
        local, names, loop = self.entry.scope.local, self.names, self.tile.loop
        type_ = self._function(loop.enter).result
        assert isinstance(type_, Struct)  # noqa: S101  (as the pass makes it)
        known = {f.name for f in type_.fields[2:]}
        return [f"{local('entry')}.{names.field(type_, p.name)}" if p.name in known else local("stop") for p in params]

    def _backward(self, state_type: Type, count: str) -> None:
        local, writer, loop, names = self.entry.scope.local, self.writer, self.tile.loop, self.names
        threads, first, k, n = self.tile.threads(self.entry.tile), local("first"), local("k"), local("n")
        blend, item = self._function(loop.blend), self._function(loop.item)
        states, d_states, d_item, stop = local("states"), local("d_states"), local("d_item"), local("stop")
        take, shared = self._function(loop.take), local("shared")
        writer.line(f"for (int {first} = ({count} - 1) / {threads} * {threads}; {first} > -1; {first} -= {threads})")
        with writer.block():
            missing = f"{first} != {local('loaded')}" if loop.stops else f"{first} + {threads} < {stop}"
            writer.line(f"if ({missing})")
            with writer.indented():
                writer.line(f"{self.tile.load}({local('entries')}[0], {first}, {local('lane')});")
            writer.line(f"for (int {k} = min({first} + {threads}, {count}) - 1; {k} > {first} - 1; --{k})")
            with writer.block():
                if loop.stops:
                    writer.line(f"if ({k} >= {local('ran_in_wave')})")
                    with writer.indented():
                        writer.line("continue;")
                self._get()
                self._print_common()
                given = self._receivers(blend)
                writer.line(f"{names.spell(item.result)} {d_item} = {{}};")
                if loop.common:
                    writer.line(f"{names.spell(self._function(loop.common).result)} {local('d_common')} = {{}};")
                with self._unrolled(f"{k} < {local('ran')}[{n}]" if loop.stops else ""):
                    if loop.undo:
                        self._print_undo(state_type)
                    pair, generic = local("state_pair", "tile"), names.spell.generic(state_type)
                    writer.line(f"DifferentialPair<{generic}> {pair} = diffPair({states}[{n}]);")
                    self._print_pairs(given)
                    inputs = ", ".join(self._inputs(blend, paired=True))
                    writer.line(f"bwd_diff({names.reference(blend)})({inputs}, {d_states}[{n}]);")
                    writer.line(f"{d_states}[{n}] = {pair}.d;")
                    self._print_gains(given)
                if loop.common:
                    self._print_gradient_of_common()
                indices = ", ".join(f"{shared}.{names.field(take.result, index)}" for index in loop.indices)
                writer.line(f"{names.function_names[item.key]}_add({indices}, {d_item}, sa.whole_waves<{threads}>());")

    def _print_undo(self, state_type: Type) -> None:
        """Print the state before an iteration; that before the last one of an element that leaves is there already."""
        local, undone = self.entry.scope.local, self._iteration(self.tile.loop.undo)
        state, earlier = f"{local('states')}[{local('n')}]", local("earlier")
        if not self.tile.loop.stops:
            self.writer.line(f"{state} = {undone};")
            return
        if not self._is_plain(self.tile.loop.undo):
            self.writer.line(f"if ({local('k')} < {local('ran')}[{local('n')}] - 1)")
            with self.writer.indented():
                self.writer.line(f"{state} = {undone};")
            return
        self.writer.line(f"{self.names.spell.declare(state_type, earlier)} = {undone};")
        self.writer.line(f"{state} = {local('k')} < {local('ran')}[{local('n')}] - 1 ? {earlier} : {state};")

    def _receivers(self, function: Function) -> list[tuple[str, Param]]:
        """Return what a function of an iteration gives gradients to besides the state: a word, and the parameter."""
        item = self._function(self.tile.loop.item).result
        found = {item: "item"} | ({self._common: "common"} if self._common else {})
        words = {p.name: found[p.type] for p in function.params[1:] if p.type in found}
        words |= {p.name: _outer_word(p) for p in self._captured}
        return [(words[param.name], param) for param in function.params[1:] if param.name in words]

    @property
    def _captured(self) -> tuple[Param, ...]:
        """The parameters of an iteration for values from outside that gradient flows into, as ``tail`` has them."""
        names = {*self.tile.loop.per_element, *self.tile.loop.per_thread}
        return tuple(p for p in self._function(self.tile.loop.blend).params[1:] if p.name in names)

    def _total(self, param: Param) -> str:
        """Return the gradient so far of a value from outside."""
        total = self.entry.scope.local(f"d_{_outer_word(param)}")
        return total if param.name in self.tile.loop.per_thread else f"{total}[{self.entry.scope.local('n')}]"

    def _print_pairs(self, receivers: list[tuple[str, Param]]) -> None:
        for word, param in receivers:
            pair = f"DifferentialPair<{self.names.spell(param.type)}> {self.entry.scope.local(f'{word}_pair')}"
            element = self.entry.scope.local("n") if param.name in self.tile.loop.per_element else "0"
            self.writer.line(f"{pair} = diffPair({self._value(param, element)});")

    def _print_gains(self, receivers: list[tuple[str, Param]]) -> None:
        """Print the addition of gradients to those of the other elements."""
        captured = {p.name for p in self._captured}
        for word, param in receivers:
            total = self._total(param) if param.name in captured else self.entry.scope.local(f"d_{word}")
            self._print_gain(total, param, f"{self.entry.scope.local(f'{word}_pair')}.d")

    def _print_gain(self, total: str, param: Param, gain: str) -> None:
        if isinstance(param.type, Struct):
            self.writer.line(f"{total} = {self.names.spell(param.type)}.dadd({total}, {gain});")
        else:
            self.writer.line(f"{total} += {gain};")

    # --- what precedes the loop ---

    @property
    def _parted(self) -> tuple[EachParam, ...]:
        """The parameters of elements whose gradients have a part from before the loop, and one from after it."""
        lead = self.tile.loop.lead
        found = self._places(self._function(lead)) if lead else ()
        return tuple(p for p in found if isinstance(p, EachParam) and p.differentiable)

    def _part(self, place: EachParam) -> str:
        """Return the gradient of a parameter of elements so far."""
        return f"{self.entry.scope.local(f'{place.param.name}_part')}[{self.entry.scope.local('n')}]"

    def _print_lead(self) -> None:
        """Print reverse mode of what precedes the loop. The first element of a thread has what all have in common."""
        local, writer, names, loop = self.entry.scope.local, self.writer, self.names, self.tile.loop
        lead, n, d_lead = self._function(loop.lead), local("n"), local("d_lead")
        assert isinstance(lead.result, Struct)  # noqa: S101  (as the pass makes it)
        with self._each_element():
            writer.line(f"if (all({local('id')} < {local('domain')}))")
            with writer.block():
                self._print_index()
                writer.line(f"{self._differential(lead.result, d_lead)};")
                totals = {param.name: self._total(param) for param in self._captured}
                for field in lead.result.fields:
                    total = totals.get(field.name, f"{local('d_states')}[{n}]")
                    writer.line(f"{d_lead}.{names.field(lead.result, field.name)} = {total};")
                    if field.name in loop.per_thread:
                        writer.line(f"{total} = {{}};")
                places = [replace(p, part=self._part(p)) if p in self._parted else p for p in self._places(lead)]
                given = [text for place in places if (text := place.argument(writer, Mode.BACKWARD))]
                arguments = ", ".join((*given, *_thread_values(self.entry, lead.params), d_lead))
                writer.line(f"bwd_diff({names.reference(lead)})({arguments});")
                for place in places:
                    place.finish(writer, Mode.BACKWARD)

    def _print_gradient_of_common(self) -> None:
        """Print reverse mode of what the elements have in common, where one of them takes part."""
        local, writer, loop = self.entry.scope.local, self.writer, self.tile.loop
        common = self._function(loop.common)
        receivers = [("item", p) for p in common.params if p.type == self._function(loop.item).result]
        if loop.stops:
            writer.line(f"if ({local('k')} < {self._most})")
        with writer.block() if loop.stops else nullcontext():
            self._print_pairs(receivers)
            inputs = ", ".join(self._value(param, "0", paired=True) for param in common.params)
            writer.line(f"bwd_diff({self.names.reference(common)})({inputs}, {local('d_common')});")
            self._print_gains(receivers)

    @property
    def _most(self) -> str:
        """The largest number of iterations of an element of the thread."""
        ran = self.entry.scope.local("ran")
        return functools.reduce(lambda a, b: f"max({a}, {b})", (f"{ran}[{n}]" for n in range(ELEMENTS)))


def _outer_word(param: Param) -> str:
    """Return a word for a value from outside that is none of the words of this file."""
    return f"outer_{param.name}"


def flat_index(id_: str, domain: str, dims: int) -> str:
    """Return the number of an element from its index along each axis."""
    flat = f"{id_}.x * {domain}.y + {id_}.y"
    return f"({flat}) * {domain}.z + {id_}.z" if dims > 2 else flat


def _thread_values(entry: PrintedEntry, params: tuple[Param, ...]) -> list[str]:
    """Return the thread's index and the domain for the parameters after the kernel's own, which stand for them."""
    own = {param.name for param in entry.function.params}
    texts = {"thread_id": entry.scope.local("id"), "thread_count": entry.scope.local("domain")}
    words = [word for p in params if p.name not in own for word in texts if p.name.startswith(word)]
    return [f"int{entry.kernel.dims}({texts[word]})" for word in words]
