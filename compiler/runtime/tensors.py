"""Torch tensors where numpy arrays are meant: they go in as arrays over the same memory, results come out as tensors.

Nothing here imports torch unless a tensor was given. Tensors on a GPU are bound as they are to a cuda device; elsewhere
they are copied to the CPU and back.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def is_tensor(value: object) -> bool:
    """Whether a value is a torch tensor."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def as_arrays(given: Mapping[str, object]) -> tuple[dict[str, object], Any]:
    """Arrays in place of tensors; and the device of the tensors, None where there were none.

    A tensor on the CPU and its array share memory.
    """
    device = next((value.device for value in given.values() if is_tensor(value)), None)  # type: ignore[attr-defined]  # a tensor
    return {key: _array(value) if is_tensor(value) else value for key, value in given.items()}, device


def _array(tensor: Any) -> object:  # noqa: ANN401  (torch is no dependency)
    return tensor.detach().cpu().resolve_conj().resolve_neg().numpy()


def restored(arrays: Mapping[str, Any], device: Any) -> Mapping[str, Any]:  # noqa: ANN401  (torch is no dependency)
    """Tensors on a device in place of arrays, unless there is no device."""
    if device is None:
        return arrays
    import torch

    return {key: torch.from_numpy(array).to(device) for key, array in arrays.items()}
