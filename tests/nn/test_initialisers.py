"""``init=`` of layers: the values at which training starts, the same in YAML, and a training that learns from them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.devices import loaded

import slangad as sa
from slangad.compiler.frontends import load
from slangad.compiler.nn.initialisers import INITIALISERS

if TYPE_CHECKING:
    from slangad.compiler.ir.nodes import Module

FILE = Path(__file__).with_name("initialisers.py")
UNIFORM, NORMAL = "uniform", "normal"
WANTED = {  # the distribution, and its deviation for layers of 50-80 before sine, 80-40 at the end, 50-60 alone
    "by_activation": (UNIFORM, [(2 / 130) ** 0.5, (2 / 120) ** 0.5, (2 / 110) ** 0.5]),
    "xavier_uniform": (UNIFORM, [(2 / 130) ** 0.5, (2 / 120) ** 0.5, (2 / 110) ** 0.5]),
    "xavier_normal": (NORMAL, [(2 / 130) ** 0.5, (2 / 120) ** 0.5, (2 / 110) ** 0.5]),
    "he_uniform": (UNIFORM, [(2 / 50) ** 0.5, (2 / 80) ** 0.5, (2 / 50) ** 0.5]),
    "he_normal": (NORMAL, [(2 / 50) ** 0.5, (2 / 80) ** 0.5, (2 / 50) ** 0.5]),
    "lecun_uniform": (UNIFORM, [50**-0.5, 80**-0.5, 50**-0.5]),
    "lecun_normal": (NORMAL, [50**-0.5, 80**-0.5, 50**-0.5]),
    "siren": (UNIFORM, [30 / 50 / 3**0.5, (2 / 80) ** 0.5, (2 / 50) ** 0.5]),
    "zeros": (UNIFORM, [0.0, 0.0, 0.0]),
}
WEIGHTS = ("net.l1.w", "net.l2.w", "layer.w")


def start(kernel: Any, seed: int = 0, **given: np.ndarray) -> dict[str, np.ndarray]:
    """The values at which a training of a kernel starts."""
    arrays: dict[str, np.ndarray] = kernel.train(**given, steps=0, lr=0.1, seed=seed, device="cpu").arrays
    return arrays


def test_initialisers__that_are_tested__are_those_of_the_table() -> None:
    assert tuple(WANTED) == tuple(INITIALISERS)


@pytest.mark.toolchain
@pytest.mark.parametrize("name", WANTED)
def test_start__of_weights__has_the_distribution_of_the_initialiser(cxx: object, name: str) -> None:
    distribution, deviations = WANTED[name]
    arrays = start(getattr(loaded(FILE, "cpu"), f"fit_{name}"), x=np.zeros((1, 50), "f4"))
    for key, deviation in zip(WEIGHTS, deviations, strict=True):
        values = arrays[key].astype("f8")
        assert values.std() == pytest.approx(deviation, rel=0.04)
        assert abs(values.mean()) <= 0.06 * deviation
        largest = np.abs(values).max()
        if distribution == UNIFORM:
            assert 0.99 * 3**0.5 * deviation <= largest <= 3**0.5 * deviation * (1 + 1e-6)
        else:
            assert 3.0 * deviation < largest < 6.0 * deviation
            assert np.mean(np.abs(values) < deviation) == pytest.approx(0.6827, abs=0.03)
    biases = {key: arrays[key].astype("f8") for key in ("net.l1.b", "net.l2.b", "layer.b")}
    for values, root in zip(biases.values(), (30 / 50**0.5, 80**-0.5, 50**-0.5), strict=True):  # a sine after the first
        bound = root if name == "siren" else 0.0
        assert np.abs(values).max() <= bound * (1 + 1e-6)
        assert values.std() == pytest.approx(bound / 3**0.5, rel=0.25)


@pytest.mark.toolchain
def test_start__of_normal_weights__follows_the_seed(cxx: object) -> None:
    kernel, x = loaded(FILE, "cpu").fit_he_normal, np.zeros((1, 50), "f4")
    first, again, other = start(kernel, 3, x=x), start(kernel, 3, x=x), start(kernel, 4, x=x)
    assert all(np.array_equal(first[key], again[key]) for key in first)
    assert all(not np.array_equal(first[key], other[key]) for key in WEIGHTS)


@pytest.mark.toolchain
def test_start__of_an_own_struct__has_its_ranges_constants_and_deviations(cxx: object) -> None:
    arrays = start(loaded(FILE, "cpu").own, x=np.zeros((1, 2), "f4"))
    assert arrays["model.latent"].std() == pytest.approx(0.5, rel=0.04)
    assert np.abs(arrays["model.latent"]).max() > 1.2
    assert set(arrays["model.layer.w"].ravel().tolist()) == {0.25}  # the outer struct decides
    assert -0.5 <= arrays["second.l1.w"].min() < arrays["second.l1.w"].max() <= 0.25


@pytest.mark.toolchain
def test_train__of_sines__learns_a_wave(cxx: object) -> None:
    x = np.linspace(-1, 1, 256, dtype="f4")
    result = loaded(FILE, "cpu").wave.train(x, steps=400, lr=1e-3, device="cpu")
    assert result.losses[0] > 0.05
    assert result.loss < 1e-3


YAML = """
slangad: 1
nn:
  Net: {{mlp: {{sizes: [2, 9, 3], activation: tanh, init: {0}}}}}
  Layer: {{linear: {{inputs: 3, outputs: 4, init: {0}}}}}
kernels:
  f:
    params: {{x: "each array<float, 2>", net: param Net, layer: param Layer}}
    returns: each float
    body: return layer(net(x))[0]
"""
PYTHON = """
import slangad as sa
from slangad import Array, Each, Param
Net = sa.nn.MLP([2, 9, 3], activation="tanh", init={0})
Layer = sa.nn.Linear(3, 4, init={0})
@sa.kernel
def f(x: Each[Array[float, 2]], net: Param[Net], layer: Param[Layer]) -> Each[float]:
    return layer(net(x))[0]
"""
SAME = [
    *((name, repr(name)) for name in INITIALISERS),
    ("[-1, 0.5]", "(-1, 0.5)"),
    ("{normal: 0.02}", "sa.nn.normal(0.02)"),
]


@pytest.mark.parametrize(("yaml", "python"), SAME)
def test_yaml__of_an_initialiser__means_what_python_means(tmp_path: Path, yaml: str, python: str) -> None:
    described = []
    for name, text in {"f.yaml": YAML.format(yaml), "f.py": PYTHON.format(python)}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        described.append(initial(load(tmp_path / name)))
    assert described[0] == described[1]
    assert len(described[0]) == 4


def initial(module: Module) -> dict[str, Any]:
    """The initial values that structs of a module declare, by the name of the struct."""
    return {struct.struct.name: struct.initial for struct in module.structs}


def test_factory__with_arguments_in_its_decorator_only__makes_a_struct_for_each() -> None:
    def scaled(limit: float) -> Any:
        @sa.struct(initial={"w": (-limit, limit)})
        class Scaled:
            w: float

        return Scaled

    small, large = scaled(0.5), scaled(2.0)
    assert small is scaled(0.5)
    assert small is not large
    assert [one.__slangad_struct__.initial["w"].high for one in (small, large)] == [0.5, 2.0]
