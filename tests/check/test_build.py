"""What Slang refuses is found, and no more often than it takes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.hanging import HANGS_SLANG

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.build.libraries import DEATHS, BuildSetting, build_both
from slangad.compiler.check.build.repair_time import GIVEN_UP, RepairTime
from slangad.compiler.check.kept_results import is_repeatable
from slangad.compiler.check.subjects.find import find_subjects
from slangad.compiler.driver.model import Options
from slangad.compiler.driver.slang_compilers import SlangCompilers
from slangad.compiler.frontends import load
from slangad.compiler.frontends.slang.model import SlangSetting
from slangad.compiler.passes import run_passes
from slangad.compiler.report.model import Leg, Verdict
from slangad.compiler.toolchain.jobs.request import CompileResult
from slangad.compiler.toolchain.messages.messages import SlangMessage

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from check.conftest import Checked

    from slangad.compiler.toolchain.jobs.request import CompileJob


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
    modes = ["forward", "backward", "jvp"]
    for precision, refused in zip(built, (modes, modes[:2]), strict=True):
        assert not precision.libraries
        assert [one.mode for one in precision.refusals] == refused
        assert {one.reason for one in precision.refusals} == {DEATHS["SA241"]}
    every = ("bad_forward", "bad_backward", "bad_jvp")
    assert sorted(tried, key=len) == [every[:1], every[:1], every[:2], every]


ABORTED = SlangMessage(0, "error", "", 0, 0, 0, 0, "an assertion fails")
EIGHT = "".join(f"[Differentiable] float f{n}(float x) {{ return {n + 2}.0 * x; }}\n" for n in range(8))


def test_build__what_slang_refuses_without_a_location__is_found_by_halves_once_in_limited_time(
    checked: Checked, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[int] = []
    compile_jobs, refused = SlangCompilers.compile, "f5_jvp"

    def refusing(self: SlangCompilers, jobs: Sequence[CompileJob]) -> list[CompileResult]:
        bad = [any(name.startswith(refused) for name in job.entry_points) for job in jobs]
        tried.extend(len(job.entry_points) for job in jobs)
        good = iter(compile_jobs(self, [job for job, is_bad in zip(jobs, bad, strict=True) if not is_bad]))
        return [CompileResult(messages=(ABORTED,)) if is_bad else next(good) for is_bad in bad]

    monkeypatch.setattr(SlangCompilers, "compile", refusing)
    results = checked(EIGHT, ".slang", samples=4)
    assert [one.verdict for one in results.values()] == [*[Verdict.PASS] * 5, Verdict.FAIL, *[Verdict.PASS] * 2]
    assert results["f5"].reason == "forward mode of it does not compile: Slang: an assertion fails"
    searched, known = [24, 8, 8, 8, 4, 4, 2, 2], [16, 2]
    assert sorted(number for number in tried if number > 1) == sorted([*searched, *known])

    monkeypatch.setattr(tol, "REPAIR_LEAST", -1.0)
    monkeypatch.setattr(tol, "REPAIR_FACTOR", 0.0)
    results = checked(EIGHT, ".slang", samples=4)
    assert {one.verdict for one in results.values()} == {Verdict.PASS}
    (lost,) = {leg.detail for one in results.values() for leg in one.legs if leg.leg is Leg.FORWARD}
    assert GIVEN_UP in lost
    assert not is_repeatable(results["f0"])

    refused = "f5_"
    results = checked(EIGHT, ".slang", samples=4)
    assert {one.verdict for one in results.values()} == {Verdict.INCONCLUSIVE}
    assert GIVEN_UP in results["f0"].reason
    assert "Check it alone with --only" in results["f0"].reason


def test_build__a_refused_line_of_a_generated_text__is_quoted(
    checked: Checked, monkeypatch: pytest.MonkeyPatch
) -> None:
    compile_jobs = SlangCompilers.compile

    def refusing(self: SlangCompilers, jobs: Sequence[CompileJob]) -> list[CompileResult]:
        is_twin = any(name == "slangad_double.slang" for job in jobs for name, _ in job.modules)
        if not is_twin:
            return compile_jobs(self, jobs)
        errors = [replace(ABORTED, file=job.name, line=3) for job in jobs]
        return [CompileResult(messages=(error,)) for error in errors]

    monkeypatch.setattr(SlangCompilers, "compile", refusing)
    (result,) = checked(EIGHT.partition("\n")[0], ".slang", samples=4).values()
    quoted = 'subject_kernels.slang:3: import "subject.slang";)'
    assert result.reason == f"there is no float64 twin of it: Slang: an assertion fails ({quoted}"


def test_repair_time__attempts_that_fail__may_take_twice_as_long_as_one_compile() -> None:
    now = iter([10.0, 70.0, 110.0, 200.0, 250.0])
    spent = RepairTime(clock=lambda: next(now))
    spent.add(0.0)  # the whole file: 10 s
    assert not spent.is_over
    spent.add(10.0, 0.5)  # both halves: 60 s, of which 30 fail
    assert (spent.one, spent.failed, spent.is_over) == (60.0, 30.0, False)
    spent.add(70.0, 0.0)
    spent.add(110.0)
    assert (spent.one, spent.failed, spent.is_over) == (90.0, 120.0, False)
    spent.add(150.0)
    assert spent.is_over
