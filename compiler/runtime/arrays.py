"""Named arrays become what a kernel wants, or one message for each that doesn't fit.

Goes in: a signature, a mode, arrays by key (``m.albedo``, ``cotangent.result``). Comes out: the domain, and for each
slot of an entry point an array of the right dtype and shape. No device is involved.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from slangad.compiler.diagnostics import CompileError, Diagnostic, Severity
from slangad.compiler.emit.model import ParameterRole
from slangad.compiler.ir.nodes import Memory
from slangad.compiler.runtime.conversion import MisfitError, convert
from slangad.compiler.runtime.modes import RunMode

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy.typing as npt

    from slangad.compiler.runtime.signature import Part, Path, Signature, Value

    Array = npt.NDArray[Any]
    Domain = tuple[int, ...]
    Slot = tuple[ParameterRole, str, Path]


MAX_SCALARS: Final = 2**32 - 1
"""Scalars of one buffer, since kernels count them in 32 bits."""


class InputError(CompileError, ValueError):
    """What a kernel was given doesn't fit it."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a kernel is run on.

    Attributes:
        domain: The shape of the domain.
        arrays: For each slot with something in it an array of the part's dtype.
        notes: What is worth telling.
    """

    domain: Domain
    arrays: Mapping[Slot, Array]
    notes: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class Wanted:
    """An array that can be given: its key and slot; ``needed`` where the kernel can't run without it."""

    key: str
    role: ParameterRole
    value: Value
    part: Part
    needed: bool

    @property
    def slot(self) -> Slot:
        """Where it goes."""
        return self.role, self.value.name, self.part.path

    def shape(self, domain: Domain) -> tuple[int, ...]:
        """What shape it has over a domain."""
        return (*domain, *self.part.shape) if self.value.per_element else self.part.shape


PREFIXES: Final = {
    ParameterRole.COTANGENT: "cotangent.",
    ParameterRole.TANGENT: "tangent.",
    ParameterRole.GRADIENT: "grad.",
    ParameterRole.RESULT_TANGENT: "jvp.",
}
"""What stands before a key, by what it is of."""


def wanted(signature: Signature, mode: RunMode) -> tuple[Wanted, ...]:
    """The arrays that can be given in a mode, in the order of the parameters."""
    inputs = [
        Wanted(part.key, _input_role(value), value, part, needed=True)
        for value in signature.parameters
        for part in value.parts
    ]
    roles = {
        RunMode.FORWARD: None,
        RunMode.BACKWARD: ParameterRole.COTANGENT,
        RunMode.JVP: ParameterRole.TANGENT,
        RunMode.JTJVP: ParameterRole.TANGENT,
    }
    role = roles[mode]
    if role is None:
        return tuple(inputs)
    values = signature.results if role is ParameterRole.COTANGENT else signature.parameters
    return (*inputs, *_derivatives(values, role))


def _input_role(value: Value) -> ParameterRole:
    return ParameterRole.UNIFORM if value.memory is Memory.UNIFORM else ParameterRole.INPUT


def _derivatives(values: tuple[Value, ...], role: ParameterRole) -> Iterator[Wanted]:
    for value in values:
        for part in value.parts:
            if part.differentiable:
                yield Wanted(f"{PREFIXES[role]}{part.key}", role, value, part, needed=False)


def known_keys(signature: Signature) -> frozenset[str]:
    """Every key that means something in some mode, given or made."""
    plain = {part.key for value in signature.values for part in value.parts}
    return frozenset(plain | {f"{prefix}{key}" for prefix in PREFIXES.values() for key in plain})


def prepare(signature: Signature, mode: RunMode, given: Mapping[str, object], domain: Domain | None = None) -> Prepared:
    """Check and convert what was given.

    Args:
        signature: The kernel's.
        mode: What is to be computed.
        given: Arrays, numbers or lists by key; keys of other modes are ignored.
        domain: The shape of the domain; that of the ``Each`` parameters when not given.

    Raises:
        InputError: With everything that is wrong.
    """
    return _Preparation(signature, mode, given, domain).run()


@dataclass
class _Preparation:
    signature: Signature
    mode: RunMode
    given: Mapping[str, object]
    named: Domain | None
    problems: list[Diagnostic] = field(default_factory=list)
    converted: dict[str, list[str]] = field(default_factory=dict)

    def run(self) -> Prepared:
        self._refuse_unknown()
        places = wanted(self.signature, self.mode)
        arrays = {place.slot: array for place in places for array in self._converted(place)}
        domain = self._domain(places, arrays)
        if domain is not None:
            for place in places:
                if place.slot in arrays:
                    self._check_shape(place, arrays[place.slot].shape, domain)
            self._check_size(domain)
        self._require(places, domain)
        if self.problems or domain is None:
            raise InputError(self.problems)
        return Prepared(domain, arrays, tuple(self._notes()))

    def _notes(self) -> Iterator[Diagnostic]:
        for note, keys in self.converted.items():
            yield Diagnostic("SA418", f"{', '.join(keys)}: {note}", severity=Severity.NOTE)

    def _refuse_unknown(self) -> None:
        from difflib import get_close_matches

        known = known_keys(self.signature)
        own = [place.key for place in wanted(self.signature, self.mode)]
        for key in self.given:
            if key not in known:
                near = [match for match in own if match.startswith(f"{key}.")] or get_close_matches(key, own, n=1)
                help_ = f"did you mean {', '.join(near)}?" if near else f"there are {', '.join(own)}"
                self._problem("SA411", f"{self.signature.name} takes no {key}", help_)

    def _converted(self, place: Wanted) -> Iterator[Array]:
        if place.key not in self.given:
            return
        try:
            array, note = convert(self.given[place.key], place.part)
        except MisfitError as misfit:
            self._problem("SA413", f"{place.key} {misfit}", misfit.help)
            return
        if note:
            self.converted.setdefault(note, []).append(place.key)
        yield array

    def _domain(self, places: tuple[Wanted, ...], arrays: Mapping[Slot, Array]) -> Domain | None:
        dims = self.signature.dims
        named = self.named
        if named is not None and len(named) != dims:
            self._problem("SA414", f"{self.signature.name} has {_axes(dims)}; the domain {named} has {len(named)}")
            return None
        first, domain = "the domain", named
        for place in places:
            array = arrays.get(place.slot)
            if array is None or not place.value.per_element or array.ndim != dims + len(place.part.shape):
                continue
            shape = array.shape[:dims]
            if domain is None:
                first, domain = place.key, shape
            elif shape != domain:
                message = f"{place.key} has {_elements(shape)} and {first} has {_elements(domain)}"
                self._problem("SA414", message, "all Each arrays of a kernel have one domain")
                return None
        if domain is None and not self._has_each_problems(places):
            help_ = f"say --domain {'x'.join('nmk'[:dims])}, or domain= in Python"
            self._problem("SA414", f"nothing tells the domain of {self.signature.name}", help_)
        return domain

    def _has_each_problems(self, places: tuple[Wanted, ...]) -> bool:
        """Whether the domain is unknown only because an ``Each`` array is missing or wrong, which is told already."""
        each = [place for place in places if place.value.per_element and place.needed]
        return bool(each)

    def _check_shape(self, place: Wanted, shape: tuple[int, ...], domain: Domain) -> None:
        right = place.shape(domain)
        if shape != right:
            message = f"{place.key} has shape {shape}, not {right}"
            self._problem("SA412", message, _explained(place, self.signature.dims))

    def _check_size(self, domain: Domain) -> None:
        parts = [math.prod(part.shape) for value in self.signature.values if value.per_element for part in value.parts]
        most = math.prod(domain) * max(parts, default=1)
        if most > MAX_SCALARS:
            message = f"{self.signature.name} over {_elements(domain)} is too much at a time"
            self._problem("SA414", message, f"indices are 32-bit: {MAX_SCALARS} scalars an array at most")

    def _require(self, places: tuple[Wanted, ...], domain: Domain | None) -> None:
        for place in places:
            if place.needed and place.key not in self.given:
                self._problem("SA410", f"{place.key} is missing: {_described(place, self.signature.dims, domain)}")
            elif domain is None and place.key in self.given:
                self._check_axes(place)
        tangents = [place.key for place in places if place.role is ParameterRole.TANGENT]
        if tangents and not any(key in self.given for key in tangents):
            help_ = "what is not given is zero; --random SEED draws them all"
            message = f"{self.mode.value} needs a direction: at least one of {', '.join(tangents)}"
            self._problem("SA410", message, help_)

    def _check_axes(self, place: Wanted) -> None:
        import numpy as np

        shape = np.shape(self.given[place.key])  # type: ignore[call-overload]  # converted before, or told
        dims = self.signature.dims if place.value.per_element else 0
        if len(shape) != dims + len(place.part.shape) or shape[dims:] != place.part.shape:
            right = _tuple((*"nmk"[:dims], *place.part.shape))
            help_ = _explained(place, self.signature.dims)
            self._problem("SA412", f"{place.key} has shape {shape}, not {right}", help_)

    def _problem(self, code: str, message: str, help_: str = "") -> None:
        self.problems.append(Diagnostic(code, message, help=help_))


def _described(place: Wanted, dims: int, domain: Domain | None) -> str:
    front = (*(domain or "nmk"[:dims]),) if place.value.per_element else ()
    shape = _tuple((*front, *place.part.shape))
    scalar = {"float": "float32", "half": "float16", "double": "float64", "int": "int32", "uint": "uint32"}
    kind = scalar.get(place.part.scalar.name, "bool")
    return f"{kind}, shape {shape}"


def _tuple(extents: tuple[int | str, ...]) -> str:
    """As Python writes one, with letters for what isn't known."""
    return f"({', '.join(map(str, extents))}{',' if len(extents) == 1 else ''})"


def _explained(place: Wanted, dims: int) -> str:
    inner = f"{place.part.scalar.name}{''.join(f'[{n}]' for n in place.part.shape)}"
    if not place.value.per_element:
        return f"it is one {inner} for all elements"
    axes = f"{_axes(dims)} of elements first"
    return f"{axes}, then those of one {inner}" if place.part.shape else f"{_axes(dims)} of elements, each one {inner}"


def _axes(count: int) -> str:
    return f"{count} axis" if count == 1 else f"{count} axes"


def _elements(shape: Domain) -> str:
    text = "x".join(map(str, shape))
    return f"{text} element{'' if shape == (1,) else 's'}"


def refuse_nan(prepared: Prepared) -> None:
    """Refuse arrays that hold NaN.

    Raises:
        InputError: With the first place in each array.
    """
    import numpy as np

    problems = []
    for (role, name, path), array in prepared.arrays.items():
        if array.dtype.kind != "f" or not (found := np.isnan(array)).any():
            continue
        key = PREFIXES.get(role, "") + ".".join((name, *map(str, path)))
        first = ", ".join(map(str, np.unravel_index(int(found.argmax()), array.shape)))
        at = f"; the first is {key}[{first}]" if array.ndim else ""
        message = f"{key} holds {int(found.sum())} NaN{at}"
        problems.append(Diagnostic("SA416", message, help="--allow-nan runs all the same"))
    if problems:
        raise InputError(problems)
