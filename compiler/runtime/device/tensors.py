"""Use torch tensors as arrays and buffers. Torch is imported only if the caller passes a tensor.

Tensors on the CPU become arrays over the same memory. Tensors on a GPU are bound without a copy on a cuda device, whose
outputs are then torch tensors. Other devices use copies.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy as np
    import numpy.typing as npt

    from slangad.compiler.runtime.device.model import Device, DeviceBuffer

_NAMES = {"f2": "float16", "f4": "float32", "f8": "float64", "i4": "int32", "u4": "int32"}
"""The torch names of the scalars of buffers; unsigned ones are kept as signed ones of the same bits."""


class Tracking(Enum):
    """How torch follows a tensor; the values complete "a tensor …"."""

    GRADIENT = "that requires a gradient"
    TANGENT = "that has a tangent of forward mode"
    TRANSFORM = "inside torch.func.grad, vmap or jvp"


def is_tensor(value: object) -> bool:
    """Return True if a value is a torch tensor."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def leaf_types() -> frozenset[type]:
    """Return the types of numbers, arrays and tensors that are common as arguments."""
    return _leaf_types("torch" in sys.modules)


@cache
def _leaf_types(with_torch: bool) -> frozenset[type]:  # noqa: FBT001  (a key of the cache)
    import numpy as np

    torch: Any = sys.modules["torch"] if with_torch else None
    return frozenset((float, int, np.ndarray, *((torch.Tensor, torch.nn.Parameter) if with_torch else ())))


def tracking(values: Iterable[object]) -> Tracking | None:
    """Return how torch follows one of the values, to differentiate or batch it; None if it follows none."""
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    return next((how for value in values if is_tensor(value) and (how := _tracking(torch, value))), None)


def _tracking(torch: Any, tensor: Any) -> Tracking | None:  # noqa: ANN401  (torch is no dependency)
    if torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        return Tracking.TRANSFORM
    if tensor.requires_grad and torch.is_grad_enabled():
        return Tracking.GRADIENT
    return Tracking.TANGENT if torch.autograd.forward_ad.unpack_dual(tensor).tangent is not None else None


def missing_values(values: Iterable[object]) -> str:
    """Return why no kernel can run on tensors: torch only records a program, or one of them has no values."""
    torch = sys.modules.get("torch")
    tensors = [value for value in values if is_tensor(value)]
    if torch is None or not tensors:
        return ""
    if is_recording():
        return "torch records a program (torch.jit.trace, make_fx, torch.func.linearize)"
    fake = sys.modules.get("torch._subclasses.fake_tensor")
    if any(one.device.type == "meta" or (fake is not None and isinstance(one, fake.FakeTensor)) for one in tensors):  # type: ignore[attr-defined]
        return "a tensor has a shape but no values (torch.export, FakeTensorMode, the device meta)"
    wrapped = any(torch._C._functorch.is_functorch_wrapped_tensor(one) for one in tensors)
    return f"a tensor {Tracking.TRANSFORM.value} has no memory" if wrapped else ""


def is_recording() -> bool:
    """Return True while torch, which is imported, records a program."""
    torch: Any = sys.modules["torch"]
    recorder = sys.modules.get("torch.fx.experimental.proxy_tensor")
    return bool(torch.jit.is_tracing() or (recorder is not None and recorder.get_proxy_mode() is not None))


def place_of(tensors: Mapping[str, Any]) -> Any:  # noqa: ANN401  (torch is no dependency)
    """Return the torch device of the given tensors; None without tensors."""
    return next((value.device for value in tensors.values() if is_tensor(value)), None)


def as_arrays(inputs: Mapping[str, object]) -> dict[str, object]:
    """Replace tensors by arrays; a tensor on the CPU and its array share memory."""
    return {key: _array(value) if is_tensor(value) else value for key, value in inputs.items()}


def _array(tensor: Any) -> object:  # noqa: ANN401  (torch is no dependency)
    """Return the memory of a tensor. ``Tensor.numpy`` would forbid torch to free it, as FSDP does between its uses."""
    import numpy as np

    plain = tensor.detach().cpu().resolve_conj().resolve_neg()
    try:
        return np.from_dlpack(plain)
    except (RuntimeError, TypeError, BufferError):  # a type that numpy lacks, or has in later versions
        return plain.numpy()


def as_tensors(arrays: Mapping[str, Any], device: Any) -> dict[str, Any]:  # noqa: ANN401  (torch is no dependency)
    """Replace arrays by tensors on a device."""
    import torch

    return {key: array if is_tensor(array) else torch.from_numpy(array).to(device) for key, array in arrays.items()}


@dataclass(slots=True)
class TensorBuffer:
    """A tensor's memory as a buffer of a cuda device.

    Attributes:
        handle: The tensor, of one axis.
        dtype: The dtype of the scalars.
        count: The number of scalars.
    """

    handle: Any
    dtype: np.dtype[Any]
    count: int

    @property
    def view(self) -> npt.NDArray[Any]:
        """Return the address and the number of scalars, as kernels of a cuda device see it."""
        import numpy as np

        return np.array([self.handle.data_ptr(), self.handle.numel()], np.uint64)

    def upload(self, array: Any) -> None:  # noqa: ANN401  (an array or a tensor)
        """Copy in an array or a tensor with the same number of scalars."""
        import torch

        source = array if is_tensor(array) else torch.from_numpy(_signed(array))
        self.handle[: self.count].copy_(source.reshape(-1))

    def download(self) -> npt.NDArray[Any]:
        """Return a copy of the contents, on the CPU."""
        array: npt.NDArray[Any] = self.handle[: self.count].cpu().numpy().view(self.dtype)
        return array

    def take(self) -> Any:  # noqa: ANN401  (a tensor)
        """Return the tensor."""
        return self.handle[: self.count]

    def fill(self, number: float) -> None:
        """Set everything to one number."""
        self.handle.fill_(number)

    def close(self) -> None:
        """Do nothing: torch frees the memory."""


def _signed(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    import numpy as np

    plain = np.require(array, requirements=("C", "W")).reshape(-1)  # torch warns of what it could not write to
    return plain.view("i4") if plain.dtype == "u4" else plain


def tensor_type(dtype: str) -> Any:  # noqa: ANN401  (a torch dtype)
    """Return the torch type of the scalars of a buffer, from numpy's name."""
    import torch

    return getattr(torch, _NAMES[dtype.lstrip("<=|")])


def empty_buffer(dtype: np.dtype[Any], count: int, place: Any) -> TensorBuffer:  # noqa: ANN401  (torch is no dependency)
    """Allocate memory of torch on a GPU."""
    import torch

    kind = tensor_type(dtype.str)
    return TensorBuffer(torch.empty(max(1, count), dtype=kind, device=place), dtype, count)


def borrowed_buffer(tensor: Any, dtype: np.dtype[Any], place: Any = None) -> TensorBuffer:  # noqa: ANN401  (torch is no dependency)
    """Return a tensor's memory if its layout is that of a buffer, and it is on the device; a copy otherwise."""
    kind = tensor_type(dtype.str)
    flat = tensor.detach().to(place, kind).resolve_neg().contiguous().reshape(-1)
    return TensorBuffer(flat if flat.numel() else flat.new_zeros(1), dtype, flat.numel())


def buffer_on(device: Device, place: Any, dtype: np.dtype[Any], count: int) -> DeviceBuffer:  # noqa: ANN401  (torch is no dependency)
    """Allocate memory on a device; torch's memory if tensors stay on a GPU."""
    return device.buffer(dtype, count) if place is None else empty_buffer(dtype, count, place)


def copy_buffer(source: DeviceBuffer, target: DeviceBuffer) -> None:
    """Copy a buffer to another of the same kind; on a GPU of torch without the host."""
    target.upload(source.handle if isinstance(source, TensorBuffer) else source.download())


def tensor_of(buffer: DeviceBuffer, place: Any) -> Any:  # noqa: ANN401  (torch is no dependency)
    """Return the contents of a buffer as a tensor on a device."""
    import torch

    return buffer.take() if isinstance(buffer, TensorBuffer) else torch.from_numpy(buffer.download()).to(place)


def set_to(buffer: DeviceBuffer, value: Any, otherwise: float | None) -> None:  # noqa: ANN401  (an array or a tensor)
    """Set a buffer to a value or, without one, to a number everywhere; None leaves it unchanged."""
    if value is not None:
        buffer.upload(value if is_tensor(value) else typed(value, buffer.dtype.str))
    elif otherwise is not None:
        buffer.fill(otherwise)


def typed(array: Any, dtype: str) -> Any:  # noqa: ANN401  (an array or a tensor)
    """Return an array or a tensor in the part's dtype: bools, or floats of fewer bits than the sums."""
    if not is_tensor(array):
        import numpy as np

        with np.errstate(over="ignore"):
            return array.astype(dtype, copy=False)
    import torch

    return array.to(getattr(torch, "bool" if dtype == "?" else _NAMES[dtype]))


def plus(array: Any, value: Any) -> Any:  # noqa: ANN401  (arrays or tensors)
    """Return the sum of the output and of the array to add to, if there is one."""
    if value is None:
        return array
    if not is_tensor(array):
        import numpy as np

        with np.errstate(over="ignore", invalid="ignore"):
            return array + value
    import torch

    return array + (value if is_tensor(value) else torch.from_numpy(value)).to(array.device)


def synchronize(place: Any) -> None:  # noqa: ANN401  (torch is no dependency)
    """Wait for torch's pending work on a GPU, unless it is captured in a graph."""
    import torch

    if not torch.cuda.is_current_stream_capturing():
        torch.cuda.current_stream(place).synchronize()


def current_stream(place: Any) -> int:  # noqa: ANN401  (a torch device)
    """Return the handle of the stream in which torch works on a GPU."""
    import torch

    number = torch.cuda.current_device() if place.index is None else place.index
    return int(torch._C._cuda_getCurrentRawStream(number))  # torch.cuda.current_stream takes 3 us
