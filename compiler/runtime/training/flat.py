"""Keep gradients next to each other, in buckets that the ranks add up one after the other.

A bucket is complete as soon as the last launch that writes one of its gradients has run. Its sum then runs beside the
launches that are left. On a ``cuda`` device with NCCL the gradients themselves are parts of the flat tensors; elsewhere
they are copied.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from slangad.compiler.runtime.device.model import Sliced
from slangad.compiler.runtime.device.tensors import TensorBuffer
from slangad.compiler.runtime.pipeline.steps import HostWork, RepeatedSteps

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy.typing as npt

    from slangad.compiler.runtime.device.model import DeviceBuffer, KernelLaunch

    Array = npt.NDArray[Any]

BUCKET_BYTES: Final = 1 << 20
"""Bytes from which on a bucket is added up while launches are left. Smaller: more sums, each with its latency."""
_ALIGNED: Final = 64
"""Scalars: where gradients begin in a flat tensor, so that kernels may read four at a time."""
_TAIL: Final = 2
"""Scalars at the end of the last bucket: the loss, and a flag."""


@dataclass
class Bucket:
    """Gradients of one dtype in a flat tensor.

    Attributes:
        steps: The launches that complete it, after those of the buckets before.
        flat: The tensor.
        places: The gradients, and where they are in it.
        shared: True if the gradients are parts of the tensor.
    """

    steps: RepeatedSteps
    flat: Any
    places: Sequence[tuple[DeviceBuffer, int]]
    shared: bool

    def take_in(self) -> None:
        """Copy the gradients into the tensor, unless they are there."""
        if not self.shared:
            for gradient, at in self.places:
                self._part(gradient, at).copy_(_tensor(gradient.download()))

    def put_back(self) -> None:
        """Copy the tensor into the gradients, unless they are there."""
        if not self.shared:
            for gradient, at in self.places:
                gradient.upload(self._part(gradient, at).cpu().numpy())

    def _part(self, gradient: DeviceBuffer, at: int) -> Any:  # noqa: ANN401  (a tensor)
        return self.flat[at : at + gradient.count]


def buckets_of(
    body: RepeatedSteps, gradients: Sequence[DeviceBuffer], place: str, *, overlap: bool = True
) -> tuple[Bucket, ...]:
    """Return the buckets of a step in the order in which its launches complete them; the last has the tail.

    Call it before the first submission: gradients in torch's memory on ``place`` become parts of the flat tensors.

    Args:
        body: The launches of a step.
        gradients: The buffers that are added up.
        place: The torch device of the sums.
        overlap: Begin sums before the last launch. Buckets of two bodies may then differ.
    """
    import numpy as np
    import torch

    whole = len(body.planned)
    ends = _ends(body.planned, gradients) if overlap else {id(gradient): whole for gradient in gradients}
    groups, begun = [*_groups(gradients, ends)], 0
    made: list[Bucket] = []
    for end, group in groups:
        is_last = len(made) == len(groups) - 1
        starts = [0]
        for gradient in group:
            starts.append(starts[-1] + -(-max(1, gradient.count) // _ALIGNED) * _ALIGNED)
        dtype = torch.from_numpy(np.zeros(0, group[0].dtype)).dtype
        flat = torch.zeros(starts[-1] + _TAIL * is_last, dtype=dtype, device=place)
        places = tuple(zip(group, starts, strict=False))
        steps = replace(body, planned=body.planned[begun : whole if is_last else end])
        made.append(Bucket(steps, flat, places, _share(flat, places)))
        begun = end
    return tuple(made)


def _share(flat: Any, places: Sequence[tuple[DeviceBuffer, int]]) -> bool:  # noqa: ANN401  (a tensor)
    """Make gradients parts of a tensor on the same GPU; return False if they are elsewhere."""
    for gradient, at in places:
        if not isinstance(gradient, TensorBuffer) or gradient.handle.device != flat.device:
            return False
        gradient.handle = flat[at : at + max(1, gradient.count)]
    return True


def _ends(body: Sequence[KernelLaunch | HostWork], gradients: Sequence[DeviceBuffer]) -> dict[int, int]:
    """Return the number of launches after which each gradient is complete, by its identity."""
    ends = {id(gradient): 0 for gradient in gradients}
    for number, launch in enumerate(body, 1):
        for value in () if isinstance(launch, HostWork) else launch.bindings.values():
            buffer = value.buffer if isinstance(value, Sliced) else value
            if id(buffer) in ends:
                ends[id(buffer)] = number
    return ends


def _groups(gradients: Sequence[DeviceBuffer], ends: Mapping[int, int]) -> Iterator[tuple[int, list[DeviceBuffer]]]:
    """Yield gradients of one dtype that are summed together, and the launches after which they are complete."""
    group: list[DeviceBuffer] = []
    for gradient in sorted(gradients, key=lambda one: ends[id(one)]):
        full = sum(one.count * one.dtype.itemsize for one in group) >= BUCKET_BYTES
        if group and (gradient.dtype != group[0].dtype or (full and ends[id(gradient)] > ends[id(group[-1])])):
            yield ends[id(group[-1])], group
            group = []
        group.append(gradient)
    yield ends[id(group[-1])], group


def _tensor(array: Array) -> Any:  # noqa: ANN401  (a tensor)
    import torch

    return torch.from_numpy(array)
