"""Run the built-in stage ``sa.bin`` of a pipeline: its signature, its launches on a device, its work on the host."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from slangad.compiler.emit.entry_points.list_steps import AXES, BLOCK, DIGIT_BITS, DIGITS, KEY_BITS
from slangad.compiler.errors.diagnostics import CompileError, Diagnostic
from slangad.compiler.ir.built_in_stages import BIN, BUILT_IN, result_ranks
from slangad.compiler.ir.nodes import Module
from slangad.compiler.lang.execution.bins import overflow, tile_lists
from slangad.compiler.runtime.arrays.signature import signatures
from slangad.compiler.runtime.pipeline.steps import HostWork, scalar_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from slangad.compiler.errors.spans import Span
    from slangad.compiler.runtime.arrays.signature import KernelSignature
    from slangad.compiler.runtime.device.model import DeviceBuffer
    from slangad.compiler.runtime.pipeline.steps import Step, Steps


@lru_cache(maxsize=1)
def built_in_signatures() -> Mapping[str, KernelSignature]:
    """Return the signatures of built-in stages by name."""
    plain = signatures(Module("", "", kernels=tuple(BUILT_IN.values())))
    return {name: _with_ranks(signature) for name, signature in plain.items()}


def _with_ranks(signature: KernelSignature) -> KernelSignature:
    ranks = result_ranks(BUILT_IN[signature.name])
    results = tuple(replace(r, axes=axes) for r, axes in zip(signature.results, ranks, strict=True))
    return replace(signature, name=BIN, results=results)


@dataclass(frozen=True, slots=True)
class ListBuffers:
    """The buffers of one ``sa.bin``, the grid, the length of the list, and the call in the user's file."""

    sources: tuple[DeviceBuffer, ...]
    targets: tuple[DeviceBuffer, ...]
    tiles: tuple[int, ...]
    capacity: int
    span: Span

    def work(self) -> HostWork:
        """Return the work on the host: numpy makes the lists."""
        return HostWork(self._run)

    def _run(self) -> None:
        lower, upper, *depths = (buffer.download() for buffer in self.sources)
        depth = depths[0][None] if depths else None
        lists = tile_lists(lower[None], upper[None], depth, self.tiles, self.capacity)
        self.require(int(lists.needed[0]))
        for buffer, array in zip(self.targets, (lists.start, lists.count, lists.order), strict=True):
            if buffer.count:
                buffer.upload(array.reshape(-1))

    def launches(
        self, steps: Steps, scratch: Callable[[str, int], DeviceBuffer], zero: DeviceBuffer, needed: DeviceBuffer
    ) -> Iterator[Step]:
        """Yield the launches that make the lists on a device.

        Args:
            steps: The kernels that the pipeline needs.
            scratch: Allocate memory: the scalar type and the count.
            zero: A number that stays 0.
            needed: A number that grows to the length that the lists need.
        """
        lower, upper, *depths = self.sources
        start, counts, order = self.targets
        number, axes = lower.count // len(self.tiles), len(self.tiles)
        sort = _Sort(steps, scratch, zero)
        items, offsets = scratch("int", number), scratch("uint", number + 1)
        yield steps.step("list_number", "int", number, items=items)
        for depth in depths:
            keys = scratch("uint", number)
            yield steps.step("list_depth", scalar_name(depth), number, depth=depth, keys=keys)
            by_depth = scratch("int", number)
            yield from sort.sorted(keys, items, by_depth, KEY_BITS)
            items = by_depth
        extents = {f"tiles{axis}": extent for axis, extent in enumerate((*self.tiles, 1, 1)[:AXES])}
        boxes = {"axes": axes, **extents, "lower": lower, "upper": upper, "items": items}
        yield steps.step("list_size", "uint", number + 1, number=number, sizes=offsets, **boxes)
        yield from sort.scanned(offsets)
        yield steps.step("list_need", "uint", 1, number=number, offsets=offsets, needed=needed)
        tiles = math.prod(self.tiles)
        keys, listed = scratch("uint", self.capacity), scratch("int", self.capacity)
        yield steps.step(
            "list_pair", "uint", self.capacity,
            number=number, none=tiles, offsets=offsets, keys=keys, listed=listed, **boxes,
        )  # fmt: skip
        yield from sort.sorted(keys, listed, order, tiles.bit_length())
        yield steps.step("list_range", "uint", tiles, length=self.capacity, keys=keys, start=start, number=counts)

    def require(self, needed: int) -> None:
        """Refuse lists that are too long.

        Raises:
            CompileError: They need more places than there are.
        """
        if needed > self.capacity:
            message, help_ = overflow(needed, self.capacity)
            raise CompileError([Diagnostic("SA429", message, self.span, help=help_)])


@dataclass(frozen=True, slots=True)
class _Sort:
    """Sorts and scans on a device, with memory for what lies between."""

    steps: Steps
    scratch: Callable[[str, int], DeviceBuffer]
    zero: DeviceBuffer

    def sorted(self, keys: DeviceBuffer, values: DeviceBuffer, result: DeviceBuffer, bits: int) -> Iterator[Step]:
        """Yield the launches that sort keys of some bits, and values with them, stably.

        Args:
            keys: The keys; sorted afterwards.
            values: The values; undefined afterwards.
            result: Gets the values in order.
            bits: The bits of the keys in use.
        """
        length, blocks = keys.count, -(-keys.count // BLOCK)
        passes = max(1, -(-bits // DIGIT_BITS))
        counts, other = self.scratch("uint", DIGITS * blocks), self.scratch("uint", length)
        lists = [values, result] if passes % 2 else [result, values]
        if not passes % 2:
            yield self.steps.copy(values, result)
        pairs = [(keys, lists[0]), (other, lists[1])]
        for number in range(passes):
            (source, moved), (target, moved_by) = pairs
            sorting = {"length": length, "shift": number * DIGIT_BITS, "keys": source}
            yield self.steps.step("digit_count", "uint", blocks, counts=counts, **sorting)
            yield from self.scanned(counts)
            yield self.steps.step(
                "digit_move", "uint", blocks,
                offsets=counts, values=moved, keys_by=target, values_by=moved_by, **sorting,
            )  # fmt: skip
            pairs.reverse()
        if passes % 2:
            yield self.steps.copy(other, keys)

    def scanned(self, values: DeviceBuffer) -> Iterator[Step]:
        """Yield the launches that replace each value by the sum of those before it."""
        blocks = -(-values.count // BLOCK)
        sums = self.zero
        if blocks > 1:
            sums = self.scratch("uint", blocks)
            yield self.steps.step("scan_sum", "uint", blocks, length=values.count, values=values, sums=sums)
            yield from self.scanned(sums)
        yield self.steps.step("scan_apply", "uint", blocks, length=values.count, sums=sums, values=values)
