"""Define samples: rows of inputs with their origin and the scale of every column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from slangad.compiler.check.model.arrays import Bools, Floats
    from slangad.compiler.report.model import Note


@dataclass(frozen=True, slots=True)
class Samples:
    """Samples.

    Attributes:
        rows: The inputs, one row for each sample.
        origins: The way each sample was chosen.
        scales: The distance that counts as far, by sample and column.
        degenerate: True for inputs without a declared range that a sample sets to zero, a tie or an end on purpose, by
            sample and column.
    """

    rows: Floats
    origins: tuple[str, ...]
    scales: Floats
    degenerate: Bools


def with_rows(samples: Samples, rows: Floats, origin: str, degenerate: Bools | None = None) -> Samples:
    """Return the samples with more rows, which get the largest scales; without ``degenerate``, none of them is."""
    if not len(rows):
        return samples
    usual = np.max(samples.scales, axis=0)
    return Samples(
        np.concatenate([samples.rows, rows]),
        (*samples.origins, *(origin for _ in rows)),
        np.concatenate([samples.scales, np.broadcast_to(usual, rows.shape)]),
        np.concatenate([samples.degenerate, np.zeros(rows.shape, bool) if degenerate is None else degenerate]),
    )


def chosen(samples: Samples, which: Bools) -> Samples:
    """Return the samples where ``which`` is true."""
    if which.all():
        return samples
    origins = tuple(origin for origin, kept in zip(samples.origins, which, strict=True) if kept)
    return Samples(samples.rows[which], origins, samples.scales[which], samples.degenerate[which])


@dataclass(frozen=True, slots=True)
class FullLists:
    """Lists of a pipeline's stage that are longer than their capacity at some samples.

    Attributes:
        stage: The user's name of the stage.
        samples: The number of these samples.
        needed: The capacity that all samples need.
        capacity: The capacity that the stage has.
    """

    stage: str
    samples: int
    needed: int
    capacity: int

    def shown(self, number: int) -> str:
        """Return a sentence without its remedy; ``number`` samples were drawn."""
        where = f"at {self.samples} of {number} samples"
        return f"the lists of {self.stage} are longer than their capacity of {self.capacity} {where}"

    @property
    def remedy(self) -> str:
        """Return what to do, without the options for it."""
        return f"give {self.stage} a capacity of {self.needed}, or declare ranges in which items cover fewer tiles"


@dataclass(frozen=True, slots=True)
class RegionSamples:
    """The samples of one region that are looked at, and what was left out.

    Attributes:
        number: The number of drawn samples.
        outside: The number of samples that are left out because an index is out of bounds, or a list is full.
        full: The lists without room at these samples; None if all have room.
        notes: Notes on samples that are left out.
    """

    samples: Samples
    number: int
    outside: int = 0
    full: FullLists | None = None
    notes: tuple[Note, ...] = ()

    @property
    def empty(self) -> bool:
        """Return True if no sample is left."""
        return not len(self.samples.rows)
