"""Convert named arrays to a kernel's arguments; report one message for each that doesn't fit.

Input: a signature, a mode, arrays by key (``m.albedo``, ``cotangent.result``). Output: the domain, the extents of
tensors, and for each slot of an entry point an array of the right dtype and shape. No device is involved.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, SupportsIndex

from slangad.compiler.emit.model import ParameterRole
from slangad.compiler.errors.diagnostics import CompileError, Diagnostic, Severity
from slangad.compiler.ir.types import is_floating
from slangad.compiler.runtime.arrays.array_keys import PREFIXES, array_keys, known_keys, shape_of
from slangad.compiler.runtime.arrays.conversion import NAMES, MisfitError, convert

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import numpy.typing as npt

    from slangad.compiler.runtime.arrays.array_keys import ArrayKey, Shape, Slot
    from slangad.compiler.runtime.arrays.modes import RunMode
    from slangad.compiler.runtime.arrays.signature import KernelSignature, KernelValue

    Array = npt.NDArray[Any]

MAX_SCALARS: Final = 2**32 - 1
"""Scalars of one buffer, since kernels count them in 32 bits."""
_PICTURE_MODES: Final[Mapping[Shape, str]] = {(): "L", (3,): "RGB", (4,): "RGBA"}
"""Pillow's names for pictures with these axes after rows and columns."""


class InputError(CompileError, ValueError):
    """An argument does not fit the kernel."""

    def __str__(self) -> str:
        return "\n".join(f"{d.message} [{d.code}]{f'; {d.help}' if d.help else ''}" for d in self.diagnostics)


@dataclass(frozen=True, slots=True)
class Prepared:
    """The checked and converted arguments of a kernel.

    Attributes:
        domain: The shape of the domain.
        extents: The shape of each tensor's own axes.
        arrays: By slot, an array of the part's dtype; empty slots are missing.
        notes: Remarks for the user.
        place: The torch device of the tensors and of the results; None for numpy.
    """

    domain: Shape
    extents: Mapping[str, Shape]
    arrays: Mapping[Slot, Array]
    notes: tuple[Diagnostic, ...] = ()
    place: Any = None


def prepare(
    signature: KernelSignature, mode: RunMode, inputs: Mapping[str, object], domain: Shape | None = None
) -> Prepared:
    """Check and convert the user's arrays.

    Args:
        signature: The kernel's.
        mode: The mode of the run.
        inputs: Arrays, numbers or lists by key; keys of other modes are ignored.
        domain: The shape of the domain. Without it: the shape of the ``Each`` parameters, else of the written tensor.

    Raises:
        InputError: With everything that is wrong.
    """
    return _Preparation(signature, mode, inputs, domain).run()


@dataclass
class _Preparation:
    signature: KernelSignature
    mode: RunMode
    values: Mapping[str, object]
    named: tuple[object, ...] | None
    problems: list[Diagnostic] = field(default_factory=list)
    converted: dict[str, list[str]] = field(default_factory=dict)

    def run(self) -> Prepared:
        self._refuse_unknown()
        places = array_keys(self.signature, self.mode)
        arrays = {place.slot: array for place in places for array in self._converted(place)}
        domain = self._domain(places, arrays)
        extents = dict(self._extents(arrays, domain))
        self._require(places, domain, extents)
        self._check_shapes(places, arrays, domain, extents)
        if self.problems or domain is None:
            raise InputError(self.problems)
        self._check_size(domain, extents)
        return Prepared(domain, extents, arrays, tuple(self._notes()))

    def _notes(self) -> Iterator[Diagnostic]:
        for note, keys in self.converted.items():
            yield Diagnostic("SA418", f"{', '.join(keys)}: {note}", severity=Severity.NOTE)

    def _refuse_unknown(self) -> None:
        from difflib import get_close_matches

        known = known_keys(self.signature)
        keys = [place.key for place in array_keys(self.signature, self.mode)]
        for key in self.values:
            if key not in known:
                near = [match for match in keys if match.startswith(f"{key}.")] or get_close_matches(key, keys, n=1)
                there = f"there are {', '.join(keys)}" if keys else "it takes nothing"
                help_ = f"did you mean {', '.join(near)}?" if near else there
                self._problem("SA411", f"{self.signature.name} takes no {key}", help_)

    def _converted(self, place: ArrayKey) -> Iterator[Array]:
        if place.key not in self.values:
            return
        try:
            array, note = convert(self.values[place.key], place.part)
        except MisfitError as misfit:
            self._problem("SA413", f"{place.key} {misfit}", misfit.help)
            return
        if note:
            self.converted.setdefault(note, []).append(place.key)
        yield array

    def _domain(self, places: tuple[ArrayKey, ...], arrays: Mapping[Slot, Array]) -> Shape | None:
        dims = self.signature.dims
        named = None if self.named is None else _whole(self.named)
        if self.named is not None and named is None:
            help_ = "it is one whole number for each axis, from 0 on"
            self._problem("SA414", f"{_tuple(self.named)} is not a domain of {self.signature.name}", help_)
            return None
        if named is not None and len(named) != dims:
            self._problem("SA414", f"{self.signature.name} has {_axes(dims)}; the domain {named} has {len(named)}")
            return None
        first, domain = "the domain", named
        for key, shape in self._domains(places, arrays):
            if domain is None:
                first, domain = key, shape
            elif shape != domain:
                message = f"{key} has {_elements(shape)} and {first} has {_elements(domain)}"
                self._problem("SA414", message, "all Each arrays of a kernel must have the same domain")
                return None
        if domain is not None:
            return domain
        written = (p for p in places if p.value.is_written and p.value.axes >= dims)
        inputs = (p.slot for p in written if p.role is ParameterRole.INPUT and p.slot in arrays)
        domain = next((arrays[slot].shape[:dims] for slot in inputs), None)
        follows = any(place.value.per_element and place.needed for place in places) or bool(self.problems)
        if domain is None and not follows:
            sized = next(((name, e) for name, e in self._extents(arrays, None) if len(e) == dims), None)
            as_large = "" if sized is None else f"; {sized[0]} has {'x'.join(map(str, sized[1]))} elements"
            help_ = f"give --domain {'x'.join('nmk'[:dims])}, or domain= in Python{as_large}"
            self._problem("SA414", f"the domain of {self.signature.name} is unknown", help_)
        return domain

    def _domains(self, places: tuple[ArrayKey, ...], arrays: Mapping[Slot, Array]) -> Iterator[tuple[str, Shape]]:
        """Yield the domain that each array with one element per thread implies."""
        for place in places:
            array = arrays.get(place.slot)
            if array is not None and place.value.per_element and array.ndim == place.value.axes + len(place.part.shape):
                yield place.key, array.shape[: place.value.axes]

    def _extents(self, arrays: Mapping[Slot, Array], domain: Shape | None) -> Iterator[tuple[str, Shape]]:
        """Return each tensor's own shape. A tensor that threads store into has the domain's shape by default."""
        for value in self.signature.parameters:
            if not value.is_tensor:
                continue
            array = next(
                (a for p in value.parts if (a := arrays.get((ParameterRole.INPUT, value.name, p.path))) is not None),
                None,
            )
            if array is not None and array.ndim >= value.axes:
                yield value.name, array.shape[: value.axes]
            elif array is None and _has_domain(value, domain) and domain is not None:
                yield value.name, domain

    def _require(self, places: tuple[ArrayKey, ...], domain: Shape | None, extents: Mapping[str, Shape]) -> None:
        for place in places:
            unknown = place.role is ParameterRole.INPUT and place.value.is_tensor and place.value.name not in extents
            if (place.needed or (unknown and domain is not None)) and place.key not in self.values:
                help_ = "threads add to it, so its size does not follow from the domain" if place.value.added else ""
                self._problem("SA410", f"{place.key} is missing: {_described(place, domain)}", help_)
        tangents = [place.key for place in places if place.role is ParameterRole.TANGENT]
        if tangents and not any(key in self.values for key in tangents):
            name = tangents[0].partition(".")[2]
            help_ = f'others are zero; in Python tangent={{"{name}": …}}, else --set {tangents[0]}=… or --random SEED'
            message = f"{self.mode.value} needs a direction: at least one of {', '.join(tangents)}"
            self._problem("SA410", message, help_)

    def _check_shapes(
        self,
        places: tuple[ArrayKey, ...],
        arrays: Mapping[Slot, Array],
        domain: Shape | None,
        extents: Mapping[str, Shape],
    ) -> None:
        for place in places:
            if place.slot not in arrays:
                continue
            shape, value = arrays[place.slot].shape, place.value
            front: tuple[int | str, ...] = tuple("nmkl"[: value.axes])
            if value.per_element and domain is not None:
                front = domain
            elif value.is_tensor and value.name in extents:
                front = extents[value.name]
            right = (*front, *place.part.shape)
            fits = len(shape) == len(right) and all(r in (s, *"nmkl") for s, r in zip(shape, right, strict=True))
            if not fits:
                self._problem("SA412", f"{place.key} has shape {shape}, not {_tuple(right)}", _explained(place, shape))
            elif value.texture is not None and 0 in shape and place.role is ParameterRole.INPUT:
                help_ = "give one of at least 1x1 texels: there is nothing to sample otherwise"
                self._problem("SA412", f"{place.key} has shape {shape}, a texture without texels", help_)

    def _check_size(self, domain: Shape, extents: Mapping[str, Shape]) -> None:
        signature = self.signature
        sizes = [math.prod(shape_of(v, p, domain, extents)) for v in signature.values for p in v.parts]
        if max((math.prod(domain), *sizes)) > MAX_SCALARS:
            message = f"{signature.name} over {_elements(domain)} is too much at a time"
            self._problem("SA414", message, f"indices are 32-bit: {MAX_SCALARS} scalars an array at most")
            raise InputError(self.problems)

    def _problem(self, code: str, message: str, help_: str = "") -> None:
        self.problems.append(Diagnostic(code, message, help=help_))


def _has_domain(value: KernelValue, domain: Shape | None) -> bool:
    """Return True if an output that is not given has the shape of the domain."""
    return value.is_written and not value.added and domain is not None and value.axes == len(domain)


def _described(place: ArrayKey, domain: Shape | None) -> str:
    known = place.value.per_element and domain is not None
    front: tuple[int | str, ...] = domain if known and domain is not None else tuple("nmkl"[: place.value.axes])
    return f"{NAMES[place.part.dtype]}, shape {_tuple((*front, *place.part.shape))}"


def _whole(extents: tuple[object, ...]) -> Shape | None:
    """Return extents as integers; None if one is negative or not an integer."""
    numbers = tuple(operator.index(n) for n in extents if isinstance(n, SupportsIndex) and not isinstance(n, bool))
    return numbers if len(numbers) == len(extents) and all(n >= 0 for n in numbers) else None


def _tuple(extents: tuple[object, ...]) -> str:
    """Return a tuple as Python prints it, with letters for unknown extents."""
    return f"({', '.join(map(str, extents))}{',' if len(extents) == 1 else ''})"


def _explained(place: ArrayKey, shape: Shape) -> str:
    """Return what the axes are, for an array of this other shape."""
    inner = f"{place.part.scalar.name}{''.join(f'[{n}]' for n in place.part.shape)}"
    if not place.value.axes:
        return f"it is one {inner} for all elements"
    axes = f"{_axes(place.value.axes)} of elements"
    explained = f"{axes} first, then those of one {inner}" if place.part.shape else f"{axes}, each one {inner}"
    return explained + _of_picture(place, shape)


def _of_picture(place: ArrayKey, shape: Shape) -> str:
    """Return what to do with a picture that has other channels: grey, colours, or colours and transparency."""
    found, right = shape[2:], place.part.shape
    known = found in _PICTURE_MODES and right in _PICTURE_MODES and len(shape) >= 2
    if place.role is not ParameterRole.INPUT or place.value.axes != 2 or not known or found == right:
        return ""
    if not is_floating(place.part.scalar):
        return ""
    declared = f"{place.part.scalar.name}{''.join(map(str, found))}"
    return f'; of a picture: declare {declared}, or convert it with Pillow, .convert("{_PICTURE_MODES[right]}")'


def _axes(count: int) -> str:
    return f"{count} axis" if count == 1 else f"{count} axes"


def _elements(shape: Shape) -> str:
    text = "x".join(map(str, shape))
    return f"{text} element{'' if shape == (1,) else 's'}"


def require_whole(name: str, value: object, least: int) -> None:
    """Refuse a setting that is no whole number from ``least`` on.

    Raises:
        InputError: It names the setting.
    """
    if isinstance(value, bool) or not isinstance(value, SupportsIndex) or operator.index(value) < least:
        raise InputError([Diagnostic("SA413", f"{name}={value!r}", help=f"it is a whole number from {least} on")])


def refuse_unused(signature: KernelSignature, mode: RunMode, keys: Iterable[str], where: str) -> None:
    """Refuse known keys that the mode does not use, since they were named on purpose.

    Raises:
        InputError: With all of them.
    """
    known, used = known_keys(signature), {place.key for place in array_keys(signature, mode)}
    problems = []
    for key in keys:
        if key not in known or key in used:
            continue
        taking = [m.value for m in type(mode) if any(place.key == key for place in array_keys(signature, m))]
        help_ = f"`slangad run` takes it with --mode {' or '.join(taking)}" if taking else ""
        problems.append(Diagnostic("SA411", f"{signature.name} takes no {key} {where}", help=help_))
    if problems:
        raise InputError(problems)


def refuse_nan(prepared: Prepared, cotangents: Mapping[str, Array] | None = None) -> None:
    """Refuse arrays that hold NaN; ``cotangents`` are those of a pipeline, by key.

    Raises:
        InputError: With the first place in each array.
    """
    import numpy as np

    problems = []
    arrays_by_name = {
        PREFIXES.get(r, "") + ".".join((n, *map(str, path))): a for (r, n, path), a in prepared.arrays.items()
    }
    for key, array in (arrays_by_name | dict(cotangents or {})).items():
        if array.dtype.kind != "f" or not (nans := np.isnan(array)).any():
            continue
        first = ", ".join(map(str, np.unravel_index(int(nans.argmax()), array.shape)))
        at = f"; the first is {key}[{first}]" if array.ndim else ""
        message = f"{key} holds {int(nans.sum())} NaN{at}"
        problems.append(Diagnostic("SA416", message, help="--allow-nan runs the kernel anyway"))
    if problems:
        raise InputError(problems)
