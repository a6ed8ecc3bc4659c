"""Float32 gradients on a GPU device, held against float64 on the CPU; software Vulkan in CI."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.devices import device_of

from slangad.compiler.check.options import CheckOptions
from slangad.compiler.check.planning import tasks
from slangad.compiler.check.session import check
from slangad.compiler.driver.inputs import parse_inputs
from slangad.compiler.report.model import Leg, LegState, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from slangad.compiler.emit.model import EmittedModule
    from slangad.compiler.report.model import Result

SAMPLE = Path(__file__).parents[2] / "samples" / "quickstart" / "brdf.py"


@pytest.mark.parametrize("name", ["vulkan", "cuda", "webgpu"])
def test_check__on_a_device__holds_its_float32_against_float64(name: str) -> None:
    device_of(name)
    report = check(parse_inputs([str(SAMPLE)]), CheckOptions(device=name))
    assert report.device == name
    for result in report.results:
        assert result.verdict.good, result.reason
        leg = next(leg for leg in result.legs if leg.leg is Leg.FLOAT32)
        assert leg.state is LegState.AGREES
        assert leg.compared > 100


@pytest.mark.parametrize("name", ["vulkan", "cuda"])
def test_check__what_compiles_of_a_slang_file__runs_on_a_device_from_its_own_folder_too(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    device_of(name)
    text = "[Differentiable] float good(float x) { return x * x; }\n[Differentiable] float bad(float x) { return y; }\n"
    (tmp_path / "near.slang").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    good, bad = check(parse_inputs(["near.slang"]), CheckOptions(device=name, samples=16)).results
    assert next(leg for leg in good.legs if leg.leg is Leg.FLOAT32).state is LegState.AGREES
    assert "does not compile" in bad.reason


def test_check__doubles_scattered_on_a_device__says_that_they_are_floats(tmp_path: Path) -> None:
    device_of("vulkan")
    text = "import slangad as sa\n@sa.kernel\ndef wide(i: sa.Each[int], w: sa.Tensor[sa.double, 1]) -> "
    (tmp_path / "wide.py").write_text(f"{text}sa.Sum[sa.double]:\n    return w[i] * w[i]\n", encoding="utf-8")
    told = "digits of double; grad.w: added up on vulkan in float, not double"
    for name in ("vulkan", "cpu"):
        (result,) = check(parse_inputs([str(tmp_path / "wide.py")]), CheckOptions(device=name, samples=8)).results
        assert (told in [note.message for note in result.notes]) is (name == "vulkan")


KERNELS = """
import slangad as sa
from slangad import Each, InOutTensor, Mean, OutTensor, Param, Tensor, Texture2D, float2, float3


@sa.kernel
def gathered(i: Each[int], w: Tensor[float, 2], m: Param[float3]) -> Each[float]:
    return w[i, 1] * w[i, 2] * m.x + m.y


@sa.kernel
def stencil(x: Tensor[float2, 1], y: OutTensor[float, 1]) -> None:
    i = sa.thread_id()
    y[i] = sa.dot(x[i], x[i + 2])


@sa.kernel
def in_place(x: InOutTensor[float, 1], k: Param[float]) -> None:
    i = sa.thread_id()
    x[i] = x[i] * x[i] * k


@sa.kernel
def painted(uv: Each[float2], t: Texture2D[float3, "mirror"]) -> Mean[float]:
    return sa.dot(t.sample(uv), t.load(1, 0))
"""


@pytest.mark.parametrize("name", ["vulkan", "cuda", "webgpu"])
def test_check__launches_on_a_device__hold_against_float64(name: str, tmp_path: Path) -> None:
    device_of(name)
    path = tmp_path / "kernels.py"
    path.write_text(KERNELS, encoding="utf-8")
    report = check(parse_inputs([str(path)]), CheckOptions(device=name, samples=24))
    for result in report.results:
        assert result.verdict.good, (result.function, result.reason)
        states = {leg.leg: leg.state for leg in result.legs}
        assert states[Leg.FLOAT32] is states[Leg.ACCUMULATION] is LegState.AGREES


COARSE = """
float2 coarse(float2 uv, uint2 extents)
{
    float2 size = float2(float(extents.y), float(extents.x));
    return (ROUNDED((uv * size - 0.5) * 256.0) / 256.0 + 0.5) / size;
}

#if defined(SLANGAD_FILTERS)"""
ONCE = "bwd_diff(painted_kept)(uv_pair, result_seed);"


def _tampered(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    device: str,
    kernel: str,
    change: Callable[[EmittedModule], EmittedModule],
) -> Result:
    """The result of a kernel on a device where what is emitted was changed."""
    device_of(device)
    emit = tasks.emit_module
    monkeypatch.setattr(tasks, "emit_module", lambda module: change(emit(module)))
    path = tmp_path / "kernels.py"
    path.write_text(KERNELS, encoding="utf-8")
    (result,) = check(parse_inputs([str(path)]), CheckOptions(device=device, samples=24, only=(kernel,))).results
    return result


@pytest.mark.parametrize(
    ("rounding", "once", "state"),
    [
        pytest.param("round", ONCE, "AGREES", id="rounded"),
        pytest.param("floor", ONCE, "AGREES", id="cut off"),
        pytest.param("round", f"{ONCE} if (i == 20) {ONCE}", "DISAGREES", id="one thread twice"),
    ],
)
def test_check__weights_of_eight_bits__are_no_lost_addition_and_hide_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rounding: str, once: str, state: str
) -> None:
    def with_coarse_filters(emitted: EmittedModule) -> EmittedModule:
        text = emitted.libraries["slangad_textures.slang"]
        coarse = text.replace("\n#if defined(SLANGAD_FILTERS)", COARSE.replace("ROUNDED", rounding), 1)
        coarse = coarse.replace("SampleLevel(filter, uv,", "SampleLevel(filter, coarse(uv, extents),")
        assert coarse.count("coarse(uv, extents)") == 3
        assert ONCE in emitted.text
        libraries = {**emitted.libraries, "slangad_textures.slang": coarse}
        return replace(emitted, libraries=libraries, text=emitted.text.replace(ONCE, once))

    result = _tampered(tmp_path, monkeypatch, "vulkan", "painted", with_coarse_filters)
    states = {leg.leg: leg.state for leg in result.legs}
    assert states[Leg.ACCUMULATION] is LegState[state], result.reason
    assert [failure.column.partition("[")[0] for failure in result.failures] == ["t"] * (state == "DISAGREES")


@pytest.mark.parametrize("name", ["vulkan", "cuda"])
def test_check__additions_that_race_on_a_device__are_noticed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def racing(emitted: EmittedModule) -> EmittedModule:
        tensors = emitted.libraries["slangad_tensors.slang"]
        added, kept = "return totals[at].add(value);", "slot_sums[k].add(value);"
        assert added in tensors
        assert kept in tensors
        tensors = tensors.replace(
            added, "float before = totals[at].load(); totals[at].store(before + value); return before;"
        )
        tensors = tensors.replace(kept, "slot_sums[k].store(slot_sums[k].load() + value);")
        return replace(emitted, libraries={**emitted.libraries, "slangad_tensors.slang": tensors})

    result = _tampered(tmp_path, monkeypatch, name, "gathered", racing)
    assert result.verdict in (Verdict.FAIL, Verdict.NONDETERMINISTIC), result.reason
    assert any(failure.leg is Leg.ACCUMULATION for failure in result.failures)


def test_check__a_device_that_does_not_take_the_kernel__is_no_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(emitted: EmittedModule) -> EmittedModule:
        libraries = {name: text + "\nfloat broken() { return nowhere; }\n" for name, text in emitted.libraries.items()}
        return replace(emitted, libraries=libraries)

    result = _tampered(tmp_path, monkeypatch, "vulkan", "gathered", refused)
    assert result.verdict is Verdict.INCONCLUSIVE
    assert "vulkan rejected kernels.slang" in result.reason
