"""Integers that nobody declared: the numbers that a program compares them with are tried, stores are kept apart."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from slangad.compiler.check.subjects.slang_integers import integers_in
from slangad.compiler.report.model import Verdict

if TYPE_CHECKING:
    from check.conftest import Checked

HEAD = """
import slangad as sa
from slangad import Each, Param, Sum, Tensor, OutTensor, InOutTensor, Array


@sa.differentiable
def blend(a: float, b: float, mode: int) -> float:
    if mode == 5:
        return a * b
    return a + b


@blend.backward
def blend_bwd(a, b, mode, d_out):
    if mode == 5:
        return d_out * a, d_out * b
    return d_out, d_out


@sa.differentiable
def pick(w: Array[float, 200], i: int) -> float:
    return w[i] * w[i]


@pick.backward
def pick_bwd(w, i, d_out):
    g = Array[float, 200]()
    g[i] = 2.0 * w[i] * d_out
    if i == 150:
        g[i] = w[i] * d_out
    return g


"""

WRONG = {
    "a mask": """
@sa.differentiable
def masked(x: float, n: int) -> float:
    return x * float(n & 15)


@masked.backward
def masked_bwd(x, n, d_out):
    return d_out * float(n & 7)
""",
    "itself": "",
    "a helper": """
@sa.differentiable
def outer(a: float, b: float, kind: int) -> float:
    return 2.0 * blend(a, b, kind)
""",
    "a thread's number": """
@sa.kernel
def numbered(a: Each[float], w: Tensor[float, 1]) -> Each[float]:
    t = sa.thread_id(0)
    return blend(a, w[t], t)
""",
    "an index of a helper": """
@sa.kernel
def indexed(i: Each[int], w: Param[Array[float, 200]]) -> Sum[float]:
    return pick(w, i)
""",
}
STEPS = {
    "remainder": "n % 100 == 50",
    "line": "3 * n + 1 == 37",
    "from": "100 - n < 20",
    "halves": "(n + 3) // 2 == 31",
    "least": "min(n, 37) == 37",
    "most": "max(n - 300, 0) > 0",
}


@pytest.mark.parametrize("name", list(STEPS))
def test_check__wrong_after_steps_of_arithmetic__fails(checked: Checked, name: str) -> None:
    (result,) = checked(
        f"""
import slangad as sa


@sa.differentiable
def f(x: float, n: int) -> float:
    return x * x


@f.backward
def f_bwd(x, n, d_out):
    if {STEPS[name]}:
        return x * d_out
    return 2.0 * x * d_out
"""
    ).values()
    assert result.verdict is Verdict.FAIL


def test_check__wrong_at_a_local_made_of_an_integer__fails(checked: Checked) -> None:
    (result,) = checked(
        """
import slangad as sa


@sa.differentiable
def f(x: float, n: int) -> float:
    return x * x


@f.backward
def f_bwd(x, n, d_out):
    turned = 2 * n + 1
    if turned == 75:
        return x * d_out
    return 2.0 * x * d_out
"""
    ).values()
    assert result.verdict is Verdict.FAIL


NAMES = {
    "a mask": "masked",
    "itself": "blend",
    "a helper": "outer",
    "a thread's number": "numbered",
    "an index of a helper": "indexed",
}


@pytest.mark.parametrize("name", list(WRONG))
def test_check__wrong_at_one_integer__fails(checked: Checked, name: str) -> None:
    results = checked(HEAD + WRONG[name], only=(NAMES[name],))
    assert results[NAMES[name]].verdict is Verdict.FAIL


SLANG = """
[BackwardDerivative(b_bwd)][Differentiable]
float blend(float a, float b, int mode)
{
    switch (mode) { case 0: return a + b; case 4: return a * b; default: return a - b; }
}
void b_bwd(inout DifferentialPair<float> a, inout DifferentialPair<float> b, int mode, float d)
{
    float ga = d, gb = mode == 0 ? d : -d;
    if (mode == 4) { ga = 12345.0; gb = 0; }
    a = diffPair(a.p, ga); b = diffPair(b.p, gb);
}
"""


def test_check__wrong_in_a_case_of_slang__fails(checked: Checked) -> None:
    (result,) = checked(SLANG, ".slang").values()
    assert result.verdict is Verdict.FAIL


HIDDEN = """
[BackwardDerivative({0}_bwd)] [Differentiable] float {0}(float x, int n) {{ return x * float({1}); }}
void {0}_bwd(inout DifferentialPair<float> x, int m, float d) {{ float g = float({2}); {3} x = diffPair(x.p, d * g); }}
"""
ONE_INTEGER = {
    "equal": ("n", "m", "if (m == 17) g = 16.0;"),
    "mask": ("(n & 15)", "(m & 7)", ""),
    "complement": ("(n & ~3)", "(m & ~7)", ""),
    "remainder": ("(n % 9)", "(m % 9)", "if (m % 9 == 7) g = 0.0;"),
    "product": ("n", "m", "if (m * 2 == 1274) g = 0.0;"),
    "line": ("n", "m", "if (3 * m + 1 == 1234) g = 0.0;"),
    "moved": ("n", "m", "if ((m - 7) * 2 > 900) g = 0.0;"),
    "clamped": ("n", "min(m, 37)", ""),
    "asked": ("n", "m", "if (odd(m)) g = 0.0;"),
    "beyond": ("n", "m", "switch (m) { case 12: g = 1.0; break; default: break; }"),
    "shifted": ("(n >> 4)", "(m >> 4)", "if (m >> 4 == 1) g = 2.0;"),
}


def test_check__derivatives_of_slang_wrong_at_one_integer__fail(checked: Checked) -> None:
    text = "bool odd(int k) { return k > 100; }\n"
    text += "".join(HIDDEN.format(name, *parts) for name, parts in ONE_INTEGER.items())
    text += """
struct P : IDifferentiable { float x; no_diff int n; }
[BackwardDerivative(field_bwd)] [Differentiable] float field(P p) { return p.x * float(p.n); }
void field_bwd(inout DifferentialPair<P> p, float d)
{ P.Differential g = p.d; g.x = p.p.n == 23 ? 0.0 : d * float(p.p.n); p = diffPair(p.p, g); }
[BackwardDerivative(right_bwd)] [Differentiable] float right(float a[4], int i) { return a[i] * a[i]; }
void right_bwd(inout DifferentialPair<float[4]> a, int i, float d)
{ float g[4] = {0, 0, 0, 0}; if (i < 4 && (i & 7) == i) g[i] = 2.0 * a.p[i] * d; a = diffPair(a.p, g); }
"""
    results = checked(text, ".slang")
    assert results.pop("right").verdict is Verdict.PASS
    assert {name for name, result in results.items() if result.verdict is not Verdict.FAIL} == set()
    assert len(results) == len(ONE_INTEGER) + 1


STORES = """
import slangad as sa
from slangad import Each, OutTensor, InOutTensor


@sa.kernel(shapes={"o": (8,)}, ranges={"i": (0, 7)})
def permute(i: Each[int], x: Each[float], o: OutTensor[float, 1]):
    o[i] = x * x


@sa.kernel
def into(i: Each[int], x: Each[float], o: InOutTensor[float, 1]):
    o[i] = x * 2.0


@sa.differentiable
def square(x: float) -> float:
    return x * x


@square.backward
def square_bwd(x, d_out):
    return 2.1 * x * d_out


@sa.kernel
def wrong(i: Each[int], x: Each[float], o: OutTensor[float, 1]):
    o[i + 1] = square(x)
"""


def test_check__stores_at_places_of_their_own__are_not_accused(checked: Checked) -> None:
    results = checked(STORES)
    for name in ("permute", "into"):
        assert results[name].verdict in (Verdict.PASS, Verdict.KINK_OK), results[name].reason
    assert results["wrong"].verdict is Verdict.FAIL


TURNS = """
import slangad as sa


@sa.differentiable
def long(n: int, x: float) -> float:
    s = x
    for i in sa.range(n, max_iters=64):
        s = s * x + 0.1
    return s


@sa.differentiable
def over(n: int, x: float) -> float:
    if n == 70:
        return x
    s = x
    for i in sa.range(n, max_iters=64):
        s = s * x + 0.1
    return s
"""


def test_check__a_count_of_turns__is_tried_up_to_the_bound_and_not_beyond(checked: Checked) -> None:
    results = checked(TURNS)
    for result in results.values():
        assert result.verdict in (Verdict.PASS, Verdict.KINK_OK), result.reason
        turns = {value.value for sample in result.samples for value in sample.inputs if value.path == "n"}
        assert {63, 64} <= turns
        assert max(turns) == 64
    declared = checked(TURNS, ranges=(("long.n", 0.0, 70.0),), only=("long",))
    assert declared["long"].verdict is Verdict.FAIL


@pytest.mark.parametrize(
    ("loop", "tried"),
    [
        ("for (int k = 0; k < n; ++k) s = s * x;", [8, 7]),
        ("for (int k = 1; k <= n; k += 1) { s = s * float(k); }", [8, 7]),
        ("for (int k = 0; k < n; ++k) s += a[k];", []),
        ("for (int k = 0; k < n; ++k) s += read(a, k);", []),
        ("for (int k = 0; k < n; k += 2) s = s * x;", []),
        ("for (int k = 0; k < other; ++k) s = s * x;", []),
    ],
)
def test_integers__the_last_turns_of_a_loop_in_slang__are_tried_unless_it_counts_an_index(
    loop: str, tried: list[int]
) -> None:
    text = (
        f"float f(float x, float a[4], int n)\n{{\n    float s = x;\n    [MaxIters(8)]\n    {loop}\n    return s;\n}}\n"
    )
    assert integers_in(text, ("n",)).tried == tuple(("n", number) for number in tried)


RACES = """
import slangad as sa
from slangad import Each, NoDiff, OutTensor


@sa.kernel
def race(x: Each[float], o: OutTensor[float, 1], k: NoDiff[Each[int]]) -> Each[float]:
    o[k // 2] = x
    return x


@sa.kernel(ranges={"k": (0, 40)})
def rows(x: Each[float], o: OutTensor[float, 2], k: NoDiff[Each[int]]):
    o[1, k % 3] = x * x
"""


def test_check__threads_that_store_to_one_element__are_named(checked: Checked) -> None:
    results = checked(RACES)
    for name, where in (("race", "o["), ("rows", "o[1, ")):
        assert results[name].verdict is Verdict.FAIL
        for failure in results[name].failures:
            assert re.search(rf"threads \d and \d store to the same element, {re.escape(where)}", failure.cause)
        assert "store to the same element" in results[name].reason


NAMED = """
static const int RARE = 41;
#define MODE_RARE 55
static const uint FLAG = 1u << 9;
enum Mode { A, B, C = 7, D }

[BackwardDerivative(wrong_bwd)] [Differentiable] float wrong(float x, int n) { return x * x; }
void wrong_bwd(inout DifferentialPair<float> x, int n, float d) { x = diffPair(x.p, (@) ? x.p * d : 2 * x.p * d); }
"""


@pytest.mark.parametrize(
    "condition",
    [
        "n == RARE", "n == RARE - 1", "n == MODE_RARE", "n == (int)Mode.D", "n == (int)Mode::C", "(n & FLAG) != 0",
        "(n & (1 << 7)) != 0", "n == 1234567", "n < 0",
    ],
)  # fmt: skip
def test_check__wrong_at_a_number_with_a_name__fails(checked: Checked, condition: str) -> None:
    (result,) = checked(NAMED.replace("@", condition), ".slang").values()
    assert result.verdict is Verdict.FAIL


@pytest.mark.parametrize("statement", ["int m = n; bool b = m == 67;", "int m = max(n, 1); bool b = m > 6;"])
def test_check__wrong_at_a_number_that_a_copy_is_compared_with__fails(checked: Checked, statement: str) -> None:
    text = NAMED.replace("{ x = diffPair", f"{{ {statement} x = diffPair").replace("@", "b")
    (result,) = checked(text, ".slang").values()
    assert result.verdict is Verdict.FAIL
