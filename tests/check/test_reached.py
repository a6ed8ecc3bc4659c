"""A function is built with the code that it reaches. The rest of its file and of its imports can't accuse it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slangad.compiler.report.model import Verdict
from slangad.compiler.slang_text.parts import read_parts
from slangad.compiler.slang_text.reach import Reach

if TYPE_CHECKING:
    from pathlib import Path

    from check.conftest import Checked

INNOCENT = """
[Differentiable] float sq(float x) { return x * x; }

float demo() { var x = diffPair(3.0, 1.0); return fwd_diff(sq)(x).d; }

RWStructuredBuffer<float> sums;
groupshared float shared_sums[64];
[numthreads(64, 1, 1)]
void foo(uint3 id : SV_DispatchThreadID)
{
    shared_sums[id.x] = WaveActiveSum(sq(float(id.x)));
    GroupMemoryBarrierWithGroupSync();
    InterlockedAdd(sums[0], shared_sums[0]);
    printf("%f", sums[0]);
}

[CudaDeviceExport]
void api(float* g, float x) { InterlockedAdd(g[0], sq(x)); }
void tensors(TensorView<float> a, TensorView<float> b) { b[0u] = sq(a[0u]); }
uint bits(double x) { uint low, high; asuint(x, low, high); return low; }

struct Grid { float side; void add(float* memory, float v) { InterlockedAdd(memory[0], WaveActiveSum(v)); } }
[Differentiable] float sided(float x, no_diff Grid grid) { return x * x * grid.side; }

float doubled(float x) { return 2.0f * x; }
double doubled(double x) { return 2.0L * x; }
half doubled(half x) { return 2.0h * x; }
[Differentiable] float overloaded(float x) { return x * doubled(3.0f); }
[Differentiable] float cube(float x) { return x * x * x; }
[Differentiable] double cube(double x) { return x * x * x; }

[Differentiable] float reaches_demo(float x) { return x * no_diff demo(); }
"""


def test_check__what_no_function_reaches__accuses_none(checked: Checked) -> None:
    results = checked(INNOCENT, ".slang", samples=16)
    assert {name: one.reason for name, one in results.items() if one.verdict is not Verdict.PASS} == {}
    assert {"sq", "sided", "overloaded", "cube(float)", "cube(double)", "reaches_demo"} == {*results}


def test_check__slangpy_is_imported__costs_no_function_its_twin(checked: Checked) -> None:
    results = checked("import slangpy;\n[Differentiable] float sq(float x) { return x * x; }\n", ".slang", samples=16)
    assert {name: one.verdict for name, one in results.items()} == {"sq": Verdict.PASS}


PASTED = """
#define CALL(name) name##_impl
import tools.atomics;
#include "values.h.slang"
float twice_impl(float x) { return 2.0 * x; }
[Differentiable] float pasted(float x) { return x * no_diff CALL(twice)(3.0); }
#ifdef UNKNOWN
[Differentiable] float hidden(float x) { return x; }
#endif
[Differentiable] float imported(float x) { return scaled(x) * SIDE * x.threefold(); }
"""
MODULE = """
import "../more";
interface IAdd { static void add(RWByteAddressBuffer all, This v); }
extension half : IAdd { static void add(RWByteAddressBuffer all, half v) { half o; all.InterlockedAddF16(0, v, o); } }
uint bits(double x) { uint low, high; asuint(x, low, high); return low; }
[Differentiable] float scaled(float x) { return x * factor; }
extension float { [Differentiable] float threefold() { return 3.0 * this; } }
"""


def test_check__imported_and_included_files__are_cut_down_too(checked: Checked, tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "atomics.slang").write_text(MODULE, encoding="utf-8")
    (tmp_path / "more.slang").write_text(
        "static const float factor = 2.0;\nuint bits(double x) { uint a, b; asuint(x, a, b); return b; }\n", "utf-8"
    )
    (tmp_path / "values.h.slang").write_text(
        "#define SIDE 4.0\nfloat late(TensorView<float> t) { return t[0u]; }\n", "utf-8"
    )
    results = checked(PASTED, ".slang", samples=16)
    assert "a macro or a condition such as #if" in results["hidden"].reason
    assert {name: one.verdict.value for name, one in results.items()} == {
        "pasted": "PASS",
        "hidden": "SKIPPED",
        "imported": "PASS",
    }


DEFINED_AGAIN = """
float low(float x) { return x * x; }
float high(float x) { return 3.0 * x; }
float scaled_q8(float x) { return 2.0 * x; }
#define PART(x) low(x)
[Differentiable] float first(float x) { return x * no_diff PART(2.0); }
#undef PART
#define PART(x) high(x)
[BackwardDerivative(second_bwd)] float second(float x) { return x * PART(2.0); }
void second_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, d * PART(4.0)); }
#undef PART
#define CALL(bits) scaled_q##bits(3.0)
[Differentiable] float third(float x) { return x * no_diff CALL(8); }
float only_on_a_gpu(float x) { return WaveActiveSum(x); }
[CudaDeviceExport] void api(float* g, float x) { InterlockedAdd(g[0], only_on_a_gpu(x)); }
"""


def test_check__macros_that_are_defined_again_or_paste_numbers__reach_what_they_name(checked: Checked) -> None:
    results = checked(DEFINED_AGAIN, ".slang", samples=16)
    assert {name: one.verdict.value for name, one in results.items()} == {
        "first": "PASS",
        "second": "FAIL",
        "third": "PASS",
    }
    assert results["second"].failures[0].cause == "a factor of 2"


BUILT_NAME = """
#define CALL(name) the_##name##_impl
float the_twice_impl(float x) { return 2.0 * x; }
[Differentiable] float calls(float x) { return x * no_diff CALL(twice)(3.0); }
[Differentiable] float wrong(float x) { return x * unknown(x); }
"""


def test_check__a_name_that_only_macros_can_make__is_found_in_the_whole_file(checked: Checked) -> None:
    results = checked(BUILT_NAME, ".slang", samples=16)
    assert {name: one.verdict for name, one in results.items()} == {"calls": Verdict.PASS, "wrong": Verdict.FAIL}


ELSEWHERE = """
[Differentiable] float3 rows(row_major float3x3 m, float3 v) { return mul(m, v); }
[Differentiable] float3 columns(column_major float2x3 m, float3 v) { return float3(mul(m, v), 0.0); }
[Differentiable] void stores(inout row_major float3x3 m, float s) { m = m * s; }
typedef row_major float3x3 Rows;
[Differentiable] float3 named(Rows m, float3 v) { return mul(m, v); }

float waved(float x) { return WaveActiveSum(x); }
[Differentiable] float waves(float x) { return x * no_diff waved(3.0); }
[Differentiable] float pixels(float x) { return x * no_diff ddx(3.0); }
"""


def test_check__what_only_other_targets_can_do__is_inconclusive(checked: Checked) -> None:
    results = checked(ELSEWHERE, ".slang", samples=16)
    assert {name: one.verdict.value for name, one in results.items()} == {
        "rows": "PASS",
        "columns": "PASS",
        "stores": "SKIPPED",
        "named": "INCONCLUSIVE",
        "waves": "PASS",
        "pixels": "INCONCLUSIVE",
    }
    assert "matrix with a layout of its own" in results["stores"].reason
    assert "write row_major or column_major before the parameter" in results["named"].reason
    assert "the CPU can't have it" in results["pixels"].reason


GENERATED = """
#define EXPORTED Differentiable
#define ENTRIES(suffix, D, N) \\
    [EXPORTED] float ray##suffix(float x) { return project<D>(x, N); } \\
    struct Table##suffix : ITable { static float at(float x) { return D(x); } }
#define TIERS(base) ENTRIES(base##_none, none, 1) ENTRIES(base##_wide, wide, 2)
[Differentiable] float project<let D : int>(float x, int n) { return x * n; }
[EXPORTED] float plain(float x) { return x; }
TIERS(_a)
ENTRIES(_b, wide, 4)
[EXPORTED] float behind(float x) { return x; }
interface ITable { static float at(float x); }
"""


def test_slices__functions_that_macros_generate__stay_where_they_are_used() -> None:
    reach = Reach([read_parts(GENERATED, "a.slang")])

    def kept(*words: str) -> set[str]:
        text = reach.slices(words)["a.slang"]
        return {name for name in ("project", "plain(", "TIERS(_a)", "ITable {") if name in text.split("wide, 2)")[1]}

    assert kept("plain", "x", "float", "Differentiable") == {"plain("}
    assert kept("ray_a_wide") == {"project", "TIERS(_a)", "ITable {"}
    assert kept("Table_b") == {"project", "TIERS(_a)", "ITable {"}, "macros belong to the declaration that follows"
    assert kept("behind") == {"project", "TIERS(_a)", "ITable {"}
