"""Protocols of functions of rows of numbers: what the steps ask of a program that runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from slangad.compiler.check.model.arrays import Bools, Floats, Indices
    from slangad.compiler.check.model.columns import ColumnTable
    from slangad.compiler.check.model.samples import FullLists
    from slangad.compiler.emit.model import Mode


Evaluate: TypeAlias = "Callable[[Floats, Floats], Floats]"
"""From rows of inputs, and the samples each was moved from, to rows of results."""


class RowFunction(Protocol):
    """A function of rows of numbers with its derivatives, however they are computed."""

    @property
    def entries(self) -> Mapping[Mode, object]:
        """Return the modes that exist."""

    @property
    def inputs(self) -> ColumnTable:
        """Return the columns of its inputs."""

    @property
    def results(self) -> ColumnTable:
        """Return the columns of its results."""

    def values(self, rows: Floats) -> Floats:
        """Return the results of the function alone."""

    def moved(self, rows: Floats, base: Floats) -> Floats:
        """Return the results at rows, with frozen parts as they are at ``base``; of a twin that freezes."""

    def gradients(self, rows: Floats, cotangents: Floats) -> Floats:
        """Return the gradient of every input for one cotangent a row; columns without gradient are zero."""

    def tangents(self, rows: Floats, directions: Floats) -> tuple[Floats, Floats]:
        """Return the results as forward mode computes them, and their tangents for one direction a row."""


class Oracle(Protocol):
    """A function of rows of numbers without derivatives."""

    def moved(self, rows: Floats, base: Floats) -> Floats:
        """Return the results at rows, with frozen parts as they are at ``base``."""


class Inside(Protocol):
    """Finds indices outside what they index."""

    def inside(self, rows: Floats) -> Bools:
        """Return True for each sample at which all indices are in bounds."""


class Bounded(Inside, Protocol):
    """Finds indices outside tensors in launches, and counts their work."""

    @property
    def filtered(self) -> bool:
        """Return True if textures are sampled: devices use weights of a few bits for that."""

    def full_lists(self, rows: Floats) -> FullLists | None:
        """Return the lists that are longer than their capacity at some of the samples; None if there are none."""

    def work(self, rows: Floats) -> float:
        """Return the work of one launch, in units of ``model.effort``."""


class Watch(Protocol):
    """Finds loops that exceed their bounds. The names of its results begin with ``EXCEEDED``."""

    @property
    def results(self) -> ColumnTable:
        """Return the columns of its results."""

    def values(self, rows: Floats) -> Floats:
        """Return numbers that are not 0 where a loop exceeds its bound."""


class JacobianOf(Protocol):
    """A leg's Jacobians at rows; ``sizes`` are those of its cotangents or directions, by which they are divided."""

    def __call__(self, rows: Floats, sizes: Floats | None = None, /) -> Floats:
        """Return all entries, shape (samples, results, inputs)."""

    def by_input(self, rows: Floats, inputs: Indices, /) -> Floats:
        """Return the entries of one differentiable input a row, shape (samples, results)."""
