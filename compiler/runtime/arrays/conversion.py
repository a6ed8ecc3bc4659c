"""Convert an array of the user to the dtype that a part needs, or refuse it.

Numbers that would change their value are refused, except that floats are rounded to fewer digits, with a note.
"""

from __future__ import annotations

import sys
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from slangad.compiler.runtime.device.tensors import is_tensor

if TYPE_CHECKING:
    import numpy.typing as npt

    from slangad.compiler.runtime.arrays.signature import ArrayPart

    Array = npt.NDArray[Any]

NAMES = {"f2": "float16", "f4": "float32", "f8": "float64", "i4": "int32", "u4": "uint32", "?": "bool"}


class MisfitError(ValueError):
    """Why an array can't be taken; ``help`` says what to do."""

    def __init__(self, message: str, help_: str = "") -> None:
        super().__init__(message)
        self.help = help_


def convert(value: object, part: ArrayPart) -> tuple[Array, str]:
    """Return the array in the part's dtype, and a note or an empty string.

    Raises:
        MisfitError: It has another kind of values, or values that don't fit.
    """
    import numpy as np

    if is_tensor(value):
        return _checked_tensor(value, part), ""
    if value is None:
        raise MisfitError(f"is None, no array of {NAMES[part.dtype]}", "remove it")
    array, dtype = _array(value, part), np.dtype(part.dtype)
    if array.dtype == dtype:
        return np.ascontiguousarray(array).reshape(array.shape), ""
    if array.size == 0 and array.dtype.kind in "fiub":
        return array.astype(dtype), ""
    match dtype.kind, array.dtype.kind:
        case _, "U" | "S":
            raise MisfitError(f"holds text, not {NAMES[part.dtype]}", "give numbers")
        case "f", "f":
            return _rounded(array, part, plain=not isinstance(value, np.ndarray))
        case "f", "i" | "u":
            return _floated(array, part)
        case "i" | "u", "i" | "u":
            return _ranged(array, part), ""
        case "b", "i" | "u" if bool(np.isin(array, (0, 1)).all()):
            return array.astype(dtype), ""
        case _:
            name = NAMES[part.dtype]
            raise MisfitError(f"holds {array.dtype}, not {name}", f"convert it: .astype({name!r})")


def _array(value: object, part: ArrayPart) -> Array:
    """Return a value (an array, lists or a number) as an array."""
    import numpy as np

    plain = isinstance(value, (list, tuple))
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise MisfitError(f"is no array: {'rows have different shapes' if plain else error}") from None
    name = NAMES[part.dtype]
    if plain and array.dtype.kind in "fiuO" and part.dtype != "?" and _has_bool(value):
        raise MisfitError(f"holds bool among numbers, not {name}", "write 1 for true and 0 for false")
    return _numbers(array, part) if array.dtype == "O" and not isinstance(value, np.ndarray) else array


def _numbers(array: Array, part: ArrayPart) -> Array:
    """Replace numbers that numpy has no integers for by floats."""
    numbers = [Decimal(one) for one in array.flat if isinstance(one, (int, Decimal))]
    if not numbers or not all(isinstance(one, (int, float, Decimal)) for one in array.flat):
        return array
    largest = max(numbers, key=Decimal.copy_abs)
    if part.dtype in ("f2", "f4", "f8") and largest.copy_abs() <= Decimal(sys.float_info.max):
        return array.astype("f8")
    raise MisfitError(f"has values too large for {NAMES[part.dtype]}, such as {largest:g}")


def _has_bool(value: object) -> bool:
    """Return True if there is a bool in lists of lists."""
    return any(map(_has_bool, value)) if isinstance(value, (list, tuple)) else isinstance(value, bool)


def _checked_tensor(tensor: Any, part: ArrayPart) -> Any:  # noqa: ANN401  (torch is no dependency)
    """Return a tensor on a GPU unchanged if its dtype is the part's. Such tensors are never converted."""
    name = str(tensor.dtype).removeprefix("torch.")
    allowed = {"u4": ("int32", "uint32"), "?": ("bool",)}.get(part.dtype, (NAMES[part.dtype],))
    if name not in allowed:
        raise MisfitError(f"holds {name}, not {allowed[0]}", f"convert it: .to(torch.{allowed[0]})")
    return tensor


def _rounded(array: Array, part: ArrayPart, *, plain: bool) -> tuple[Array, str]:
    import numpy as np

    with np.errstate(over="ignore"):
        result = array.astype(part.dtype)
    lost = np.isfinite(array) & ~np.isfinite(result)
    if lost.any():
        raise MisfitError(f"has values too large for {NAMES[part.dtype]}, such as {array[lost].flat[0]:g}")
    narrowed = array.dtype.itemsize > result.dtype.itemsize and not plain
    return result, f"converted from {array.dtype} to {NAMES[part.dtype]}" if narrowed else ""


def _floated(array: Array, part: ArrayPart) -> tuple[Array, str]:
    result, _ = _rounded(array, part, plain=True)
    exact = bool((result.astype("f8") == array.astype("f8")).all())
    return result, "" if exact else f"rounded from {array.dtype} to {NAMES[part.dtype]}"


def _ranged(array: Array, part: ArrayPart) -> Array:
    import numpy as np

    limits = np.iinfo(part.dtype)
    if int(array.min()) < limits.min or int(array.max()) > limits.max:
        worst = array.min() if int(array.min()) < limits.min else array.max()
        raise MisfitError(f"has {worst}, which {NAMES[part.dtype]} can't hold")
    return array.astype(part.dtype)
