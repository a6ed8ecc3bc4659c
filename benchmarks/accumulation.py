"""Measure errors of gradients of shared memory: ``python benchmarks/accumulation.py --device cuda --device vulkan``.

The cases combine every method of adding gradients (benchmarks/workloads/accumulation.py), every pattern of access, and
sums of equal numbers, of two, of positive and of signed ones. They use 0 to 2^24 threads (``--most``) and tensors of up
to 2^22 elements (``--largest``). The error of an element is its distance from the float64 sum, divided by the sum of
its terms' magnitudes. The output has the largest error of all elements and numbers of threads, and its case. The exit
code is 1 if an error exceeds 1e-5.

``--deterministic`` uses exact sums, runs every case ten times, and compares the bits.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

import slangad as sa

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import numpy.typing as npt

    from slangad.compiler.api.load import LoadedFile

    Floats = npt.NDArray[np.float32]
    Places = npt.NDArray[np.int64]

BAR = 1e-5
COUNTS = (0, 1, 31, 63, 257, 4099, 70_001, 1 << 20, (1 << 22) + 7, 1 << 24)
KINDS = ("equal", "two values", "positive", "signed")
WEIGHTS = np.array([1.0, 0.5, -2.0, 0.25], np.float32)
"""What the components of vectors are times the first; powers of two, so that float has no error in them."""


def numbers(kind: str, count: int, rng: np.random.Generator) -> Floats:
    """Return the terms of the sums."""
    match kind:
        case "equal":
            return np.full(count, 0.1, np.float32)
        case "two values":  # half of whose additions are ties
            return rng.choice(np.float32([1 + 2**-14, 1 + 2**-13]), count)
        case "positive":
            return rng.uniform(0.5, 1.5, count).astype(np.float32)
    return rng.standard_normal(count).astype(np.float32)


def _random(count: int, hot: int, size: int, rng: np.random.Generator) -> Places:
    """Return random indices that lie far apart."""
    return rng.integers(0, min(hot, size), count) * 7919 % size


def _at_one(share: float, count: int, size: int, rng: np.random.Generator) -> Places:
    """Return one index for a share of the threads, and random ones for the others."""
    return np.where(rng.random(count) < share, size // 2, rng.integers(0, size, count))


PATTERNS: dict[str, Callable[[int, int, np.random.Generator], Places]] = {
    "one element": lambda count, size, _: np.full(count, size // 2),
    "two in turn": lambda count, size, _: np.arange(count) % 2 * 7919 % size,
    "two of one slot": lambda count, size, _: np.arange(count) % 2 * 528 % size,
    "neighbours together": lambda count, size, _: np.arange(count) * size // max(count, 1),
    "strided": lambda count, size, _: np.arange(count) * 7919 % size,
    "nine in ten at one": lambda count, size, rng: _at_one(0.9, count, size, rng),
    "one in ten at one": lambda count, size, rng: _at_one(0.1, count, size, rng),
    "among 600": lambda count, size, rng: _random(count, 600, size, rng),
    "among 1000": lambda count, size, rng: _random(count, 1000, size, rng),
    "among 5000": lambda count, size, rng: _random(count, 5000, size, rng),
    "a power law": lambda count, size, rng: (size * rng.random(count) ** 8).astype(np.int64),
    "anywhere": lambda count, size, rng: rng.integers(0, size, count),
}


ONE, FEW, ALL = ("one element",), ("nine in ten at one", "anywhere"), tuple(PATTERNS)
MIXED = ("one in ten at one", "a power law")
"""Patterns in which groups meet many elements that they have no room for, and a few hot ones."""
SCATTERED = (
    (1, 1, ONE), (1, 3, FEW), (3, 3, FEW), (1, 3000, ALL), (2, 3000, ALL), (4, 3000, ALL), (1, 1 << 20, ALL),
    (2, 1 << 20, ALL), (4, 1 << 20, ALL),
    (1, (1 << 22) + 1, ALL), (2, 1 << 17, MIXED),
)  # fmt: skip
"""Components and elements of the tensors that are scattered to, and how threads hit them."""
TABLES = {
    "table1": (1, 1 << 17), "table2": (2, 1 << 17), "table3": (3, (1 << 16) + 1), "table4": (4, 1 << 16),
    "branch": (2, 1 << 17), "sheet": (2, 1 << 17), "tiled": (2, 1 << 17),
}  # fmt: skip
"""Components and elements of the ``Param`` of each kernel with a table."""
TEXTURES = ((1, ONE), (32, FEW), (1024, ALL))
"""Texels along a side."""


@dataclass(frozen=True)
class Case:
    """One gradient of a launch, and the terms and indices of its sum."""

    name: str
    run: Callable[[], object]
    places: Places
    terms: Floats
    size: int

    def error(self, found: object) -> float:
        """Return the largest error of all elements and components."""
        gradient = np.asarray(found, np.float64)
        gradient = gradient.reshape(self.size, gradient.size // max(self.size, 1))
        terms = self.terms.astype(np.float64)
        wanted = np.bincount(self.places, terms, self.size)[:, None]
        weights = np.abs(np.bincount(self.places, np.abs(terms), self.size))[:, None]
        scales = WEIGHTS[: gradient.shape[1]].astype(np.float64)
        distance = np.abs(gradient - wanted * scales) / np.maximum(weights * np.abs(scales), 1e-30)
        return float(distance.max(initial=0.0))


@dataclass(frozen=True)
class Sums:
    """The terms, and the number of elements of the largest tensor."""

    terms: Floats
    kind: str
    largest: int
    rng: np.random.Generator

    def fits(self, size: int) -> bool:
        """Return True if a case has tensors of this size."""
        return size <= self.largest

    def places(self, patterns: Iterable[str], size: int) -> Iterator[tuple[str, Places]]:
        """Yield each pattern with the index of the element for each term.

        With few threads, several patterns give the same indices. Only the first of them is measured.
        """
        known: set[int] = set()
        for pattern in patterns:
            found = PATTERNS[pattern](len(self.terms), size, self.rng)
            if (key := hash(found.tobytes())) not in known:
                known.add(key)
                yield pattern, found


def scattered(kernels: LoadedFile, sums: Sums) -> Iterator[Case]:
    """Yield the cases in which threads choose the elements."""
    terms = sums.terms
    for width, size, patterns in (row for row in SCATTERED if sums.fits(row[1])):
        kernel = kernels[f"scatter{width if width > 1 else ''}"]
        w = np.zeros((size, width) if width > 1 else size, np.float32)
        seed = terms[:, None] * WEIGHTS[:width] if width > 1 else terms
        for pattern, at in sums.places(patterns, size):

            def run(kernel: Callable = kernel, w: Floats = w, seed: Floats = seed, at: Places = at) -> object:
                return kernel.backward(at.astype(np.int32), w, cotangent=seed).grad["w"]

            yield Case(f"scatter to {width} x {size}, {pattern}, {sums.kind}", run, at, terms, size)


def tables(kernels: LoadedFile, sums: Sums) -> Iterator[Case]:
    """Yield the cases of a ``Param`` with many copies: threads in a row, in one column, in tiles, and half of a row."""
    count = len(sums.terms)
    hit = ((item, width, size, *found) for item, (width, size) in TABLES.items() for found in sums.places(ALL, size))
    for item, width, size, pattern, at in hit:
        shape = (count, 1) if item in ("sheet", "tiled") else (count,)
        w = np.zeros((size, width) if width > 1 else size, np.float32)
        given: list[Floats] = [w]
        terms = sums.terms
        if item == "tiled":
            given = [w, np.zeros((count // 16 + 1, 1, 2), np.float32)]
        if item == "branch":
            on = sums.rng.integers(0, 2, count)
            given, terms = [on.astype(np.int32), w], terms * on.astype(np.float32)

        def run(
            item: str = item, shape: tuple[int, ...] = shape, at: Places = at, given: list = given, width: int = width
        ) -> object:
            seed = (sums.terms[:, None] * WEIGHTS[:width]).reshape(*shape, *([width] if width > 1 else []))
            return kernels[item].backward(at.astype(np.int32).reshape(shape), *given, cotangent=seed).grad["w"]

        yield Case(f"table of {width} x {size} by {item}, {pattern}, {sums.kind}", run, at, terms, size)


def pairs(kernels: LoadedFile, sums: Sums) -> Iterator[Case]:
    """Yield the cases of a kernel that scatters to two tensors."""
    terms = sums.terms
    for size in filter(sums.fits, (3000, (1 << 22) + 1)):
        w = np.zeros(size, np.float32)
        for pattern, at in sums.places(ALL, size):

            def run(at: Places = at, w: Floats = w) -> object:
                return kernels.pair.backward(at.astype(np.int32), w, w, cotangent=terms).grad["w"]

            yield Case(f"pair of 1 x {size}, {pattern}, {sums.kind}", run, at, terms, size)


def texels(kernels: LoadedFile, sums: Sums) -> Iterator[Case]:
    """Yield the cases that sample a texture at the centres of its texels."""
    terms = sums.terms
    for side, patterns in (row for row in TEXTURES if sums.fits(row[0] * row[0])):
        t = np.zeros((side, side, 4), np.float32)
        seed = terms[:, None] * WEIGHTS
        for pattern, at in sums.places(patterns, side * side):
            uv = ((np.stack([at % side, at // side], 1) + 0.5) / side).astype(np.float32)

            def run(uv: Floats = uv, t: Floats = t, seed: Floats = seed) -> object:
                return kernels.texels.backward(uv, t, cotangent=seed).grad["t"]

            yield Case(f"texels of {side} x {side}, {pattern}, {sums.kind}", run, at, terms, side * side)


def together(kernels: LoadedFile, sums: Sums) -> Iterator[Case]:
    """Yield the cases in which all threads add to one element, or each to its own."""
    terms, kind, count = sums.terms, sums.kind, len(sums.terms)
    x, zeros = np.ones(count, np.float32), np.zeros(count, np.int64)
    vectors = terms[:, None] * WEIGHTS[:3]
    yield Case(
        f"param, all at one, {kind}",
        lambda: kernels.param.backward(x, np.ones(3, np.float32), cotangent=vectors).grad["w"],
        zeros, terms, 1,
    )  # fmt: skip
    yield Case(f"total, all at one, {kind}", lambda: kernels.total.forward(vectors).result, zeros, terms, 1)
    yield Case(
        f"few, all at one, {kind}",
        lambda: np.asarray(kernels.few.backward(x, np.ones(3, np.float32), cotangent=terms).grad["w"])[:1],
        zeros, terms, 1,
    )  # fmt: skip
    for size in filter(sums.fits, (1, 3000, (1 << 22) + 1)):
        w = np.ones(size, np.float32)
        yield Case(
            f"shared of {size}, all at one, {kind}",
            lambda w=w: kernels.shared.backward(len(w) // 2, x, w, cotangent=terms).grad["w"],
            np.full(count, size // 2), terms, size,
        )  # fmt: skip
    yield Case(
        f"own, each its own, {kind}",
        lambda: np.asarray(kernels.own.backward(x, domain=count, cotangent={"out": terms}).grad["w"]) / 2,
        np.arange(count), terms, count,
    )  # fmt: skip


def main() -> int:
    """Measure, print and compare with the limit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--device", action="append", default=[], help="cpu, vulkan, cuda, webgpu; repeatable")
    parser.add_argument("--least", type=int, default=0, help="smallest number of threads")
    parser.add_argument("--most", type=int, default=COUNTS[-1], help="largest number of threads")
    parser.add_argument("--largest", type=int, default=1 << 30, help="largest number of elements of a tensor")
    parser.add_argument("--kind", action="append", choices=KINDS, help="numbers to add  [default: all]")
    parser.add_argument("--only", default="", help="cases whose names this regular expression finds")
    parser.add_argument("--shares", type=int, default=1, help="number of shares of the cases  [default: 1]")
    parser.add_argument("--share", type=int, default=0, help="the share to run, from 0; names decide  [default: 0]")
    parser.add_argument("--deterministic", action="store_true", help="exact sums, ten runs, the same bits")
    options = parser.parse_args()
    return max([measured(device, options) for device in options.device or ["cpu"]])


@cache
def _kernels(device: str, *, deterministic: bool) -> LoadedFile:
    path = Path(__file__).parent / "workloads" / "accumulation.py"
    return sa.load(path, device, deterministic=deterministic)


def measured(device: str, options: argparse.Namespace) -> int:
    """Measure all cases on one device and return the exit code."""
    kernels = _kernels(device, deterministic=options.deterministic)
    worst: dict[str, tuple[float, str]] = defaultdict(lambda: (-1.0, ""))
    asked = cases = changed = 0
    for count in (c for c in COUNTS if options.least <= c <= options.most):
        for kind in options.kind or KINDS:
            rng = np.random.default_rng(count)
            sums = Sums(numbers(kind, count, rng), kind, options.largest, rng)
            parts = (part(kernels, sums) for part in (together, scattered, tables, pairs, texels))
            for case in (case for part in parts for case in part if re.search(options.only, case.name)):
                asked += 1
                if crc32(f"{case.name}, {count}".encode()) % options.shares != options.share:
                    continue
                found = case.run()
                cases += 1
                if options.deterministic:
                    bits = np.asarray(found).tobytes()
                    changed += any(np.asarray(case.run()).tobytes() != bits for _ in range(9))
                row = ", ".join([case.name.split(" ")[0], *case.name.split(", ")[1:]])
                worst[row] = max(worst[row], (case.error(found), f"{case.name}, {count} threads"))
    print(f"{device}{' --deterministic' if options.deterministic else ''}: {cases} of {asked} launches")
    for error, where in sorted(worst.values(), reverse=True):
        print(f"  {error:.1e}{' !' if error > BAR else '  '} {where}")
    if options.deterministic:
        print(f"  {changed} not of the same bits")
    return int(changed > 0 or any(error > BAR for error, _ in worst.values()))


if __name__ == "__main__":
    sys.exit(main())
