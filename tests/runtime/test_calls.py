"""``sa.load(...)``: kernels on a device, called like functions, agree with the same kernels in Python."""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pytest

import slangad as sa
from slangad.compiler.errors.diagnostics import CompileError, ToolchainError
from slangad.compiler.ir.pipelines import Optimizer
from slangad.compiler.runtime.arrays.prepare import InputError
from slangad.compiler.runtime.training.train import TrainingPlan
from slangad.compiler.runtime.training.trainable import prepare_training

if TYPE_CHECKING:
    from types import ModuleType

    from slangad.compiler.api.load import LoadedFile

pytestmark = pytest.mark.toolchain
DESCRIBED = Path(__file__).with_name("described.py")


@pytest.fixture(scope="module")
def kernels(cxx: object) -> LoadedFile:
    return sa.load(DESCRIBED, device="cpu")


@pytest.fixture(scope="module")
def python() -> ModuleType:
    spec = importlib.util.spec_from_file_location("described", DESCRIBED)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_load__kernels__are_attributes_and_items(kernels: LoadedFile) -> None:
    assert list(kernels) == ["square", "kinds", "plane", "indices", "two", "forever"]
    assert kernels["two"] is kernels.two
    assert repr(kernels.square) == "<kernel square(x: each float, a: uniform float) on cpu>"
    with pytest.raises(AttributeError, match="no kernel nothing; it has square, "):
        _ = kernels.nothing
    with pytest.raises(CompileError):
        sa.load("nowhere.py")


def test_call__positions_and_names__give_the_result(kernels: LoadedFile) -> None:
    x = np.float32([1, 2, 3])
    np.testing.assert_array_equal(kernels.square(x, 2.0), [2, 8, 18])
    np.testing.assert_array_equal(kernels.square(x=x, a=2.0), [2, 8, 18])
    np.testing.assert_array_equal(kernels.indices(domain=4), [0, 3, 6, 9])
    first, second = kernels.two(x, x)
    assert (first.shape, second.shape) == ((3,), (3, 2))


WRITING = """
import slangad as sa

@sa.kernel
def one(x: sa.Each[float], out: sa.OutTensor[float, 1]) -> None:
    out[sa.thread_id(0)] = x + 1.0

@sa.kernel
def several(x: sa.Each[float], a: sa.OutTensor[float, 1], b: sa.InOutTensor[float, 1]) -> None:
    i = sa.thread_id(0)
    a[i] = x
    b[i] = b[i] * x

@sa.kernel
def both(x: sa.Each[float], out: sa.OutTensor[float, 1]) -> sa.Each[float]:
    out[sa.thread_id(0)] = x
    return x * 2.0

@sa.pipeline
def line(x: sa.Each[float], out: sa.OutTensor[float, 1]) -> None:
    one(x, out)
"""


def test_call__kernel_that_only_writes__gives_what_it_wrote(tmp_path: Path, cxx: object) -> None:
    (tmp_path / "writing.py").write_text(WRITING, encoding="utf-8")
    writing, x = sa.load(tmp_path / "writing.py", device="cpu"), np.float32([1, 2])
    np.testing.assert_array_equal(writing.one(x), [2, 3])
    np.testing.assert_array_equal(writing.line(x), [2, 3])
    found = writing.several(x, b=np.float32([3, 4]))
    assert list(found) == ["a", "b"]
    np.testing.assert_array_equal(found["b"], [3, 8])
    np.testing.assert_array_equal(writing.both(x), [2, 4])
    assert writing.one.forward(x).result is None


def test_call__every_kind_of_value__is_as_in_python(kernels: LoadedFile, python: ModuleType) -> None:
    rng, n = np.random.default_rng(3), 9
    inner = {"uv": [0.5, 1.5], "in_": 2, "active": True}
    scene = {"pairs": {"left": [[1, 2, 3], [4, 5, 6]], "weight": [0.5, 0.25]}, "gain": 2.0}
    arguments = {
        "x": rng.normal(size=(n, 3)).astype(np.float32),
        "m": rng.normal(size=(n, 2, 3)).astype(np.float32),
        "h": rng.normal(size=n).astype(np.float16),
        "d": rng.normal(size=n),
        "i": rng.integers(-5, 5, n).astype(np.int32),
        "u": rng.integers(0, 5, n).astype(np.uint32),
        "on": rng.random(n) > 0.5,
    }
    table = np.float32([1, 2, 3])
    found = kernels.kinds.forward(**arguments, inner=inner, scene=scene, table=table)
    described = python.Scene(
        pairs=sa.Array[python.Pair, 2](
            python.Pair(left=sa.float3(1.0, 2.0, 3.0), weight=0.5),
            python.Pair(left=sa.float3(4.0, 5.0, 6.0), weight=0.25),
        ),
        gain=2.0,
    )
    own = python.Inner(uv=sa.float2(0.5, 1.5), in_=2, active=True)
    total, on, made = python.kinds(**arguments, inner=own, scene=described, table=sa.Array[float, 3](1.0, 2.0, 3.0))
    np.testing.assert_allclose(found.result[0], total, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(found.result[1], on)
    assert found.result[1].dtype == bool
    np.testing.assert_array_equal(found.result[2]["in_"], arguments["i"])
    np.testing.assert_array_equal(found.result[2]["active"], ~arguments["on"])
    np.testing.assert_array_equal(found.result[2]["uv"], np.tile(np.float32([0.5, 1.5]), (n, 1)))
    assert made is not None


def test_call__structs__may_be_objects_with_attributes(kernels: LoadedFile) -> None:
    ones = {"x": np.ones((1, 3)), "m": np.ones((1, 2, 3)), "h": np.ones(1), "d": np.ones(1)}
    ones |= {"i": [1], "u": [1], "on": [True], "table": [1, 2, 3]}
    mapping = {"pairs": {"left": np.ones((2, 3)), "weight": np.ones(2)}, "gain": 1.0}
    pairs = SimpleNamespace(left=np.ones((2, 3)), weight=np.ones(2))
    inner = {"uv": [1, 1], "in_": 1, "active": True}
    one = kernels.kinds.forward(**ones, inner=inner, scene=mapping)
    other = kernels.kinds.forward(**ones, inner=SimpleNamespace(**inner), scene=SimpleNamespace(pairs=pairs, gain=1.0))
    np.testing.assert_array_equal(one["result.0"], other["result.0"])


def test_backward__cotangents__come_as_array_tuple_or_by_name(kernels: LoadedFile) -> None:
    x, y, c, e = np.random.default_rng(1).normal(size=(4, 5)).astype(np.float32)
    pair = np.stack([c, e], 1)
    wanted = c * y + 2 * x * c
    for cotangent in ((c, pair), {"result.0": c, "result.1": pair}, {"result": (c, pair)}):
        np.testing.assert_allclose(kernels.two.backward(x, y, cotangent=cotangent).grad["x"], wanted, rtol=1e-5)
    single = kernels.square.backward(x, 3.0, cotangent=c)
    np.testing.assert_allclose(single.grad["x"], 6 * x * c, rtol=1e-5)
    assert list(single) == ["grad.x"]
    with pytest.raises(AttributeError, match=r"this call computes no result, only grad\.x: \.forward\(…\) gives"):
        _ = single.result


def test_call__wrong_arguments__say_what_is_wrong(kernels: LoadedFile) -> None:
    x = np.ones(3, np.float32)
    with pytest.raises(InputError, match=r"a is missing: float32, shape \(\)"):
        kernels.square(x)
    with pytest.raises(TypeError, match="square: too many positional arguments"):
        kernels.square(x, 1.0, 2.0)
    with pytest.raises(TypeError, match="tangent of square is a mapping by name"):
        kernels.square.jvp(x, 1.0, tangent=x)
    with pytest.raises(ValueError, match="square takes no b"):
        kernels.square(x, a=1.0, b=2.0)
    with pytest.raises(CompileError, match="indices has no backward mode"):
        kernels.indices.backward(domain=3)
    with pytest.raises(ToolchainError, match="SA250"):
        kernels.square(x, 1.0, device="tpu")


@pytest.fixture(scope="module")
def sums(cxx: object) -> LoadedFile:
    return sa.load(DESCRIBED.parent / "described" / "sums.py", device="cpu")


@pytest.mark.parametrize(
    ("mode", "given", "message"),
    [
        ("backward", {"grad": {"k": 1.0}}, "bent takes no grad.k .*gradients are of parameters .* grad.p, grad.x"),
        ("backward", {"grad": {"x": 1.0}}, r"grad.x has shape \(\), not \(3,\)"),
        ("backward", {"grad": {"q": 1.0}}, r"bent takes no grad.q .*; did you mean grad.x"),
        ("backward", {"cotangent": {"reslt": 1.0}}, r"bent takes no cotangent.reslt .*; did you mean cotangent.result"),
        ("backward", {"cotangent": {"x": 1.0}}, r"bent takes no cotangent.x .*cotangent.result"),
        ("backward", {"cotangent": {"result": 1.0, "more": 2.0}}, "bent takes no cotangent.more"),
        ("jvp", {"tangent": {"k": 1.0}}, r"bent takes no tangent.k .*tangents are of .*: tangent.p, tangent.x"),
        ("jvp", {"tangent": {"p": {"slop": 1.0}}}, r"bent takes no tangent.p.slop .*; did you mean tangent.p.slope"),
    ],
)
def test_call__derivative_that_means_nothing__is_named(
    sums: LoadedFile, mode: str, given: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        getattr(sums.bent, mode)(np.ones(3, np.float32), {"slope": 1.0, "offset": 2.0}, 2.0, **given)


def test_call__none__is_as_if_nothing_had_been_given(sums: LoadedFile) -> None:
    x, p = np.ones(3, np.float32), {"slope": 1.0, "offset": 2.0}
    with pytest.raises(InputError, match=r"x is missing: float32, shape \(n,\)"):
        sums.bent(None, p, 2.0)
    with pytest.raises(InputError, match=r"p.slope is None, no array of float32"):
        sums.bent(x, **{"p.slope": None, "p.offset": 1.0}, k=2.0)
    plain = sums.bent.backward(x, p, 2.0)
    assert sums.bent.backward(x, p, 2.0, grad={"p": None}).grad["p"]["slope"] == plain.grad["p"]["slope"]


def test_call__fields_that_a_struct_has_not__are_named(sums: LoadedFile) -> None:
    with pytest.raises(InputError, match=r"bent takes no p.slop .*; did you mean p.slope"):
        sums.bent(np.ones(3, np.float32), {"slop": 1.0, "slope": 1.0, "offset": 2.0}, 2.0)
    with pytest.raises(InputError, match=r"bent takes no x.y "):
        sums.bent({"y": 1.0}, {"slope": 1.0, "offset": 2.0}, 2.0)


def test_gradients__given__are_added_to_by_kernels_and_pipelines(sums: LoadedFile) -> None:
    x, p = np.float32([1, 2, 4]), {"slope": 1.0, "offset": 2.0}
    grad = {"x": [10.0, 20.0, 30.0], "p": {"slope": 100.0}}
    for call, more in ((sums.bent, (2.0,)), (sums.whole, ())):
        for mode, given in (("backward", {}), ("jtjvp", {"tangent": {"x": x}})):
            plain, added = (getattr(call, mode)(x, p, *more, **given, **g).grad for g in ({}, {"grad": grad}))
            np.testing.assert_allclose(added["x"] - plain["x"], grad["x"], rtol=1e-5)
            np.testing.assert_allclose(added["p"]["slope"] - plain["p"]["slope"], 100.0, rtol=1e-5)
            assert added["p"]["offset"] == plain["p"]["offset"]


def test_outcome__result_of_several__has_each_at_its_place(cxx: object, tmp_path: Path) -> None:
    described = (
        "import slangad as sa\n@sa.kernel\n"
        "def both(x: sa.Each[float]) -> tuple[sa.Each[float], sa.Sum[float]]:\n    return x * x, x\n"
    )
    (tmp_path / "both.py").write_text(described, encoding="utf-8")
    both = sa.load(tmp_path / "both.py", device="cpu").both
    x = np.float32([1, 2])
    each, total = both(x)
    assert (each.tolist(), total) == ([1, 4], 3)
    found = both.backward(x)
    assert (found.result, found["result.1"]) == ((None, 3), 3)
    assert both.jtjvp(x, tangent={"x": x}).result[1] == 3


def test_backward__wrong_cotangents_of_a_pipeline__are_named(sums: LoadedFile) -> None:
    x, p = np.ones(3, np.float32), {"slope": 1.0, "offset": 2.0}
    with pytest.raises(InputError, match=r"there is no cotangent.reslt .*; did you mean cotangent.result"):
        sums.whole.backward(x, p, cotangent={"reslt": 1.0})
    with pytest.raises(InputError, match="pair has 2 results, and these are 3 cotangents"):
        sums.pair.backward(x, cotangent=(x, x, x))


def test_load__kernels_that_fusion_made__are_not_named(sums: LoadedFile) -> None:
    assert "bent_then_squares" in sums
    with pytest.raises(AttributeError, match=r"no kernel nothing; it has bent, squares, pair, whole$"):
        _ = sums.nothing


def test_import__slangad__loads_nothing_of_it() -> None:
    heavy = ("numpy", "slangpy", "slangad.compiler.api.load")
    code = f"import sys, slangad; slangad.__version__; print([m for m in {heavy} if m in sys.modules])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout == "[]\n"


@pytest.mark.usefixtures("cxx")
def test_backward__mean_of_doubles__is_divided_in_double(tmp_path: Path) -> None:
    text = "import slangad as sa\nfrom slangad import Each, Mean\n\n\n@sa.kernel\n"
    text += "def mean(x: Each[sa.double]) -> Mean[sa.double]:\n    return x * 1.0\n"
    (tmp_path / "mean.py").write_text(text, encoding="utf-8")
    found = sa.load(tmp_path / "mean.py", device="cpu").mean.backward(np.zeros(3), cotangent=1.0)
    assert found.grad["x"].tolist() == [1.0 / 3.0] * 3


HELPED = """
import slangad as sa
import helper
from inner import part


@sa.kernel
def scaled(x: sa.Each[float]) -> sa.Each[float]:
    return helper.FACTOR * x + part.FACTOR
"""


def test_load__folders_with_modules_of_one_name__each_see_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, factor in (("one", 1.0), ("two", 2.0)):
        (tmp_path / folder / "inner").mkdir(parents=True)
        (tmp_path / folder / "fit.py").write_text(HELPED, encoding="utf-8")
        (tmp_path / folder / "helper.py").write_text(f"FACTOR = {factor}\n", encoding="utf-8")
        (tmp_path / folder / "inner" / "part.py").write_text(f"FACTOR = 1{factor}\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path / "one"))
    helper = importlib.import_module("helper")
    for folder, factor in (("one", 1.0), ("two", 2.0)):
        text = sa.load(tmp_path / folder / "fit.py").program.emitted.text
        assert f" {factor};" in text
        assert f" 1{factor};" in text
    assert sys.modules.pop("helper") is helper


UNSAID = """
import slangad as sa
from slangad import InOutTensor, OutTensor, Sum, Tensor

@sa.kernel
def twice(t: Tensor[float, 1], out: OutTensor[float, 1]):
    i = sa.thread_id(0)
    out[i] = 2.0 * t[i]

@sa.kernel
def both(t: Tensor[float, 1], v: InOutTensor[float, 1], out: OutTensor[float, 1]):
    i = sa.thread_id(0)
    out[i] = 2.0 * t[i]
    v[i] = 2.0 * v[i] + 3.0 * t[i]

@sa.kernel
def total(t: Tensor[float, 1]) -> Sum[float]:
    return t[sa.thread_id(0)]

@sa.pipeline
def alone(x: Tensor[float, 1], out: OutTensor[float, 1]):
    twice(x, out)

@sa.pipeline
def beside(x: Tensor[float, 1], v: InOutTensor[float, 1], out: OutTensor[float, 1]):
    both(x, v, out)

@sa.pipeline(optimizer=sa.Adam(lr=0.1))
def told(x: Tensor[float, 1]) -> Sum[float]:
    return total(x, domain=x.shape[0])

@sa.pipeline(optimizer=sa.Adam(lr=0.1))
def fitted(x: Tensor[float, 1], out: OutTensor[float, 1]) -> Sum[float]:
    twice(x, out)
    return total(out, domain=x.shape[0])
"""


@pytest.fixture(scope="module")
def unsaid(cxx: object, tmp_path_factory: pytest.TempPathFactory) -> LoadedFile:
    file = tmp_path_factory.mktemp("unsaid") / "unsaid.py"
    file.write_text(UNSAID, encoding="utf-8")
    return sa.load(file, device="cpu")


def test_call__pipeline_without_an_output__takes_the_domain_as_kernels_do(unsaid: LoadedFile) -> None:
    x = np.ones(5, np.float32)
    with pytest.raises(InputError, match="or domain= in Python; t has 5 elements"):
        unsaid.twice(x)
    for name in ("twice", "alone"):
        with pytest.raises(InputError, match=rf"the domain of {name} is unknown \[SA414\]; give --domain n"):
            unsaid[name](x)
        with pytest.raises(InputError, match=r"the domain of .* is unknown"):
            unsaid[name].backward(x, cotangent={"out": x})
        assert unsaid[name](x, domain=5).tolist() == [2.0] * 5
    assert unsaid.alone(x, np.zeros(5, np.float32)).tolist() == [2.0] * 5
    for name in ("both", "beside"):
        assert unsaid[name](x, x)["out"].tolist() == [2.0] * 5
    assert unsaid.told(x) == 5.0


@pytest.mark.parametrize("name", ["both", "beside"])
def test_call__gradient_given_for_a_tensor_changed_in_place__is_added_to(unsaid: LoadedFile, name: str) -> None:
    one = np.ones(2, np.float32)
    given, cotangent = {"v": 10 * one, "x" if name == "beside" else "t": 100 * one}, {"v": 5 * one, "out": 0 * one}
    found = unsaid[name].backward(one, one, cotangent=cotangent, grad=given).grad
    assert {key: array.tolist() for key, array in found.items()} == {list(given)[1]: [115.0] * 2, "v": [20.0] * 2}
    found = unsaid[name].jtjvp(one, one, tangent={"v": one}, grad=given).grad
    assert {key: array.tolist() for key, array in found.items()} == {list(given)[1]: [106.0] * 2, "v": [14.0] * 2}


def test_prepare_training__pipeline_without_an_output__takes_the_domain_as_kernels_do(unsaid: LoadedFile) -> None:
    x = np.ones(5, np.float32)
    plan = TrainingPlan(Optimizer("adam", ()))
    with pytest.raises(InputError, match="the domain of fitted is unknown"):
        prepare_training(unsaid.program.pipelines["fitted"], {"x": x}, None, plan)
    prepared, _ = prepare_training(unsaid.program.pipelines["fitted"], {"x": x}, (5,), plan)
    assert prepared.extents["out"] == (5,)
    assert prepare_training(unsaid.program.pipelines["told"], {"x": x}, None, plan)[0].extents == {"x": (5,)}


MIXED = """
import slangad as sa
from slangad import Each, OutTensor, Sum, Tensor

@sa.kernel
def mixed(x: Each[float], by: sa.Param[float]) -> tuple[Sum[float], Each[float], Each[bool]]:
    return x * by, x * x, x > 0.0

@sa.kernel
def writes(x: Each[float], o: OutTensor[float, 1]):
    o[sa.thread_id(0)] = x * x

@sa.kernel
def steep(x: Each[float], grad: Each[float]) -> Each[float]:
    return x * grad
"""


@pytest.fixture(scope="module")
def mixed(cxx: object, tmp_path_factory: pytest.TempPathFactory) -> LoadedFile:
    file = tmp_path_factory.mktemp("mixed") / "mixed.py"
    file.write_text(MIXED, encoding="utf-8")
    return sa.load(file, device="cpu")


def test_backward__cotangent_none_of_a_bool__is_as_if_it_was_not_given(mixed: LoadedFile) -> None:
    x = np.float32([1, 2])
    first, second = [2.0, [1.0, 3.0]], {"result.0": 2.0, "result.1": [1.0, 3.0]}
    for cotangent in ((*first, None), {**second, "result.2": None}, {"result": (*first, None)}):
        assert mixed.mixed.backward(x, 0.25, cotangent=cotangent).grad["x"].tolist() == [2.5, 12.5]
    with pytest.raises(InputError, match=r"mixed takes no cotangent.result.2"):
        mixed.mixed.backward(x, 0.25, cotangent=(*first, [True, False]))


def test_backward__bare_cotangent_of_a_tensor__names_the_tensor(mixed: LoadedFile) -> None:
    x = np.float32([1, 2])
    with pytest.raises(TypeError, match=r"cotangent of writes is a mapping by name: cotangent=\{'o': …\}"):
        mixed.writes.backward(x, cotangent=x)
    assert mixed.writes.backward(x, cotangent={"o": x}).grad["x"].tolist() == [2.0, 8.0]


def test_backward__parameter_with_the_name_of_a_keyword__is_given_by_position(mixed: LoadedFile) -> None:
    x = np.float32([1, 2])
    with pytest.raises(TypeError, match="the parameter grad is given by position"):
        mixed.steep.backward(x=x, grad=3.0 * x)
    assert mixed.steep.backward(x, 3.0 * x).grad["x"].tolist() == [3.0, 6.0]
