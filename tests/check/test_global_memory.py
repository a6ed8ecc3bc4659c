"""Slang functions that read globals are checked. Those that read what nothing sets are skipped alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from slangad.compiler.check.run.libraries import LibraryFiles
from slangad.compiler.check.workers import pool
from slangad.compiler.check.workers.worker import BrokenCheck, Worker
from slangad.compiler.report.model import Leg, Verdict

if TYPE_CHECKING:
    from check.conftest import Checked

    from slangad.compiler.report.model import Result

GOOD = "\n[Differentiable] float good(float x) { return x * x; }\n"
GLOBALS = """
Texture2D pictures[4];
[[vk::binding(3)]] SamplerState sampler_of;
ConstantBuffer<float4> constants;
RWStructuredBuffer<float> stored : register(u2);
cbuffer Params { float tint; float3 gains; }
enum Kind { Near, Far }
uniform float g1, g2;
struct Light
{
    float3 color;
    static float state;
    static const float scale = 2.0;
    float lit(float x) { return color.x * x; }
}
Light light;
ParameterBlock<Light> block;
static float never_set;
static float set_once = 3.0;
static const float table[3] = { 1.0, 2.0, 3.0 };
groupshared float shared_by_all[4];
namespace ns { uniform float inside; [Differentiable] float own(float x) { return x * inside; } }
#define GAIN (g1 * 2.0)

[Differentiable] float constant(float x) { return x * table[1] * Light.scale * set_once; }
[Differentiable] float hidden(float x, float g1) { float tint = x * g1; return tint * tint; }
[Differentiable] float sets(float x) { never_set = 2.0; return x * never_set; }
[Differentiable] float member(no_diff Light g2, float x) { return g2.color.x * x; }
struct Own : IDifferentiable { float g1; }
[Differentiable] float field(Own own) { return own.g1 * own.g1; }

[Differentiable] float reads_constants(float x) { return x * constants.x; }
[Differentiable] float reads_stored(float x, int i) { return x * stored[i]; }
[Differentiable] float reads_tint(float x) { return x * tint; }
[Differentiable] float reads_g2(float x) { return x * g2; }
[Differentiable] float reads_light(float x) { return x * light.color.x; }
[Differentiable] float reads_block(float x) { return x * block.color.x; }
[Differentiable] float reads_state(float x) { return x * Light.state; }
[Differentiable] float reads_never_set(float x) { return x * never_set; }
[Differentiable] float reads_shared_by_all(float x) { return x * shared_by_all[0]; }
[Differentiable] float reads_inside(float x) { return x * ns.inside; }
[Differentiable] float reads_g1(float x) { return x * GAIN; }
[Differentiable] float calls(float x) { return reads_light(x) * x; }
[Differentiable] float keeps(float x) { static float kept; return x * kept; }
[BackwardDerivative(derived_bwd)] [Differentiable] float derived(float x) { return x * x; }
void derived_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, g2 * x.p * d); }
"""


@pytest.mark.parametrize("text", ["cbuffer P { float3 tint; }", "struct L { float3 c; }\nParameterBlock<L> light;"])
def test_check__a_block_of_parameters__does_not_end_the_check(checked: Checked, text: str) -> None:
    assert checked(text + GOOD, ".slang")["good"].verdict is Verdict.PASS


def test_check__a_function_that_reads_a_static_variable_without_a_value__is_skipped(checked: Checked) -> None:
    results = checked(GLOBALS, ".slang")
    skipped = {"reads_state": "state", "reads_never_set": "never_set", "reads_shared_by_all": "shared_by_all"}
    for name, read in {**skipped, "keeps": "kept"}.items():
        assert results[name].verdict is Verdict.SKIPPED, name
        assert f"'{read}'" in results[name].reason
    passing = {"constant", "hidden", "sets", "member", "field", "calls", "ns.own"}
    passing |= {name for name in results if name.startswith("reads_") and name not in skipped}
    assert len(passing) == 15
    for name in passing:
        assert results[name].verdict is Verdict.PASS, (name, results[name].reason)
    assert results["derived"].verdict is Verdict.FAIL


def test_worker__a_task_it_fails_at__is_answered_and_the_worker_goes_on() -> None:
    worker = Worker()
    try:
        worker.take(LibraryFiles())
        for _ in range(2):
            answer = worker.check("no task")  # type: ignore[arg-type]  # it is none
            assert isinstance(answer, BrokenCheck)
            assert "AttributeError" in answer.error
    finally:
        worker.close()


def test_check__a_defect_of_the_check__costs_one_function(checked: Checked, monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing(Worker):
        def check(self, task: object) -> Result:
            if task.plan.subject.name == "bad":  # type: ignore[attr-defined]  # a task
                return BrokenCheck("ValueError: no")  # type: ignore[return-value]  # as the worker answers
            return super().check(task)  # type: ignore[arg-type, return-value]  # the same

    monkeypatch.setattr(pool, "Worker", Failing)
    results = checked(GOOD + GOOD.replace("good", "bad"), ".slang")
    assert results["good"].verdict is Verdict.PASS
    assert results["bad"].verdict is Verdict.FAIL
    (failure,) = results["bad"].failures
    assert failure.leg is Leg.COMPILE
    assert "ValueError" in failure.message
    assert "defect of slangad" in failure.cause


def test_check__a_groupshared_variable__is_named_in_the_reason(checked: Checked) -> None:
    text = """
groupshared float tile[64];
[Differentiable] float through_tile(uint i, float x) { return tile[i] * x; }
[Differentiable] void of_tensors(uint i, DiffTensorView<float> t, TensorView<int> n) { t[i] = tile[i] * t[n[i]]; }
"""
    results = checked(text, ".slang", samples=16)
    assert [*results] == ["through_tile", "of_tensors"]
    for result in results.values():
        assert result.verdict is Verdict.SKIPPED
        assert "it reads the groupshared variable 'tile', which the threads of a group fill together" in result.reason
        assert "check the arithmetic in a function that takes these values as parameters" in result.reason


def test_check__a_derivative_that_a_group_adds_up__names_the_groupshared_variable(checked: Checked) -> None:
    text = """
RWStructuredBuffer<float> blobs;
RWStructuredBuffer<float> blobGradients;
groupshared float sums[64];
[BackwardDerivative(load_bwd)] float load(uint i, uint lane) { return blobs[i]; }
void load_bwd(uint i, uint lane, float d)
{
    sums[lane] = d;
    GroupMemoryBarrierWithGroupSync();
    if (lane == 0)
        InterlockedAdd(blobGradients[i], sums[0] + sums[1]);
}
[Differentiable] float use(uint i, uint lane, float x) { return load(i, lane) * x; }
"""
    results = checked(text, ".slang", samples=16)
    assert {one.verdict for one in results.values()} == {Verdict.SKIPPED}
    assert all("it reads the groupshared variable 'sums'" in one.reason for one in results.values())
