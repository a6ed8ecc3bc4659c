"""Draw samples of a subject: random ones within ranges, and ones where mistakes are likely.

All values are representable in float32, or in half for halves, so float32 and float64 get the same inputs. The same
seed gives the same samples, whatever else the file holds.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from itertools import combinations, pairwise, product
from typing import TYPE_CHECKING, Final

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.model.arrays import rows_at_once
from slangad.compiler.check.model.columns import owner_of
from slangad.compiler.check.model.integers import NO_INTEGERS
from slangad.compiler.check.model.samples import Samples

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from slangad.compiler.check.model.arrays import Floats
    from slangad.compiler.check.model.columns import Column
    from slangad.compiler.check.model.integers import Integers
    from slangad.compiler.ir.nodes import Range

    _Chosen = tuple[str, Floats, tuple[int, ...]]
    """The origin of a chosen sample, its row, and the columns that were chosen."""

_NUMBER: Final = r"(?<![\w.])(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?(?![\w.]|\d)"
AT_NUMBER: Final = "number of the text"
BESIDE_NUMBER: Final = "beside a number of the text"
DEGENERATE: Final = frozenset({"zero", "low end", "high end", "corner", "tie", "opposite"})
"""Origins of samples with zeros, ends of ranges or ties on purpose. Ordinary inputs hardly ever have these."""


@dataclass(frozen=True, slots=True)
class SampleInterval:
    """The interval in which a column is drawn; ``declared``, or the default of its type."""

    low: float
    high: float
    declared: bool = False


def draw(
    columns: Sequence[Column],
    ranges: Iterable[Range],
    count: int,
    seed: int,
    name: str,
    constants: Sequence[float],
    integers: Integers = NO_INTEGERS,
) -> Samples:
    """Return samples for one subject.

    Args:
        columns: Its inputs.
        ranges: Declared ranges. The most specific wins, of equal ones the last.
        count: The number of random samples.
        seed: The user's seed.
        name: The subject's name, so that samples do not depend on other subjects.
        constants: Numbers in the subject's text, which are often thresholds.
        integers: Values of undeclared integers to try, and integers that must differ.
    """
    rng = _stream(seed, name)
    intervals = intervals_of(columns, ranges)
    low, high = bounds_of(intervals)
    rows = [rng.uniform(low, high, (count, len(columns)))]
    origins = ["random"] * count
    free = np.array([column.floating and not i.declared for column, i in zip(columns, intervals, strict=True)], bool)
    degenerate = [np.zeros((count, len(columns)), bool)]
    chosen = _ChosenSamples(columns, intervals, rng, constants)
    ties = replace(chosen, rng=_stream(seed, name, 1))
    small = replace(chosen, rng=_stream(seed, name, 2))
    for origin, row, places in (*chosen.rows(), *ties.many_ties(), *small.near_zero(), *small.corners()):
        rows.append(row[None])
        origins.append(origin)
        degenerate.append(free[None] & np.isin(np.arange(len(columns)), places) & (origin in DEGENERATE))
    together = np.concatenate(rows) if columns else np.zeros((count, 0))
    together = _representable(together, columns, low, high, rng, count)
    tried = _with_tried_integers(together[:count], columns, intervals, integers, rng)
    together = np.concatenate([together, tried])
    origins += [AT_NUMBER] * len(tried)
    marks = np.concatenate([*degenerate, np.zeros(tried.shape, bool)])
    keep_apart(together, columns, intervals, integers, rng)
    _keep_counted(together, columns, integers)
    _, first = np.unique(together, axis=0, return_index=True)
    kept = np.sort(first)
    scales = _scales(together[kept], low, high)
    return Samples(together[kept], tuple(origins[k] for k in kept), scales, marks[kept])


def _stream(seed: int, name: str, number: int = 0) -> np.random.Generator:
    """Return one of the four streams of random numbers of a subject."""
    digest = hashlib.sha256(f"{seed}|{name}".encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[8 * number : 8 * number + 8], "little"))


def _scales(rows: Floats, low: Floats, high: Floats) -> Floats:
    """Return for each input the power of two at or below the larger of its magnitude and half its range."""
    scales = np.maximum(np.abs(rows), (high - low) / 2.0)
    return np.asarray(np.exp2(np.floor(np.log2(np.where(scales > 0.0, scales, 1.0)))))


def draw_sized(
    columns: Sequence[Column],
    ranges: Iterable[Range],
    count: int,
    seed: int,
    name: str,
    constants: Sequence[float] = (),
    integers: Integers = NO_INTEGERS,
) -> Samples:
    """Return samples as ``draw``; of very many inputs random ones alone, since each input would add corner cases."""
    if len(columns) > tol.LARGE_LAUNCH:
        return draw_large(columns, ranges, count, seed, name, integers)
    return draw(columns, ranges, count, seed, name, constants, integers)


def draw_random(
    columns: Sequence[Column],
    ranges: Iterable[Range],
    count: int,
    seed: int,
    name: str,
    integers: Integers = NO_INTEGERS,
) -> Floats:
    """Return random rows only."""
    return _draw_random(columns, intervals_of(columns, ranges), count, seed, name, integers)


def _draw_random(
    columns: Sequence[Column],
    intervals: Sequence[SampleInterval],
    count: int,
    seed: int,
    name: str,
    integers: Integers,
) -> Floats:
    rng = _stream(seed, name)
    low, high = bounds_of(intervals)
    rows = _representable(rng.uniform(low, high, (count, len(columns))), columns, low, high, rng, count)
    keep_apart(rows, columns, intervals, integers, rng)
    _keep_counted(rows, columns, integers)
    return rows


def draw_large(
    columns: Sequence[Column],
    ranges: Iterable[Range],
    count: int,
    seed: int,
    name: str,
    integers: Integers = NO_INTEGERS,
) -> Samples:
    """Return random samples of a subject with very many inputs; no more than fit in memory at a time."""
    intervals = intervals_of(columns, ranges)
    rows = _draw_random(columns, intervals, min(count, rows_at_once(len(columns))), seed, name, integers)
    low, high = bounds_of(intervals)
    return Samples(rows, ("random",) * len(rows), _scales(rows, low, high), np.zeros(rows.shape, bool))


def draw_outside(
    columns: Sequence[Column],
    ranges: Iterable[Range],
    seed: int,
    name: str,
    constants: Sequence[float],
    integers: Integers = NO_INTEGERS,
) -> Samples:
    """Return samples whose floats without a declared range lie outside [-1, 1], at numbers of the text and farther out.

    One such float at a time, then all at once. Other inputs are random.
    """
    declared = tuple(ranges)
    free = [k for k, c in enumerate(columns) if c.floating and not interval_of(c, declared).declared][
        : tol.COLUMNS_MOST
    ]
    numbers = list(dict.fromkeys(abs(c) for c in constants if 1.0 <= abs(c) <= tol.OUTSIDE_NUMBER_LARGEST))
    one = [(k, times, times * number) for times in tol.OUTSIDE_TIMES for number in numbers for k in free]
    one = [each for each in one if abs(each[2]) > 1.0][: tol.OUTSIDE_MOST]
    several = [number for number in numbers for _ in range(tol.OUTSIDE_ALL_EACH)] if free else []
    rows = draw_random(columns, declared, len(one) + len(several), seed, f"beyond {name}", integers)
    rng = np.random.default_rng([seed, 6])
    for row, (k, _, value) in zip(rows, one, strict=False):
        row[k] = _nearest(value, columns[k])
    for row, number in zip(rows[len(one) :], several, strict=True):
        drawn = rng.uniform(-tol.OUTSIDE_ALL * number, tol.OUTSIDE_ALL * number, len(free))
        row[free] = [_nearest(value, columns[k]) for k, value in zip(free, drawn, strict=True)]
    origins = [AT_NUMBER if abs(times) == 1.0 else BESIDE_NUMBER for _, times, _ in one]
    scales = np.exp2(np.floor(np.log2(np.maximum(1.0, np.abs(rows)))))
    return Samples(rows, (*origins, *(BESIDE_NUMBER for _ in several)), scales, np.zeros(rows.shape, bool))


def _nearest(value: float, column: Column) -> float:
    """Return the nearest number of a column's type."""
    with np.errstate(over="ignore"):
        return float(np.float16(value) if column.scalar == "half" else np.float32(value))


def keep_apart(
    rows: Floats,
    columns: Sequence[Column],
    intervals: Sequence[SampleInterval],
    integers: Integers,
    rng: np.random.Generator,
) -> bool:
    """Make integers differ that select where threads store, in place; return False if a declared range is too small."""
    room = True
    for path in integers.stores:
        columns_of_path = [k for k, c in enumerate(columns) if path == c.anywhere and not c.floating]
        if len(columns_of_path) < 2:
            continue
        interval = intervals[columns_of_path[0]]
        size = int(interval.high) - int(interval.low) + 1
        if not interval.declared:
            size = max(size, len(columns_of_path))
        room &= size >= len(columns_of_path)
        for row in rows if size >= len(columns_of_path) else ():
            if len(set(row[columns_of_path])) < len(columns_of_path):
                row[columns_of_path] = int(interval.low) + rng.choice(size, len(columns_of_path), replace=False)
    return room


def _keep_counted(rows: Floats, columns: Sequence[Column], integers: Integers) -> None:
    """Make numbers of threads and their counts consistent, in place: ``0 <= id < count``."""
    at = {column.path: k for k, column in enumerate(columns)} if integers.counted else {}
    for number, count in integers.counted:
        least = np.ones(len(rows))
        if number in at:
            rows[:, at[number]] = np.maximum(rows[:, at[number]], 0.0)
            least += rows[:, at[number]]
        if count in at:
            rows[:, at[count]] = np.maximum(rows[:, at[count]], least)


def _with_tried_integers(
    rows: Floats,
    columns: Sequence[Column],
    intervals: Sequence[SampleInterval],
    integers: Integers,
    rng: np.random.Generator,
) -> Floats:
    """Return random rows with integers worth a try; some of ``rows`` get such integers, in place."""
    fresh = rows.copy()
    more: list[Floats] = []
    for k, (column, interval) in enumerate(zip(columns, intervals, strict=True)):
        if column.scalar not in tol.INT_ENDS or interval.declared or not len(rows):
            continue
        least, most = tol.INT_ENDS[column.scalar]
        named = (v for path, v in integers.tried if covers(path, column.path) or path == column.anywhere)
        in_range = [value for value in named if least <= value <= most]
        in_range = list(dict.fromkeys(in_range))
        if in_range:
            some = rng.random(len(rows)) < tol.INTEGER_OFTEN
            rows[some, k] = rng.choice(in_range, int(some.sum()))
        for value in in_range[: tol.NUMBERS_MOST]:
            row = fresh[len(more) % len(fresh)].copy()
            row[k] = value
            more.append(row)
    return np.array(more[: tol.COMBINATIONS_MOST]).reshape(-1, len(columns))


def intervals_of(columns: Sequence[Column], ranges: Iterable[Range]) -> list[SampleInterval]:
    """Return the intervals of all columns; few of many thousands have a declared range."""
    declared = tuple(ranges)
    owners = tuple({owner_of(one.path) for one in declared})
    usual: dict[str, SampleInterval] = {}
    for column in columns:
        if column.scalar not in usual:
            usual[column.scalar] = interval_of(column, ())
    return [interval_of(c, declared) if c.path.startswith(owners) else usual[c.scalar] for c in columns]


def bounds_of(intervals: Sequence[SampleInterval]) -> tuple[Floats, Floats]:
    """Return the low ends of intervals, and the high ones."""
    return np.array([one.low for one in intervals], np.float64), np.array([one.high for one in intervals], np.float64)


def interval_of(column: Column, ranges: Iterable[Range]) -> SampleInterval:
    """Return the declared range of a column, or that of its type."""
    best: tuple[int, SampleInterval] | None = None
    for declared in ranges:
        within = covers(declared.path, column.path) or covers(declared.path, column.anywhere)
        if within and (best is None or len(declared.path) >= best[0]):
            best = len(declared.path), SampleInterval(declared.low, declared.high, declared=True)
    if best is not None:
        return best[1]
    if column.scalar == "bool":
        return SampleInterval(0.0, 1.0)
    return SampleInterval(-1.0, 1.0) if column.floating else SampleInterval(*tol.UNDECLARED_INTEGERS)


def covers(path: str, scalar: str) -> bool:
    """Return True if a path leads to a scalar, or to a value that contains it.

    A path without the index of an array leads to a field of all its entries: ``s.mean`` to ``s[2].mean.x``.
    """
    if scalar == path or (scalar.startswith(path) and scalar[len(path)] in ".["):
        return True
    if "." not in path or "[" not in scalar:
        return False
    fields = (re.escape(field) for field in path.split("."))
    return re.match(r"(?:\[[^\]]*\])*\.".join(fields) + r"(?![^.\[])", scalar) is not None


def constants_in(text: str) -> tuple[float, ...]:
    """Return the numbers in a text and quotients such as ``1.0 / 255.0``, as float32, each once.

    Of many, return a few: first those in comparisons, then quotients.
    """
    text = re.sub(r"(\d\.?)[fFhHuU]\b", r"\1", text)
    quotients = [str(float(a) / float(b)) for a, b in re.findall(rf"({_NUMBER})\s*/\s*({_NUMBER})", text) if float(b)]
    values = _numbers_of([*quotients, *re.findall(_NUMBER, text)])
    if len(values) > tol.CONSTANTS_MOST:
        sides = re.findall(rf"(?:[<>]=?|[!=]=)\s*-?\s*({_NUMBER})|({_NUMBER})\s*(?:[<>]|[!=]=)", text)
        values = list(dict.fromkeys((*_numbers_of([a or b for a, b in sides]), *values)))
    return tuple(values[: tol.CONSTANTS_MOST])


def _numbers_of(words: Iterable[str]) -> list[float]:
    """Return words as float32 numbers, each once."""
    with np.errstate(over="ignore"):
        values = dict.fromkeys(float(np.float32(word)) for word in words)
    return [value for value in values if np.isfinite(value)]


@dataclass(frozen=True, slots=True)
class _ChosenSamples:
    """Samples at values where mistakes are likely; other inputs are random."""

    columns: Sequence[Column]
    intervals: Sequence[SampleInterval]
    rng: np.random.Generator
    constants: Sequence[float]

    def rows(self) -> Iterator[_Chosen]:
        """Yield zeros, ties, ends of ranges, numbers of the text, equal integers and combinations of integers."""
        floating = [k for k, column in enumerate(self.columns) if column.floating]
        integral = [k for k, column in enumerate(self.columns) if not column.floating]
        yield from self._zeros(floating)
        yield from self._ties(floating)
        yield from self._numbers(floating)
        if integral:
            yield from self._integers(integral)

    def _fresh(self) -> Floats:
        low, high = bounds_of(self.intervals)
        return np.asarray(self.rng.uniform(low, high), np.float64)

    def _with(self, values: Mapping[int, float]) -> Floats | None:
        """Return a random sample with some values fixed; None if one of them is outside its range."""
        row = self._fresh()
        for k, value in values.items():
            if not self.intervals[k].low <= value <= self.intervals[k].high:
                return None
            row[k] = value
        return row

    def _zeros(self, floating: list[int]) -> Iterator[_Chosen]:
        wanted = [("zero", dict.fromkeys(floating, 0.0))] if floating else []
        for k in floating[: tol.COLUMNS_MOST]:
            ends = (("zero", 0.0), ("low end", self.intervals[k].low), ("high end", self.intervals[k].high))
            wanted += [(origin, {k: value}) for origin, value in ends]
        yield from self._possible(wanted)

    def _ties(self, floating: list[int]) -> Iterator[_Chosen]:
        together = self._groups(floating)
        together += [[a, b] for a, b in zip(floating, floating[1:], strict=False)][: tol.COLUMNS_MOST]  # noqa: RUF007  (3.10)
        wanted = [("tie", dict.fromkeys(same, self._fresh()[same[0]])) for same in together if len(same) > 1]
        yield from self._possible(wanted)

    def many_ties(self) -> Iterator[_Chosen]:
        """Yield all floats of a type equal; of few floats all groups of three equal, and all pairs opposite."""
        floating = [k for k, column in enumerate(self.columns) if column.floating]
        for scalar in dict.fromkeys(self.columns[k].scalar for k in floating):
            group = [k for k in floating if self.columns[k].scalar == scalar]
            few = len(group) <= tol.THREES_MOST
            threes = combinations(group, 3) if few and len(group) > 3 else ()
            pairs = combinations(group, 2) if few else pairwise(group[: tol.COLUMNS_MOST])
            together = [group] * tol.ALL_EQUAL if len(group) > 2 else []
            wanted = [("tie", self._equal(dict.fromkeys(same, 1.0))) for same in (*together, *threes)]
            wanted += [("opposite", self._equal({one: 1.0, other: -1.0})) for one, other in pairs]
            yield from self._possible(wanted)

    def _equal(self, signs: Mapping[int, float]) -> dict[int, float]:
        """Return one number, times signs, for some columns; it is in the ranges of all, if possible."""
        ends = [sorted((sign * self.intervals[k].low, sign * self.intervals[k].high)) for k, sign in signs.items()]
        low, high = max(low for low, _ in ends), min(high for _, high in ends)
        value = float(self.rng.uniform(low, max(low, high)))
        return {k: sign * value for k, sign in signs.items()}

    def _numbers(self, floating: list[int]) -> Iterator[_Chosen]:
        numbers = [c for c in self.constants if c][: max(1, tol.NUMBERS_MOST // max(1, len(floating)))]
        wanted = [
            (AT_NUMBER, {k: number + beside * min(1.0, abs(number))})
            for k in floating[: tol.COLUMNS_MOST]
            for number in numbers
            for beside in tol.BESIDE_NUMBER_BY
        ]
        yield from self._possible(wanted)

    def near_zero(self) -> Iterator[_Chosen]:
        """Yield vectors nearer to zero than small numbers of the text and their roots, and pairs as near."""
        floating = [k for k, column in enumerate(self.columns) if column.floating]
        small = [abs(number) for number in self.constants if 0.0 < abs(number) < tol.SMALL_NUMBER][: tol.SMALL_MOST]
        groups = self._groups(floating)
        together = [*(group for group in groups if 1 < len(group) < len(floating)), floating][-tol.COLUMNS_MOST :]
        for number in small if floating else ():
            sizes = [dict.fromkeys(group, size) for group in together for size in (number, float(np.sqrt(number)))]
            wanted = [
                ("near zero", {k: size * float(self.rng.uniform(-0.5, 0.5)) for k, size in group.items()})
                for group in sizes
            ]
            for a, b in list(pairwise(floating))[: tol.COLUMNS_MOST]:
                value = float(np.float32(self._fresh()[a]))
                wanted.append(("near tie", {a: value, b: value + number / 2}))
            yield from self._possible(wanted)

    def corners(self) -> Iterator[_Chosen]:
        """Yield all floats at ends of their ranges; of few floats and of short vectors all combinations."""
        floating = [k for k, column in enumerate(self.columns) if column.floating]
        groups = self._groups(floating)
        together = [group for group in (floating, *groups) if 1 < len(group) <= tol.ENDS_MOST][: tol.ENDS_MOST]
        ends = [dict.fromkeys(floating, end) for end in ("low", "high")] if len(floating) > 1 else []
        ends += [
            dict(zip(group, chosen, strict=True))
            for group in together
            for chosen in product(("low", "high"), repeat=len(group))
        ]
        yield from self._possible(
            [("corner", {k: getattr(self.intervals[k], end) for k, end in named.items()}) for named in ends]
        )

    def _groups(self, floating: list[int]) -> list[list[int]]:
        """Return the floats of each vector, matrix and array."""
        groups = dict.fromkeys(self.columns[k].group for k in floating)
        return [[k for k in floating if self.columns[k].group == group] for group in groups]

    def _integers(self, integral: list[int]) -> Iterator[_Chosen]:
        sizes = [int(self.intervals[k].high) - int(self.intervals[k].low) + 1 for k in integral]
        total = 1
        for size in sizes:
            total *= min(max(size, 1), tol.INTEGERS_TOTAL)
        few = total <= tol.COMBINATIONS_MOST
        picks = (
            range(total)
            if few
            else [int(p) for p in self.rng.integers(0, min(total, tol.COMBINATION_NUMBERS), tol.COMBINATIONS_MOST)]
        )
        for pick in picks:
            row, rest = self._fresh(), pick
            for k, size in zip(integral, sizes, strict=True):
                row[k], rest = int(self.intervals[k].low) + rest % size, rest // size
            yield "integers", row, tuple(integral)
        equal = [
            ("equal integers", dict.fromkeys(integral, float(np.floor(self._fresh()[integral[0]]))))
            for _ in range(tol.EQUAL_INTEGERS)
        ]
        ends = [("bound", {k: getattr(self.intervals[k], end) for k in integral}) for end in ("low", "high")]
        yield from self._possible([*equal, *ends])

    def _possible(self, wanted: Iterable[tuple[str, Mapping[int, float]]]) -> Iterator[_Chosen]:
        for origin, values in wanted:
            row = self._with(values)
            if row is not None:
                yield origin, row, tuple(values)


def _representable(
    rows: Floats, columns: Sequence[Column], low: Floats, high: Floats, rng: np.random.Generator, count: int
) -> Floats:
    for k, column in enumerate(columns):
        if not column.floating:
            drawn = rng.integers(int(low[k]), int(high[k]) + 1, count) if high[k] >= low[k] else low[k]
            rows[:count, k] = drawn
            rows[:, k] = np.clip(np.rint(rows[:, k]), low[k], high[k])
    for types, type_ in ((("half",), np.float16), (("float", "double"), np.float32)):
        at = np.flatnonzero([column.scalar in types for column in columns])
        nearest = rows[:, at].astype(type_).astype(np.float64)
        outside = (nearest < low[at]) | (nearest > high[at])
        toward = np.nextafter(
            nearest.astype(np.float32), np.where(nearest < low[at], np.inf, -np.inf).astype(np.float32)
        )
        rows[:, at] = np.where(outside & (low[at] < high[at]), toward.astype(np.float64), nearest)
    return rows
