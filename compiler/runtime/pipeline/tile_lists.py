"""Run the built-in stage ``sa.bin`` of a pipeline: its signature, its shapes, and its work on the host."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from slangad.compiler.errors.diagnostics import CompileError, Diagnostic
from slangad.compiler.ir.built_in_stages import BIN, BUILT_IN, result_ranks
from slangad.compiler.ir.nodes import Module
from slangad.compiler.lang.execution.bins import overflow, tile_lists
from slangad.compiler.runtime.arrays.signature import signatures
from slangad.compiler.runtime.pipeline.steps import HostWork

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slangad.compiler.errors.spans import Span
    from slangad.compiler.runtime.arrays.signature import KernelSignature
    from slangad.compiler.runtime.device.model import DeviceBuffer


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
        lists = tile_lists(lower, upper, depths[0] if depths else None, self.tiles, self.capacity)
        self.require(lists.needed)
        for buffer, array in zip(self.targets, (lists.start, lists.count, lists.order), strict=True):
            if buffer.count:
                buffer.upload(array.reshape(-1))

    def require(self, needed: int) -> None:
        """Refuse lists that are too long.

        Raises:
            CompileError: They need more places than there are.
        """
        if needed > self.capacity:
            message, help_ = overflow(needed, self.capacity)
            raise CompileError([Diagnostic("SA429", message, self.span, help=help_)])
