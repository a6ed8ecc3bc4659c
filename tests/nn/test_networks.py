"""Layers, networks and activations of ``sa.nn``: values and gradients against float64, types, refusals."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.devices import largest, loaded, near

import slangad as sa
from slangad.compiler.errors.diagnostics import CompileError
from slangad.compiler.frontends import load

if TYPE_CHECKING:
    from collections.abc import Callable

    from slangad.compiler.api.load import LoadedFile

pytestmark = pytest.mark.toolchain
FILE = Path(__file__).with_name("networks.py")
Layers = dict[str, dict[str, np.ndarray]]
Activation = tuple["Callable[[np.ndarray], np.ndarray]", "Callable[[np.ndarray], np.ndarray]"]


@pytest.fixture(params=["cpu", "vulkan", "webgpu"])
def kernels(request: pytest.FixtureRequest) -> LoadedFile:
    return loaded(FILE, request.param)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


C = 0.7978845608
RELU: Activation = (lambda x: np.maximum(x, 0), lambda x: (x > 0).astype(float))
SIGMOID: Activation = (sigmoid, lambda x: sigmoid(x) * sigmoid(-x))
TANH: Activation = (np.tanh, lambda x: 1 / np.cosh(x) ** 2)
NONE: Activation = (lambda x: x, np.ones_like)
CUBED: Activation = (lambda x: x**3, lambda x: 3 * x**2)
ACTIVATIONS: list[Activation] = [
    RELU,
    (lambda x: np.where(x > 0, x, 0.01 * x), lambda x: np.where(x > 0, 1, 0.01)),
    SIGMOID,
    TANH,
    (lambda x: np.logaddexp(0, x), sigmoid),
    (
        lambda x: x / 2 * (1 + np.tanh(C * (x + 0.044715 * x**3))),
        lambda x: (
            (1 + np.tanh(C * (x + 0.044715 * x**3))) / 2
            + x / 2 / np.cosh(C * (x + 0.044715 * x**3)) ** 2 * C * (1 + 3 * 0.044715 * x**2)
        ),
    ),
    (lambda x: x * sigmoid(x), lambda x: sigmoid(x) * (1 + x * sigmoid(-x))),
    (np.sin, np.cos),
]


def weights(*sizes: int, seed: int = 3, bias: bool = True, dtype: str = "f4") -> Layers:
    stream = np.random.default_rng(seed)
    made: Layers = {}
    for k, (n, m) in enumerate(pairwise(sizes), start=1):
        made[f"l{k}"] = {"w": (stream.uniform(-1, 1, (m, n)) * np.sqrt(3 / n)).astype(dtype)}
        if bias:
            made[f"l{k}"]["b"] = stream.uniform(-0.5, 0.5, m).astype(dtype)
    return made


def reference(
    net: Layers, x: np.ndarray, seed: np.ndarray, functions: list[Activation]
) -> tuple[np.ndarray, np.ndarray, Layers]:
    """The network's results, the gradient of x, and those of the layers, in float64."""
    inputs, sums = [x.astype(float)], []
    for layer, (value, _) in zip(net.values(), functions, strict=True):
        sums.append(inputs[-1] @ layer["w"].astype(float).T + np.asarray(layer.get("b", 0.0), float))
        inputs.append(value(sums[-1]))
    moved, gradients = seed.astype(float), {}
    for k in reversed(range(len(sums))):
        moved = moved * functions[k][1](sums[k])
        gradients[f"l{k + 1}"] = {"w": moved.T @ inputs[k], "b": moved.sum(0)}
        moved = moved @ net[f"l{k + 1}"]["w"].astype(float)
    return inputs[-1], moved, gradients


def agree(kernel: object, net: Layers, x: np.ndarray, functions: list[Activation], tolerance: float) -> None:
    seed = np.random.default_rng(9).uniform(-1, 1, (len(x), net[f"l{len(net)}"]["w"].shape[0])).astype("f4")
    result, moved, gradients = reference(net, x, seed, functions)
    near(kernel.forward(x, net).result, result, tolerance, size=largest(result))
    out = kernel.backward(x, net, cotangent=seed)
    near(out["grad.x"], moved, tolerance, size=largest(moved))
    for layer, parts in net.items():
        for name in parts:
            wanted = gradients[layer][name]
            near(out[f"grad.net.{layer}.{name}"], wanted, tolerance, size=largest(wanted))


@pytest.mark.parametrize("count", [0, 1, 33])
def test_network__values_and_gradients__are_those_of_float64(kernels: LoadedFile, count: int) -> None:
    x = np.random.default_rng(1).uniform(-1, 1, (count, 5)).astype("f4")
    agree(kernels.small, weights(5, 13, 3), x, [RELU, SIGMOID], 1e-5)
    if kernels is loaded(FILE, "cpu"):
        agree(kernels.net, weights(5, 17, 64, 64, 3), x, [RELU, RELU, RELU, SIGMOID], 1e-5)


def test_network__of_half_or_one_unit__agrees_too() -> None:
    kernels = loaded(FILE, "cpu")
    x = np.random.default_rng(2).uniform(-1, 1, (33, 5)).astype("f4")
    agree(kernels.half_net, weights(5, 17, 3, dtype="f2"), x, [TANH, NONE], 1e-3)  # gradients of halves are halves
    agree(kernels.one, weights(1, 1, 1, bias=False), x[:, :1].copy(), [CUBED, NONE], 1e-5)


def test_network__of_more_than_a_thousand_units__agrees_and_keeps_no_arrays() -> None:
    kernels = loaded(FILE.with_name("wide.py"), "cpu")
    x = np.random.default_rng(2).uniform(-1, 1, (3, 70)).astype("f4")
    agree(kernels.wide, weights(70, 1024, 2), x, [RELU, NONE], 1e-5)


def test_network__of_half__adds_up_in_float() -> None:
    kernels = loaded(FILE, "cpu")
    net, x = weights(5, 17, 3, dtype="f2"), np.full((1, 5), 0.37, "f4")
    near(kernels.half_net(x, net), reference(net, x, np.ones((1, 3)), [TANH, NONE])[0], 3e-6, size=1.0)


def test_activations__from_far_below_to_far_above__are_those_of_float64() -> None:
    x = np.concatenate([np.linspace(-30, 30, 241), [-200.0, 200.0]]).astype("f4")
    x[120] = 1e-3  # not the kink of the rectifiers
    kernel = loaded(FILE, "cpu").activations
    values = kernel.forward(x).result
    for k, (value, slope) in enumerate(ACTIVATIONS):
        with np.errstate(over="ignore"):
            wanted, moved = value(x.astype(float)), slope(x.astype(float))
        near(values[:, k], wanted, 3e-6, size=np.maximum(np.abs(wanted), 0.1))
        seed = np.zeros((len(x), 8), "f4")
        seed[:, k] = 1.0
        near(kernel.backward(x, cotangent=seed)["grad.x"], moved, 1e-5, size=np.maximum(np.abs(moved), 0.1))


def test_python_execution__of_a_network__is_that_of_the_device() -> None:
    net, x = weights(1, 1, 1, bias=False), np.array([[0.7]], "f4")
    Net = sa.nn.MLP([1, 1, 1], "relu", bias=False)
    python = Net(*(Net.__annotations__[name]([[float(layer["w"][0, 0])]]) for name, layer in net.items()))
    result = reference(net, x, np.ones((1, 1)), [RELU, NONE])[0]
    near(list(python([0.7])), result[0], 1e-6)
    near(list(sa.nn.relu([-1.0, 2.0])), [0.0, 2.0])


def test_types__of_equal_arguments__are_one() -> None:
    assert sa.nn.MLP([4, 8, 2]) is sa.nn.MLP((4, 8, 2), "relu")
    assert sa.nn.Linear(4, 8) is sa.nn.Linear(4, 8, True)
    assert sa.nn.Linear(4, 8) is not sa.nn.Linear(4, 8, storage=sa.half)
    assert sa.nn.Linear(4, 8) is sa.nn.Linear(4, 8, precision="float")
    assert sa.nn.Linear(4, 8) is not sa.nn.Linear(4, 8, precision="half")
    assert sa.nn.Linear(4, 8) is sa.nn.Linear(4, 8, init="by_activation")
    assert sa.nn.Linear(4, 8, init=(0, 0.5)) is sa.nn.Linear(4, 8, init=[0.0, 0.5])
    assert sa.nn.Linear(4, 8, init=(0, 0.5)) is not sa.nn.Linear(4, 8, init=sa.nn.normal(0.5))
    assert sa.nn.MLP([4, 8], init="he_normal") is sa.nn.MLP([4, 8], init="he_normal")
    assert sa.nn.MLP([4, 8], init="he_normal") is not sa.nn.MLP([4, 8])


BAD = {
    "sizes": ("sa.nn.MLP([16, 0, 3])", "[16, 0, 3]", "sizes of MLP is 0"),
    "few": ("sa.nn.MLP([16])", "[16]", "sizes of MLP is [16]"),
    "activation": ("sa.nn.MLP([2, 3], 'rellu')", "'rellu'", "did you mean 'relu'?"),
    "output": ("sa.nn.MLP([2, 3], output='sigmoit')", "'sigmoit'", "did you mean 'sigmoid'?"),
    "storage": ("sa.nn.Linear(2, 3, storage=int)", "int", "float or sa.half"),
    "precision": ("sa.nn.MLP([2, 3], precision='bf16')", "'bf16'", '"float" or "half"'),
    "init": ("sa.nn.MLP([2, 3], init='he_unifrom')", "'he_unifrom'", "did you mean 'he_uniform'?"),
    "init of others": ("sa.nn.Linear(2, 3, init='kaiming_normal')", "'kaiming_normal'", "did you mean 'he_normal'?"),
    "init backwards": ("sa.nn.Linear(2, 3, init=(1, 0))", "(1, 0)", "two numbers from low to high"),
    "init of one": ("sa.nn.MLP([2, 3], init=0.5)", "0.5", "init of MLP is 0.5"),
    "deviation": ("sa.nn.MLP([2, 3], init=sa.nn.normal(0))", "0", "deviation of normal is 0"),
    "width": ("sa.nn.Linear(2, 3.5)", "3.5", "outputs of Linear is 3.5"),
}


@pytest.mark.parametrize("name", BAD)
def test_arguments__that_do_not_fit__are_errors_at_the_argument(tmp_path: Path, name: str) -> None:
    text, at, words = BAD[name]
    file = tmp_path / "bad.py"
    file.write_text(f"import slangad as sa\nN = {text}\n")
    with pytest.raises(CompileError) as caught:
        load(file)
    (found,) = caught.value.diagnostics
    assert words in f"{found.message} {found.help}"
    assert f"N = {text}"[found.span.column - 1 : found.span.end_column - 1] == at


def test_input__of_another_length__is_an_error_at_the_input(tmp_path: Path) -> None:
    file = tmp_path / "bad.py"
    file.write_text(
        "import slangad as sa\nfrom slangad import Array, Param, Each\nN = sa.nn.MLP([16, 3])\n"
        "@sa.kernel\ndef f(x: Each[Array[float, 8]], net: Param[N]) -> Each[Array[float, 3]]:\n    return net(x)\n"
    )
    with pytest.raises(CompileError) as caught:
        load(file)
    assert caught.value.diagnostics[0].message == "argument 'x' of net must be Array[float, 16], not Array[float, 8]"
