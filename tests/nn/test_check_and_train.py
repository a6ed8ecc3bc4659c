"""``slangad check`` passes what ``sa.nn`` describes; ``slangad train`` starts at its initial values and learns."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from slangad.cli.main import cli

pytestmark = pytest.mark.toolchain
SAMPLE = Path(__file__).parents[2] / "samples" / "neural_image"
MATERIAL = SAMPLE.parent / "neural_material" / "neural_material.py"


def slangad(folder: Path, *words: str, code: int = 0) -> dict[str, object]:
    """The JSON document that a command prints, which exits with this code. Nothing is imported again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        done = CliRunner().invoke(cli, [*words, "--format", "json"], prog_name="slangad")
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert done.exit_code == code, done.output
    document: dict[str, object] = json.loads(done.stdout)
    return document


@pytest.fixture(autouse=True)
def _compiler(cxx: object) -> None:
    """Everything here runs on the CPU."""


def test_check__of_all_kinds__passes(tmp_path: Path) -> None:
    document = slangad(tmp_path, "check", str(Path(__file__).with_name("checked.py")), "--samples", "60")
    verdicts = {str(r["function"]): r["verdict"] for r in document["results"]}  # type: ignore[attr-defined]
    assert set(verdicts.values()) <= {"PASS", "KINK_OK"}, verdicts
    assert len(verdicts) == 6


WRONG = """
from typing import Annotated, Any

import slangad as sa
from slangad import Each, Mean, NoDiff, Param, float2

Grid = Annotated[Any, sa.nn.HashGrid(3, 2, 16, 2, 1.7)]
Net = Annotated[Any, sa.nn.MLP([6, 16, 1])]


@sa.differentiable
def squared(x: float) -> float:
    return x * x


@squared.backward
def squared_bwd(x: float, d_out: float) -> float:
    return 2.02 * x * d_out


@sa.kernel
def fit(at: NoDiff[Each[float2]], grid: Param[Grid], net: Param[Net]) -> Mean[float]:
    return squared(net(grid(at))[0])
"""


def test_check__of_a_wrong_derivative_after_grid_and_network__fails(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text(WRONG, encoding="utf-8")
    document = slangad(tmp_path, "check", "wrong.py", "--only", "fit", "--samples", "20", code=3)
    (result,) = document["results"]  # type: ignore[misc]
    assert result["verdict"] == "FAIL"


def test_train__of_the_sample__starts_at_initial_values_and_learns(tmp_path: Path) -> None:
    command = ["train", f"{SAMPLE / 'neural_image.py'}:fit", "-i", str(SAMPLE / "image.npz"), "--device", "cpu"]
    slangad(tmp_path, *command, "--steps", "1", "--lr", "1e-12", "-o", "begin.npz")
    with np.load(tmp_path / "begin.npz") as begin:
        for name, bound in {"grid.table": 1e-4, "net.l1.w": np.sqrt(6 / 8), "net.l2.w": np.sqrt(6 / 19)}.items():
            assert 0.7 * bound < np.abs(begin[f"field.{name}"]).max() <= bound * 1.001
        assert np.abs(begin["field.net.l1.b"]).max() < 1e-9
    document = slangad(tmp_path, *command, "--steps", "800", "--until-loss", "1e-3", "-o", "field.npz")
    assert document["reached"] is True
    render = ["run", f"{SAMPLE / 'neural_image.py'}:render", "-i", "field.npz", "--device", "cpu", "-o"]
    slangad(tmp_path, *render, "learned.npz", "--domain", "48x64")
    slangad(tmp_path, *render, "learned.png", "--domain", "96x128")
    with np.load(tmp_path / "learned.npz") as learned, np.load(SAMPLE / "image.npz") as data:
        error = np.mean((learned["result"].astype("f8") - data["image"]) ** 2)
    assert document["last_psnr"] == pytest.approx(-10 * np.log10(error), abs=1e-3)
    with Image.open(tmp_path / "learned.png") as drawn:
        assert drawn.size == (128, 96)


def test_train__of_the_material__learns_what_it_draws(tmp_path: Path) -> None:
    command = [
        "train",
        f"{MATERIAL}:fit",
        "--domain",
        "4096",
        "--lr",
        "0.01",
        "--device",
        "cpu",
        "--steps",
        "600",
        "--until-loss",
        "2e-3",
    ]
    document = slangad(tmp_path, *command, "-o", "material.npz")
    assert document["reached"] is True
    assert document["last_psnr"] is None  # its target is no picture
    drawn = []
    for name, given in {"render": ("-i", "material.npz"), "reference": ("--set", "size=32")}.items():
        words = ["run", f"{MATERIAL}:{name}", *given, "--device", "cpu", "--domain", "32x32", "-o", f"{name}.npz"]
        slangad(tmp_path, *words)
        with np.load(tmp_path / f"{name}.npz") as arrays:
            drawn.append(arrays["result"])
    assert np.mean((drawn[0] - drawn[1]) ** 2) < 5e-3
    assert np.var(drawn[1]) > 0.05
