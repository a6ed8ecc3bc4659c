"""What groups compute together compiles for every target that needs no tool, without a word, and is valid there."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from slangad.compiler.emit import emit_module
from slangad.compiler.emit.model import symbols
from slangad.compiler.frontends import load
from slangad.compiler.ir.targets import ALWAYS
from slangad.compiler.passes import run_passes
from slangad.compiler.toolchain.jobs.request import CompileJob

if TYPE_CHECKING:
    from collections.abc import Callable

    from slangad.compiler.toolchain.jobs.request import Artefact, CompileResult
    from slangad.compiler.toolchain.session import Toolchain

    Compiled = Callable[[str], tuple[CompileJob, CompileResult]]

pytestmark = pytest.mark.toolchain

FILE = Path(__file__).parents[1] / "devices" / "groups.py"


@pytest.fixture(scope="module")
def compiled(toolchain: Toolchain) -> Compiled:
    """Compiles all kernels for a target, once."""
    emitted = emit_module(run_passes(load(FILE)))
    entries, modules = symbols(emitted.entry_points), tuple(emitted.libraries.items())

    @cache
    def compile_for(target: str) -> tuple[CompileJob, CompileResult]:
        job = CompileJob(emitted.file_name, emitted.text, entries, (target,), modules=modules)
        return job, toolchain.compile([job])[0]

    return compile_for


@pytest.mark.parametrize("target", [t for t in ALWAYS if t != "spirv-asm"])
def test_groups__every_target__compile_without_a_word(compiled: Compiled, target: str) -> None:
    job, result = compiled(target)
    assert [m.text for m in result.messages] == []
    assert [d.message for d in result.diagnostics] == []
    assert len(result.artefacts) == len(job.units())


@pytest.mark.parametrize("kernel", ["softmax", "prefix", "tournament"])
@pytest.mark.parametrize("target", ["spirv", "glsl", "wgsl", "cuda", "cpp"])
def test_groups__target_with_a_validator__are_valid(
    compiled: Compiled, validate: Callable[[Artefact], None], kernel: str, target: str
) -> None:
    artefacts = [a for a in compiled(target)[1].artefacts if a.entry.startswith(f"{kernel}_")]
    assert len(artefacts) >= 3
    for artefact in artefacts:
        validate(artefact)
