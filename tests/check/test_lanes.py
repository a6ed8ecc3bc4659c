"""Wave operations and barriers run with one active lane, gradients with three: sums over a wave are checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slangad.compiler.check.twins.one_lane import in_one_lane
from slangad.compiler.report.model import Leg, LegState, NoteKind, Verdict

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


OF_A_WAVE = """
RWStructuredBuffer<float> weights;
RWStructuredBuffer<float> weightGradients;

[BackwardDerivative(each_bwd)] float each(uint i) { return weights[i]; }
void each_bwd(uint i, float d) { if (WaveActiveAnyTrue(d != 0.0)) InterlockedAdd(weightGradients[i], d); }

[BackwardDerivative(forgotten_bwd)] float forgotten(uint i) { return weights[i]; }
void forgotten_bwd(uint i, float d) { if (WaveIsFirstLane()) InterlockedAdd(weightGradients[i], d); }

[BackwardDerivative(inside_bwd)] float inside(uint i) { return weights[i]; }
void inside_bwd(uint i, float d) { if (WaveIsFirstLane()) InterlockedAdd(weightGradients[i], WaveActiveSum(d)); }

[BackwardDerivative(repeated_bwd)] float repeated(uint i) { return weights[i]; }
void repeated_bwd(uint i, float d) { InterlockedAdd(weightGradients[i], WaveActiveSum(d)); }

[BackwardDerivative(twice_bwd)] float twice(uint i) { return weights[i]; }
void twice_bwd(uint i, float d)
{
    float sum = WaveActiveSum(d);
    InterlockedAdd(weightGradients[i], WaveIsFirstLane() ? sum : d);
}

// check: single thread
[BackwardDerivative(plain_bwd)] float plain(uint i) { return weights[i]; }
void plain_bwd(uint i, float d)
{
    float3 sum = WaveActiveSum(float3(d, d, d));
    if (WaveIsFirstLane())
        weightGradients[i] += sum.y;
}
[BackwardDerivative(peeled_bwd)] float peeled(uint i) { return weights[i]; }
void peeled_bwd(uint i, float d)
{
    for (int k = 0; k < 32; ++k)
        if (WaveReadLaneFirst(i) == i)
        {
            float sum = WaveActiveSum(d);
            if (WaveIsFirstLane())
                InterlockedAdd(weightGradients[i], sum);
            break;
        }
}

[BackwardDerivative(square_bwd)] float square(float x) { return x * x; }
void square_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, 2.0 * x.p * WaveActiveSum(d)); }
[BackwardDerivative(prefixed_bwd)] float prefixed(float x) { return x * x; }
void prefixed_bwd(inout DifferentialPair<float> x, float d)
{
    x = diffPair(x.p, 2.0 * x.p * (d + 2.0 * WavePrefixSum(d)));
}
[BackwardDerivative(skips_bwd)] float skips(float x) { return x * x; }
void skips_bwd(inout DifferentialPair<float> x, float d)
{
    x = diffPair(x.p, WaveActiveAnyTrue(d != 0.0) ? 2.0 * x.p * d : 0.0);
}
"""
MISSING = "the gradients of the other lanes are missing: the lane that adds must add WaveActiveSum of them"
REPEATED = "lanes add a sum over the wave more than once: let one lane add it, as in 'if (WaveIsFirstLane())'"
SHARED = "the gradient of 'x' is a sum over the wave: it is right only if all lanes share this input"


def test_check__sums_over_a_wave__are_those_of_all_its_lanes(checked: Checked) -> None:
    results = checked(OF_A_WAVE, ".slang", samples=16)
    causes = {
        name: (one.failures[0].cause, one.failures[0].expected, one.failures[0].found)
        for name, one in results.items()
        if one.verdict is Verdict.FAIL and one.failures[0].expected is not None
    }
    wrong = {"forgotten": 1.0, "inside": 1.0, "repeated": 9.0, "twice": 5.0}
    assert {name: cause for name, cause in causes.items() if name in wrong} == {
        name: (MISSING if found < 3.0 else REPEATED, 3.0, found) for name, found in wrong.items()
    }
    assert causes["prefixed"][0].startswith("it must be that of one lane, or the sum over the wave")
    assert [leg.detail for leg in results["square"].legs if leg.leg is Leg.ACCUMULATION] == [SHARED]
    passed = {name for name, one in results.items() if one.verdict is Verdict.PASS}
    assert passed == {"each", "plain", "peeled", "skips", "square"}
    assert SHARED in {note.message for note in results["square"].notes}
    legs = [leg for leg in results["plain"].legs if leg.leg is Leg.ACCUMULATION]
    assert [leg.state for leg in legs] == [LegState.AGREES]
    notes = [note.message for note in results["each"].notes if note.kind is NoteKind.MISSING]
    assert "other threads: WaveActiveAnyTrue runs with one active lane, gradients with 3 too" in notes


def test_in_one_lane__operations_that_depend_on_lanes__get_numbers_and_keep_lines() -> None:
    text = "float s = WaveActiveSum(\n  d);\nif (WaveIsFirstLane ()) x.WaveActiveSum(WavePrefixSum(WaveActiveMax(d)));"
    text += "\nWaveActiveSum<float, 3>(d)"
    assert in_one_lane(text) == (
        "float s = check_lane_sum(0u, \nd);\nif (check_lane_first(1u)) "
        "x.WaveActiveSum(check_lane_sum_before(2u, check_lane_value(d)));\n"
        "check_lane_sum<float, 3>(3u, d)"
    )


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
extension<T : __BuiltinFloatingPointType, A : IDiffTensorWrapper> DiffTensorView<T, A>
{
    [BackwardDerivative(first_bwd)] [NoDiffThis]
    __generic<let N : int> T loadFirst(vector<uint, N> x) { return primal.load(x); }
    __generic<let N : int> void first_bwd(vector<uint, N> x, T.Differential d)
    {
        if (WaveIsFirstLane())
            diff.load_backward<T, N>(x, reinterpret<T, T.Differential>(d));
    }
}
[Differentiable] float loses(DiffTensorView<float> w, float x) { return w.loadFirst(uint2(1, 2)) * x; }
[Differentiable] float weigh(DiffTensorView<float> w, float x) { return w.loadShared(uint2(1, 2)) * x * x; }
[Differentiable] float doubled(DiffTensorView<float> w, float x) { return w.loadTwice(uint2(1, 2)) * x; }
[Differentiable] void stores(DiffTensorView<float> o, float x) { o.storeBoth(uint2(0, 1), x); }
"""


def test_check__methods_that_extend_tensor_views__are_checked_in_their_callers(checked: Checked) -> None:
    results = checked(EXTENSION, ".slang", samples=16)
    verdicts = {name: results[name].verdict for name in ("weigh", "doubled", "stores", "loses")}
    right, wrong = Verdict.PASS, Verdict.FAIL
    assert verdicts == {"weigh": right, "doubled": wrong, "stores": right, "loses": wrong}
    assert results["loses"].failures[0].cause == MISSING
    assert results["doubled"].failures[0].cause == "a factor of 2"


def _many(between: int) -> str:
    """Return a file in which the first lane alone reaches an operation, and all lanes reach one far behind it."""
    rest = "".join(f"    rest += WaveActiveSum({k}.0) * 0.0;\n" for k in range(between))
    return f"""
RWStructuredBuffer<float> weights;
RWStructuredBuffer<float> weightGradients;

[BackwardDerivative(many_bwd)] float many(uint i) {{ return weights[i]; }}
void many_bwd(uint i, float d)
{{
    float rest = 0.0;
    if (WaveGetLaneIndex() == 0)
        rest = WaveActiveSum(5.0) - 5.0;
{rest}    float sum = WaveActiveSum(d);
    if (WaveIsFirstLane())
        InterlockedAdd(weightGradients[i], sum + rest);
}}

[BackwardDerivative(vectors_bwd)] float vectors(uint i) {{ return weights[i]; }}
void vectors_bwd(uint i, float d)
{{
    uint2 odd = WaveActiveBitXor(uint2(1, 2)) - uint2(1, 2);
    float2 before = WavePrefixProduct(float2(1.0, 1.0));
    InterlockedAdd(weightGradients[i], d * before.x * before.y + float(odd.x + odd.y));
}}
"""


def test_check__many_wave_operations_in_a_file__are_told_apart(checked: Checked) -> None:
    results = checked(_many(63), ".slang", samples=8)
    assert {name: (one.verdict, one.reason) for name, one in results.items()} == {
        "many": (Verdict.PASS, ""),
        "vectors": (Verdict.PASS, ""),
    }
