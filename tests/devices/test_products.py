"""Products of shared matrices: values, gradients and tangents are those of float64, whatever the sizes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.devices import AS_ON_GPUS, DEVICES, SOFTWARE, loaded

from slangad.compiler.frontends import load
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.targets import ROLLED
from slangad.compiler.ir.text_form.printer import parse, show
from slangad.compiler.ir.walk import statements, walk_stmts
from slangad.compiler.passes import run_passes
from slangad.compiler.runtime.device.slangpy_device import macros_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from slangad.compiler.api.load import LoadedFile

pytestmark = [pytest.mark.toolchain, pytest.mark.one_driver]

DESCRIBED = Path(__file__).with_name("products.py")
RNG = np.random.default_rng(5)
SIZES = {"thin": (1, 70, 1), "odd": (17, 18, 3), "wide": (9, 130, 21)}
Arrays = dict[str, np.ndarray]


@pytest.fixture(params=[*DEVICES, *(f"{name}{AS_ON_GPUS}" for name in SOFTWARE)])
def kernels(request: pytest.FixtureRequest, cxx: object) -> LoadedFile:
    """The kernels on a device, on those in software also with the products of GPUs."""
    return loaded(DESCRIBED, request.param)


def numbers(*shape: int, scale: float = 1.0) -> np.ndarray:
    return (scale * RNG.uniform(-1, 1, shape)).astype(np.float32)


def layers(name: str) -> Arrays:
    inputs, hidden, outputs = SIZES[name]
    return {
        "w": numbers(hidden, inputs, scale=2 * inputs**-0.5),
        "b": numbers(hidden),
        "v": numbers(hidden * outputs, scale=hidden**-0.5),
    }


def evaluated(net: Arrays, x: np.ndarray) -> tuple[np.ndarray, Callable[[np.ndarray], Arrays]]:
    """The answers in float64, and the gradients by their cotangents."""
    w, b, v = (net[k].astype(np.float64) for k in ("w", "b", "v"))
    v = v.reshape(-1, len(b))
    h = x @ w.T + b
    bent = np.tanh(h) + np.where(h > 1, 0.5 * h, 0)

    def gradients(d_out: np.ndarray) -> Arrays:
        d_h = d_out @ v * (1 - np.tanh(h) ** 2 + np.where(h > 1, 0.5, 0))
        return {"net.v": (d_out.T @ bent).ravel(), "net.w": d_h.T @ x, "net.b": d_h.sum(0), "x": d_h @ w}

    return bent @ v.T, gradients


def close(found: object, expected: np.ndarray) -> None:
    """Assert that arrays agree to 1e-5, by norm."""
    array = np.asarray(found)
    assert array.shape == expected.shape
    assert np.linalg.norm(array - expected) <= 1e-5 * np.linalg.norm(expected) + 1e-30


def test_products__of_all_threads__are_found_and_no_others() -> None:
    module = run_passes(load(DESCRIBED))
    ways = {b.key: b.accumulation.value for b in module.buffers}
    assert {key for key, way in ways.items() if way == "matrix"} == {
        *(f"{name}.net.{part}" for name in SIZES for part in "wv"),
        "stacked.net.w",
        "gated.net.w",
        *(f"biased.net.{part}" for part in "wbvpq"),
        *(f"chosen.net.{part}" for part in "wb"),
        "padded.net.w",
        "clamped.net.w",
        *(f"kinds.net.{part}" for part in ("all.w", "all.b", "v")),
    }
    assert [ways[f"kinds.net.{part}.w"] for part in ("own", "block")] == ["scatter", "together"]
    assert {ways[f"biased.net.{part}"] for part in "cd"} == {"sum"}
    assert (ways["gated.net.v"], ways["gated.net.u"]) == ("scatter", "shared")


@pytest.mark.parametrize(
    ("name", "adapter", "rolled"),
    [
        ("vulkan", "llvmpipe (LLVM 15.0.6, 256 bits)", True),
        ("vulkan", "NVIDIA H200", False),
        ("d3d12", "Microsoft Basic Render Driver", True),
        ("cuda", "NVIDIA H200", False),
    ],
)
def test_products__of_software_devices_alone__stay_loops(name: str, adapter: str, rolled: bool) -> None:
    assert (ROLLED in macros_of(name, adapter, ())) == rolled


def test_products__beside_a_local_of_the_users_of_that_name__have_another(tmp_path: Path) -> None:
    text = DESCRIBED.read_text(encoding="utf-8").replace(
        "total = net.u[0][0]", "product = net.u[0][0]\n    total = product"
    )
    assert "product" in text
    file = tmp_path / "named.py"
    file.write_text(text, encoding="utf-8")
    module = run_passes(load(file))
    (gated,) = (f for f in module.functions if f.name == "gated")
    assert {s.name for s in walk_stmts(statements(gated)) if isinstance(s, ir.Let)} >= {"product", "product_2"}


def test_products__as_text__are_read_again() -> None:
    text = show(run_passes(load(DESCRIBED)))
    assert " plus (" in text
    assert show(parse(text)) == text


@pytest.mark.parametrize("name", SIZES)
def test_layers__results_and_gradients__are_those_of_float64(kernels: LoadedFile, name: str) -> None:
    inputs, _, outputs = SIZES[name]
    net = layers(name)
    for count in (0, 1, 33, 600):
        x, d_out = numbers(count, inputs), numbers(count, outputs)
        shape = (count,) if name != "wide" else (3, count // 3) if count != 1 else (1, 1)
        given = {"net": net, "x": x.reshape(*shape, inputs)}
        expected, gradients = evaluated(net, x.astype(np.float64))
        if count:
            close(kernels[name](**given), expected.reshape(*shape, outputs))
        out = kernels[name].backward(**given, cotangent=d_out.reshape(*shape, outputs))
        for key, gradient in gradients(d_out.astype(np.float64)).items():
            close(out[f"grad.{key}"], gradient.reshape(*shape, inputs) if key == "x" else gradient)


def test_layers__tangents__are_those_of_float64(kernels: LoadedFile) -> None:
    net, x, d_x = layers("odd"), numbers(40, 17), numbers(40, 17)
    d_net = {key: numbers(*value.shape) for key, value in net.items()}
    out = kernels.odd.jvp(net=net, x=x, tangent={"x": d_x, **{f"net.{k}": v for k, v in d_net.items()}})
    step = 1e-6

    def moved(way: float) -> np.ndarray:
        return evaluated(
            {k: net[k] + way * d_net[k].astype(np.float64) for k in net}, x + way * d_x.astype(np.float64)
        )[0]

    close(out["result"], evaluated(net, x.astype(np.float64))[0])
    close(out["jvp.result"], (moved(step) - moved(-step)) / (2 * step))


def test_stack__one_matrix_twice_and_many_by_a_loop__have_their_sums(kernels: LoadedFile) -> None:
    w, slope, x = numbers(3, 16, 16, scale=0.4), 0.125, numbers(300, 16)
    inputs, before, order = [x.astype(np.float64)], [], (0, 1, 2, 1)
    for k in order:
        before.append(inputs[-1] @ w[k].T.astype(np.float64))
        inputs.append(inputs[-1] + np.where(before[-1] > 0, before[-1], slope * before[-1]))
    d_y, d_w, d_slope = 2 * inputs[-1] / len(x), np.zeros(w.shape), 0.0
    for k, y, total in zip(order[::-1], inputs[-2::-1], before[::-1], strict=True):
        d_slope += (d_y * np.where(total > 0, 0, total)).sum()
        d_total = d_y * np.where(total > 0, 1, slope)
        d_w[k] += d_total.T @ y
        d_y = d_y + d_total @ w[k]
    out = kernels.stacked.backward(net={"w": w, "slope": np.float32(slope)}, x=x)
    close(out["result"], np.asarray((inputs[-1] ** 2).sum() / len(x)))
    close(out["grad.net.w"], d_w)
    close(out["grad.net.slope"], np.asarray(d_slope))
    close(out["grad.x"], d_y)


def test_biases__of_one_matrix_and_of_several__have_their_sums(kernels: LoadedFile) -> None:
    shapes = {"w": (2, 13, 13), "b": (2, 13), "v": (3, 13), "c": (3,), "p": (3, 3), "q": (3, 3), "d": (3,)}
    net, x = {key: numbers(*shape, scale=0.4) for key, shape in shapes.items()}, numbers(300, 13)
    w, b, v, c, p, q, d = (net[key].astype(np.float64) for key in shapes)
    y0 = np.tanh(x @ w[0].T + b[0])
    y1 = np.tanh(y0 @ w[1].T + b[1])
    z = y1 @ v.T + c
    g = z @ p.T + d
    h = g @ q.T + d
    d_h = 0.5 * 2 * h
    d_g = d_h @ q
    d_z = 3.0 * 2 * z / len(x) + d_g @ p
    d_1 = d_z @ v * (1 - y1**2)
    d_0 = d_1 @ w[1] * (1 - y0**2)
    d_c = d_z.sum(0)
    d_c[0] += 3.0
    expected = {
        "w": np.stack([d_0.T @ x, d_1.T @ y0]), "b": np.stack([d_0.sum(0), d_1.sum(0)]), "v": d_z.T @ y1, "c": d_c,
        "p": d_g.T @ z, "q": d_h.T @ g, "d": d_g.sum(0) + d_h.sum(0),
    }  # fmt: skip
    out = kernels.biased.backward(net=net, x=x, cotangent=(3.0, 0.5))
    close(out.result[0], np.asarray(c[0] + (z * z).sum() / len(x)))
    close(out.result[1], np.asarray((h * h).sum()))
    for key, gradient in expected.items():
        close(out[f"grad.net.{key}"], gradient)
    close(out["grad.x"], d_0 @ w[0])


def test_gate__products_of_some_threads__stay_loops_and_are_right(kernels: LoadedFile) -> None:
    net = {key: numbers(20, 20) for key in "wvu"}
    x, gate = numbers(200, 20), RNG.uniform(0, 1, 200).astype(np.float32)
    w, v, u, y = (a.astype(np.float64) for a in (*net.values(), x))
    a, b, c = y @ w.T, y @ u.T, (y @ v.T) * (gate > 0.5)[:, None]
    d_u = a.T @ y
    d_u[0, 0] += len(x)
    out = kernels.gated.backward(net=net, x=x, gate=gate)
    for key, expected in {"w": b.T @ y, "v": (3 * c * c).T @ y, "u": d_u}.items():
        close(out[f"grad.net.{key}"], expected)


def test_choice__of_products_of_all_threads__is_right(kernels: LoadedFile) -> None:
    net, x, gate = {"w": numbers(16, 16), "b": numbers(16)}, numbers(300, 16), numbers(300)
    z = x @ net["w"][3].astype(np.float64) + net["b"][3]
    is_used = (gate > 0.5) & (z > 0)
    d_w, d_b, d_x = np.zeros((16, 16)), np.zeros(16), np.zeros(x.shape)
    d_w[3], d_b[3] = x[is_used].sum(0), is_used.sum()
    d_x[is_used] = net["w"][3]
    d_x[gate <= 0.5, 1] = 1
    out = kernels.chosen.backward(net=net, x=x, gate=gate)
    close(out.result, np.asarray(np.where(gate > 0.5, np.maximum(z, 0), x[:, 1]).sum()))
    close(out["grad.net.w"], d_w)
    close(out["grad.net.b"], d_b)
    close(out["grad.x"], d_x)


def test_kinds__matrices_that_elements_choose__have_gradients_of_their_own(kernels: LoadedFile) -> None:
    x, kind, block, count = numbers(190, 16), np.arange(190, dtype=np.int32) % 3, np.arange(190) // 64, 190
    net = {key: {"w": numbers(3, 16, 16, scale=0.4), "b": numbers(3, 16)} for key in ("own", "block", "all")}
    net |= {"v": numbers(16, 16, scale=0.4), "c": numbers(3, 16)}
    layers = [("own", kind), ("block", block), ("all", np.full(count, 2))]
    inputs = [x.astype(np.float64)]
    for key, at in layers:
        inputs.append(np.einsum("nij,nj->ni", net[key]["w"][at], inputs[-1]) + net[key]["b"][at])
    z = np.tanh(inputs[-1] @ net["v"].T + net["c"][kind])
    d_out = numbers(count, 16)
    d_z = d_out * (1 - z * z)
    gradients = {"v": d_z.T @ inputs[-1], "c": np.stack([d_z[kind == k].sum(0) for k in range(3)])}
    d_y = d_z @ net["v"]
    for (key, at), y in zip(layers[::-1], inputs[-2::-1], strict=True):
        gradients[f"{key}.w"] = np.stack([d_y[at == k].T @ y[at == k] for k in range(3)])
        gradients[f"{key}.b"] = np.stack([d_y[at == k].sum(0) for k in range(3)])
        d_y = np.einsum("nij,ni->nj", net[key]["w"][at], d_y)
    given = {"net": net, "x": x, "kind": kind, "which": 2}
    close(kernels.kinds(**given), z)
    out = kernels.kinds.backward(**given, cotangent=d_out)
    for key, gradient in gradients.items():
        close(out[f"grad.net.{key}"], gradient)
    close(out["grad.x"], d_y)


@pytest.mark.parametrize("edge", ["padded", "clamped"])
def test_convolutions__gradients__are_those_of_float64(kernels: LoadedFile, edge: str) -> None:
    height, width = 17, 23
    x, w, b = numbers(height, width, 9), numbers(3, 3, 11, 9, scale=0.1), numbers(11)
    d_out = numbers(height, width, 11)
    at = np.pad(np.arange(height * width).reshape(height, width), 1, mode="edge")
    if edge == "padded":
        at[[0, -1]] = at[:, [0, -1]] = height * width  # a place of zeros
    around = np.concatenate([x.reshape(-1, 9), np.zeros((1, 9))])[at]
    value, d_w, d_x = np.zeros((height, width, 11)) + b, np.zeros(w.shape), np.zeros((height * width + 1, 9))
    for i in range(3):
        for j in range(3):
            seen = np.s_[i : i + height, j : j + width]
            value += around[seen] @ w[i, j].T
            d_w[i, j] = np.einsum("yzo,yzc->oc", d_out, around[seen])
            np.add.at(d_x, at[seen], d_out @ w[i, j].astype(np.float64))
    given = {"net": {"w": w, "b": b}, "x": x}
    close(kernels[edge](**given, domain=(height, width)), value)
    out = kernels[edge].backward(**given, domain=(height, width), cotangent=d_out)
    close(out["grad.net.w"], d_w)
    close(out["grad.net.b"], d_out.sum((0, 1), dtype=np.float64))
    close(out["grad.x"], d_x[:-1].reshape(x.shape))
