"""Large ``Param``s stay in memory: the same results and gradients as by value, on every device."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from slangad.compiler.frontends import load
from slangad.compiler.passes import keep_params_in_memory, run_passes

if TYPE_CHECKING:
    from slangad.compiler.api.load import LoadedFile

pytestmark = pytest.mark.toolchain

DESCRIBED = Path(__file__).with_name("large_params.py")
WIDTH = 9
RNG = np.random.default_rng(9)


def numbers(*shape: int) -> np.ndarray:
    return RNG.uniform(-0.5, 0.5, shape).astype(np.float32)


def layers(*count: int) -> dict[str, np.ndarray]:
    return {"w": numbers(*count, WIDTH, WIDTH), "b": numbers(*count, WIDTH)}


def net() -> dict[str, object]:
    head = {"head": numbers(WIDTH, 3), "shift": numbers(3)}
    return {"first": layers(), "hidden": layers(2), "slope": np.float32(0.1), **head}


def reference(net: dict[str, dict[str, np.ndarray]], x: np.ndarray, target: np.ndarray) -> dict[str, np.ndarray]:
    """The gradients of ``network`` by hand, in float64; the slope's is not asked for."""
    all_layers = [net["first"], *({k: v[n] for k, v in net["hidden"].items()} for n in range(2))]
    slope, inputs, bent = float(net["slope"]), [x.astype(np.float64)], []
    for layer in all_layers:
        before = inputs[-1] @ layer["w"].T.astype(np.float64) + layer["b"]
        bent.append(np.where(before > 0.0, 1.0, slope))
        inputs.append(bent[-1] * before)
    out = inputs[-1] @ net["head"].astype(np.float64) + net["shift"]
    d_out = 2.0 * (out - target) / len(x)
    found = {"head": inputs[-1].T @ d_out, "shift": d_out.sum(0)}
    d_y = d_out @ net["head"].T
    gradients = []
    for layer, before, kink in zip(all_layers[::-1], inputs[-2::-1], bent[::-1], strict=True):
        d_sum = d_y * kink
        gradients.insert(0, {"w": d_sum.T @ before, "b": d_sum.sum(0)})
        d_y = d_sum @ layer["w"]
    for name in ("w", "b"):
        found[f"first.{name}"] = gradients[0][name]
        found[f"hidden.{name}"] = np.stack([gradient[name] for gradient in gradients[1:]])
    return found


def close(found: np.ndarray, expected: np.ndarray) -> None:
    """Assert that arrays agree to 1e-5, by norm."""
    assert found.shape == np.shape(expected)
    assert np.linalg.norm(found - expected) <= 1e-5 * np.linalg.norm(expected)


def test_buffers__of_large_params__are_their_arrays_with_known_extents() -> None:
    module = run_passes(load(DESCRIBED))
    buffers = {b.key: (b.extents, b.accumulation.value) for b in module.buffers}
    assert buffers == {
        "network.net.first.w": ((9, 9), "matrix"),
        "network.net.first.b": ((9,), "sum"),
        "network.net.hidden.w": ((2, 9, 9), "matrix"),
        "network.net.hidden.b": ((2, 9), "sum"),
        "network.net.slope": ((1,), "none"),
        "network.net.head": ((9,), "sum"),
        "network.net.shift": ((1,), "sum"),
        "table.rows": ((5000,), "scatter"),
        "own.scale": ((300,), "own"),
    }


@pytest.mark.parametrize("count", [1, 17, 1000])
def test_network__gradients__are_those_of_float64(kernels: LoadedFile, count: int) -> None:
    given, x, target = net(), numbers(count, WIDTH), numbers(count, 3)
    out = kernels.network.backward(net=given, x=x, target=target)
    for name, expected in reference(given, x, target).items():
        close(np.asarray(out[f"grad.net.{name}"]), expected)
    assert "grad.net.slope" not in out


def test_network__given_gradients__are_added_to(kernels: LoadedFile) -> None:
    given, x, target = net(), numbers(40, WIDTH), numbers(40, 3)
    before = numbers(2, WIDTH, WIDTH)
    fresh = kernels.network.backward(net=given, x=x, target=target)
    added = kernels.network.backward(net=given, x=x, target=target, grad={"net.hidden.w": before})
    close(np.asarray(added["grad.net.hidden.w"]), np.asarray(fresh["grad.net.hidden.w"]) + before)


def test_table__entries_by_data__get_their_gradients(kernels: LoadedFile) -> None:
    rows, at, x = numbers(5000, 2), RNG.integers(0, 5000, 3000).astype(np.int32), numbers(3000)
    expected, other = np.zeros((5000, 2)), (at.astype(np.int64) * 7 + 3) % 5000
    np.add.at(expected[:, 0], at, x)
    np.add.at(expected[:, 1], at, rows[other, 1])
    np.add.at(expected[:, 1], other, rows[at, 1])
    close(np.asarray(kernels.table.backward(rows=rows, at=at, x=x)["grad.rows"]), expected)


def test_own__an_entry_for_each_thread__gets_its_gradient(kernels: LoadedFile) -> None:
    x = numbers(200)
    out = kernels.own.backward(scale=numbers(300), x=x)
    close(np.asarray(out["grad.scale"]), np.concatenate([x, np.zeros(100)]))


def test_whole__a_function_with_its_own_derivative__gets_the_value(kernels: LoadedFile) -> None:
    x = numbers(70) + np.float32(1.0)  # of one sign: a sum that cancels out is near no reference
    expected = np.zeros(80)
    expected[[3, 79]] = x.sum(dtype=np.float64)
    close(np.asarray(kernels.whole.backward(curve={"knots": numbers(80)}, x=x)["grad.curve.knots"]), expected)


def test_jvp__of_a_large_param__is_the_same_as_by_value(monkeypatch: pytest.MonkeyPatch, cxx: object) -> None:
    from support.devices import loaded

    arguments = {"net": net(), "x": numbers(50, WIDTH), "target": numbers(50, 3)}
    tangent = {"net.hidden.w": numbers(2, WIDTH, WIDTH), "net.shift": numbers(3)}
    found = loaded(DESCRIBED, "cpu").network.jvp(**arguments, tangent=tangent)
    monkeypatch.setattr(keep_params_in_memory, "FEW_SCALARS", 10**9)
    expected = loaded(DESCRIBED, "cpu").network.jvp(**arguments, tangent=tangent)
    assert found.keys() == expected.keys()
    for name in found:
        close(np.asarray(found[name]), np.asarray(expected[name]))
