"""Print the entry points after the main one of a mode: totals of partial sums, and gradients from their copies.

One function adds up the copies of all tensors of a type. It is launched once for each tensor, with its buffers.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from slangad.compiler.emit.entry_points.entry import (
    PrintedEntry,
    arrived_parameter,
    domain_parameter,
    element_count,
    partials_parameter,
    parts_parameter,
    print_flat,
    print_head,
    scattered,
)
from slangad.compiler.emit.entry_points.memory_classes import KernelScope
from slangad.compiler.emit.entry_points.sums import print_totals, total_parameters
from slangad.compiler.emit.model import EntryParameter, EntryPoint, ParameterRole, ThreadWork, totals_together
from slangad.compiler.emit.print.functions import print_doc
from slangad.compiler.emit.text.names import NameScope
from slangad.compiler.ir.targets import LAST_GROUP
from slangad.compiler.ir.types import FLOAT, is_integral

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from slangad.compiler.emit.entry_points.sums import SumGroup
    from slangad.compiler.emit.text.writer import Writer

_MOST_OF_LAST_GROUP: Final = 16
"""Totals that the last group of an entry point adds up: one group takes longer than a launch for many."""
_GROUP: Final = (256, 1, 1)
"""Threads of a group that adds up copies."""


def print_sums(entry: PrintedEntry, writer: Writer, fresh: Callable[[str], str]) -> Iterator[EntryPoint]:
    """Yield the entry points after the main one: totals of sums, and gradients from their copies."""
    for group in entry.slots.groups:
        writer.gap()
        yield _print_total_entry(entry, group, writer, fresh(f"{entry.name}_{group.named('totals')}"))
    gathers: dict[tuple[str, str], list[tuple[EntryParameter, ...]]] = {}
    for part in scattered(entry.memory, entry.mode):
        for parameters in part.copies_parameters(entry.mode):
            gathers.setdefault((parameters[2].type, parameters[3].type), []).append(parameters)
    for tensors in gathers.values():
        writer.gap()
        yield from _print_gather(entry, writer, tensors, fresh)


def _print_total_entry(entry: PrintedEntry, sums: SumGroup, writer: Writer, name: str) -> EntryPoint:
    scope = KernelScope(
        entry.scope.names, NameScope(entry.scope.names.taken, ()), entry.scope.accessors, entry.kernel.dims
    )
    inner = PrintedEntry(
        entry.kernel,
        entry.function,
        entry.mode,
        name,
        scope,
        entry.slots,
        (),
        entry.results,
        entry.memory,
    )
    counted = (domain_parameter(inner),) if any(slot.mean for slot in sums.slots) else ()
    parameters = (
        *counted,
        parts_parameter(inner),
        partials_parameter(inner, sums, writes=False),
        *total_parameters(scope, sums),
    )
    group, lane, total, round_ = (scope.local(word) for word in ("group", "lane", "total", "round"))
    together = totals_together(sums.count, math.prod(entry.group))
    each = f"{together} of them to a group" if together > 1 else "a group for each"
    print_doc(writer, (f"{entry.kernel.name}: the totals of {entry.name}, {each}.",))
    values = [f"uint3 {group} : SV_GroupID", f"uint {lane} : SV_GroupIndex"]
    print_head(writer, name, entry.group, values, parameters)
    library, rounds = sums.library, f"{sums.library}.rounds<{together}>()" if together > 1 else ""
    with writer.block(), _rounds(writer, rounds, round_) as which:
        partials = scope.local(sums.named("partials"))
        arguments = (partials, f"{group}.x", lane, which, scope.local("parts"), str(sums.count))
        sizes = f"{math.prod(entry.group)}, {together}"
        writer.line(f"{library}.NumberedTotal {total} = {library}.total<{sizes}>({', '.join(arguments)});")
        writer.line(f"if ({total}.which < {sums.count})")
        with writer.block():
            print_totals(scope, writer, sums, f"{total}.which", f"{total}.sum", element_count(inner))
    extents = tuple(slot.tensor.extents for slot in sums.slots if slot.tensor and slot.tensor.extents)
    return EntryPoint(
        name,
        entry.kernel.name,
        entry.mode,
        entry.group,
        entry.kernel.dims,
        (*parameters, *extents),
        ThreadWork.TOTALS,
        sums.count,
        sums.named("totals"),
    )


def last_parameters(entry: PrintedEntry) -> tuple[EntryParameter, ...]:
    """Return the parameters of an entry point's last group if it adds up the totals: sums of floats, all at a time."""
    groups = entry.slots.groups
    if len(groups) != 1 or groups[0].library != "sa" or any(slot.matrix for slot in groups[0].slots):
        return ()
    if groups[0].count > min(_MOST_OF_LAST_GROUP, totals_together(groups[0].count, math.prod(entry.group))):
        return ()
    return (arrived_parameter(entry, groups[0]), *total_parameters(entry.scope, groups[0]))


def print_last_group(entry: PrintedEntry, writer: Writer) -> None:
    """Print what the last group of an entry point does in place of a launch that adds up the totals."""
    (sums,) = entry.slots.groups
    local, total, threads = entry.scope.local, entry.scope.local("total"), math.prod(entry.group)
    sizes = f"{threads}, {sums.count}, {totals_together(sums.count, threads)}"
    place = (f"{local('thread')}.x / {threads}", local("lane"), local("parts"))
    arguments = (local(sums.named("partials")), local("arrived"), *place)
    writer.line(f"#if defined({LAST_GROUP})")
    writer.line(f"sa.NumberedTotal {total} = sa.last_total<{sizes}>({', '.join(arguments)});")
    writer.line(f"if ({total}.which < {sums.count})")
    with writer.block():
        print_totals(entry.scope, writer, sums, f"{total}.which", f"{total}.sum", element_count(entry))
    writer.line("#endif")


@contextmanager
def _rounds(writer: Writer, rounds: str, round_: str) -> Iterator[str]:
    """Print a loop over the rounds of a group, if it has several, around what is printed meanwhile; yield the round."""
    if not rounds:
        yield "0"
        return
    writer.line(f"for (uint {round_} = 0; {round_} < {rounds}; ++{round_})")
    with writer.block():
        yield round_


def _print_gather(
    entry: PrintedEntry, writer: Writer, tensors: Sequence[tuple[EntryParameter, ...]], fresh: Callable[[str], str]
) -> Iterator[EntryPoint]:
    """Print the function that adds the copies of a tensor's totals to its gradient, or to its values or their tangent.

    Yield an entry point for each of the tensors, which all have the same types.
    """
    scalar = tensors[0][3].scalar
    part = "gather" if scalar == FLOAT else f"gather_{scalar.name}"
    name = fresh(f"{entry.name}_{part}")
    arrays = dict.fromkeys(parameters[3].name for parameters in tensors)
    target = next(iter(arrays)) if len(arrays) == 1 else "target"
    one = _called(tensors[0]) if len(tensors) == 1 else "a tensor"
    taken = ", which are zero afterwards" if tensors[0][2].is_exact else ""
    what = f"the {' or '.join(arrays)} of {one}, from the copies of its totals{taken}"
    print_doc(writer, (f"{entry.kernel.name}: {what}.",))
    if len(tensors) > 1:
        print_doc(writer, (f"A launch for each of: {', '.join(map(_called, tensors))}.",))
    tensors = [(*parameters[:3], replace(parameters[3], name=target)) for parameters in tensors]
    count, copies, totals = (p.name for p in tensors[0][:3])
    print_head(writer, name, _GROUP, ["uint3 thread : SV_DispatchThreadID"], tensors[0])
    with writer.block():
        print_flat(writer, "i", "thread", _GROUP[0])
        writer.line(f"if (i >= {count})")
        with writer.indented():
            writer.line("return;")
        writer.line(f"{scalar.name} before = {target}[i];")
        if tensors[0][2].is_exact:
            writer.line(f"sa.ExactTotal total = sa.take_exact({totals}, i, {count}, {copies});")
        elif is_integral(scalar):
            writer.line(f"uint total = sa.integer_total({totals}, i, {count}, {copies});")
        else:
            writer.line(f"sa.Copied total = sa.copied_total({totals}, i, {count}, {copies});")
        writer.line(f"{target}[i] = before + {scalar.name}(total);")
    for parameters in tensors:
        word = "_".join(_called(parameters).split(".")).replace(" ", "_")
        yield EntryPoint(
            fresh(f"{entry.name}_{word}"), entry.kernel.name, entry.mode, _GROUP, 1, parameters, ThreadWork.SCALARS,
            part=word, function=name, file_part=part,
        )  # fmt: skip


def _called(parameters: tuple[EntryParameter, ...]) -> str:
    """Return the name of a tensor; for its tangent, that too."""
    *_, target = parameters
    name = ".".join((target.parameter, *map(str, target.path)))
    return f"{name} tangent" if target.role is ParameterRole.RESULT_TANGENT else name
