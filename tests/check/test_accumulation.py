"""Sums over threads: what loses an addition on its way is noticed, whatever the number of threads."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from check.in_process import InProcess

from slangad.compiler.check.build import libraries
from slangad.compiler.check.workers import pool
from slangad.compiler.emit.model import ParameterRole
from slangad.compiler.report.model import Leg, LegState, Verdict
from slangad.compiler.runtime.pipeline.run_kernel import Run

if TYPE_CHECKING:
    from check.conftest import Checked

    from slangad.compiler.emit.model import EmittedModule
    from slangad.compiler.ir.nodes import Module
    from slangad.compiler.runtime.arrays.array_keys import Slot

TEXT = """
import slangad as sa
from slangad import Each, InOutTensor, Mean, NoDiff, Param, Sum, Tensor, Uniform, float2, float3


@sa.struct
class Material:
    albedo: float3
    gain: float


@sa.kernel
def fitted(x: Each[float3], seen: NoDiff[Each[float]], m: Param[Material], s: Uniform[float]) -> Sum[float]:
    r = sa.dot(x, m.albedo) * m.gain * s - seen * float(sa.thread_id())
    return r * r


@sa.kernel(dims=2, ranges={"x": (0.1, 1.0)})
def averaged(x: Each[float], p: Param[float2]) -> tuple[Each[float], Mean[float2]]:
    return x * p.x * float(sa.thread_id(1)), float2(x * x, sa.sqrt(x)) * p


@sa.kernel
def gathered(i: Each[int], w: Tensor[float2, 1], k: Param[float]) -> Each[float]:
    return w[i].x * w[i].y * k


@sa.kernel
def shifted(x: Each[float], v: InOutTensor[float, 1]) -> None:
    i = sa.thread_id(0)
    v[i] = 2.0 * v[i] + 3.0 * x
"""

BROKEN = {
    "a part of the sums": (
        "slangad_sums.slang",
        "for (uint p = 0; p < parts; ++p)",
        "for (uint p = 0; p + 1 < max(parts, 2); ++p)",
    ),
    "the last element": ("slangad_sums.slang", "min(first + size, count)", "min(first + size, count - 1)"),
    "what the gradient held": ("", "gradient[i] = before + ", "gradient[i] = "),
}


def test_check__sums_over_threads__agree_with_what_each_thread_gives(checked: Checked) -> None:
    results = checked(TEXT, samples=16)
    for result in results.values():
        assert result.verdict is Verdict.PASS, result.reason
        (leg,) = (leg for leg in result.legs if leg.leg is Leg.ACCUMULATION)
        assert leg.state is LegState.AGREES
        assert leg.compared > 15


@pytest.mark.parametrize("what", BROKEN)
def test_check__a_lost_addition__fails(checked: Checked, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    library, good, bad = BROKEN[what]
    emit = libraries.emit_module

    def broken(module: Module, **options: bool) -> EmittedModule:
        emitted = emit(module, **options)
        assert good in (emitted.libraries[library] if library else emitted.text)
        if not library:
            return replace(emitted, text=emitted.text.replace(good, bad))
        return replace(
            emitted,
            libraries={k: t.replace(good, bad) if k == library else t for k, t in emitted.libraries.items()},
        )

    monkeypatch.setattr(libraries, "emit_module", broken)
    wrong = ("gathered",) if not library else ("fitted", "averaged")
    results = checked(TEXT, samples=16, only=wrong)
    for name in wrong:
        assert results[name].verdict is Verdict.FAIL
        (failure,) = (f for f in results[name].failures if f.leg is Leg.ACCUMULATION)
        assert "over" in failure.message
        assert "threads" in failure.message
        assert failure.cause


def test_check__a_cotangent_that_the_runtime_replaces_where_a_gradient_is_given__fails(
    checked: Checked, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = Run._contents_of

    def lost(run: Run, slot: Slot, source: Slot | None) -> object:
        given = (ParameterRole.GRADIENT, *slot[1:]) in run.prepared.arrays
        return None if slot[0] is ParameterRole.ADJOINT and given else right(run, slot, source)

    monkeypatch.setattr(pool, "Worker", InProcess)
    monkeypatch.setattr(Run, "_contents_of", lost)
    result = checked(TEXT, samples=16, only=("shifted",))["shifted"]
    assert result.verdict is Verdict.FAIL
    assert {failure.leg for failure in result.failures} == {Leg.ACCUMULATION}


FAINT = """
import slangad as sa


@sa.kernel
def faint(x: sa.Each[float], b: sa.Param[float]) -> sa.Each[float]:
    return 1e-14 * b * x


@sa.kernel
def faint_sum(i: sa.Each[int], w: sa.Tensor[float], b: sa.Param[float]) -> sa.Sum[float]:
    return 1e-14 * b * w[i] * w[i]


@sa.kernel
def loud(x: sa.Each[float], b: sa.Param[float]) -> sa.Each[float]:
    return 1e14 * b * x


@sa.kernel(ranges={"x": (-1.5, 1.5)})
def overflows(x: sa.Each[float], b: sa.Param[float]) -> sa.Each[float]:
    return 1.0 / (1.0 + sa.exp(60.0 * (x - b)))
"""


def test_accumulation__gradients_much_smaller_than_what_their_buffers_hold__are_not_accused(checked: Checked) -> None:
    results = checked(FAINT, samples=16)
    for name in ("faint", "faint_sum", "loud"):
        assert results[name].verdict is Verdict.PASS, results[name].reason
    assert results["overflows"].verdict is Verdict.PRECISION
    assert not any("missing or done twice" in failure.cause for failure in results["overflows"].failures)
