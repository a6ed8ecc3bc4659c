"""Use torch tensors as arrays and buffers. Torch is imported only if the caller passes a tensor.

Tensors on the CPU become arrays over the same memory. Tensors on a GPU are bound without a copy on a cuda device, whose
outputs are then torch tensors. Other devices use copies.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    import numpy.typing as npt

    from slangad.compiler.runtime.device.model import Device, DeviceBuffer

_NAMES = {"f2": "float16", "f4": "float32", "f8": "float64", "i4": "int32", "u4": "int32"}
"""What torch calls the scalars of buffers; unsigned ones are kept as signed ones of the same bits."""


def is_tensor(value: object) -> bool:
    """Return True if a value is a torch tensor."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def place_of(given: Mapping[str, Any]) -> Any:  # noqa: ANN401  (torch is no dependency)
    """Return the torch device of the tensors that were given; None where there are none."""
    return next((value.device for value in given.values() if is_tensor(value)), None)


def as_arrays(given: Mapping[str, object]) -> dict[str, object]:
    """Arrays in place of tensors; a tensor on the CPU and its array share memory."""
    return {key: _array(value) if is_tensor(value) else value for key, value in given.items()}


def _array(tensor: Any) -> object:  # noqa: ANN401  (torch is no dependency)
    return tensor.detach().cpu().resolve_conj().resolve_neg().numpy()


def as_tensors(arrays: Mapping[str, Any], device: Any) -> dict[str, Any]:  # noqa: ANN401  (torch is no dependency)
    """Tensors on a device in place of arrays."""
    import torch

    return {key: array if is_tensor(array) else torch.from_numpy(array).to(device) for key, array in arrays.items()}


@dataclass(slots=True)
class TensorBuffer:
    """A tensor's memory as a buffer of a cuda device.

    Attributes:
        handle: The tensor, of one axis.
        dtype: What it holds.
        count: How many.
    """

    handle: Any
    dtype: np.dtype[Any]
    count: int

    @property
    def view(self) -> npt.NDArray[Any]:
        """What a kernel of a cuda device sees of it: its address and the number of its scalars."""
        import numpy as np

        return np.array([self.handle.data_ptr(), self.handle.numel()], np.uint64)

    def upload(self, array: Any) -> None:  # noqa: ANN401  (an array or a tensor)
        """Copy an array or a tensor of as many scalars in."""
        import torch

        source = array if is_tensor(array) else torch.from_numpy(_signed(array))
        self.handle[: self.count].copy_(source.reshape(-1))

    def download(self) -> npt.NDArray[Any]:
        """Return a copy of what it holds, on the CPU."""
        found: npt.NDArray[Any] = self.handle[: self.count].cpu().numpy().view(self.dtype)
        return found

    def take(self) -> Any:  # noqa: ANN401  (a tensor)
        """Return the tensor."""
        return self.handle[: self.count]

    def fill(self, number: float) -> None:
        """Set everything to one number."""
        self.handle.fill_(number)

    def close(self) -> None:
        """Nothing to do: torch gives the memory back."""


def _signed(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    import numpy as np

    plain = np.require(array, requirements=("C", "W")).reshape(-1)  # torch warns of what it could not write to
    return plain.view("i4") if plain.dtype == "u4" else plain


def empty_buffer(dtype: np.dtype[Any], count: int, place: Any) -> TensorBuffer:  # noqa: ANN401  (torch is no dependency)
    """Memory of torch's on a GPU."""
    import torch

    kind = getattr(torch, _NAMES[dtype.str.lstrip("<=|")])
    return TensorBuffer(torch.empty(max(1, count), dtype=kind, device=place), dtype, count)


def borrowed_buffer(tensor: Any, dtype: np.dtype[Any]) -> TensorBuffer:  # noqa: ANN401  (torch is no dependency)
    """Return a tensor's own memory where it lies as a buffer does; a copy otherwise."""
    import torch

    kind = getattr(torch, _NAMES[dtype.str.lstrip("<=|")])
    flat = tensor.detach().to(kind).contiguous().reshape(-1)
    return TensorBuffer(flat if flat.numel() else flat.new_zeros(1), dtype, flat.numel())


def buffer_on(device: Device, place: Any, dtype: np.dtype[Any], count: int) -> DeviceBuffer:  # noqa: ANN401  (torch is no dependency)
    """Memory of a device's; of torch's where tensors stay on a GPU."""
    return device.buffer(dtype, count) if place is None else empty_buffer(dtype, count, place)


def set_to(buffer: DeviceBuffer, given: Any, otherwise: float | None) -> None:  # noqa: ANN401  (an array or a tensor)
    """What was given, else a number everywhere; None leaves what is there."""
    if given is not None:
        buffer.upload(given if is_tensor(given) else typed(given, buffer.dtype.str))
    elif otherwise is not None:
        buffer.fill(otherwise)


def typed(array: Any, dtype: str) -> Any:  # noqa: ANN401  (an array or a tensor)
    """Return an array or a tensor with the scalars a part wants: bools, or narrower floats than sums are kept in."""
    if not is_tensor(array):
        import numpy as np

        with np.errstate(over="ignore"):
            return array.astype(dtype, copy=False)
    import torch

    return array.to(getattr(torch, "bool" if dtype == "?" else _NAMES[dtype]))


def plus(array: Any, given: Any) -> Any:  # noqa: ANN401  (arrays or tensors)
    """Return the sum of what came out and what was given to be added to, if anything was."""
    if given is None:
        return array
    if not is_tensor(array):
        import numpy as np

        with np.errstate(over="ignore", invalid="ignore"):
            return array + given
    import torch

    return array + (given if is_tensor(given) else torch.from_numpy(given)).to(array.device)


def synchronize(place: Any) -> None:  # noqa: ANN401  (torch is no dependency)
    """Wait for what torch has under way on a GPU."""
    import torch

    torch.cuda.current_stream(place).synchronize()
