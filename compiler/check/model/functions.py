"""Protocols of functions of rows of numbers: what the steps ask of a program that runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from slangad.compiler.check.model.arrays import Bools, Floats
    from slangad.compiler.check.model.columns import Table
    from slangad.compiler.emit.model import Mode


Evaluate: TypeAlias = "Callable[[Floats, Floats], Floats]"
"""From rows of inputs, and the samples each was moved from, to rows of results."""


class RowFunction(Protocol):
    """A function of rows of numbers with its derivatives, whatever it takes to compute them."""

    @property
    def entries(self) -> Mapping[Mode, object]:
        """The modes that there are."""

    @property
    def inputs(self) -> Table:
        """The columns of its inputs."""

    @property
    def results(self) -> Table:
        """Those of its results."""

    def values(self, rows: Floats) -> Floats:
        """The results, of the function alone."""

    def moved(self, rows: Floats, base: Floats) -> Floats:
        """The results at rows, with what is frozen as it is at others; of a twin that freezes."""

    def gradients(self, rows: Floats, cotangents: Floats) -> Floats:
        """The gradient of every input for one cotangent a row; columns without gradient are zero."""

    def tangents(self, rows: Floats, directions: Floats) -> tuple[Floats, Floats]:
        """The results as forward mode computes them, and their tangents for one direction a row."""


class Oracle(Protocol):
    """A function of rows of numbers without derivatives."""

    def moved(self, rows: Floats, base: Floats) -> Floats:
        """The results at rows, with what is frozen as it is at others."""


class Inside(Protocol):
    """What tells whether indices stay inside what they index."""

    def inside(self, rows: Floats) -> Bools:
        """The rows at which no index leads outside."""


class Bounded(Inside, Protocol):
    """What tells that of launches, and how much they do."""

    @property
    def filtered(self) -> bool:
        """Whether textures are sampled, which devices do with weights of a few bits."""

    def work(self, rows: Floats) -> float:
        """What one launch costs, in units of ``effort``."""


class Watch(Protocol):
    """Tells of rows whether a loop would go on; its results' names begin with ``EXCEEDED``."""

    @property
    def results(self) -> Table:
        """What it tells."""

    def values(self, rows: Floats) -> Floats:
        """Not 0 where one would."""


class JacobianOf(Protocol):
    """A leg's Jacobians at rows; ``sizes`` are those of its cotangents or directions, by which they are divided."""

    def __call__(self, rows: Floats, sizes: Floats | None = None, /) -> Floats:
        """Shape (samples, results, inputs)."""
