"""Exact sums compile for every target that needs no tool, without a word, and validators accept them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from slangad.compiler.emit import emit_module
from slangad.compiler.emit.model import symbols
from slangad.compiler.frontends import load
from slangad.compiler.ir.nodes import Accumulation
from slangad.compiler.ir.targets import ALWAYS
from slangad.compiler.passes import run_passes
from slangad.compiler.passes.sum_exactly import sum_exactly
from slangad.compiler.toolchain.jobs.request import CompileJob

if TYPE_CHECKING:
    from collections.abc import Callable

    from slangad.compiler.ir.nodes import Module
    from slangad.compiler.toolchain.jobs.request import Artefact, CompileResult
    from slangad.compiler.toolchain.session import Toolchain

    Compiled = Callable[[str], tuple[CompileJob, CompileResult]]

pytestmark = pytest.mark.toolchain

SCATTERING = Path(__file__).parents[1] / "devices" / "scattering.py"
VALIDATED = ("spirv", "glsl", "wgsl", "cuda", "cpp")
"""Not hlsl: the reference validator's HLSL reader crashes on what Slang makes of a derivative."""


@pytest.fixture(scope="module")
def exact() -> Module:
    """Every kind of scattered gradient, summed exactly."""
    return sum_exactly(run_passes(load(SCATTERING)))


@pytest.fixture(scope="module")
def compiled(toolchain: Toolchain, exact: Module) -> Compiled:
    """Compiles all kernels for a target, once."""
    emitted = emit_module(exact)
    entries = symbols(emitted.entry_points)
    modules = tuple(emitted.libraries.items())

    @cache
    def compile_for(target: str) -> tuple[CompileJob, CompileResult]:
        job = CompileJob(emitted.file_name, emitted.text, entries, (target,), modules=modules)
        return job, toolchain.compile([job])[0]

    return compile_for


def test_pass__what_threads_add_to_in_any_order__becomes_exact(exact: Module) -> None:
    ways = {buffer.key: buffer.accumulation for buffer in exact.buffers}
    assert ways["gather.w"] is ways["sample.t"] is Accumulation.EXACT
    assert ways["shared.m"] is Accumulation.SUM
    assert ways["own.w"] is Accumulation.OWN
    assert ways["in_place.v"] is not Accumulation.EXACT


@pytest.mark.parametrize("target", [t for t in ALWAYS if t != "spirv-asm"])
def test_exact_sums__every_target__compile_without_a_word(compiled: Compiled, target: str) -> None:
    job, result = compiled(target)
    assert [m.text for m in result.messages] == []
    assert [d.message for d in result.diagnostics] == []
    assert len(result.artefacts) == len(job.units())


@pytest.mark.parametrize("kernel", ["gather", "elements", "in_place", "sample"])
@pytest.mark.parametrize("target", VALIDATED)
def test_exact_sums__target_with_a_validator__are_valid(
    compiled: Compiled, validate: Callable[[Artefact], None], exact: Module, kernel: str, target: str
) -> None:
    entries = {entry.symbol for entry in emit_module(exact).entry_points if entry.kernel == kernel}
    artefacts = [artefact for artefact in compiled(target)[1].artefacts if artefact.entry in entries]
    assert {artefact.entry for artefact in artefacts} == entries
    for artefact in artefacts:
        validate(artefact)


def test_loops_of_tiles__add_up_in_waves_first__also_where_nothing_else_is_added_up() -> None:
    text = emit_module(run_passes(load(SCATTERING.with_name("tile_loops.py")), deterministic=True)).text
    assert "warmth_item_add(shared.g, d_item, sa.whole_waves<64>());" in text
    assert "warmth_item_add(g, d_out, false);" in text  # which lanes are here may differ from run to run
