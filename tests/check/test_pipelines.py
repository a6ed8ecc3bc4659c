"""Whole pipelines: right ones pass, a wrong stage is named, and so is a wrong chain of right stages."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from check.in_process import InProcess
from support.devices import device_of

from slangad.compiler.check.workers import pool
from slangad.compiler.report.model import Leg, LegState, Verdict
from slangad.compiler.runtime.device.slangpy_device import GpuDevice
from slangad.compiler.runtime.pipeline.steps import Steps
from slangad.compiler.toolchain.cache import Cache

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from check.conftest import Checked

    from slangad.compiler.emit.model import EmittedModule
    from slangad.compiler.report.model import Result
    from slangad.compiler.runtime.device.model import BuildOptions, DeviceBuffer, KernelLaunch
    from slangad.compiler.runtime.device.slangpy_device import GpuProgram

SAMPLES = Path(__file__).parents[2] / "samples"
HEAD = """
import slangad as sa
from slangad import Each, InOutTensor, Mean, NoDiff, OutTensor, Param, Sum, Tensor, Uniform, float2, float3


@sa.kernel
def scale(x: Each[float], k: Param[float]) -> Each[float]:
    return x * k * k


@sa.kernel
def total(x: Each[float]) -> Sum[float]:
    return x * x

"""
WRONG = """
@sa.differentiable
def soft(x: float) -> float:
    return x / (1.0 + x * x)


@soft.backward
def soft_backward(x: float, d_out: float) -> float:
    return d_out / (1.0 + x * x)


@sa.kernel
def bend(x: Each[float]) -> Each[float]:
    return soft(x)

"""

RIGHT = {
    "used_twice": """
@sa.kernel
def weigh(x: Each[float], s: Param[float]) -> Each[float]:
    return x / (1.0 + s * s)


@sa.pipeline
def used_twice(x: Each[float], k: Param[float]) -> Sum[float]:
    y = scale(x, k)
    s = total(y)
    return total(weigh(scale(y, k), s))
""",
    "added_up": """
@sa.kernel
def add_sines(x: Each[float], out: OutTensor[float, 1]):
    out[sa.thread_id() // 2] += sa.sin(x)


@sa.pipeline
def added_up(x: Tensor[float, 1], out: OutTensor[float, 1], other: OutTensor[float, 1]) -> Sum[float]:
    add_sines(x, out)
    for k in range(2):
        add_sines(out, other)
    return total(other)
""",
    "written_over": """
@sa.kernel
def put_some(x: Each[float], first: Uniform[int], out: OutTensor[float, 1]):
    i = sa.thread_id()
    if i % 3 != first:
        out[i] = x * x


@sa.kernel
def put_last(x: Each[float], k: Param[float], out: OutTensor[float, 1]):
    i = sa.thread_id()
    if i > 1:
        out[i] = k * x


@sa.pipeline
def written_over(x: Tensor[float, 1], k: Param[float], out: OutTensor[float, 1]) -> Sum[float]:
    put_some(x, 0, out)
    put_last(x, k, out)
    put_some(x, 1, out)
    return total(out)
""",
    "gathered": """
@sa.kernel
def gather(i: Each[int], w: Tensor[float, 1]) -> Each[float]:
    return w[i] * w[i]


@sa.pipeline
def gathered(i: Each[int], w: Tensor[float, 1], k: Param[float]) -> Sum[float]:
    return total(scale(gather(i, w), k))
""",
    "listed": """
@sa.kernel
def after(i: Each[int]) -> Each[int]:
    return i + 1


@sa.kernel
def blend(start: Each[int], count: Each[int], order: Tensor[int, 1], w: Tensor[float, 1]) -> Sum[float]:
    light = 0.0
    for k in sa.range(count, max_iters=8):
        light = 0.5 * light + w[order[start + k]]
    return light * light


@sa.pipeline
def listed(i: Each[int], w: Tensor[float, 1], k: Param[float]) -> Sum[float]:
    y = scale(w, k)
    start, count, order = sa.bin(i, after(i), y, tiles=2, capacity=w.shape[0])
    return blend(start, count, order, y)
""",
    "in_place_twice": """
@sa.kernel
def advance(p: InOutTensor[float, 1], v: Tensor[float, 1]) -> None:
    i = sa.thread_id()
    p[i] = p[i] + 0.5 * v[i] * p[i]


@sa.pipeline
def in_place_twice(q: InOutTensor[float, 1], v: Tensor[float, 1]) -> Sum[float]:
    advance(q, v)
    advance(q, v)
    return total(q)
""",
    "written": """
@sa.kernel
def spread(x: Each[float], out: OutTensor[float, 1]) -> None:
    out[sa.thread_id()] = x * x * x


@sa.pipeline
def written(x: Each[float], out: OutTensor[float, 1]) -> Sum[float]:
    spread(x, out)
    return total(out)
""",
    "textured": """
Tiles = sa.texture(float3, address="repeat")


@sa.kernel
def look(at: Each[float2], t: Tiles) -> Each[float3]:
    return t.sample(at)


@sa.kernel
def differ(c: Each[float3], seen: NoDiff[Each[float3]]) -> Mean[float]:
    return sa.dot(c - seen, c - seen)


@sa.pipeline(fuse=False)
def textured(at: Each[float2], t: Tiles, seen: NoDiff[Each[float3]]) -> Mean[float]:
    return differ(look(at, t), seen)
""",
    "against_mean": """
@sa.kernel
def mean(u: Each[float]) -> Mean[float]:
    return u


@sa.kernel
def centred(u: Each[float], m: Param[float]) -> Sum[float]:
    return (u - m) * (1.0 + 0.001 * u)


@sa.pipeline
def against_mean(x: Each[float], k: Param[float]) -> Sum[float]:
    u = scale(x, k)
    return centred(u, mean(u))
""",
    "outside_index": """
@sa.kernel
def squares(y: Each[sa.Array[float, 3]]) -> Each[sa.Array[float, 3]]:
    out = sa.copy(y)
    for i in range(3):
        out[i] = y[i] * y[i]
    return out


@sa.kernel
def of_label(y: Each[sa.Array[float, 3]], label: Each[int]) -> Sum[float]:
    return y[label] * 1.5


@sa.pipeline
def outside_index(y: Each[sa.Array[float, 3]], label: Each[int]) -> Sum[float]:
    return of_label(squares(y), label)
""",
    "computed_index": """
@sa.kernel
def next_of(y: Each[sa.Array[float, 3]], label: Each[int]) -> Sum[float]:
    return y[label + 1] * 1.5


@sa.pipeline
def computed_index(y: Each[sa.Array[float, 3]], label: Each[int]) -> Sum[float]:
    return next_of(y, label)
""",
    "without_gradient": """
@sa.kernel
def cut(x: Each[float], y: NoDiff[Each[float]]) -> Each[float]:
    return x * y + y * y


@sa.pipeline
def without_gradient(x: Each[float], k: Param[float]) -> Sum[float]:
    y = scale(x, k)
    return total(cut(y, y))
""",
    "several_results": """
@sa.struct
class Pair:
    a: float
    b: float2


@sa.kernel
def split(v: Each[Pair], s: Uniform[float], n: Uniform[int]) -> tuple[Each[float], Each[Pair]]:
    return v.a * v.b.x * s, Pair(v.b.y * float(n), v.b * v.a)


@sa.kernel
def put(x: Each[float], v: Each[Pair], m: Param[Pair]) -> tuple[Sum[float], Each[float2]]:
    return x * v.a * m.a, m.b * v.b + float2(x, v.a)


@sa.pipeline
def several_results(v: Each[Pair], s: Uniform[float], m: Param[Pair]) -> tuple[Sum[float], Each[float2]]:
    x, w = split(v, s, 3)
    return put(x, w, m)
""",
}


@pytest.mark.parametrize("name", RIGHT)
def test_check__a_right_pipeline__passes_in_every_leg(checked_once: Checked, name: str) -> None:
    result = checked_once(HEAD + "".join(RIGHT.values()), only=tuple(RIGHT))[name]
    assert result.kind == "pipeline"
    assert result.verdict is Verdict.PASS, result.reason
    states = {leg.leg: leg.state for leg in result.legs}
    needed = (Leg.REVERSE, Leg.FORWARD, Leg.TRANSPOSE, Leg.PRIMAL, Leg.REPEAT, Leg.FLOAT32)
    assert all(states[leg] is LegState.AGREES for leg in needed)


@pytest.mark.parametrize("file", ["pipeline/sharpen.py", "pipeline/sharpen.yaml", "mlp/mlp.py:fit"])
def test_check__sample_pipelines__pass(file: str) -> None:
    results = _check_file(SAMPLES / file)
    assert [one.verdict for one in results if one.kind == "pipeline"] == [Verdict.PASS]


PIPELINE = """
@sa.pipeline{options}
def p(x: Each[float], k: Param[float]) -> Sum[float]:
    return total(scale(bend(scale(x, k)), k))
"""


@pytest.mark.parametrize("options", ["", "(fuse=False)"])
def test_check__a_wrong_stage__is_named(checked: Checked, options: str) -> None:
    result = checked(HEAD + WRONG + PIPELINE.replace("{options}", options), only=("p",))["p"]
    assert result.verdict is Verdict.FAIL
    assert "stage 2, bend, is to blame" in result.reason
    for failure in result.failures:
        assert failure.leg in (Leg.REVERSE, Leg.FORWARD)
        assert any(note.startswith("stage 2, bend, is wrong by itself: ") for note in failure.notes)
        assert failure.sample is not None
        assert failure.reproduce.endswith("--only p")


def test_check__two_wrong_stages__are_both_named(checked: Checked) -> None:
    text = PIPELINE.replace("{options}", "").replace("scale(bend(scale(x, k)), k)", "bend(scale(bend(x), k))")
    result = checked(HEAD + WRONG + text, only=("p",))["p"]
    assert "stage 1, bend, and stage 3, bend, are to blame" in result.reason


LOST = """
@sa.pipeline
def p(x: Each[float], k: Param[float]) -> Sum[float]:
    y = scale(x, k)
    return total(scale(y, total(y)))
"""


def test_check__a_gradient_lost_between_right_stages__fails_and_says_so(
    checked: Checked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "Worker", InProcess)
    assert checked(HEAD + LOST, only=("p",))["p"].verdict is Verdict.PASS
    monkeypatch.setattr(Steps, "add", Steps.copy)
    result = checked(HEAD + LOST, only=("p",))["p"]
    assert result.verdict is Verdict.FAIL
    failure = next(one for one in result.failures if one.leg is Leg.REVERSE)
    assert "every stage is right by itself here: look at the values that pass between them" in failure.notes


IGNORED = """
@sa.kernel
def root(x: Each[float]) -> Each[float]:
    return x * sa.sqrt(x)


@sa.kernel
def chosen(x: Each[float], y: Each[float]) -> Sum[float]:
    return x * x if x < 0.0 else x * y


@sa.pipeline
def p(x: Each[float]) -> Sum[float]:
    return chosen(x, root(x))
"""


def test_check__a_value_that_is_not_finite_and_ignored_later__is_named_with_its_stage(checked: Checked) -> None:
    result = checked(HEAD + IGNORED, only=("p",), samples=16)["p"]
    failure = next(one for one in result.failures if one.leg is Leg.REVERSE and one.verdict is Verdict.FAIL)
    (note,) = (note for note in failure.notes if note.startswith("stage 1, root, gives result["))
    assert note.endswith("] = nan, which later stages ignore: its derivative is no number either")


@pytest.mark.parametrize("name", ["vulkan", "cuda"])
@pytest.mark.parametrize("which", ["textured", "several_results"])
def test_check__a_pipeline_on_a_device__holds_its_float32_against_float64(
    checked: Checked, name: str, which: str
) -> None:
    device_of(name)
    result = checked(HEAD + RIGHT[which], only=(which,), device=name, samples=16)[which]
    assert result.verdict is Verdict.PASS, result.reason
    leg = next(leg for leg in result.legs if leg.leg is Leg.FLOAT32)
    assert leg.state is LegState.AGREES
    assert leg.compared > 20


def test_check__a_pipeline_on_a_device__compiles_no_more_for_more_runs(
    checked: Checked, monkeypatch: pytest.MonkeyPatch
) -> None:
    device_of("vulkan")
    loaded, submitted = [], []
    load, submit = GpuDevice.load, GpuDevice.submit

    def counted_load(
        self: GpuDevice, emitted: EmittedModule, source: BuildOptions, entries: Collection[str]
    ) -> GpuProgram:
        loaded.append(entries)
        return load(self, emitted, source, entries)

    def counted_submit(self: GpuDevice, launches: Sequence[KernelLaunch], cleared: Sequence[DeviceBuffer] = ()) -> None:
        submitted.append(len(launches))
        submit(self, launches, cleared)

    monkeypatch.setattr(pool, "Worker", InProcess)
    monkeypatch.setattr(GpuDevice, "load", counted_load)
    monkeypatch.setattr(GpuDevice, "submit", counted_submit)
    name = "several_results"
    assert checked(HEAD + RIGHT[name], only=(name,), device="vulkan", samples=16)[name].verdict is Verdict.PASS
    assert len(submitted) > 100
    assert len(loaded) == 2


def test_check__ranges__hold_as_declared_for_kernels_and_as_said_for_the_pipeline(checked: Checked) -> None:
    text = HEAD.replace("@sa.kernel\ndef scale", "@sa.kernel(ranges={'k': (2.0, 3.0)})\ndef scale") + PIPELINE.replace(
        "{options}", ""
    )
    result = checked(
        text.replace("bend(scale(x, k))", "scale(x, k)"), only=("p",), ranges=(("p.x", 5.0, 6.0),), samples=20
    )["p"]
    values = {value.path: value.value for sample in result.samples for value in sample.inputs}
    assert 2.0 <= values["k"] <= 3.0
    assert 5.0 <= values["x[4]"] <= 6.0


def test_check__a_pipeline_that_is_finite_nowhere__is_inconclusive(checked: Checked) -> None:
    source = """
@sa.kernel
def root(x: Each[float], k: Param[float]) -> Each[float]:
    return sa.sqrt(-1.0 - k * k - x * x)


@sa.pipeline
def nowhere(x: Each[float], k: Param[float]) -> Sum[float]:
    return total(root(x, k))
"""
    result = checked(HEAD + source, only=("nowhere",))["nowhere"]
    assert result.verdict is Verdict.INCONCLUSIVE, result.reason


def test_check__a_pipeline_without_gradient__is_skipped(checked: Checked) -> None:
    text = "\n@sa.kernel\ndef f(x: NoDiff[Each[float]]) -> Sum[float]:\n    return x\n\n\n"
    text += "@sa.pipeline\ndef p(x: NoDiff[Each[float]]) -> Sum[float]:\n    return f(x)\n"
    assert checked(HEAD + text)["p"].verdict is Verdict.SKIPPED


def test_check__a_pipeline_that_does_not_fit_any_size__says_what_to_declare(checked: Checked) -> None:
    text = """
@sa.kernel
def half(x: Tensor[float, 1]) -> Each[float]:
    return x[sa.thread_id()]


@sa.pipeline
def p(x: Tensor[float, 1]) -> Sum[float]:
    return total(half(x, domain=(x.shape[0] + 1,)))
"""
    result = checked(HEAD + text)["p"]
    assert result.verdict is Verdict.INCONCLUSIVE
    assert "--shape p." in result.reason


BINNED = """
@sa.kernel
def box(x: Each[float]) -> tuple[Each[int], Each[int]]:
    return int(sa.floor(2.0 * x)), int(sa.floor(2.0 * x)) + 2


@sa.kernel
def blend(start: Tensor[int, 1], count: Tensor[int, 1], order: Tensor[int, 1], x: Tensor[float, 1]) -> Each[float]:
    i = sa.thread_id(0)
    light = 0.0
    for k in sa.range(count[i], max_iters=64):
        n = order[start[i] + k]
        light += x[n] * x[n]
    return light


@sa.pipeline
def binned(x: Tensor[float, 1]) -> Sum[float]:
    first, last = box(x)
    start, count, order = sa.bin(first, last, tiles=2, capacity=CAPACITY)
    return total(blend(start, count, order, x, domain=(2,)))
"""


def test_check__lists_longer_than_their_capacity__are_the_reason_with_the_capacity_to_give(
    checked: Checked, tmp_path: Path
) -> None:
    cache = Cache(tmp_path / "cache")
    needed = re.compile(r"the lists of sa.bin are longer than their capacity of (\d+) at \d+ of \d+ samples(.*)")
    result = checked(HEAD + BINNED.replace("CAPACITY", "1"), cache=cache, only=("binned",))["binned"]
    said = needed.fullmatch(result.reason)
    assert said is not None
    assert (result.verdict, said[1]) == (Verdict.INCONCLUSIVE, "1")
    assert re.match(r": give sa.bin a capacity of \d+, or declare ranges", said[2])

    result = checked(HEAD + BINNED.replace("CAPACITY", "5"), cache=cache, only=("binned",))["binned"]
    assert result.verdict is Verdict.KINK_OK
    (note,) = (note.message for note in result.notes if "sa.bin" in note.message)
    said = needed.fullmatch(note)
    assert said is not None
    capacity = re.fullmatch(r", which are left out; (\d+) would do", said[2])
    assert capacity is not None

    result = checked(HEAD + BINNED.replace("CAPACITY", capacity[1]), cache=cache, only=("binned",))["binned"]
    assert result.verdict is Verdict.KINK_OK
    assert not [note for note in result.notes if "sa.bin" in note.message]


def test_check__a_stage_that_does_not_compile__fails_the_pipeline_by_its_name(checked: Checked, tmp_path: Path) -> None:
    crashes = """
[Differentiable]
public float again(float x)
{
    float s = x;
    int k = 0;
    [MaxIters(8)]
    while (k < 4 && s < 10.0) { s = s * 1.5; k++; }
    return s;
}
"""
    (tmp_path / "own.slang").write_text(crashes, encoding="utf-8")
    text = """
again = sa.extern("again", "own.slang", "(x: float) -> float", differentiable=True)


@sa.kernel
def bad(x: Each[float]) -> Each[float]:
    return x * again(x)


@sa.pipeline
def p(x: Each[float], k: Param[float]) -> Sum[float]:
    return total(bad(scale(x, k)))
"""
    results = checked(HEAD + text, time_limit=5.0)
    assert results["p"].verdict is Verdict.FAIL
    assert results["p"].reason.startswith("bad: reverse mode of it does not compile: the Slang compiler crashes")
    assert results["total"].verdict is Verdict.PASS


def test_check__a_shape_and_a_range_of_a_pipeline__are_taken_from_the_command_line(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from slangad.cli.main import cli

    file = tmp_path / "p.py"
    file.write_text(HEAD + RIGHT["gathered"], encoding="utf-8")
    words = [
        "check",
        f"{file}:gathered",
        "--shape",
        "gathered.w=3",
        "--range",
        "gathered.i=0:2",
        "--samples",
        "16",
        "--format",
        "json",
    ]
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 0, result.output
    (one,) = json.loads(result.stdout)["results"]
    assert [v["path"] for v in one["samples"][0]["inputs"] if v["path"].startswith("w")] == ["w[0]", "w[1]", "w[2]"]
    assert CliRunner().invoke(cli, [*words, "--range", "gathered.nothing=0:1"]).exit_code == 2


def _check_file(path: Path) -> tuple[Result, ...]:
    from slangad.compiler.check.options import CheckOptions
    from slangad.compiler.check.session import check
    from slangad.compiler.driver.inputs import parse_inputs

    return check(parse_inputs([str(path)]), CheckOptions(samples=32)).results


LOOPS = """
import slangad as sa
from slangad import Each, Mean


@sa.kernel(ranges={"x": (0.5, 1.0)})
def grow(x: Each[float]) -> Each[float]:
    return 4.0 * x


@sa.kernel(ranges={"y": (0.0, 1.0)})
def halve(y: Each[float]) -> Each[float]:
    for _ in sa.range(int(sa.no_diff(y)), max_iters=2):
        y = 0.5 * y
    return y


@sa.pipeline
def beyond(x: Each[float]) -> Each[float]:
    return halve(grow(x))


@sa.pipeline
def within(y: Each[float]) -> Each[float]:
    return halve(y)
"""


def test_check__a_loop_beyond_its_bound_in_a_pipeline_only__is_seen_and_its_stage_named(checked: Checked) -> None:
    results = checked(LOOPS, samples=16)
    assert results["halve"].verdict.good, results["halve"].reason
    assert results["within"].verdict.good, results["within"].reason
    assert results["beyond"].verdict is Verdict.FAIL
    (failure,) = (one for one in results["beyond"].failures if one.leg is Leg.BOUND)
    assert "the loop of halve in line 13 runs longer than its bound" in failure.message
