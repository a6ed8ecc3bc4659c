"""Wave operations and barriers run with one active lane: gradients that a wave adds up are checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slangad.compiler.report.model import Leg, NoteKind, Verdict

if TYPE_CHECKING:
    from check.conftest import Checked

WAVES = """
RWStructuredBuffer<float> weights;
RWStructuredBuffer<float> weightGradients;

[BackwardDerivative(load_bwd)]
float load(uint i) { return weights[i]; }
void load_bwd(uint i, float d)
{
    float sum = WaveActiveSum(d);
    if (WaveIsFirstLane())
        InterlockedAdd(weightGradients[i], sum);
}

[BackwardDerivative(plain_bwd)]
float plain(uint i) { return weights[i]; }
void plain_bwd(uint i, float d)
{
    float sum = WaveActiveSum(d);
    if (WaveIsFirstLane())
        weightGradients[i] += sum;
}

[BackwardDerivative(doubled_bwd)]
float doubled(uint i) { return weights[i]; }
void doubled_bwd(uint i, float d)
{
    float2 sum = WaveActiveSum(float2(d, d));
    if (WaveGetLaneIndex() == 0)
        InterlockedAdd(weightGradients[i], sum.x + sum.y);
    GroupMemoryBarrierWithGroupSync();
}

[Differentiable] float use(float x, uint i) { return load(i) * x * x; }

float waved(float x) { return WaveActiveSum(x) + WavePrefixSum(x); }
[Differentiable] float waves(float x) { return x * no_diff waved(3.0); }
[BackwardDerivative(wrong_bwd)] float wrong(float x) { return x * waved(3.0); }
void wrong_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, d * 2.0 * WaveActiveMax(3.0)); }
[Differentiable] float shuffled(float x) { return x * no_diff WaveReadLaneAt(x, 1); }
"""


def test_check__gradients_that_a_wave_adds_up__are_checked_with_one_active_lane(checked: Checked) -> None:
    results = checked(WAVES, ".slang", samples=32)
    assert {name: one.verdict for name, one in results.items()} == {
        "load": Verdict.PASS,
        "plain": Verdict.FAIL,
        "doubled": Verdict.FAIL,
        "use": Verdict.PASS,
        "waves": Verdict.PASS,
        "wrong": Verdict.FAIL,
        "shuffled": Verdict.INCONCLUSIVE,
    }
    assert results["plain"].failures[0].leg is Leg.ACCUMULATION
    assert results["doubled"].failures[0].cause == "the gradient of 'weights' is added to 'weightGradients' twice"
    assert results["wrong"].failures[0].cause == "a factor of 2"
    missing = {name: [n.message for n in one.notes if n.kind is NoteKind.MISSING] for name, one in results.items()}
    assert "other threads: WaveActiveSum, WavePrefixSum run with one active lane" in missing["waves"]
    assert "only GPUs have WaveReadLaneAt" in missing["shuffled"]


EXTENSION = """
__generic<T : __BuiltinFloatingPointType, A : IDiffTensorWrapper>
extension DiffTensorView<T, A>
{
    [BackwardDerivative(shared_bwd)] [NoDiffThis]
    __generic<let N : int> T loadShared(vector<uint, N> x) { return primal.load(x); }
    __generic<let N : int> void shared_bwd(vector<uint, N> x, T.Differential d)
    {
        T sum = WaveActiveSum(reinterpret<T, T.Differential>(d));
        if (WaveIsFirstLane())
            diff.load_backward<T, N>(x, sum);
    }
    [BackwardDerivative(twice_bwd)] [NoDiffThis]
    __generic<let N : int> T loadTwice(vector<uint, N> x) { return primal.load(x); }
    __generic<let N : int> void twice_bwd(vector<uint, N> x, T.Differential d)
    {
        diff.load_backward<T, N>(x, reinterpret<T, T.Differential>(d));
        diff.load_backward<T, N>(x, reinterpret<T, T.Differential>(d));
    }
    [Differentiable]
    __generic<let N : int> void storeBoth(vector<uint, N> x, T y)
    {
        this.storeOnce(x, y);
        x[0] += 1;
        this.storeOnce(x, y * y);
    }
}
[Differentiable] float weigh(DiffTensorView<float> w, float x) { return w.loadShared(uint2(1, 2)) * x * x; }
[Differentiable] float doubled(DiffTensorView<float> w, float x) { return w.loadTwice(uint2(1, 2)) * x; }
[Differentiable] void stores(DiffTensorView<float> o, float x) { o.storeBoth(uint2(0, 1), x); }
"""


def test_check__methods_that_extend_tensor_views__are_checked_in_their_callers(checked: Checked) -> None:
    results = checked(EXTENSION, ".slang", samples=16)
    verdicts = {name: results[name].verdict for name in ("weigh", "doubled", "stores")}
    assert verdicts == {"weigh": Verdict.PASS, "doubled": Verdict.FAIL, "stores": Verdict.PASS}
    assert results["doubled"].failures[0].cause == "a factor of 2"
