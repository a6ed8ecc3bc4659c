"""Print the entry points after the main one of a mode: totals of partial sums, and gradients from their copies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slangad.compiler.emit.entry_points.entry import (
    PrintedEntry,
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
from slangad.compiler.emit.model import EntryParameter, EntryPoint, ParameterRole, ThreadWork
from slangad.compiler.emit.print.functions import print_doc
from slangad.compiler.emit.text.names import NameScope
from slangad.compiler.ir.types import is_integral

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from slangad.compiler.emit.entry_points.sums import SumGroup
    from slangad.compiler.emit.text.writer import Writer


def print_sums(entry: PrintedEntry, writer: Writer, fresh: Callable[[str], str]) -> Iterator[EntryPoint]:
    """Yield the entry points after the main one: totals of sums, and gradients from their copies."""
    for group in entry.slots.groups:
        writer.gap()
        yield _print_total_entry(entry, group, writer, fresh(f"{entry.name}_{group.named('totals')}"))
    for part in scattered(entry.memory, entry.mode):
        for parameters in part.copies_parameters(entry.mode):
            writer.gap()
            tangent = parameters[-1].role is ParameterRole.RESULT_TANGENT
            word = f"{parameters[0].parameter}{'_tangent' if tangent else ''}"
            yield _print_copies_entry(entry, writer, parameters, fresh(f"{entry.name}_{word}"), word)


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
    group, lane, total = scope.local("group"), scope.local("lane"), scope.local("total")
    print_doc(writer, (f"{entry.kernel.name}: the totals of {entry.name}, a group for each.",))
    values = [f"uint3 {group} : SV_GroupID", f"uint {lane} : SV_GroupIndex"]
    print_head(writer, name, entry.group, values, parameters)
    with writer.block():
        arguments = (scope.local(sums.named("partials")), f"{group}.x", lane, scope.local("parts"))
        function = f"{sums.library}.total<{entry.group[0]}>"
        writer.line(f"{sums.scalar.name} {total} = {function}({', '.join(arguments)});")
        writer.line(f"if ({lane} > 0 || {group}.x >= {sums.count})")
        with writer.indented():
            writer.line("return;")
        count = element_count(inner)
        print_totals(scope, writer, sums, f"{group}.x", total, f"({count})" if " " in count else count)
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


def _print_copies_entry(
    entry: PrintedEntry, writer: Writer, parameters: tuple[EntryParameter, ...], name: str, part: str
) -> EntryPoint:
    """Add the copies of a tensor's totals to its gradient, or to its values or their tangent."""
    count, copies, totals, target = (p.name for p in parameters)
    word = f"the {target} of {parameters[0].parameter}, from the copies of {'their' if target == 'values' else 'its'}"
    print_doc(writer, (f"{entry.kernel.name}: {word} totals.",))
    print_head(writer, name, (64, 1, 1), ["uint3 thread : SV_DispatchThreadID"], parameters)
    with writer.block():
        print_flat(writer, "i", "thread", 64)
        writer.line(f"if (i >= {count})")
        with writer.indented():
            writer.line("return;")
        if parameters[2].is_exact:
            writer.line(f"sa.ExactTotal total = sa.exact_total({totals}, i, {count}, {copies});")
        elif is_integral(parameters[3].scalar):
            writer.line(f"uint total = sa.integer_total({totals}, i, {count}, {copies});")
        else:
            writer.line(f"sa.Copied total = sa.copied_total({totals}, i, {count}, {copies});")
        writer.line(f"{target}[i] += {parameters[3].scalar.name}(total);")
    return EntryPoint(name, entry.kernel.name, entry.mode, (64, 1, 1), 1, parameters, ThreadWork.SCALARS, part=part)
