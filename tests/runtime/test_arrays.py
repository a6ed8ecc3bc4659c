"""Named arrays against a kernel's signature: what fits is converted, what doesn't is told, all of it at once."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from slangad.compiler.api.program import read_program
from slangad.compiler.driver.inputs import Input
from slangad.compiler.driver.model import Options
from slangad.compiler.runtime.arrays.conversion import MisfitError, convert
from slangad.compiler.runtime.arrays.modes import RunMode
from slangad.compiler.runtime.arrays.prepare import InputError, prepare
from slangad.compiler.runtime.pipeline.random_inputs import draw_missing

if TYPE_CHECKING:
    from slangad.compiler.runtime.arrays.prepare import Prepared
    from slangad.compiler.runtime.arrays.signature import ArrayPart, KernelSignature


@cache
def signature(name: str) -> KernelSignature:
    program = read_program(Input(Path(__file__).with_name("described.py")), Options(targets=()))
    return program.plans[name].signature


def prepared(name: str, mode: str = "forward", domain: tuple[int, ...] | None = None, **given: object) -> Prepared:
    return prepare(signature(name), RunMode(mode), {k.replace("__", "."): v for k, v in given.items()}, domain)


def refused(name: str, mode: str = "forward", domain: tuple[int, ...] | None = None, **given: object) -> str:
    with pytest.raises(InputError) as caught:
        prepared(name, mode, domain, **given)
    return str(caught.value)


def test_signature__structs_and_arrays__have_a_part_per_leaf() -> None:
    keys = {part.key: part for value in signature("kinds").parameters for part in value.parts}
    assert keys["scene.pairs.left"].shape == (2, 3)
    assert keys["scene.gain"].shape == ()
    assert keys["inner.active"].dtype == "?"
    assert (keys["m"].shape, keys["table"].shape, keys["h"].dtype) == ((2, 3), (3,), "f2")
    assert [part.key for value in signature("kinds").results for part in value.parts] == [
        "result.0", "result.1", "result.2.uv", "result.2.in_", "result.2.active"
    ]  # fmt: skip


def test_prepare__several_mistakes__are_told_together() -> None:
    said = refused("two", x=[[1.0]], z=1)
    assert "x has shape (1, 1), not (n,)" in said
    assert "two takes no z" in said
    assert "y is missing: float32, shape (n,)" in said


def test_prepare__domain__is_that_of_each_and_of_whoever_says() -> None:
    assert prepared("plane", x=np.ones((3, 4)), y=np.ones((3, 4, 2))).domain == (3, 4)
    assert prepared("indices", domain=(7,)).domain == (7,)
    assert "y has 3x5 elements and x has 3x4 elements" in refused("plane", x=np.ones((3, 4)), y=np.ones((3, 5, 2)))
    assert "x has 4 elements and the domain has 5 elements" in refused("square", domain=(5,), x=np.ones(4), a=1.0)
    assert "y has shape (3, 4, 3), not (3, 4, 2)" in refused("plane", x=np.ones((3, 4)), y=np.ones((3, 4, 3)))
    assert prepared("square", x=np.ones(0), a=1).domain == (0,)


@pytest.mark.parametrize("domain", [(-1,), (1.5,), ("3",), (True,), (None,)])
def test_prepare__domain_that_is_no_count__is_refused(domain: tuple[object, ...]) -> None:
    assert "is not a domain of indices [SA414]; it is one whole number for each axis" in refused(
        "indices", domain=domain
    )
    assert prepared("indices", domain=(np.int64(3),)).domain == (3,)


def test_prepare__derivatives__have_the_shapes_of_what_they_are_of() -> None:
    two = {"x": np.ones(3), "y": np.ones(3)}
    assert "cotangent.result.1 has shape (3,), not (3, 2)" in refused(
        "two", "backward", **two, cotangent__result__1=[1, 2, 3]
    )
    assert "at least one of tangent.x, tangent.y" in refused("two", "jvp", **two)
    assert "did you mean tangent.y?" in refused("two", "jvp", **two, tangent__z=1)
    assert prepared("two", "forward", **two, tangent__x=1, cotangent__result__0=2).domain == (3,)
    assert "square takes no tangent.b" in refused("square", "jvp", x=[1.0], a=1.0, tangent__b=1.0)


def part(dtype: str) -> ArrayPart:
    keys = {"f2": "h", "f4": "x", "f8": "d", "i4": "i", "u4": "u", "?": "on"}
    return next(v.parts[0] for v in signature("kinds").parameters if v.name == keys[dtype])


@pytest.mark.parametrize(
    ("dtype", "given", "note"),
    [
        ("f4", np.array([1.5, 2.5]), "converted from float64 to float32"),
        ("f4", [1.5, 2.5], ""),
        ("f4", np.array([1, 2]), ""),
        ("f4", np.array([2**24 + 1]), "rounded from int64 to float32"),
        ("f2", np.array([0.5], np.float32), "converted from float32 to float16"),
        ("f8", np.array([0.5], np.float32), ""),
        ("i4", np.array([3], np.int64), ""),
        ("u4", np.array([4_000_000_000]), ""),
        ("?", np.array([0, 1]), ""),
        ("?", [True], ""),
        ("i4", [], ""),
    ],
)
def test_convert__what_fits__is_taken_with_a_note_where_digits_are_lost(dtype: str, given: object, note: str) -> None:
    array, said = convert(given, part(dtype))
    assert array.dtype == np.dtype(dtype)
    assert said == note
    assert array.flags.c_contiguous


@pytest.mark.parametrize(
    ("dtype", "given", "message"),
    [
        ("i4", np.array([1.5]), "holds float64, not int32"),
        ("i4", np.array([2**31]), "has 2147483648, which int32 can't hold"),
        ("u4", np.array([-1]), "has -1, which uint32 can't hold"),
        ("?", np.array([2]), "holds int64, not bool"),
        ("f4", np.array(["a"]), "holds text, not float32"),
        ("f2", np.array([1e6]), "has values too large for float16, such as 1e+06"),
        ("f4", [[1.0], [1.0, 2.0]], "is no array"),
        ("f4", np.array([True]), "holds bool, not float32"),
        ("f4", np.array([1j]), "holds complex128, not float32"),
    ],
)
def test_convert__what_does_not_fit__is_refused(dtype: str, given: object, message: str) -> None:
    with pytest.raises(MisfitError, match=message.replace("+", r"\+").replace("(", r"\(")):
        convert(given, part(dtype))


def test_convert__infinities__stay() -> None:
    array, _ = convert(np.array([np.inf, -np.inf, np.nan]), part("f4"))
    assert np.isinf(array[:2]).all()


def test_draw__missing_inputs__are_the_same_whatever_else_is_given() -> None:
    first = draw_missing(signature("two"), RunMode.JVP, {}, (5,), 3)
    assert set(first) == {"x", "y", "tangent.x", "tangent.y"}
    second = draw_missing(signature("two"), RunMode.JVP, {"x": np.ones(5)}, None, 3)
    np.testing.assert_array_equal(first["y"], second["y"])
    assert not np.array_equal(first["y"], draw_missing(signature("two"), RunMode.JVP, {}, (5,), 4)["y"])
    assert first["x"].dtype == np.float32
    assert -1.0 <= first["x"].min() < first["x"].max() <= 1.0
    kinds = draw_missing(signature("kinds"), RunMode.FORWARD, {}, (50,), 0)
    assert kinds["d"].dtype == np.float64
    assert kinds["h"].dtype == np.float16
    assert set(np.unique(kinds["i"])) == {0, 1, 2, 3}
    assert kinds["on"].dtype == bool
    assert kinds["scene.pairs.left"].shape == (2, 3)
