"""Every sample: its README shows its command and what it prints, its gradients pass the check, its training learns."""

from __future__ import annotations

import importlib.util
import os
import re
import runpy
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from slangad.cli.main import cli
from slangad.compiler.report.read_json import read_report

if TYPE_CHECKING:
    from types import ModuleType

    from slangad.compiler.report.model import Report

ROOT = Path(__file__).resolve().parents[1]
SAMPLES = ROOT / "samples"
FOLDERS = sorted(path for path in SAMPLES.iterdir() if any(path.glob("*.*")))
CHECKED = re.compile(r"^\$ slangad check samples/(\w+)\S*\n(.*?)^```", re.MULTILINE | re.DOTALL)
VERDICT = re.compile(r"^  ([A-Z_]+) +(\S.*?) +…$", re.MULTILINE)
DRAWN = re.compile(r'<text class="name"[^>]*>([^<]*)<')
COMMANDS = {
    folder.name: command
    for folder in FOLDERS
    for command in re.findall(
        r"`(slangad check samples/\S+ -o samples/\S+\.svg)`", (folder / "README.md").read_text("utf-8")
    )
}
"""The commands that draw the checks of samples."""
SHOWN = {
    name: sorted(VERDICT.findall(block))
    for folder in FOLDERS
    for name, block in CHECKED.findall((folder / "README.md").read_text("utf-8"))
}
"""The verdicts and functions of the checks that READMEs show."""
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
AGAIN = "draw it again with the command of its README, or with pytest --update"
PIXELS = 0.5
"""Another compiler may round a value otherwise."""
SMALLEST_PICTURE, LARGEST_PICTURE = 5_000, 150_000
"""Bytes. An empty plot is smaller; larger ones make the repository grow with every change."""


@dataclass(frozen=True)
class Fit:
    """A short training of a sample: its arguments, and the share of the first loss that the last one is below."""

    arguments: dict[str, Any]
    share: float


FITS = {
    "globe": Fit({"views": 2, "size": 24, "steps": 30}, 0.2),
    "orbit": Fit({"steps": 200}, 0.1),
    "rope": Fit({"steps": 25}, 0.5),
    "silhouette": Fit({"steps": 40}, 0.4),
    "tomography": Fit({"angles": 4, "offsets": 24, "steps": 25}, 0.3),
    "triangles": Fit({"size": 10, "stages": ((0.05, 30),)}, 0.6),
}
"""Samples that `fit`. `tests/nn` trains neural_image and neural_material; spheres and splats are below."""

PRINTS = {
    "directional": "column: [0.8  0.12]",
    "gauss_newton": "height, rate, floor: [2.  1.3 0.4]",
    "in_place": "grad.state  float32[3]  0.75 0.75 0.75",
    "interior_gradients": "probe.bent",
    "polynomial": "grad.x  float32[4]  12 16 20 24",
}
"""Samples that print, and a part of it."""


def text_of(folder: Path) -> str:
    return (folder / "README.md").read_text(encoding="utf-8")


def module_of(name: str) -> ModuleType:
    """Import a sample as a module of its own."""
    spec = importlib.util.spec_from_file_location(f"sample_{name}", SAMPLES / name / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_sample__its_readme__shows_a_command_on_files_that_exist(folder: Path) -> None:
    text = text_of(folder)
    assert text.startswith("# ")
    (block, *_) = re.findall(r"```(?:sh|console)\n(?:\$ )?(.*?)```", text, re.DOTALL)
    files = re.findall(r"samples/[\w/.]+", block.splitlines()[0])
    assert files
    assert [file for file in files if not (ROOT / file).exists()] == []
    assert f"samples/{folder.name})" in (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "name",
    [*FITS, "spheres", "splats", "neural_image", "neural_material", "browser", "slangpy", "webgpu"],
)
def test_sample__its_picture__is_small_and_shown(name: str) -> None:
    picture = SAMPLES / name / f"{name}.png"
    assert SMALLEST_PICTURE < picture.stat().st_size < LARGEST_PICTURE
    assert f"({name}.png)" in text_of(picture.parent)
    assert f"(../samples/{name}/{name}.png)" in (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("picture", sorted(SAMPLES.glob("*/*.svg")), ids=lambda picture: picture.stem)
def test_sample__its_drawing__is_shown_with_its_command_and_has_its_functions(picture: Path) -> None:
    text, name = text_of(picture.parent), picture.stem
    assert picture.stat().st_size < LARGEST_PICTURE
    assert f"({name}.svg)" in text
    command = rf"(slangad (check|train) samples/{name}\S*.* (-o|--plot)|/train .*\d) samples/{name}/{name}\.svg"
    assert re.search(command, text)
    assert f"(../samples/{name}/{name}.svg)" in (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    drawn = sorted(DRAWN.findall(picture.read_text("utf-8")))
    for _, block in CHECKED.findall(text):
        assert drawn == sorted(name for _, name in VERDICT.findall(block))


@pytest.mark.toolchain
@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_sample__its_drawing_and_its_check__are_what_its_command_makes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(ROOT)
    words = COMMANDS[name].split()
    made = tmp_path / "made.svg"
    ended = CliRunner().invoke(cli, [*words[1:-1], str(made)])
    assert made.is_file(), ended.output
    if name in SHOWN:
        again = CliRunner().invoke(cli, [*words[1:-2], "--format", "json"])  # mostly from the cache
        assert verdicts(read_report(again.stdout)) == SHOWN[name]
    if request.config.getoption("--update"):
        (ROOT / words[-1]).write_bytes(made.read_bytes())
    wanted, found = (path.read_text(encoding="utf-8") for path in (ROOT / words[-1], made))
    assert NUMBER.sub("#", found) == NUMBER.sub("#", wanted), AGAIN
    distances = [abs(float(a) - float(b)) for a, b in zip(NUMBER.findall(found), NUMBER.findall(wanted), strict=True)]
    assert max(distances) <= PIXELS, AGAIN


def test_samples__that_show_a_check__have_a_drawing_of_it() -> None:
    assert len(SHOWN) >= 22
    assert SHOWN.keys() <= COMMANDS.keys()


def verdicts(report: Report) -> list[tuple[str, str]]:
    """Return the verdicts and functions of a report, as READMEs show them."""
    kinds = {"function": "", "method": ""}
    return sorted(
        (result.verdict.value, result.function + kinds.get(result.kind, f" ({result.kind})"))
        for result in report.results
    )


def test_samples__without_yaml__are_those_that_the_gallery_gives_reasons_for() -> None:
    gallery = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    rows = [row.split("|")[1] for row in gallery.partition("\n## In YAML\n")[2].splitlines() if row.startswith("|")]
    reasons = re.findall(r"\.\./samples/(\w+)", " ".join(rows))
    assert sorted(reasons) == [folder.name for folder in FOLDERS if not any(folder.glob("*.yaml"))]


@pytest.mark.toolchain
@pytest.mark.parametrize("name", FITS)
def test_sample__trained_for_a_few_steps__learns(name: str) -> None:
    losses = module_of(name).fit(**FITS[name].arguments).losses
    assert losses[-1] < FITS[name].share * losses[0]


@pytest.mark.toolchain
def test_spheres__fitted__have_the_true_material() -> None:
    module = module_of("spheres")
    found = module.fit(module.TRUE[0], size=24, steps=200).parameters["m"]
    for name, value in module.TRUE[0].items():
        assert found[name] == pytest.approx(value, abs=0.08)


@pytest.mark.toolchain
def test_splats__fitted_to_a_part_of_the_photograph__have_28_decibels() -> None:
    module = module_of("splats")
    part = module.load(512)[60:92, 180:228]  # the face; as many Gaussians a pixel as 20,000 on the whole
    losses = module.fit(part, count=117, steps=80).losses
    assert module.decibels(losses[0] / 3) < 12.0
    assert module.decibels(losses[-1] / 3) >= 28.0


@pytest.mark.toolchain
@pytest.mark.parametrize("name", PRINTS)
def test_sample__run_as_a_script__prints_what_its_readme_says(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(SAMPLES / name / f"{name}.py"), run_name="__main__")
    assert PRINTS[name] in capsys.readouterr().out


@pytest.mark.toolchain
@pytest.mark.parametrize("way", [(), ("--fsdp",)])
def test_ddp__by_two_ranks__prints_what_its_readme_says(way: tuple[str, ...]) -> None:
    pytest.importorskip("torch")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    ended = subprocess.run(
        [*command, "samples/ddp/ddp.py", *way],
        cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == "2 ranks: loss 0.998 -> 0.066\n"
    assert ended.stdout in text_of(SAMPLES / "ddp")
