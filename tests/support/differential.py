"""Runs generated programs in Python and, emitted and compiled, on the CPU; in float and in double; with derivatives.

What is compared, and how strictly: in double both runs must agree almost exactly, so a difference is a mistake, not
rounding. In float the Python run's own distance from its double run says how much rounding matters; a sample where that
is a lot is left out and counted. Forward and reverse mode must be each other's transposes in double, the forward one
must be Python's, and where two difference quotients agree the slope is theirs.
"""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

import slangad as sa
from slangad.compiler.emit import Mode, ParameterRole, emit_module
from slangad.compiler.emit.model import symbols
from slangad.compiler.frontends import load
from slangad.compiler.lang.types.values import scalars_of
from slangad.compiler.passes import run_passes
from slangad.compiler.runtime.device.cpu_kernels import build_module
from slangad.compiler.toolchain.jobs.request import CompileJob
from support.compiled import compiled
from support.cpu import Program
from support.programs import Generated, module_text
from support.wrapping import with_kernels

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import ModuleType

    import numpy.typing as npt

    from slangad.compiler.emit import EntryPoint
    from slangad.compiler.ir.nodes import Module

    Floats = npt.NDArray[np.float64]

LANES = 8
STEP = 1e-6
Key = tuple[str, tuple[str, ...]]
Part = tuple[tuple[str, ...], tuple[int, ...], str]
LAYOUT: dict[str, tuple[Part, ...]] = {
    "F": (((), (), "F"),),
    "F2": (((), (2,), "F"),),
    "F3": (((), (3,), "F"),),
    "F4": (((), (4,), "F"),),
    "M2": (((), (2, 2), "F"),),
    "int": (((), (), "int"),),
    "bool": (((), (), "bool"),),
    "sa.uint": (((), (), "uint"),),
    "Array[F, 3]": (((), (3,), "F"),),
    "Ball": ((("center",), (3,), "F"), (("radius",), (), "F"), (("count",), (), "int")),
    "Group": (
        (("ball", "center"), (3,), "F"), (("ball", "radius"), (), "F"), (("ball", "count"), (), "int"),
        (("weights",), (3,), "F"),
    ),
}  # fmt: skip
"""The buffers of a type: path, shape of an element, kind."""


@dataclass
class Mismatch:
    """Two runs of one function that differ."""

    program: Generated
    what: str
    lane: int
    details: str

    def __str__(self) -> str:
        return f"{self.program.name}, sample {self.lane}: {self.what}\n{self.details}\n{self.program.text}"


@dataclass
class Report:
    """What comparing some programs found."""

    mismatches: list[Mismatch] = field(default_factory=list)
    compared: int = 0
    left_out: int = 0
    slopes: int = 0
    kinks: int = 0


@dataclass(frozen=True)
class Sides:
    """Some programs in one precision: in Python and on the CPU."""

    python: ModuleType
    device: Program


def compare(programs: list[Generated], folder: Path, seed: int) -> Report:
    """Runs every program both ways on several inputs; a program's inputs depend on the seed and its name."""
    report = Report()
    narrow, wide = (_sides(programs, folder, double=double) for double in (False, True))
    for program in programs:
        rng = np.random.default_rng([seed, *program.name.encode()])
        inputs = Inputs.draw(program, rng)
        _Comparison(program, inputs, narrow, wide, report, rng).run()
    return report


def _sides(programs: list[Generated], folder: Path, *, double: bool) -> Sides:
    name = "wide" if double else "narrow"
    path = folder / f"{name}.py"
    path.write_text(module_text(programs, double=double), encoding="utf-8")
    module = load(path)
    spec = importlib.util.spec_from_file_location(f"generated_{name}_{id(programs)}", path)
    assert spec is not None
    assert spec.loader is not None
    python = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = python
    spec.loader.exec_module(python)
    return Sides(python, _build(with_kernels(module), (*Mode,) if double else (Mode.FORWARD,)))


def _build(module: Module, modes: tuple[Mode, ...]) -> Program:
    """The kernels of a module with some of their entry points, built fast rather than to be fast."""
    emitted = emit_module(run_passes(module))
    names = symbols(e for e in emitted.entry_points if e.mode in modes)
    modules = tuple(emitted.libraries.items())
    job = CompileJob(emitted.file_name, emitted.text, names, ("cpp",), modules=modules, optimization=0, whole=True)
    result = compiled(job)
    assert result.ok, (result.diagnostics, [m for m in result.messages if m.is_error], emitted.text)
    return Program(emitted, build_module(result.artefacts[0].data, result.reflection_text("cpp"), optimization=0))


@dataclass(frozen=True)
class Inputs:
    """A value of each buffer of each parameter, lane by lane."""

    program: Generated
    parts: dict[Key, npt.NDArray[np.generic]]

    @staticmethod
    def draw(program: Generated, rng: np.random.Generator) -> Inputs:
        """Moderate numbers, some of them round; floats are exact in 32 bits."""
        parts = {
            (name, path): _draw(kind, (LANES, *shape), rng)
            for name, type_ in program.params
            for path, shape, kind in LAYOUT[type_]
        }
        return Inputs(program, parts)

    def directions(self, rng: np.random.Generator) -> dict[Key, Floats]:
        """A direction to move along, for each floating buffer."""
        moving = {key: part for key, part in self.parts.items() if part.dtype == np.float64}
        return {key: rng.normal(size=part.shape) for key, part in moving.items()}

    def moved(self, directions: dict[Key, Floats], step: float) -> Inputs:
        """The inputs some way along a direction."""
        there = {k: p + step * directions[k] if k in directions else p for k, p in self.parts.items()}
        return Inputs(self.program, there)


def _draw(kind: str, shape: tuple[int, ...], rng: np.random.Generator) -> npt.NDArray[np.generic]:
    match kind:
        case "int":
            return rng.integers(-6, 10, shape).astype(np.int32)
        case "uint":
            return rng.integers(0, 70, shape).astype(np.uint32)
        case "bool":
            return rng.integers(0, 2, shape).astype(np.bool_)
        case _:
            smooth = rng.normal(size=shape) * 1.5
            coarse = np.round(smooth * 2.0) / 2.0
            return np.where(rng.random(shape) < 0.15, coarse, smooth).astype(np.float32).astype(np.float64)


class _Comparison:
    """One program on one set of inputs."""

    def __init__(
        self, program: Generated, inputs: Inputs, narrow: Sides, wide: Sides, report: Report, rng: np.random.Generator
    ) -> None:
        self.program, self.inputs, self.report, self.rng = program, inputs, report, rng
        self.narrow, self.wide = narrow, wide
        self.kernel = f"run_{program.name}"

    def run(self) -> None:
        """Compares values, then slopes."""
        narrow, wide = (self.on_device(side, self.inputs) for side in (self.narrow, self.wide))
        for lane in range(LANES):
            try:
                p64 = self.in_python(self.wide, lane)
                p32 = self.in_python(self.narrow, lane)
            except (OverflowError, ZeroDivisionError, ValueError):
                self.report.left_out += 1
                continue
            self.values(lane, p32, p64, narrow[lane], wide[lane])
        if any(kind == "F" for _, t in self.program.params for _, _, kind in LAYOUT[t]):
            self.derivatives()

    def differ(self, what: str, lane: int, details: str) -> None:
        self.report.mismatches.append(Mismatch(self.program, what, lane, f"{details}\ninputs: {self.shown(lane)}"))

    def shown(self, lane: int) -> str:
        return ", ".join(f"{'.'.join((n, *p))}={v[lane].tolist()}" for (n, p), v in self.inputs.parts.items())

    def values(self, lane: int, p32: Floats, p64: Floats, s32: Floats, s64: Floats) -> None:
        scale = np.maximum(1.0, np.abs(p64))
        if not close(s64, p64, 1e-9 * scale):
            self.differ("values in double", lane, f"Python {p64.tolist()}\ndevice {s64.tolist()}")
        noise = np.abs(p32 - p64)
        if not np.all(noise <= 1e-3 * scale):
            self.report.left_out += 1
            return
        self.report.compared += 1
        if not close(s32, p32, 64.0 * noise.max(initial=0.0) + 2e-5 * scale):
            self.differ("values in float", lane, f"Python {p32.tolist()}\ndevice {s32.tolist()}\ndouble {p64.tolist()}")

    # --- running -----------------------------------------------------------------------------------------------------

    def arguments(self, side: Sides, lane: int, parts: dict[Key, npt.NDArray[np.generic]]) -> list[object]:
        """The parameters of one lane as Python values."""
        return [
            python_value(side.python, type_, [parts[name, path][lane] for path, _, _ in LAYOUT[type_]])
            for name, type_ in self.program.params
        ]

    def in_python(self, side: Sides, lane: int) -> Floats:
        function = getattr(side.python, self.program.name)
        return flat(function(*self.arguments(side, lane, self.inputs.parts)))

    def on_device(self, side: Sides, inputs: Inputs) -> Floats:
        """The results of every lane, flattened."""
        entry = side.device.entry(self.kernel, Mode.FORWARD)
        return self.gathered(entry, ParameterRole.RESULT, self.launched(side, entry, inputs, {}, {}))

    def launched(
        self,
        side: Sides,
        entry: EntryPoint,
        inputs: Inputs,
        directions: dict[Key, Floats],
        seeds: dict[Key, Floats],
    ) -> dict[str, npt.NDArray[np.generic]]:
        given: dict[str, npt.NDArray[np.generic]] = {}
        for p in entry.parameters:
            key = (p.parameter, tuple(str(step) for step in p.path))
            if p.role is ParameterRole.INPUT:
                given[p.name] = inputs.parts[key]
            elif p.role is ParameterRole.TANGENT:
                given[p.name] = directions[key]
            elif p.role is ParameterRole.COTANGENT:
                given[p.name] = seeds[key]
        return side.device.run(self.kernel, entry.mode, given, (LANES,))

    def gathered(self, entry: EntryPoint, role: ParameterRole, found: dict[str, npt.NDArray[np.generic]]) -> Floats:
        parts = [found[p.name].reshape(LANES, -1) for p in entry.parameters if p.role is role]
        return np.concatenate(parts, axis=1).astype(np.float64)

    # --- derivatives -------------------------------------------------------------------------------------------------

    def derivatives(self) -> None:
        """In double: forward against reverse, against Python and against difference quotients."""
        side = self.wide
        modes = {e.mode for e in side.device.emitted.entry_points if e.kernel == self.kernel}
        if Mode.BACKWARD not in modes:
            return
        jvp, backward = (side.device.entry(self.kernel, mode) for mode in (Mode.JVP, Mode.BACKWARD))
        directions = self.inputs.directions(self.rng)
        seeds = {
            (p.parameter, tuple(str(s) for s in p.path)): self.rng.normal(size=(LANES, *p.shape))
            for p in backward.parameters
            if p.role is ParameterRole.COTANGENT
        }
        moved = self.launched(side, jvp, self.inputs, directions, {})
        gradients = self.launched(side, backward, self.inputs, {}, seeds)
        primal = self.gathered(jvp, ParameterRole.RESULT, moved)
        plain = self.on_device(side, self.inputs)
        along, reach = np.zeros(LANES), np.zeros(LANES)
        for p in backward.parameters:
            if p.role is ParameterRole.GRADIENT:
                terms = gradients[p.name] * directions[p.parameter, tuple(str(s) for s in p.path)]
                along, reach = along + total(terms), reach + total(np.abs(terms))
        across = np.zeros(LANES)
        slopes = []
        for p in jvp.parameters:
            if p.role is ParameterRole.RESULT_TANGENT:
                terms = moved[p.name] * seeds[p.parameter, tuple(str(s) for s in p.path)]
                across, reach = across + total(terms), reach + total(np.abs(terms))
                slopes.append((p, moved[p.name].reshape(LANES, -1)))
        for lane in range(LANES):
            if not close(primal[lane], plain[lane], 1e-9 * np.maximum(1.0, np.abs(plain[lane]))):
                details = f"{primal[lane].tolist()}\nalone {plain[lane].tolist()}"
                self.differ("the primal of forward mode", lane, details)
            if not close(along[lane], across[lane], 1e-8 * np.maximum(1.0, reach[lane])):
                self.differ("forward against reverse", lane, f"forward {across[lane]}\nreverse {along[lane]}")
        slope = np.concatenate([s for _, s in slopes], axis=1) if slopes else np.zeros((LANES, 0))
        self.against_python(directions, slope)
        self.against_python_reverse(directions, seeds, along, reach)
        if not self.program.cuts:
            self.against_differences(directions, slope, jvp)

    def against_python(self, directions: dict[Key, Floats], slope: Floats) -> None:
        function = sa.fwd_diff(getattr(self.wide.python, self.program.name))
        still = {key: np.zeros_like(part) for key, part in self.inputs.parts.items() if key not in directions}
        for lane in range(LANES):
            values = self.arguments(self.wide, lane, self.inputs.parts)
            tangents = self.arguments(self.wide, lane, {**still, **directions})
            pairs = [
                sa.diff_pair(v, t) if any(kind == "F" for _, _, kind in LAYOUT[type_]) else v
                for v, t, (_, type_) in zip(values, tangents, self.program.params, strict=True)
            ]
            try:
                tangent = function(*pairs).d
            except (OverflowError, ZeroDivisionError, ValueError):
                continue
            wanted = floats_of(tangent, self.program.result)
            if not close(slope[lane], wanted, 1e-7 * np.maximum(1.0, np.abs(wanted))):
                self.differ("slope in Python", lane, f"Python {wanted.tolist()}\ndevice {slope[lane].tolist()}")

    def against_python_reverse(
        self, directions: dict[Key, Floats], seeds: dict[Key, Floats], along: Floats, reach: Floats
    ) -> None:
        """Reverse mode in Python, along the same direction; of two samples, since it is slow."""
        function = sa.bwd_diff(getattr(self.wide.python, self.program.name))
        moving = [(name, t) for name, t in self.program.params if any(kind == "F" for _, _, kind in LAYOUT[t])]
        for lane in range(2):
            values = self.arguments(self.wide, lane, self.inputs.parts)
            try:
                found = function(*values, self.cotangent(lane, seeds))
            except (OverflowError, ZeroDivisionError, ValueError):
                continue
            gradients = found if len(moving) > 1 else (found,)
            assert isinstance(gradients, tuple)
            total_ = 0.0
            for gradient, (name, type_) in zip(gradients, moving, strict=True):
                parts = [directions[name, path][lane].ravel() for path, _, kind in LAYOUT[type_] if kind == "F"]
                total_ += float(floats_of(gradient, type_) @ np.concatenate(parts))
            if not close(along[lane], total_, 1e-8 * max(1.0, reach[lane])):
                self.differ("gradient in Python", lane, f"Python {total_}\ndevice {along[lane]}")

    def cotangent(self, lane: int, seeds: dict[Key, Floats]) -> object:
        """The cotangent of one lane's result as a Python value; what carries no gradient is zero."""
        types = self.program.result
        parts = types[6:-1].split(", ") if types.startswith("tuple") else [types]
        values = []
        for number, type_ in enumerate(parts):
            name = f"result.{number}" if types.startswith("tuple") else "result"
            arrays: list[npt.NDArray[np.generic]] = []
            for path, shape, kind in LAYOUT[type_]:
                array = seeds.get((name, path), np.zeros((LANES, *shape)))[lane]
                arrays.append(array if kind == "F" else array.astype(np.int32))
            values.append(python_value(self.wide.python, type_, arrays))
        return tuple(values) if types.startswith("tuple") else values[0]

    def against_differences(self, directions: dict[Key, Floats], slope: Floats, jvp: EntryPoint) -> None:
        quotients = []
        for step in (STEP, 2.0 * STEP):
            ahead, behind = (self.on_device(self.wide, self.inputs.moved(directions, s)) for s in (step, -step))
            quotients.append((ahead - behind) / (2.0 * step))
        here = self.on_device(self.wide, self.inputs)
        beside = self.on_device(self.wide, self.inputs.moved(directions, STEP))
        one_sided = (beside - here) / STEP
        chosen = self.floating(jvp)
        for lane in range(LANES):
            near, far, side = (q[lane][chosen] for q in (quotients[0], quotients[1], one_sided))
            scale = np.maximum(1.0, np.abs(near))
            if close(near, far, 1e-5 * scale) and close(near, side, 5e-5 * scale):
                self.report.slopes += 1
                if not close(slope[lane], near, 1e-4 * scale + 10.0 * np.abs(near - far)):
                    self.differ("slope", lane, f"differences {near.tolist()}\ndevice {slope[lane].tolist()}")
            else:
                self.report.kinks += 1

    def floating(self, entry: EntryPoint) -> npt.NDArray[np.bool_]:
        """Which of the flattened results carry a slope."""
        chosen: list[bool] = []
        for p in entry.parameters:
            if p.role is ParameterRole.RESULT:
                chosen += [p.scalar.name in ("float", "double")] * p.components
        return np.array(chosen)


def close(found: npt.ArrayLike, wanted: npt.ArrayLike, tolerance: npt.ArrayLike) -> bool:
    """Whether numbers agree; nan and infinities must be the same."""
    f, w = np.asarray(found, np.float64), np.asarray(wanted, np.float64)
    same = (f == w) | (np.isnan(f) & np.isnan(w))
    with np.errstate(invalid="ignore"):
        return bool(np.all(same | (np.abs(f - w) <= tolerance)))


def total(terms: npt.NDArray[np.generic]) -> Floats:
    """The sum over everything but lanes."""
    return np.asarray(terms, np.float64).reshape(LANES, -1).sum(axis=1)


def python_value(module: ModuleType, type_: str, parts: list[npt.NDArray[np.generic]]) -> object:
    """A value as users would make it in Python."""
    first = parts[0].tolist()
    match type_:
        case "F":
            return module.F(first)
        case "int" | "bool":
            return first
        case "sa.uint":
            return sa.uint(first)
        case "M2":
            return module.M2(*first[0], *first[1])
        case "Array[F, 3]":
            return sa.Array[module.F, 3](*first)
        case "Ball":
            return module.Ball(module.F3(*first), parts[1].item(), parts[2].item())
        case "Group":
            return module.Group(python_value(module, "Ball", parts[:3]), python_value(module, "Array[F, 3]", parts[3:]))
        case _:
            return getattr(module, type_)(*first)


def flat(value: object) -> Floats:
    """All scalars of a value in memory order."""
    return np.array([float(s) for s in _scalars(value)], np.float64)


def _scalars(value: object) -> Iterator[int | float | bool]:
    if isinstance(value, tuple):
        for part in value:
            yield from _scalars(part)
    else:
        yield from scalars_of(value)


def floats_of(value: object, type_: str) -> Floats:
    """The scalars that carry a slope of a value of a type."""
    parts = type_[6:-1].split(", ") if type_.startswith("tuple") else [type_]
    values = value if isinstance(value, tuple) else (value,)
    kept: list[float] = []
    for part, own in zip(values, parts, strict=True):
        kinds = [kind for _, shape, kind in LAYOUT[own] for _ in range(int(np.prod(shape)))]
        kept += [float(s) for s, kind in zip(_scalars(part), kinds, strict=True) if kind == "F"]
    return np.array(kept)
