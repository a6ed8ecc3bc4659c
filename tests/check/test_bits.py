"""Slang files that look at the bits of floats: what reaches such a place is undecided, and nothing else is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from check.conftest import by_name

from slangad.compiler.check.options import CheckOptions
from slangad.compiler.check.session import check
from slangad.compiler.driver.inputs import parse_inputs
from slangad.compiler.report.model import Verdict

if TYPE_CHECKING:
    from pathlib import Path

    from check.conftest import Checked

TEXT = """
Texture2D<float4> picture;
RWTexture2D<float> written;
uint mixed(uint v) { uint s = v * 747796405u + 2891336453u; return ((s >> ((s >> 28u) + 4u)) ^ s) * 277803737u; }
float hash(float x) { return float(mixed(asuint(x))) / 4294967295.0; }
float3 hash3(float3 x) { return float3(asuint(x) & 0xffffu) / 65536.0; }

[Differentiable] float good(float x) { return x * x; }
[Differentiable] float seeded(float x, uint seed) { return x * no_diff mixed(seed); }

[BackwardDerivative(wrong_bwd)]
[Differentiable] float wrong(float x) { return x * x; }
void wrong_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, -2.0 * x.p * d); }

[Differentiable] float cut(float x) { return asfloat(asint(x)) * x; }
[Differentiable] float noisy(float x) { return x * no_diff hash(x); }
[Differentiable] float noisier(float3 v) { return v.x * (no_diff hash3(v)).y; }
[Differentiable] float half_bits(float x) { return x * no_diff f16tof32(f32tof16(x)); }
[Differentiable] float looks(float x) { return x * picture[uint2(0, 0)].x * written[uint2(0, 0)]; }
"""


def test_check__a_bit_cast_in_the_file__leaves_other_functions_their_verdicts(checked_once: Checked) -> None:
    results = checked_once(TEXT, ".slang")
    for name in ("good", "seeded"):
        assert results[name].verdict is Verdict.PASS, results[name].reason
    assert results["wrong"].verdict is Verdict.FAIL
    assert "the sign is wrong" in results["wrong"].reason
    assert results["looks"].verdict is Verdict.SKIPPED


def test_check__a_function_that_reaches_a_bit_cast__is_no_pass_unless_no_diff_tells_what_is_meant(
    checked_once: Checked,
) -> None:
    results = checked_once(TEXT, ".slang")
    assert results["cut"].verdict in (Verdict.INCONCLUSIVE, Verdict.FAIL)
    for name in ("noisy", "noisier", "half_bits"):
        assert results[name].verdict.good, results[name].reason


HALF_BITS = """
struct Cell { uint16_t bits; int16_t other; [mutating] void set(half v) { bits = asuint16(v); other = asint16(v); } }
[Differentiable] float kept(float x, no_diff float y)
{
    Cell c = {};
    c.set(half(y));
    return c.bits > uint16_t(0x3c00) || c.other > int16_t(0x3c00) ? 2.0 * x * x : 3.0 * x * x;
}
[Differentiable] float cut(float x) { return x * float(asuint16(half(x)) & uint16_t(0xff)); }
"""


def test_check__the_bits_of_half_floats__have_a_float64_twin(checked: Checked) -> None:
    results = checked(HALF_BITS, ".slang")
    assert "no float64 twin" not in results["kept"].reason
    assert results["cut"].verdict in (Verdict.INCONCLUSIVE, Verdict.FAIL)


IN_DERIVATIVE = """
[BackwardDerivative(squared_bwd)] float squared(float x) { return x * x; }
void squared_bwd(inout DifferentialPair<float> x, float d)
{ x = diffPair(x.p, FACTOR * x.p * asfloat(asuint(d))); }
[Differentiable] float caller(float x) { return squared(x) * x; }
"""


def test_check__bits_in_a_custom_derivative_alone__leave_the_function_its_verdict(checked: Checked) -> None:
    right = checked(IN_DERIVATIVE.replace("FACTOR", "2.0"), ".slang", samples=32)
    assert {name: one.verdict for name, one in right.items()} == dict.fromkeys(("squared", "caller"), Verdict.PASS)
    wrong = checked(IN_DERIVATIVE.replace("FACTOR", "3.0"), ".slang", samples=32)
    assert wrong["squared"].verdict is Verdict.FAIL
    span = wrong["squared"].failures[0].span
    assert span is not None
    assert span.line == 4


TO_FLOAT = """
struct Box<T : __BuiltinFloatingPointType> : IDifferentiable
{
    T x;
    [Differentiable] float at(float a, float b) { return x.toFloat() * a + b; }
}
[Differentiable] float right(Box<float> x, float a, float b) { return x.at(a, b); }
[BackwardDerivative(wrong_bwd)]
[Differentiable] float wrong(Box<float> x, float a) { return x.x.toFloat() * a; }
void wrong_bwd(inout DifferentialPair<Box<float>> x, inout DifferentialPair<float> a, float d)
{
    x = diffPair(x.p, { a.p * d });
    a = diffPair(a.p, x.p.x * d * 1.001);
}
"""


def test_check__to_float_of_a_generic__keeps_the_digits_of_the_twin(checked: Checked) -> None:
    results = checked(TO_FLOAT, suffix=".slang")
    assert results["right"].verdict is Verdict.PASS, results["right"].reason
    assert results["wrong"].verdict is Verdict.FAIL


def test_check__textures_and_bits_in_files_of_other_folders__have_a_float64_twin(tmp_path: Path) -> None:
    files = {
        "sub/near.slang": "Texture3D<half> volume;\n[Differentiable] float n(float x) { return x * x; }\n",
        "sub/bits.slang": "import near;\n[Differentiable] float b(float x)\n"
        "{ return x * n(x) * no_diff float(1 + 0 * asuint(3.0)); }\n",
        "inc/tex.slang": "Texture2D<float4> picture;\n[Differentiable] float t(float x) { return x * x; }\n",
        "main.slang": 'import "sub/bits.slang";\nimport tex;\nimport near;\n'
        "[Differentiable] float f(float x) { return b(x) * t(x); }\n"
        "[Differentiable] float g(float x) { return n(x) + t(x); }\n",
        "described.py": "import slangad as sa\n"
        'ext = sa.extern("t", "inc/tex.slang", "(x: float) -> float", differentiable=True)\n'
        "@sa.kernel\ndef calls(x: sa.Each[float]) -> sa.Each[float]:\n    return ext(x) * 2.0\n",
    }
    files["below/up.py"] = files["described.py"].replace("inc/", "../inc/").replace("calls", "calls_up")
    files["below/up.slang"] = (
        'import "../deep/er.slang";\n[Differentiable] float h(Er e, float x) { return e.x * x; }\n'
        "[Differentiable] float i(Held a) { return a.er.x * a.er.x; }\n"
        "struct Held : IDifferentiable { Er er; }\n"
    )
    files["deep/er.slang"] = "import est;\nTexture2D<float4> p;\nstruct Er : IDifferentiable { float x; Est est; }\n"
    files["deep/est.slang"] = "struct Est : IDifferentiable { float y; }\n"
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    names = ("main.slang", "described.py", "below/up.py", "below/up.slang")
    inputs = parse_inputs([str(tmp_path / name) for name in names])
    results = by_name(check(inputs, CheckOptions(include_dirs=(str(tmp_path / "sub"), str(tmp_path / "inc")))))
    assert {name: (one.verdict.value, one.counts.compared > 100) for name, one in results.items()} == {
        **dict.fromkeys(("f", "g", "calls", "calls_up", "h", "i"), ("PASS", True)),
    }


def test_check__to_float_of_what_is_only_known_as_a_float__is_no_fault_of_the_arguments(checked: Checked) -> None:
    results = checked("[Differentiable] float f<T : IFloat>(T r) { return r.toFloat(); }", suffix=".slang")
    assert results["f<float>"].verdict is Verdict.INCONCLUSIVE
    assert "no float64 twin" in results["f<float>"].reason


ONE_BAD = """
import slangad as sa
bad = sa.extern("f", "bad.slang", "(x: float) -> float", differentiable=True)

@sa.differentiable
def doubled(x: float) -> float:
    return bad(x) * 2.0

@sa.kernel
def calls(x: sa.Each[float]) -> sa.Each[float]:
    return doubled(x)

@sa.kernel
def free(x: sa.Each[float]) -> sa.Each[float]:
    return x * x
"""


def test_check__a_slang_file_without_a_float64_twin__is_trouble_of_its_callers_alone(
    checked: Checked, tmp_path: Path
) -> None:
    text = "Texture2D<vector<float, 4> > picture;\n[Differentiable] float f(float x) { return x * x; }\n"
    (tmp_path / "bad.slang").write_text(text, encoding="utf-8")
    results = checked(ONE_BAD)
    assert {name: one.verdict.value for name, one in results.items()} == {
        "doubled": "INCONCLUSIVE",
        "calls": "INCONCLUSIVE",
        "free": "PASS",
    }
