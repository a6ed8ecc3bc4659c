"""Kernels that Slang hangs on are found out by compiling them one by one, and no more often than it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.hanging import HANGS_SLANG

from slangad.compiler.check.build.libraries import DEATHS, BuildSetting, build_both
from slangad.compiler.check.subjects.find import find_subjects
from slangad.compiler.driver.model import Options
from slangad.compiler.driver.slang_compilers import SlangCompilers
from slangad.compiler.frontends import load
from slangad.compiler.frontends.slang.model import SlangSetting
from slangad.compiler.passes import run_passes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from slangad.compiler.toolchain.jobs.request import CompileJob, CompileResult


@pytest.mark.toolchain
def test_build__what_hangs_slang__is_not_tried_again_with_its_derivatives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "f.slang"
    path.write_text(HANGS_SLANG, encoding="utf-8")
    tried: list[tuple[str, ...]] = []
    compile_jobs = SlangCompilers.compile

    def recorded(self: SlangCompilers, jobs: Sequence[CompileJob]) -> list[CompileResult]:
        tried.extend(job.entry_points for job in jobs)
        return compile_jobs(self, jobs)

    monkeypatch.setattr(SlangCompilers, "compile", recorded)
    with SlangCompilers(Options(targets=("cpp",))) as wide, SlangCompilers(Options(targets=("cpp",))) as narrow:
        module, _ = find_subjects(load(path, SlangSetting(wide.reflect)))
        setting = BuildSetting((str(tmp_path),), (), 1.0, None)
        built = build_both(run_passes(module), setting, (wide, narrow))
    for precision in built:
        assert not precision.libraries
        assert [one.mode for one in precision.refusals] == ["forward", "backward", "jvp"]
        assert {one.reason for one in precision.refusals} == {DEATHS["SA241"]}
    every = ("bad_forward", "bad_backward", "bad_jvp")
    assert sorted(tried, key=len) == [every[:1], every[:1], every, every]
