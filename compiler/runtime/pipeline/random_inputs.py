"""Draw missing inputs at random, for ``slangad run --random``."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from slangad.compiler.emit.model import ParameterRole
from slangad.compiler.ir.distributions import Normal, Uniform
from slangad.compiler.ir.nodes import Memory
from slangad.compiler.runtime.arrays.array_keys import array_keys
from slangad.compiler.runtime.arrays.prepare import InputError
from slangad.compiler.runtime.device.memory import too_little_memory
from slangad.compiler.runtime.device.segments import free_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    import numpy.typing as npt

    from slangad.compiler.errors.diagnostics import Diagnostic
    from slangad.compiler.ir.distributions import Distribution
    from slangad.compiler.runtime.arrays.array_keys import ArrayKey, Shape
    from slangad.compiler.runtime.arrays.modes import RunMode
    from slangad.compiler.runtime.arrays.signature import KernelSignature

_FLOATS: Final = Uniform(-1.0, 1.0)
_DRAWN: Final = (ParameterRole.INPUT, ParameterRole.UNIFORM, ParameterRole.TANGENT)
_INTEGERS: Final = 4
"""Integers are drawn from 0 to 3."""
_STRETCH: Final = 1 << 20
_MOST_BYTES: Final = 1 << 46
"""Bytes of an array, if the free memory is unknown."""


def draw_missing(
    signature: KernelSignature, mode: RunMode, inputs: Mapping[str, object], domain: Shape | None, seed: int,
    shapes: Mapping[str, Shape] | None = None, *, training: bool = False,
) -> dict[str, object]:  # fmt: skip
    """Return the given arrays, and random ones for all other inputs and tangents; cotangents keep their default.

    Floats lie in the declared ranges, else in [-1, 1]. Each key has its own stream, so its values do not depend on the
    other keys. ``shapes`` are those of tensors and textures. Inputs of unknown shape are left out. For ``training``,
    parts of structs have the initial values that the structs declare.

    Raises:
        ToolchainError: There is too little memory for them.
    """
    import zlib

    import numpy as np

    places = array_keys(signature, mode)
    shape = domain if domain is not None else given_domain(signature, places, inputs)
    tensors = [p for p in places if p.value.is_tensor and p.role is ParameterRole.INPUT and p.key in inputs]
    shapes_of = {p.value.name: (_shape(inputs[p.key]), p.value.axes) for p in tensors}
    extents = {
        name: extents_of[:axes] for name, (extents_of, axes) in shapes_of.items() if extents_of is not None
    } | dict(shapes or {})
    values_of = signature.initial_of if training else signature.samples_of
    drawn = dict(inputs)
    for place in places:
        value = place.value
        known = value.name in extents if value.is_tensor else shape is not None or not value.per_element
        if place.key not in inputs and known and place.role in _DRAWN:
            stream = np.random.default_rng((seed, zlib.crc32(place.key.encode())))
            whole = place.shape(shape or (), extents)
            _require_memory(place, whole)
            try:
                drawn[place.key] = _draw(place, whole, stream, values_of)
            except MemoryError:
                raise too_little_memory("this machine") from None
    return drawn


def explain_undrawn(error: InputError, signature: KernelSignature) -> InputError:
    """Return the error, with help on the shapes of inputs that were not drawn."""
    by_message = {f"{part.key} is missing": value for value in signature.parameters for part in value.parts}

    def helped(problem: Diagnostic) -> Diagnostic:
        value = by_message.get(problem.message.partition(":")[0])
        if problem.code != "SA410" or value is None:
            return problem
        axes = "x".join("nmkl"[: value.axes])
        how = f"--shape {value.name}={axes}" if value.is_tensor else f"--domain {axes}"
        return replace(problem, help=f"its shape cannot be inferred, so it was not drawn: give {how}")

    return InputError([helped(problem) for problem in error.diagnostics])


def given_domain(
    signature: KernelSignature, places: tuple[ArrayKey, ...], inputs: Mapping[str, object]
) -> Shape | None:
    """Return the domain: the shape of the first array with one element per thread."""
    for place in places:
        known = _shape(inputs[place.key]) if place.value.per_element and place.key in inputs else None
        if known is not None:
            return known[: signature.dims]
    return None


def _shape(value: object) -> Shape | None:
    """Return the shape of a given value, or None if it has none, which the conversion reports."""
    import numpy as np

    try:
        return np.asarray(value).shape
    except ValueError:
        return None


def _draw(
    place: ArrayKey,
    shape: tuple[int, ...],
    stream: np.random.Generator,
    values_of: Callable[[str], Distribution],
) -> npt.NDArray[Any]:
    if place.value.memory is Memory.OUT_TENSOR:
        import numpy as np

        return np.zeros(shape, place.part.dtype)
    match place.part.scalar.name:
        case "bool":
            return stream.integers(0, 2, shape).astype(bool)
        case "int" | "uint":
            return stream.integers(0, _INTEGERS, shape).astype(place.part.dtype)
        case _:
            values = _FLOATS if place.role is ParameterRole.TANGENT else values_of(place.part.key)
            return _floats(stream, values, shape, place.part.dtype)


def _floats(stream: np.random.Generator, values: Distribution, shape: tuple[int, ...], dtype: str) -> npt.NDArray[Any]:
    """Return numbers of a distribution. They are drawn in blocks to save memory, with the values of one draw."""
    import numpy as np

    drawn: npt.NDArray[Any] = np.empty(math.prod(shape), dtype)
    for start in range(0, drawn.size, _STRETCH):
        part = drawn[start : start + _STRETCH]
        match values:
            case Uniform(low, high):
                part[:] = stream.uniform(low, high, part.size)
            case Normal(deviation):
                part[:] = stream.normal(0.0, deviation, part.size)
    return drawn.reshape(shape)


def _require_memory(place: ArrayKey, shape: tuple[int, ...]) -> None:
    """Refuse arrays that do not fit before any is allocated: a machine may promise more than it has."""
    import numpy as np

    size, free = math.prod(shape) * np.dtype(place.part.dtype).itemsize, free_memory()
    if size > (_MOST_BYTES if free is None else free):
        raise too_little_memory("this machine", size, free)
