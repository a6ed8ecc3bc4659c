"""Summarise the output of a run: lines for people, and a record for programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slangad.compiler.errors.diagnostics import Diagnostic, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy.typing as npt

    Array = npt.NDArray[Any]

FEW = 16
"""Arrays of at most this many values are shown in full."""


@dataclass(frozen=True, slots=True)
class Outputs:
    """The arrays of one run by key, and their origin."""

    kernel: str
    mode: str
    device: str
    adapter: str
    domain: tuple[int, ...]
    arrays: Mapping[str, Array]


def lines(outputs: Outputs) -> Iterator[str]:
    """Yield a table: key, type and shape, and the value or a summary of the values."""
    return table(outputs.arrays)


def table(arrays: Mapping[str, Array]) -> Iterator[str]:
    """Yield the lines of a table of arrays by key."""
    shown = rows(arrays)
    widths = [max((len(row[column]) for row in shown), default=0) for column in (0, 1)]
    for key, kind, text in shown:
        yield f"{key:<{widths[0]}}  {kind:<{widths[1]}}  {text}".rstrip()


def rows(arrays: Mapping[str, Array]) -> list[tuple[str, str, str]]:
    """Return key, type and shape, and the value or a summary of the values of each array."""
    return [(key, _kind(array), _values_text(array)) for key, array in arrays.items()]


def as_numpy(array: Any) -> Array:  # noqa: ANN401  (numpy, or a tensor of torch)
    """Return an array or tensor as a numpy array to look at."""
    import numpy as np

    return array.detach().cpu().numpy() if hasattr(array, "detach") else np.asarray(array)


def infinite(outputs: Outputs) -> list[Diagnostic]:
    """Return a note if results are infinite."""
    import numpy as np

    floats = {key: array for key, array in outputs.arrays.items() if array.dtype.kind == "f"}
    counted = {key: int(np.count_nonzero(np.isinf(array))) for key, array in floats.items()}
    text = ", ".join(f"{count} of {key} ({floats[key].dtype})" for key, count in counted.items() if count)
    message, help_ = (
        f"values are infinite: {text}",
        "they are too large for their type, or results of a division by zero",
    )
    return [Diagnostic("SA425", message, severity=Severity.NOTE, help=help_)] if text else []


def record(outputs: Outputs) -> dict[str, object]:
    """Return the record for ``--format json``."""
    return {
        "kernel": outputs.kernel,
        "mode": outputs.mode,
        "device": outputs.device,
        "adapter": outputs.adapter,
        "domain": list(outputs.domain),
        "arrays": [_array_record(key, array) for key, array in outputs.arrays.items()],
    }


def _array_record(key: str, array: Array) -> dict[str, object]:
    import numpy as np

    fields: dict[str, object] = {"key": key, "dtype": str(array.dtype), "shape": list(array.shape)}
    finite = array
    if array.dtype.kind == "f":
        fields["nan"] = int(np.count_nonzero(np.isnan(array)))
        fields["inf"] = int(np.count_nonzero(np.isinf(array)))
        if fields["nan"] or fields["inf"]:
            finite = array[np.isfinite(array)]
    if finite.size:
        fields |= {"min": finite.min().item(), "mean": float(finite.mean(dtype="f8")), "max": finite.max().item()}
    if array.size <= FEW and finite is array:
        fields["value"] = array.tolist()
    return fields


def _kind(array: Array) -> str:
    return f"{array.dtype}[{', '.join(map(str, array.shape))}]" if array.ndim else str(array.dtype)


def _values_text(array: Array) -> str:
    fields = _array_record("", array)
    if array.size <= 4 and array.size:
        return " ".join(f"{value:g}" for value in array.reshape(-1).tolist())
    parts = [f"{name} {fields[name]:.6g}" for name in ("min", "mean", "max") if name in fields]
    parts += [f"{fields[name]} {word}" for name, word in (("nan", "NaN"), ("inf", "infinite")) if fields.get(name)]
    return ", ".join(parts)
