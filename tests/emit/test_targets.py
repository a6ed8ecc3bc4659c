"""What the described kernels emit compiles for every target that needs no tool, and validators accept it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from slangad.compiler.emit import emit_module
from slangad.compiler.frontends import load
from slangad.compiler.passes import run_passes
from slangad.compiler.toolchain.request import CompileJob
from slangad.compiler.toolchain.targets import ALWAYS

if TYPE_CHECKING:
    from collections.abc import Callable

    from slangad.compiler.toolchain.request import Artefact
    from slangad.compiler.toolchain.session import Toolchain

pytestmark = pytest.mark.toolchain
DESCRIBED = sorted(file for name in ("described", "compiled") for file in (Path(__file__).parent / name).glob("*.py"))
"""Those under ``compiled`` are for this test alone."""
VALIDATED = ("spirv", "glsl", "wgsl", "cpp")
"""Not hlsl: the reference validator's HLSL reader crashes on what Slang makes of a derivative."""

COMPILED = tuple(t for t in ALWAYS if t not in ("spirv-asm", "glsl", "cpp"))
"""The others compile below, and where gradients are checked."""


def job(file: Path, targets: tuple[str, ...], kernels: tuple[str, ...] = ()) -> CompileJob:
    emitted = emit_module(run_passes(load(file)))
    entries = tuple(e.name for e in emitted.entry_points if not kernels or e.kernel in kernels)
    modules = tuple(emitted.libraries.items())
    return CompileJob(emitted.file_name, emitted.text, entries, targets, modules=modules)


@pytest.mark.parametrize("file", DESCRIBED, ids=lambda f: f.stem)
def test_emitted__every_target__compiles_without_a_word(toolchain: Toolchain, file: Path) -> None:
    wanted = job(file, COMPILED)
    (result,) = toolchain.compile([wanted])
    assert [m.text for m in result.messages] == []
    assert [d.message for d in result.diagnostics] == []
    assert len(result.artefacts) == len(wanted.units())


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
