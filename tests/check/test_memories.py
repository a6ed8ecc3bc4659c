"""Kernels whose threads share memory: a whole launch is the function that is checked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from slangad.compiler.report.model import Leg, LegState, Verdict

if TYPE_CHECKING:
    from check.conftest import Checked

HEAD = """
import slangad as sa
from slangad import Each, InOutTensor, Mean, NoDiff, OutTensor, Param, Sum, Tensor, Texture2D, Uniform
from slangad import float2, float3

"""

RIGHT = {
    "gather": """
@sa.kernel
def gather(i: Each[int], w: Tensor[float, 2], m: Param[float3], k: Uniform[float]) -> Each[float]:
    return w[i, 1] * w[i, 2] * m.x + m.y * k
""",
    "scatter": """
@sa.kernel
def scatter(i: Each[int], w: Tensor[float2, 1]) -> Mean[float]:
    return sa.dot(w[i], w[i]) * sa.sin(w[i].x)
""",
    "stencil": """
@sa.kernel
def stencil(x: Tensor[float, 1], y: OutTensor[float, 1]) -> None:
    i = sa.thread_id()
    y[i] = x[i] * x[i + 1] + x[i + 2]
""",
    "image": """
@sa.kernel(dims=2)
def image(x: Tensor[float, 2], y: OutTensor[float, 2]) -> None:
    i, j = sa.thread_id(0), sa.thread_id(1)
    y[i, j] = x[i, max(j - 1, 0)] * x[i, j] + x[min(i + 1, x.shape[0] - 1), j]
""",
    "in_place": """
@sa.kernel
def in_place(x: InOutTensor[float, 1], k: Param[float]) -> None:
    i = sa.thread_id()
    x[i] = x[i] * x[i] * k
""",
    "layer": """
@sa.kernel
def layer(x: Each[float3], w: Tensor[float, 2]) -> Each[float]:
    total = 0.0
    for j in range(6):
        h = 0.0
        for k in range(3):
            h += w[k, j] * x[k]
        total += max(h, 0.0)
    return total
""",
    "texture_clamp": """
@sa.kernel
def texture_clamp(uv: Each[float2], t: Texture2D[float]) -> Each[float]:
    return t.sample(uv) * t.load(1, 2)
""",
    "texture_repeat": """
@sa.kernel
def texture_repeat(uv: Each[float2], t: Texture2D[float3, "repeat"]) -> Mean[float]:
    return sa.dot(t.sample(uv), t.sample(uv * 2.0 + float2(0.3, 0.4)))
""",
    "texture_mirror": """
@sa.kernel
def texture_mirror(uv: Each[float2], t: Texture2D[float2, "mirror"]) -> Each[float2]:
    return t.sample(uv)
""",
    "positive_only": """
@sa.kernel
def positive_only(x: Tensor[float, 1], y: OutTensor[float, 1]) -> None:
    i = sa.thread_id()
    y[i] = 1.0 / x[i] + sa.log(x[i + 1])
""",
    "indices_in_a_tensor": """
@sa.kernel
def indices_in_a_tensor(idx: Tensor[int, 1], w: Tensor[float, 1]) -> Sum[float]:
    i = sa.thread_id()
    return w[idx[i]] * w[idx[i + 1]]
""",
    "elements_and_params": """
@sa.struct
class P:
    pos: float2
    mass: float

@sa.kernel
def elements_and_params(p: Each[P], w: Tensor[float2, 1], s: Param[P]) -> Each[P]:
    i = sa.thread_id()
    return P(pos=p.pos * w[i] + s.pos, mass=p.mass * s.mass)
""",
    "in_and_out": """
@sa.kernel
def in_and_out(x: InOutTensor[float2, 1], w: Tensor[float, 1]) -> Sum[float]:
    i = sa.thread_id()
    v = x[i]
    x[i] = float2(v.y * w[i], v.x)
    return v.x * v.y
""",
    "declared": """
@sa.kernel
def declared(w: Tensor[float, 1], y: OutTensor[float, 1]) -> None:
    i = sa.thread_id()
    y[i] = w[i] * sa.no_diff(w[i + 1])
""",
}


@pytest.mark.parametrize("name", RIGHT)
def test_check__right_kernels__pass(checked_once: Checked, name: str) -> None:
    result = checked_once(HEAD + "".join(RIGHT.values()), samples=48)[name]
    assert result.verdict.good, result.reason
    assert result.kind == "kernel"
    compared = {leg.leg for leg in result.legs if leg.state is LegState.AGREES}
    assert {Leg.REVERSE, Leg.FORWARD, Leg.TRANSPOSE, Leg.FLOAT32, Leg.ACCUMULATION} <= compared
    assert result.counts.compared > 0.5 * result.counts.drawn


def test_check__shapes__are_found(checked: Checked) -> None:
    (sample, *_) = checked(HEAD + RIGHT["gather"], samples=16)["gather"].samples
    assert sample.jacobian is not None
    columns = [c for c in sample.jacobian.columns if c.startswith("w")]
    assert columns[0] == "w[0, 0]"
    assert columns[-1] == "w[3, 2]"
    assert sample.jacobian.rows == tuple(f"result[{k}]" for k in range(5))


WRONG = {
    "a_factor": (
        """
@sa.differentiable
def a_factor_part(x: float) -> float:
    return x * x

@a_factor_part.backward
def a_factor_part_bwd(x, d_out):
    return 2.002 * x * d_out

@sa.kernel
def a_factor(i: Each[int], w: Tensor[float, 1]) -> Each[float]:
    return a_factor_part(w[i])
""",
        "a factor of 1.001",
    ),
    "one_index_only": (
        """
@sa.differentiable
def one_index_only_part(x: float, i: int) -> float:
    return x * x

@one_index_only_part.backward
def one_index_only_part_bwd(x, i, d_out):
    if i == 2:
        return 2.2 * x * d_out
    return 2.0 * x * d_out

@sa.kernel
def one_index_only(i: Each[int], w: Tensor[float, 1]) -> Sum[float]:
    return one_index_only_part(w[i], i)
""",
        "w[2]",
    ),
    "a_neighbour_is_forgotten": (
        """
@sa.differentiable
def a_neighbour_is_forgotten_part(x: float, y: float) -> float:
    return x * y

@a_neighbour_is_forgotten_part.backward
def a_neighbour_is_forgotten_part_bwd(x, y, d_out):
    return y * d_out, 0.0

@sa.kernel
def a_neighbour_is_forgotten(w: Tensor[float, 1], k: Tensor[float, 1], y: OutTensor[float, 1]) -> None:
    i = sa.thread_id()
    y[i] = a_neighbour_is_forgotten_part(w[i], k[i + 1])
""",
        "no gradient reaches this input",
    ),
    "a_loop_is_cut_short": (
        """
@sa.kernel
def a_loop_is_cut_short(x: Each[float], w: Tensor[float, 1]) -> Each[float]:
    s = x
    for j in sa.range(w.shape[0], max_iters=2):
        s = s * w[j]
    return s
""",
        "runs longer than its bound",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_check__wrong_kernels__fail_with_their_cause(checked_once: Checked, name: str) -> None:
    _, cause = WRONG[name]
    result = checked_once(HEAD + "".join(text for text, _ in WRONG.values()), samples=48)[name]
    assert result.verdict is Verdict.FAIL, result.reason
    assert any(cause in failure.cause or cause in failure.message for failure in result.failures)


def test_check__an_index_below_zero__is_told_with_a_remedy(checked: Checked) -> None:
    text = "@sa.kernel\ndef f(i: Each[int], w: Tensor[float, 1]) -> Each[float]:\n    return w[i - 4]\n"
    result = checked(HEAD + text)["f"]
    assert result.verdict is Verdict.INCONCLUSIVE
    assert "index -4 is outside w" in result.reason
    assert "--shape f.w=16)" in result.reason


def test_check__mirrored_indices__get_tensors_that_are_large_enough(checked: Checked) -> None:
    text = """
@sa.kernel
def mirrored(x: Tensor[float, 1]) -> Each[float]:
    total = 0.0
    for k in range(-3, 4):
        i = abs(2 * sa.thread_id() + k)
        total += x[2 * x.shape[0] - 2 - i if i >= x.shape[0] else i] / (1.0 + k * k)
    return total
"""
    assert checked(HEAD + text, samples=48)["mirrored"].verdict is Verdict.PASS


def test_check__declared_shapes__win_over_found_ones(checked: Checked) -> None:
    text = (
        '@sa.kernel(shapes={"w": (6, 3), "i": 4})\n'
        "def f(i: Each[int], w: Tensor[float, 2]) -> Each[float]:\n    return w[i, 1] * w[i, 0]\n"
    )
    (sample, *_) = checked(HEAD + text, samples=16)["f"].samples
    assert sample.jacobian is not None
    assert sample.jacobian.columns[-1] == "w[5, 2]"
    assert sample.jacobian.rows[-1] == "result[3]"
    (sample, *_) = checked(HEAD + text, samples=16, shapes=(("f.w", (5, 2)),))["f"].samples
    assert sample.jacobian is not None
    assert sample.jacobian.columns[-1] == "w[4, 1]"


def test_check__indices__are_drawn_within_declared_shapes(checked: Checked) -> None:
    text = WRONG["one_index_only"][0].replace("i == 2", "i * i == 121")
    assert checked(HEAD + text)["one_index_only"].verdict is Verdict.PASS
    result = checked(HEAD + text, shapes=(("one_index_only.w", (12,)),))["one_index_only"]
    assert result.verdict is Verdict.FAIL
    assert "w[11]" in result.reason


def test_check__a_declared_shape_that_does_not_fit__is_told(checked: Checked) -> None:
    text = "@sa.kernel\ndef f(i: Each[int], w: Tensor[float, 1]) -> Each[float]:\n    return w[i + 3]\n"
    for shape, reason in (((2,), "index 6 is outside w 2"), ((2, 2), "shape 2x2, and has 1 axes")):
        result = checked(HEAD + text, samples=16, shapes=(("f.w", shape),))["f"]
        assert result.verdict is Verdict.INCONCLUSIVE
        assert reason in result.reason


def test_check__ranges_of_tensors__hold_for_every_element(checked: Checked) -> None:
    ranges = (("gather.w", 2.0, 3.0), ("gather.m.y", 5.0, 6.0))
    result = checked(HEAD + RIGHT["gather"], samples=16, ranges=ranges)["gather"]
    values = {v.path: v.value for v in result.samples[0].inputs}
    assert all(2.0 <= v <= 3.0 for path, v in values.items() if path.startswith("w["))
    assert 5.0 <= values["m.y"] <= 6.0


YAML = """
slangad: 1
kernels:
  f:
    params: {i: each int, w: "tensor<float, 2>"}
    returns: each float
    shapes: {i: 7}
    expr: w[i, 1] * w[i, 0]
check:
  ranges: {f.w: [2, 3]}
  shapes: {f.w: [6, 3]}
"""


def test_check__shapes_in_yaml__hold(checked: Checked) -> None:
    (sample, *_) = checked(YAML, ".yaml", samples=16)["f"].samples
    assert sample.jacobian is not None
    assert sample.jacobian.columns[-1] == "w[5, 2]"
    assert sample.jacobian.rows[-1] == "result[6]"
    assert all(2.0 <= v.value <= 3.0 for v in sample.inputs if v.path.startswith("w["))


@pytest.mark.parametrize("name", ["gather", "texture_repeat"])
def test_check__the_same_seed__gives_the_same(checked: Checked, name: str) -> None:
    first, second = (checked(HEAD + RIGHT[name], samples=16, seed=5)[name] for _ in range(2))
    assert repr(first.samples) == repr(second.samples)
    assert [failure.message for failure in first.failures] == [failure.message for failure in second.failures]


LARGE = """
@sa.differentiable
def g(x: float, place: int) -> float:
    return x * x

@g.backward
def g_bwd(x, place, d_out):
    s = 2.0
    if place == WRONG:
        s = 2.002
    return s * x * d_out

@sa.kernel
def f(x: Tensor[float, 2], w: Tensor[float, 2], y: OutTensor[float, 2]) -> None:
    i = sa.thread_id()
    for j in range(16):
        h = 0.0
        for k in range(24):
            h += g(w[j, k], 24 * j + k) * x[i, k]
        y[i, j] = sa.tanh(h)
"""


def test_check__one_wrong_entry_of_many__is_found(checked: Checked) -> None:
    result = checked(HEAD + LARGE.replace("WRONG", "203"), samples=24)["f"]
    assert result.verdict is Verdict.FAIL
    assert "d w[8, 11]" in result.failures[0].message


def test_check__many_right_entries__pass_in_blocks(checked: Checked) -> None:
    result = checked(HEAD + LARGE.replace("WRONG", "-1"), samples=24)["f"]
    assert result.verdict is Verdict.PASS, result.reason
    assert any("blocks" in note.message for note in result.notes)


def test_check__one_of_several_kernels__is_compiled_without_the_threads_of_others(checked: Checked) -> None:
    text = (
        "@sa.kernel\ndef f(x: Each[float]) -> Each[float]:\n    return x * x\n\n\n"
        "@sa.kernel\ndef g(k: Param[float]) -> Sum[float]:\n    return k * float(sa.thread_id(0))\n"
    )
    (result,) = checked(HEAD + text, only=("f",)).values()
    assert result.verdict is Verdict.PASS, result.reason


def test_loops_of_tiles__are_checked(checked: Checked) -> None:
    text = (Path(__file__).parents[1] / "devices" / "tile_loops.py").read_text(encoding="utf-8")
    results = checked(text, only=("render", "veils", "gaussians"))
    assert [result.verdict for result in results.values()] == [Verdict.PASS] * 3
