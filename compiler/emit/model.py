"""What the emitter hands on: the Slang text of a module, where each piece of it came from, and its entry points.

The stage after the passes; the toolchain compiles the text, the runtime binds buffers by the entry points' parameters.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slangad.compiler.ir.types import Scalar
    from slangad.compiler.spans import Span


class Mode(str, Enum):
    """What an entry point computes: the results, the gradients, or results with their tangents."""

    FORWARD = "forward"
    BACKWARD = "backward"
    JVP = "jvp"


class ParameterRole(str, Enum):
    """What the runtime puts into a parameter of an entry point, or takes out of it."""

    INPUT = "input"
    GRADIENT = "gradient"
    COTANGENT = "cotangent"
    TANGENT = "tangent"
    RESULT = "result"
    RESULT_TANGENT = "result_tangent"
    UNIFORM = "uniform"
    DOMAIN = "domain"
    EXTENTS = "extents"
    """How many elements a tensor has along each axis."""
    SAMPLER = "sampler"
    """What a texture is sampled with."""
    ADJOINT = "adjoint"
    """Of a tensor that is written: goes in as its cotangent, comes out as the gradient of what it held before."""
    PROBE = "probe"
    """The gradient of an intermediate value, by the probe's name."""
    PARTS = "parts"
    """How many partial sums there are of each total: groups of threads, on the CPU threads."""
    PARTIALS = "partials"
    """Partial sums, those of one total next to each other; scratch memory between the entry points of a mode."""
    TOTALS = "totals"
    """A gradient while it is scattered: scratch of ``copies`` times the tensor, to be zeroed first."""
    COPIES = "copies"
    """How many copies of a tensor's totals threads are spread over, so that each stays exact."""


class Work(str, Enum):
    """What a thread of an entry point is there for, which says how many are launched."""

    ELEMENTS = "elements"
    """One per element of the domain."""
    STRIDED = "strided"
    """``parts`` groups share the domain (on the CPU: ``parts`` threads)."""
    TOTALS = "totals"
    """One group per total (on the CPU: one thread), adding up its partial sums."""
    SCALARS = "scalars"
    """One per scalar of the tensor whose copies are added up; the domain's parameter holds their number."""


@dataclass(frozen=True, slots=True)
class EntryParameter:
    """One parameter of an entry point.

    Attributes:
        name: Its name in the Slang text and in reflection.
        role: What it holds.
        parameter: The kernel's parameter or result it belongs to, by the user's name; empty for the domain.
        path: The steps from that value to the part held here: struct fields and tuple indices.
        scalar: What the buffer's or value's components are, as the device sees them (bools are ``uint``).
        shape: Trailing axes of one element: ``(3,)`` for float3, ``(2, 4)`` for float2x4, ``()`` for a scalar.
        type: The type text in the Slang.
        access: ``read``, ``write`` (every element is stored), ``add`` (added to what is there), ``change`` (read and
            stored) or ``value`` (no buffer).
        axes: Axes of the buffer before those of ``shape``: the domain's, a tensor's own, or none.
        shared: Whether it is a parameter of the whole module rather than of the entry point.
    """

    name: str
    role: ParameterRole
    parameter: str
    path: tuple[str | int, ...]
    scalar: Scalar
    shape: tuple[int, ...]
    type: str
    access: str
    axes: int = 1
    shared: bool = False

    @property
    def components(self) -> int:
        """Scalars per element."""
        count = 1
        for extent in self.shape:
            count *= extent
        return count


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """One compute entry point of a kernel; those of one mode are launched one after the other, in order.

    ``totals`` is the number of sums over all threads that its ``parts`` hold or that it adds up.
    """

    name: str
    kernel: str
    mode: Mode
    group_size: tuple[int, int, int]
    dims: int
    parameters: tuple[EntryParameter, ...]
    work: Work = Work.ELEMENTS
    totals: int = 0


@dataclass(frozen=True, slots=True)
class Mapped:
    """A stretch of generated text (lines and columns from 1, end exclusive) and the span it was made from."""

    line: int
    column: int
    end_line: int
    end_column: int
    span: Span

    def covers(self, line: int, column: int) -> bool:
        """Whether the position lies inside."""
        return (self.line, self.column) <= (line, column) < (self.end_line, self.end_column)


@dataclass(frozen=True, slots=True)
class EmittedModule:
    """A module as Slang.

    Attributes:
        file_name: ``brdf.slang``.
        text: The whole file.
        libraries: Other files it imports, by name.
        entry_points: Those of all kernels, in order.
        names: The emitted name of each described struct, constant, function and kernel, by key.
        mapped: The span map, inner stretches after the outer ones that hold them.
    """

    file_name: str
    text: str
    libraries: Mapping[str, str]
    entry_points: tuple[EntryPoint, ...]
    names: Mapping[str, str]
    mapped: tuple[Mapped, ...] = field(repr=False)

    def locate(self, line: int, column: int) -> Span | None:
        """The place in the user's file that a position of the text was made from; the innermost one known."""
        found = None
        for stretch in self.mapped:
            if stretch.covers(line, column):
                found = stretch.span
        if found is None:
            on_line = (m.span for m in self.mapped if m.line <= line <= m.end_line)
            found = next(on_line, None)
        return found
