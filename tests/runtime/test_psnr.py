"""The PSNR of a training is that of the rendered picture, or there is none."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import slangad as sa

if TYPE_CHECKING:
    from types import ModuleType

pytestmark = pytest.mark.toolchain

SHAPE = (6, 5)
BEGIN = {"base": np.float32([0.2, 0.4, 0.1]), "slope": np.float32([0.3, 0.1, 0.7])}


@pytest.fixture(scope="module")
def described(cxx: object) -> Any:
    return sa.load(Path(__file__).with_name("psnr_described.py"), device="cpu")


@pytest.fixture
def image() -> np.ndarray[Any, Any]:
    return np.random.default_rng(3).uniform(0, 1, (*SHAPE, 3)).astype("f4")


WITH_SHAPE = (
    "by_stages", "by_index", "sum_by_index", "index_by_stages", "diagonal", "shifted", "trained",
)  # fmt: skip


def arguments(name: str, image: np.ndarray[Any, Any]) -> dict[str, Any]:
    shape = {"shape": np.zeros(SHAPE, "f4")} if name in WITH_SHAPE else {}
    other = {"other": image} if name == "between" else {}
    at = {"at": np.zeros((*SHAPE, 2), "f4")} if name == "elsewhere" else {}
    return {"image": image, "m": BEGIN, **shape, **other, **at}


def psnr(found: np.ndarray[Any, Any], image: np.ndarray[Any, Any]) -> float:
    error = np.mean((np.asarray(found, "f8") - np.asarray(image, "f8")) ** 2)
    return float(-10 * np.log10(error))


@pytest.mark.parametrize("name", ["by_l2", "by_dot", "by_sum", "by_squares", *WITH_SHAPE[:4]])
def test_psnr__of_a_picture__is_that_of_the_rendered_result(
    described: ModuleType, image: np.ndarray[Any, Any], name: str
) -> None:
    result = getattr(described, name).train(**arguments(name, image), steps=1, optimizer=sa.SGD(lr=0.1))
    rendered = described.render.forward(np.zeros(SHAPE, "f4"), BEGIN).result
    assert result.psnr == pytest.approx(psnr(rendered, image), abs=1e-4)
    assert f"PSNR {result.psnr:.2f} -> {result.psnr:.2f} dB" in repr(result)


def test_psnr__after_training__is_that_of_the_parameters(described: ModuleType, image: np.ndarray[Any, Any]) -> None:
    begin = described.by_l2.train(image, BEGIN, steps=0, optimizer=sa.Adam(lr=0.05))
    assert begin.psnr is None
    first = described.by_l2.train(image, BEGIN, steps=40, optimizer=sa.Adam(lr=0.05))
    after = described.by_l2.train(image, first.parameters.m, steps=1, optimizer=sa.Adam(lr=0.05))
    rendered = described.render.forward(np.zeros(SHAPE, "f4"), first.parameters.m).result
    assert after.psnr == pytest.approx(psnr(rendered, image), abs=1e-4)
    assert after.psnr > 1.0 + psnr(described.render.forward(np.zeros(SHAPE, "f4"), BEGIN).result, image)


def test_psnr__of_a_batch__is_that_of_its_rows(described: ModuleType) -> None:
    rows = np.linspace(0, 1, 4, dtype="f4")
    image = np.broadcast_to(np.float32([0.5, 0.25, 0.5]), (4, 5, 3)).copy()
    image[..., 0] = rows[:, None]
    flat = {"base": np.zeros(3, "f4"), "slope": np.zeros(3, "f4")}
    for name in ("by_squares", "by_sum"):
        result = getattr(described, name).train(image, flat, steps=1, batch=2, lr=1e-9)
        order = np.random.default_rng([0, 0]).permutation(4)[:2]
        assert result.psnr == pytest.approx(psnr(np.zeros((2, 5, 3)), image[order]), abs=1e-4)


WITHOUT = (
    "penalised", "weighted", "partial", "relative", "masked", "changed", "curved", "mixed", "twice", "between",
    "elsewhere", "diagonal", "shifted", "trained",
)  # fmt: skip


@pytest.mark.parametrize("name", WITHOUT)
def test_no_psnr__of_other_objectives(described: ModuleType, image: np.ndarray[Any, Any], name: str) -> None:
    result = getattr(described, name).train(**arguments(name, image), steps=1, lr=1e-3)
    assert result.psnr is None
    assert "PSNR" not in repr(result)


@pytest.mark.parametrize("name", WITH_SHAPE[1:4])
def test_no_psnr__of_a_part_of_a_tensor(described: ModuleType, image: np.ndarray[Any, Any], name: str) -> None:
    train = getattr(described, name).train
    part = {**arguments(name, image), "shape": np.zeros((4, 5), "f4")}
    assert train(**part, steps=1, lr=1e-9).psnr is None
    assert train(**arguments(name, image), steps=1, lr=1e-9, batch=2).psnr is None
    assert train(**arguments(name, image), steps=1, lr=1e-9, batch=6).psnr is None


@pytest.mark.parametrize("change", [lambda a: a * 1.1 + 0.2, lambda a: a - 0.5, lambda a: a * 255])
def test_no_psnr__of_values_that_are_not_from_0_to_1(
    described: ModuleType, image: np.ndarray[Any, Any], change: Any
) -> None:
    assert described.by_l2.train(change(image), BEGIN, steps=1, lr=1e-9).psnr is None


def test_no_psnr__of_data_without_rows_and_columns(described: ModuleType) -> None:
    assert described.grey.train(np.linspace(0, 1, 9, dtype="f4"), 0.5, steps=1, lr=1e-9).psnr is None
