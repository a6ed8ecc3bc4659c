"""Memories in Python: functions that read them, filters and addresses, and gradients by address in both modes."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

import slangad as sa
from slangad import Array, Each, float3
from slangad.compiler.lang.execution.gradients import Derived, backward, jvp

RANDOM = np.random.default_rng(7)
DESCRIBED = runpy.run_path(str(Path(__file__).parent / "described" / "memories.py"))
Layer = DESCRIBED["Layer"]
fit, halve, step, gather, look, taps, rewrite, lookup = (
    DESCRIBED[name] for name in ("fit", "halve", "step", "gather", "look", "taps", "rewrite", "lookup")
)

LAYER = Layer(Array[float3, 2](float3(1, 2, 3), float3(4, 5, 6)), 0.5, 3)
FIT = {
    "image": RANDOM.uniform(-1, 1, (4, 5)).astype(np.float32),
    "at": RANDOM.uniform(0.1, 2.9, (9, 2)).astype(np.float32),
    "m": LAYER,
    "scale": 1.5,
    "table": np.array([0.5, 2.0, -1.0], np.float32),
}
HALVE = {"image": RANDOM.uniform(-1, 1, (4, 4, 3)).astype(np.float32), "small": np.zeros((2, 2, 3), np.float32)}
STEP = {"v": np.arange(1, 7, dtype=np.float32), "x": np.array([2.0, 3.0, -1.0], np.float32)}
GATHER = {
    "w": RANDOM.uniform(-1, 1, (3, 2, 2)).astype(np.float32),
    "k": np.array([2, 0, 2, 2, 1], np.int32),
    "x": np.arange(5, dtype=np.float32),
}
LOOK = {
    "uv": RANDOM.uniform(-0.2, 1.2, (7, 2)).astype(np.float32),
    "t": RANDOM.uniform(-1, 1, (3, 4, 3)).astype(np.float32),
    "r": RANDOM.uniform(-1, 1, (2, 5)).astype(np.float32),
}
CASES = [(fit, FIT), (halve, HALVE), (step, STEP), (gather, GATHER), (look, LOOK)]


def flat(value: object) -> np.ndarray:
    """Every differentiable number of an argument, gradient or tangent."""
    if isinstance(value, Layer):
        return np.concatenate([np.ravel(np.asarray(w)) for w in value.weights] + [[float(value.bias)]])
    return np.ravel(np.asarray(value, np.float64))


def direction(value: object) -> object:
    """A random tangent or cotangent of the same type."""
    if isinstance(value, Layer):
        draw = RANDOM.uniform(-1, 1, 7)
        return Layer(Array[float3, 2](float3(*draw[:3]), float3(*draw[3:6])), float(draw[6]), 0)
    shape = np.shape(np.asarray(value))
    return float(RANDOM.uniform(-1, 1)) if shape == () else RANDOM.uniform(-1, 1, shape).astype(np.float32)


def total(a: dict[str, object], b: dict[str, object]) -> float:
    """The inner product of what both have."""
    return float(sum(flat(a[name]) @ flat(b[name]) for name in a.keys() & b.keys()))


@pytest.mark.parametrize(("kernel", "args"), CASES, ids=lambda v: getattr(v, "name", ""))
def test_kernel__reverse_and_forward_mode__agree(kernel: sa.kernel, args: dict[str, object]) -> None:
    plain = backward(kernel, args)
    tangents = {name: direction(args[name]) for name in plain.derivatives}
    cotangents = {name: direction(value) for name, value in plain.results.items()}
    forward = jvp(kernel, args, tangents)
    reverse = backward(kernel, args, cotangents)
    assert total(forward.derivatives, cotangents) == pytest.approx(total(reverse.derivatives, tangents), rel=2e-5)


@pytest.mark.parametrize(("kernel", "args"), CASES, ids=lambda v: getattr(v, "name", ""))
def test_kernel__forward_mode__is_the_difference_quotient(kernel: sa.kernel, args: dict[str, object]) -> None:
    names = backward(kernel, args).derivatives.keys() - {"table"}  # which is read where it has no derivative, too
    tangents = {name: direction(args[name]) for name in names}
    steps = [jvp(kernel, {**args, **{n: moved(args[n], tangents[n], h) for n in names}}) for h in (2e-3, -2e-3)]
    found = jvp(kernel, args, tangents)
    for name, tangent in found.derivatives.items():
        quotient = (flat(steps[0].results[name]) - flat(steps[1].results[name])) / 4e-3
        np.testing.assert_allclose(flat(tangent), quotient, rtol=2e-2, atol=2e-2)


def moved(value: object, tangent: object, h: float) -> object:
    """A value a step along a tangent."""
    if not isinstance(value, Layer):
        return (np.asarray(value) + h * np.asarray(tangent)).astype(np.float32)
    pairs = zip(value.weights, tangent.weights, strict=True)
    weights = [float3(*(np.asarray(a) + h * np.asarray(b))) for a, b in pairs]
    return Layer(Array[float3, 2](*weights), float(value.bias) + h * float(tangent.bias), value.count)


def test_gradient__of_colliding_reads__adds_up_by_address() -> None:
    found = backward(gather, GATHER).derivatives
    w, k, x = (np.asarray(GATHER[name], np.float64) for name in ("w", "k", "x"))
    expected = np.zeros(w.shape)
    for index, scale in zip(k.astype(int), x, strict=True):
        expected[index, 1, 1] += scale * w[index, 0, 0]
        expected[index, 0, 0] += scale * w[index, 1, 1]
    np.testing.assert_allclose(found["w"], expected, rtol=1e-6)
    assert set(found) == {"w", "x"}


def test_gradient__of_no_diff_reads__is_zero() -> None:
    found = backward(fit, FIT)
    assert found.derivatives["table"].tolist() == [0.0, 9.0, 0.0], "only table[1] counts, once per thread"
    assert "scale" not in found.derivatives
    assert found.derivatives["m"].count == 0


def test_in_place__gradient__is_of_the_old_elements() -> None:
    found = backward(step, STEP, {"v": np.array([1, 10, 2, 20, 3, 30], np.float32), "result": np.zeros(3)})
    assert found.derivatives["v"].tolist() == [2.0, 10.0, 6.0, 20.0, -3.0, 30.0]
    assert found.derivatives["x"].tolist() == [1.0, 6.0, 15.0]
    assert found.results["v"].tolist() == [2.0, 2.0, 9.0, 4.0, -5.0, 6.0]
    assert STEP["v"].tolist() == [1, 2, 3, 4, 5, 6], "the caller's array stays as it is"


def test_gradient__of_an_element_written_twice__is_that_of_the_last_value() -> None:
    x, w, out = np.array([0.25, 0.75], np.float32), np.array([2.0, 5.0], np.float32), np.zeros(2, np.float32)
    found = backward(rewrite, {"x": x, "w": w, "out": out}, {"out": np.array([1.0, 10.0])})
    assert found.results["out"].tolist() == [0.75, 7.5]
    assert found.derivatives["x"].tolist() == [3.0, 100.0]
    assert found.derivatives["w"].tolist() == [37.5, 0.0]


def test_gradients__of_no_threads__are_zero() -> None:
    none = backward(fit, {**FIT, "at": np.zeros((0, 2))})
    assert flat(none.derivatives["image"]).tolist() == [0.0] * 20
    assert flat(none.results["result.1"]).tolist() == [0.0] * 3
    assert flat(none.derivatives["m"]).tolist() == [0.0] * 7


def test_texture__addresses_and_filters__pick_the_texels() -> None:
    row = np.array([[1.0, 2.0, 4.0, 8.0]], np.float32)
    u = np.array([-0.125, 0.125, 0.25, 1.125, 1.25])
    uv = np.stack([u, np.full(5, 0.5)], axis=1)
    found = taps(uv, row, row)
    assert found[:, 0].tolist() == [1.0, 1.0, 1.5, 8.0, 6.0]
    assert found[:, 1].tolist() == [8.0, 1.0, 2.0, 1.0, 2.0]


def test_function__with_a_tensor__runs_on_an_array() -> None:
    image = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
    assert lookup(image, 0.5, 0.5) == 2.5
    with pytest.raises(TypeError, match="image holds"):
        lookup(np.array([["a"]]), 0.0, 0.0)
    with pytest.raises(sa.DescriptionError, match=r"sa\.bwd_diff\(lookup\): parameter image is a Tensor\[float, 2\]"):
        sa.bwd_diff(lookup)(image, 0.5, 0.5, 1.0)
    with pytest.raises(sa.DescriptionError, match=r"sa\.fwd_diff\(lookup\)"):
        sa.fwd_diff(lookup)(image, sa.diff_pair(0.5, 1.0), sa.diff_pair(0.5, 0.0))


@sa.kernel
def probed_twice(x: Each[float]) -> Each[float]:
    for _ in range(2):
        x = sa.probe("again", x * 2.0)
    return x


def test_probe__reached_twice_by_a_thread__is_an_error() -> None:
    with pytest.raises(sa.DescriptionError, match="'again' is reached twice"):
        probed_twice(np.ones(1))
    assert isinstance(backward(fit, FIT), Derived), "once per thread is fine"
