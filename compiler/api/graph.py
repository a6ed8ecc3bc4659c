"""Derivative graphs of files and of decorated objects, readable in terminals and notebooks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from slangad.compiler.api.readable_errors import readable_errors
from slangad.compiler.driver.inputs import parse_inputs
from slangad.compiler.errors.diagnostics import CompileError, Diagnostic
from slangad.compiler.frontends import load
from slangad.compiler.frontends.python.live import LiveDescription
from slangad.compiler.frontends.reading.problems import did_you_mean
from slangad.compiler.report.graph import graph_of, names_of
from slangad.compiler.report.graph_formats import as_dot, as_mermaid, as_svg

if TYPE_CHECKING:
    from slangad.compiler.lang.decorators.functions import DescribedFunction
    from slangad.compiler.lang.decorators.kernels import KernelObject, PipelineObject
    from slangad.compiler.report.graph import DerivativeGraph


@dataclass(frozen=True, repr=False)
class Graph:
    """A derivative graph: ``.svg``, ``.dot`` and ``.mermaid`` are texts; notebooks show the picture."""

    drawn: DerivativeGraph

    @property
    def svg(self) -> str:
        """The picture."""
        return as_svg(self.drawn)

    @property
    def dot(self) -> str:
        """The graph for Graphviz."""
        return as_dot(self.drawn)

    @property
    def mermaid(self) -> str:
        """The graph for Mermaid."""
        return as_mermaid(self.drawn)

    def __repr__(self) -> str:
        return self.mermaid

    def _repr_svg_(self) -> str:
        return self.svg


def graph_of_file(word: str, *, depth: int, backward: bool) -> DerivativeGraph:
    """Return the graph of ``FILE[:NAME]``; without a name, of the only pipeline, kernel or function.

    Raises:
        CompileError: The description is rejected, or has no such object, or several.
    """
    file, _, name = word.rpartition(":")
    path = parse_inputs([file if file and "/" not in name and "\\" not in name else word])[0].path
    wanted = name if file and str(path) != word else ""
    module = load(path)
    names = names_of(module)
    kernels = [*(p.name for p in module.pipelines)] or [k.name for k in module.kernels] or [*names]
    if not wanted and len(kernels) != 1:
        help_ = f"name one: {path}:{kernels[0]}" if kernels else ""
        message = f"{path} has several objects: {', '.join(kernels)}" if kernels else f"{path} has nothing to draw"
        raise CompileError([Diagnostic("SA419", message, help=help_)])
    if wanted and wanted not in names:
        help_ = did_you_mean(wanted, names) or f"it has: {', '.join(names)}"
        message = f"{path} has no function, kernel or pipeline called {wanted}"
        raise CompileError([Diagnostic("SA403", message, help=help_)])
    return graph_of(module, wanted or kernels[0], depth=depth, backward=backward)


def graph_of_object(
    value: KernelObject[object] | PipelineObject[object] | DescribedFunction[..., object], *, mode: str, depth: int
) -> Graph:
    """Return the graph of a decorated object.

    Raises:
        CompileError: The description is rejected.
    """
    with readable_errors():
        live = LiveDescription(value)
        return Graph(graph_of(load(live), live.name, depth=depth, backward=mode == "backward"))
