"""What the described kernels emit compiles for every target that needs no tool, and validators accept it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from slangad.compiler.driver.unsupported import first_uses
from slangad.compiler.emit import emit_module
from slangad.compiler.emit.model import symbols
from slangad.compiler.frontends import load
from slangad.compiler.ir.targets import ALWAYS, ROOTS
from slangad.compiler.passes import run_passes
from slangad.compiler.toolchain.jobs.request import CompileJob

if TYPE_CHECKING:
    from collections.abc import Callable

    from slangad.compiler.toolchain.jobs.request import Artefact
    from slangad.compiler.toolchain.session import Toolchain

pytestmark = pytest.mark.toolchain
DESCRIBED = sorted(file for name in ("described", "compiled") for file in (Path(__file__).parent / name).glob("*.py"))
"""Those under ``compiled`` are for this test alone."""
VALIDATED = ("spirv", "glsl", "wgsl", "cpp")
"""Not hlsl: the reference validator's HLSL reader crashes on what Slang makes of a derivative."""

COMPILED = tuple(t for t in ALWAYS if t not in ("spirv-asm", "glsl", "cpp"))
"""The others compile below, and where gradients are checked."""


def job(file: Path, targets: tuple[str, ...], kernels: tuple[str, ...] = (), *, whole: bool = False) -> CompileJob:
    emitted = emit_module(run_passes(load(file)))
    entries = symbols(e for e in emitted.entry_points if not kernels or e.kernel in kernels)
    modules = tuple(emitted.libraries.items())
    return CompileJob(emitted.file_name, emitted.text, entries, targets, modules=modules, whole=whole)


@pytest.mark.parametrize("file", DESCRIBED, ids=lambda f: f.stem)
def test_emitted__every_target__compiles_without_a_word(toolchain: Toolchain, file: Path) -> None:
    whole = job(file, COMPILED, whole=True)
    jobs = [replace(whole, entry_points=entries) for entries in batches(whole.entry_points)]
    for wanted, result in zip(jobs, toolchain.compile(jobs), strict=True):
        assert [m.text for m in result.messages] == []
        assert [d.message for d in result.diagnostics] == []
        assert [a.target for a in result.artefacts] == list(COMPILED)
        for artefact in result.artefacts:
            assert [entry for entry in wanted.entry_points if not defines(artefact, entry)] == [], artefact.target


BATCH = 24
"""Entry points in one artefact. Alone, each takes Slang twice as long; with more, its passes take longer for each."""


def batches(entries: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Entry points in parts of nearly equal size."""
    count = -(-len(entries) // BATCH)
    return [entries[len(entries) * k // count : len(entries) * (k + 1) // count] for k in range(count)]


def defines(artefact: Artefact, entry: str) -> bool:
    """Whether an artefact has an entry point of this name: SPIR-V names it between zero bytes, a text defines it."""
    if artefact.target == "spirv":
        return b"%b\0" % entry.encode() in artefact.data
    return re.search(rf"\b{entry}\(", artefact.text) is not None


@pytest.mark.parametrize("target", VALIDATED)
@pytest.mark.parametrize(
    ("name", "kernel"),
    [
        ("smooth", "finite"),
        ("loops", "nested"),
        ("values", "methods"),
        ("uniforms", "flags"),
        ("uniforms", "arrays"),
        ("uniforms", "nested"),
        ("uniforms", "structs"),
    ],
)
def test_emitted__target_with_a_validator__is_valid(
    toolchain: Toolchain, validate: Callable[[Artefact], None], name: str, kernel: str, target: str
) -> None:
    file = next(f for f in DESCRIBED if f.stem == name)
    (result,) = toolchain.compile([job(file, (target,), (kernel,))])
    assert result.artefacts
    for artefact in result.artefacts:
        validate(artefact)


NO_DOUBLE_IN_DXC = (
    "acos asin atan atan2 ceil cos cosh cross degrees determinant distance exp exp2 faceforward floor fmod frac "
    "isfinite isinf isnan ldexp length lerp log log10 log2 modf normalize pow radians reflect refract round rsqrt sin "
    "sinh smoothstep sqrt step tan tanh trunc"
)
"""What DXC's list of intrinsics declares as ``float_like``."""
DOUBLES = """import slangad as sa
from slangad import Each, double3


@sa.kernel
def everywhere(x: Each[sa.double], v: Each[double3]) -> Each[sa.double]:
    y = min(x, 1.0) + max(x, 2.0) + sa.clamp(x, 0.0, 2.0) + sa.saturate(x) + abs(x) + sa.sign(x) + sa.step(x, 1.0)
    return y + sa.smoothstep(x, 0.0, 1.0) + sa.rcp(x) + sa.degrees(x) + sa.radians(x) + sa.dot(v, v) + sum(v) + x**3


@sa.kernel
def vulkan(x: Each[sa.double], v: Each[double3]) -> Each[sa.double]:
    y = sa.floor(x) + sa.ceil(x) + sa.trunc(x) + sa.round(x) + sa.frac(x) + sa.fmod(x, 0.7)
    y += x % 0.7 + sa.lerp(x, 2.0, x)
    w = sa.cross(v, v) + sa.normalize(v) + sa.reflect(v, v) + sa.refract(v, v, x)
    return y + sa.sqrt(x) + sa.rsqrt(x) + sa.length(v) + sa.distance(v, w) if sa.isfinite(x) else 0.0
"""


def test_functions_of_double__that_a_target_is_said_to_have__are_those_it_has(
    toolchain: Toolchain, validate: Callable[[Artefact], None], tmp_path: Path
) -> None:
    file = tmp_path / "doubles.py"
    file.write_text(DOUBLES)
    spirv, hlsl = toolchain.compile([job(file, ("spirv",)), job(file, ("hlsl",), ("everywhere",))])
    assert (len(spirv.artefacts), len(hlsl.artefacts)) == (6, 3)
    for artefact in spirv.artefacts:
        validate(artefact)
    for artefact in hlsl.artefacts:
        called = set(re.findall(r"(?<![\w.])([a-z]\w*)\(", artefact.text))
        assert not called.intersection(NO_DOUBLE_IN_DXC.split())
    found = load(file)
    assert list(first_uses(found, found.kernels[0])) == ["double"]
    assert list(first_uses(found, found.kernels[1])) == [ROOTS, "double"]
