"""Plan the launches of a mode as data: buffer sizes, contents before the launch, groups of threads.

The runtime evaluates the plan, the manifest and the C++ header print it. A size is a product: the totals of a tensor
``w`` of float3 have ``3 * extents(w) * copies(w)`` scalars.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from slangad.compiler.emit.model import EXACT_WORDS, ParameterRole, ThreadWork

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from slangad.compiler.emit.model import EntryParameter, EntryPoint, Mode

Role = ParameterRole


class Factor(str, Enum):
    """A number that is known at launch only."""

    DOMAIN = "domain"
    """Elements of the domain."""
    EXTENTS = "extents"
    """Elements of a tensor."""
    PARTS = "parts"
    """Groups that share the domain. The launcher chooses it, one at least."""
    COPIES = "copies"
    """Copies of a tensor's totals. The launcher chooses it, one at least; one for each worker on the CPU."""


@dataclass(frozen=True, slots=True)
class Count:
    """A product: ``times``, and factors with the tensor that they belong to (``w``, ``net.w1``, or none)."""

    times: int
    factors: tuple[tuple[Factor, str], ...] = ()

    def evaluate(self, value: Callable[[Factor, str], int]) -> int:
        """Return the product."""
        return math.prod((self.times, *(value(factor, name) for factor, name in self.factors)))


class Start(str, Enum):
    """The contents of a buffer before the launches, if the caller gives none."""

    GIVEN = "given"
    """There is no default: the caller gives it."""
    ZERO = "zero"
    ONE = "one"
    ANY = "any"
    """The launches write every element before they read it."""


class Grid(str, Enum):
    """How threads are laid out."""

    GROUPS = "groups"
    """``count`` groups along x."""
    FLAT = "flat"
    """``count`` threads along x. Beyond ``GROUPS_A_ROW`` groups they continue in rows, along y."""
    AXES = "axes"
    """A thread for each location: x is the domain's last axis. In rows too, if an axis is too long."""


@dataclass(frozen=True, slots=True)
class BufferPlan:
    """A buffer of a mode, which several of its entry points may use.

    Attributes:
        slot: Its identity within the mode: role, parameter, path.
        parameter: The first entry-point parameter that it is bound to.
        scalar: The type of its scalars; on the CPU, totals are ``double``.
        count: Its scalars.
        start: Its contents before the launches.
        bound: The entry points and their parameters that it is bound to.
    """

    slot: tuple[str, str, tuple[str | int, ...]]
    parameter: EntryParameter
    scalar: str
    count: Count
    start: Start
    bound: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """A launch of an entry point. With ``Grid.GROUPS``, ``count`` is a number of groups, otherwise one of threads."""

    entry: EntryPoint
    grid: Grid
    count: Count


@dataclass(frozen=True, slots=True)
class ModePlan:
    """The buffers of a mode, and its launches in order."""

    mode: Mode
    buffers: tuple[BufferPlan, ...]
    launches: tuple[LaunchPlan, ...]


@dataclass(frozen=True, slots=True)
class HostRules:
    """How the CPU divides work among threads.

    Attributes:
        parts_a_thread: Ranges of elements per CPU thread; a thread that finishes early takes the next range.
        elements_a_part: Elements of a range, at least.
        elements_a_worker: Elements, or partial sums, per extra CPU thread of a launch that adds up; with fewer, it
            costs more time.
        products_an_element: Products with entries of matrices that take as long as an element without.
        threads_a_worker: The same for kernel threads of the other launches.
    """

    parts_a_thread: int = 4
    elements_a_part: int = 1024
    elements_a_worker: int = 16384
    products_an_element: int = 16
    threads_a_worker: int = 2048

    def parts(self, elements: int, threads: int) -> int:
        """Return the number of ranges of elements."""
        return max(1, min(self.parts_a_thread * threads, elements // self.elements_a_part))

    def elements_of(self, entry: EntryPoint) -> int:
        """Return the elements per extra CPU thread of an entry point."""
        return max(1, self.elements_a_worker * self.products_an_element // (self.products_an_element + entry.products))


HOST: Final = HostRules()


def tensor_name(parameter: EntryParameter) -> str:
    """Return the name of the tensor that a parameter belongs to, as factors have it: ``net.w1``."""
    return ".".join((parameter.parameter, *map(str, parameter.path)))


def tensors_of(entries: Sequence[EntryPoint]) -> dict[str, int]:
    """Return the tensors and textures whose extents are known at launch, with the number of their axes."""
    parameters = (p for entry in entries for p in entry.parameters if p.role is Role.EXTENTS)
    return {p.parameter: math.prod(p.shape) for p in parameters}


def count_of(parameter: EntryParameter, tensors: dict[str, int], *, host: bool) -> Count:
    """Return the number of scalars of a buffer; of a texture, the texels' channels count as they are described.

    Args:
        parameter: The parameter of an entry point that it is bound to.
        tensors: The kernel's tensors, as ``tensors_of`` returns them.
        host: True on the CPU, where exact totals are one double each.
    """
    if parameter.access == "unused":
        return Count(1)
    if parameter.role in (Role.PARTIALS, Role.ARRIVED):
        return Count(parameter.components, ((Factor.PARTS, ""),))
    front: tuple[tuple[Factor, str], ...] = ()
    if parameter.axes:
        owned = parameter.role is not Role.PROBE and parameter.parameter in tensors
        front = ((Factor.EXTENTS, parameter.parameter) if owned else (Factor.DOMAIN, ""),)
    if not parameter.is_total:
        return Count(parameter.components, front)
    times = parameter.components // EXACT_WORDS if parameter.is_exact and host else parameter.components
    return Count(times, (*front, (Factor.COPIES, tensor_name(parameter))))


def start_of(parameter: EntryParameter) -> Start:
    """Return the contents that a buffer has before the launches, if the caller gives none."""
    role = parameter.role
    if role in (Role.INPUT, Role.UNIFORM):
        return Start.GIVEN
    if role in (Role.COTANGENT, Role.ADJOINT):
        return Start.ONE
    return Start.ANY if role is Role.PARTIALS or parameter.access == "write" else Start.ZERO


def launch_of(entry: EntryPoint, tensors: dict[str, int]) -> LaunchPlan:
    """Return how an entry point is launched."""
    match entry.work:
        case ThreadWork.STRIDED:
            return LaunchPlan(entry, Grid.GROUPS, Count(1, ((Factor.PARTS, ""),)))
        case ThreadWork.TOTALS:
            return LaunchPlan(entry, Grid.GROUPS, Count(entry.totals_groups))
        case ThreadWork.SCALARS:
            return LaunchPlan(entry, Grid.FLAT, count_of(entry.parameters[-1], tensors, host=False))
        case ThreadWork.ELEMENTS:
            return LaunchPlan(entry, Grid.FLAT if entry.dims == 1 else Grid.AXES, Count(1, ((Factor.DOMAIN, ""),)))


def plan_mode(mode: Mode, entries: Sequence[EntryPoint], *, host: bool = False) -> ModePlan:
    """Return the plan of a mode.

    Args:
        mode: The mode.
        entries: All entry points of the kernel.
        host: True for the CPU.
    """
    tensors = tensors_of(entries)
    entries_of_mode = tuple(entry for entry in entries if entry.mode is mode and not entry.written)
    return ModePlan(
        mode,
        tuple(_buffers(entries_of_mode, tensors, host=host)),
        tuple(launch_of(entry, tensors) for entry in entries_of_mode),
    )


def _buffers(entries: Sequence[EntryPoint], tensors: dict[str, int], *, host: bool) -> Iterator[BufferPlan]:
    result: dict[tuple[str, str, tuple[str | int, ...]], list[tuple[EntryPoint, EntryParameter]]] = {}
    for entry in entries:
        for parameter in entry.parameters:
            if parameter.access != "value":
                result.setdefault(_slot(parameter), []).append((entry, parameter))
    for slot, uses in result.items():
        first = uses[0][1]
        scalar = first.total_on(host=host) if first.is_total else first.scalar.name
        starts = {start_of(parameter) for _, parameter in uses}
        start = next(iter(starts)) if len(starts) == 1 else start_of(first)
        bound = tuple((entry.name, parameter.name) for entry, parameter in uses)
        yield BufferPlan(slot, first, scalar, count_of(first, tensors, host=host), start, bound)


def _slot(parameter: EntryParameter) -> tuple[str, str, tuple[str | int, ...]]:
    if parameter.role is Role.PARTIALS:
        return parameter.role.value, "", (parameter.scalar.name,)
    unused = " unused" if parameter.access == "unused" else ""
    return parameter.role.value, f"{parameter.parameter}{unused}", parameter.path
