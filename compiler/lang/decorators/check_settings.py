"""``check=`` of decorators: the number and seed of the samples of a check."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from slangad.compiler.lang.errors import Argument, ArgumentError

MOST_SAMPLES: Final = 1_000_000


class SamplingSettings(NamedTuple):
    """The number of samples of a check and their seed; None if not given."""

    samples: int | None = None
    seed: int | None = None


def read_check(name: str, check: object) -> SamplingSettings:
    """Check ``check=``: ``samples`` and ``seed``.

    Raises:
        DescriptionError: if it is malformed.
    """
    if check is None:
        return SamplingSettings()
    counts = dict(check) if isinstance(check, Mapping) else {"": 0}
    unknown = next((key for key in counts if key not in ("samples", "seed")), None)
    at, help_ = Argument("check"), 'check={"samples": 500, "seed": 7}'
    if unknown is not None:
        raise ArgumentError(at, f"check= of {name} is not a mapping with 'samples' or 'seed'", help_)
    for key, low in (("samples", 1), ("seed", 0)):
        value = counts.get(key, low)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value:
            raise ArgumentError(at, f"check= of {name}: {key!r} is not a whole number from {low} on", help_)
    if counts.get("samples", 1) > MOST_SAMPLES:
        raise ArgumentError(at, f"check= of {name}: at most {MOST_SAMPLES} samples", help_)
    return SamplingSettings(counts.get("samples"), counts.get("seed"))
