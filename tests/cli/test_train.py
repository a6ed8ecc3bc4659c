"""``slangad train``: what gradient descent in NumPy gives; the same after kill -9; one clear message otherwise."""

from __future__ import annotations

import json
import os
import re
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image

if TYPE_CHECKING:
    from conftest import Project

pytestmark = pytest.mark.toolchain

DESCRIBED = Path(__file__).with_name("train_described.py")
SAMPLES = Path(__file__).parents[2] / "samples"
Arrays = dict[str, np.ndarray[Any, Any]]
COUNT = 96


@pytest.fixture(autouse=True)
def _compiler(cxx: object) -> None:
    """Every test here trains on the CPU."""


@pytest.fixture
def data(project: Project) -> Arrays:
    stream = np.random.default_rng(1)
    x = stream.uniform(-1, 1, COUNT).astype("f4")
    arrays = {"x": x, "y": (3 * x + 1 + stream.normal(0, 0.1, COUNT)).astype("f4")}
    np.savez(project.folder / "in.npz", **arrays)
    np.savez(project.folder / "begin.npz", **{"line.slope": np.float32(0.5), "line.offset": np.float32(-0.5)})
    return arrays


def words(name: str, *more: str) -> list[str]:
    given = ["-i", "in.npz", "-i", "begin.npz", "--device", "cpu"]
    return ["train", f"{DESCRIBED}:{name}", *given, *more]


def train(project: Project, name: str, *more: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    return project.run(*words(name, *more), code=code, SLANGAD_CACHE_DIR=os.environ["SLANGAD_CACHE_DIR"])


def begun(project: Project, *more: str) -> subprocess.Popen[str]:
    """A training that is under way."""
    command = [sys.executable, "-m", "slangad.cli", *words("fit", *more)]
    return subprocess.Popen(command, cwd=project.folder, stderr=subprocess.PIPE, text=True)


def saved(project: Project, name: str = "out.npz") -> Arrays:
    with np.load(project.folder / name) as arrays:
        return dict(arrays)


def losses(project: Project, name: str = "loss.json") -> list[float]:
    found: list[float] = json.loads((project.folder / name).read_text())["losses"]
    return found


def reference(data: Arrays, steps: int, batch: int = 0, seed: int = 0) -> tuple[list[float], np.ndarray[Any, Any]]:
    """Gradient descent with lr=0.1 in float64."""
    line, found, order = np.array([0.5, -0.5]), [], np.arange(COUNT)
    for step in range(steps):
        rows = order
        if batch:
            each = COUNT // batch
            order = np.random.default_rng([seed, step // each]).permutation(COUNT)
            rows = order[step % each * batch :][:batch]
        x, y = data["x"][rows].astype("f8"), data["y"][rows].astype("f8")
        r = line[0] * x + line[1] - y
        found.append(float(np.mean(r * r)))
        line = line - 0.1 * np.array([np.mean(2 * r * x), np.mean(2 * r)])
    return found, line


@pytest.mark.parametrize("batch", [0, 20])
def test_train__a_pipeline__is_gradient_descent(project: Project, data: Arrays, batch: int) -> None:
    more = ["--batch", str(batch), "--seed", "5"] if batch else []
    ended = train(project, "fit", "--steps", "30", "-o", "out.npz", "--loss", "loss.json", *more)
    expected, line = reference(data, 30, batch, 5)
    np.testing.assert_allclose(losses(project), expected, rtol=1e-5)
    found = saved(project)
    np.testing.assert_allclose([found["line.slope"], found["line.offset"]], line, rtol=1e-5)
    assert "fit: 30 steps on cpu" in ended.stderr
    assert ended.stdout == ""


@pytest.mark.parametrize("name", ["alone", "among"])
def test_train__kernel_with_a_tuple_of_results__minimises_the_number_in_it(
    project: Project, data: Arrays, name: str
) -> None:
    train(project, name, "--optimizer", "sgd", "--lr", "0.1", "--steps", "5", "--loss", "loss.json")
    np.testing.assert_allclose(losses(project), reference(data, 5)[0], rtol=1e-5)


def test_train__pictures__are_the_arrays_of_their_numbers(project: Project) -> None:
    numbers = np.random.default_rng(2).integers(0, 256, (2, 8, 12)).astype(np.uint8)
    for name, stored in zip("xy", numbers, strict=True):
        Image.fromarray(stored).save(project.folder / f"{name}.png")
        np.savez(project.folder / f"{name}.npz", **{name: stored.astype("f4") / 255})
    file = project.write(
        "plane.py",
        "import slangad as sa\nfrom slangad import Each, Mean, NoDiff, Param\n\n\n"
        "@sa.kernel(dims=2)\n"
        "def error(x: NoDiff[Each[float]], y: NoDiff[Each[float]], a: Param[float]) -> Mean[float]:\n"
        "    return (a * x - y) * (a * x - y)\n",
    )
    more = ("--set", "a=0.5", "--optimizer", "sgd", "--lr", "0.1", "--steps", "3", "--device", "cpu", "--loss")
    read = {"pictures": ("--image", "x=x.png", "--image", "y=y.png"), "arrays": ("-i", "x.npz", "-i", "y.npz")}
    for kind, given in read.items():
        cache = os.environ["SLANGAD_CACHE_DIR"]
        project.run("train", str(file), *given, *more, f"{kind}.json", SLANGAD_CACHE_DIR=cache)
    assert losses(project, "pictures.json") == losses(project, "arrays.json")
    wrong = project.run("train", str(file), "--image", "x.png", *more, "no.json", code=2)
    assert "'x.png' is not name=FILE" in wrong.stderr


PICTURE = Path(__file__).parents[1] / "runtime" / "psnr_described.py"
BEGIN = ("--set", "m.base=[0.2,0.4,0.1]", "--set", "m.slope=[0.3,0.1,0.7]")


@pytest.fixture
def picture(project: Project) -> np.ndarray[Any, Any]:
    """A picture of 6 rows and 5 columns, in image.png, and in bytes.npz as numbers from 0 to 255."""
    stored = np.random.default_rng(3).integers(0, 256, (6, 5, 3)).astype(np.uint8)
    Image.fromarray(stored).save(project.folder / "image.png")
    np.savez(project.folder / "bytes.npz", image=stored.astype("f4"))
    np.savez(project.folder / "shape.npz", shape=np.zeros((6, 5), "f4"))
    return stored


def psnr(project: Project, name: str, peak: float, picture: np.ndarray[Any, Any]) -> float:
    """The PSNR that NumPy computes of what the trained parameters in a file render."""
    cache = os.environ["SLANGAD_CACHE_DIR"]
    given = ("-i", name, "--random", "0", "--domain", "6x5", "--device", "cpu", "-o", "rendered.npz")
    project.run("run", f"{PICTURE}:render", *given, SLANGAD_CACHE_DIR=cache)
    error = saved(project, "rendered.npz")["result"].astype("f8") - picture / (255.0 / peak)
    return float(-10.0 * np.log10(np.mean(error**2) / peak**2))


@pytest.mark.parametrize(
    ("name", "given", "peak"),
    [
        ("by_l2", ("--image", "image=image.png"), 1.0),
        ("by_sum", ("--image", "image=image.png"), 1.0),
        ("by_dot", ("-i", "bytes.npz", "--psnr", "255"), 255.0),
        ("by_index", ("--image", "image=image.png", "--domain", "6x5", "-i", "shape.npz"), 1.0),
        ("sum_by_index", ("-i", "bytes.npz", "--psnr", "255", "-i", "shape.npz"), 255.0),
    ],
)
def test_train__of_a_picture__has_the_psnr_of_what_it_renders(
    project: Project, picture: np.ndarray[Any, Any], name: str, given: tuple[str, ...], peak: float
) -> None:
    command = ("train", f"{PICTURE}:{name}", *given, *BEGIN, "--device", "cpu", "--lr", str(0.02 * peak))
    cache = os.environ["SLANGAD_CACHE_DIR"]
    project.run(*command, "--steps", "40", "-o", "m.npz", SLANGAD_CACHE_DIR=cache)
    again = (*command[: -(len(BEGIN) + 4)], "-i", "m.npz", *command[-4:], "--steps", "1")
    ended = project.run(*again, "--loss", "loss.json", "--format", "json", SLANGAD_CACHE_DIR=cache)
    document, expected = json.loads(ended.stdout), psnr(project, "m.npz", peak, picture)
    assert document["last_psnr"] == pytest.approx(expected, abs=1e-3)
    assert document["first_psnr"] == document["last_psnr"]
    assert json.loads((project.folder / "loss.json").read_text())["psnr"] == [document["last_psnr"]]
    assert f", PSNR {document['last_psnr']:.2f} -> {document['last_psnr']:.2f} dB" in ended.stderr


def test_train__psnr_of_a_part_of_a_tensor__is_refused(project: Project, picture: np.ndarray[Any, Any]) -> None:
    np.savez(project.folder / "part.npz", shape=np.zeros((4, 5), "f4"))
    command = ("train", f"{PICTURE}:by_index", "-i", "bytes.npz", *BEGIN, "--device", "cpu", "--lr", "0.1")
    cache = os.environ["SLANGAD_CACHE_DIR"]
    more = ("--psnr", "255", "--steps", "1")
    for given in (("-i", "part.npz"), ("-i", "shape.npz", "--batch", "2")):
        ended = project.run(*command, *given, *more, code=1, SLANGAD_CACHE_DIR=cache)
        assert "error[SA420]: by_index has no PSNR: its threads do not read each element of image once" in ended.stderr
        assert "run by_index over the shape of image without --batch" in ended.stderr


def test_train__on_a_terminal__shows_loss_and_psnr(project: Project, picture: np.ndarray[Any, Any]) -> None:
    pty = pytest.importorskip("pty", reason="there are no pseudo-terminals on this system")
    ours, theirs = pty.openpty()
    words_ = ["train", f"{PICTURE}:by_l2", "--image", "image=image.png", *BEGIN, "--device", "cpu", "--lr", "1e-9"]
    command = [sys.executable, "-m", "slangad.cli", *words_, "--steps", "300"]
    environment = {**os.environ, "COLUMNS": "120", "TERM": "xterm"}
    running = subprocess.Popen(command, cwd=project.folder, stderr=theirs, env=environment)
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 1 << 16)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(ours)
    assert running.wait() == 0, shown
    text = shown.decode()
    (last,) = re.findall(r"PSNR ([\d.]+) -> \1 dB", text)
    assert re.search(rf"loss [\d.e-]+  PSNR {last} dB", text)


@pytest.mark.parametrize(
    ("mode", "remedy"),
    [
        ("RGBA", 'declare float4, or convert it with Pillow, .convert("RGB")'),
        ("L", 'declare float, or convert it with Pillow, .convert("RGB")'),
    ],
)
def test_train__picture_with_other_channels__says_how_to_convert_it(project: Project, mode: str, remedy: str) -> None:
    Image.new("RGB", (5, 6)).convert(mode).save(project.folder / "photo.png")
    command = ("train", f"{PICTURE}:by_l2", "--image", "image=photo.png", *BEGIN, "--device", "cpu", "--lr", "0.1")
    ended = project.run(*command, code=1, SLANGAD_CACHE_DIR=os.environ["SLANGAD_CACHE_DIR"])
    assert f"then those of one float[3]; of a picture: {remedy}" in ended.stderr


def test_train__checkpoint_every_without_a_file__is_refused(project: Project) -> None:
    ended = project.run("train", f"{PICTURE}:by_l2", "--checkpoint-every", "5", code=2)
    assert "--checkpoint-every needs --checkpoint FILE." in ended.stderr


def test_train__psnr_of_an_objective_that_has_none__is_refused(project: Project, picture: np.ndarray[Any, Any]) -> None:
    command = ("train", f"{PICTURE}:penalised", "--image", "image=image.png", *BEGIN, "--device", "cpu", "--lr", "0.1")
    ended = project.run(*command, "--psnr", "1", code=1, SLANGAD_CACHE_DIR=os.environ["SLANGAD_CACHE_DIR"])
    assert (
        "error[SA420]: penalised has no PSNR: its objective is not known to consist of squared errors" in ended.stderr
    )
    assert "not in the range x>0" in project.run(*command, "--psnr", "0", code=2).stderr


def test_train__picture_of_weights__has_the_commands_that_draw_them(project: Project) -> None:
    sample = SAMPLES / "neural_image"
    file = f"{sample / 'neural_image.py'}"
    command = ("train", f"{file}:fit", "-i", str(sample / "image.npz"), "--device", "cpu", "-o", "out.png")
    ended = project.run(*command, code=1, SLANGAD_CACHE_DIR=os.environ["SLANGAD_CACHE_DIR"])
    assert "no trained tensor of fit is a picture: field.grid.table (4, 512, 2), field.net.l1.w (16, 8)" in ended.stderr
    run = f"slangad run {file}:render -i out.npz --domain HEIGHTxWIDTH -o out.png"
    assert f"train with -o out.npz, then {run}" in " ".join(ended.stderr.split())
    assert not (project.folder / "out.png").exists()


def test_train__a_kernel_until_its_loss_is_low__stops_there(project: Project, data: Arrays) -> None:
    given = ("--optimizer", "adam", "--lr", "0.1", "--until-loss", "0.02", "--format", "json", "--plot", "loss.png")
    document = json.loads(train(project, "error", *given).stdout)
    assert document["reached"] is True
    assert document["last_loss"] < 0.02
    assert document["steps"] < 1000
    assert (project.folder / "loss.png").read_bytes().startswith(b"\x89PNG")


def test_train__no_initial_values__draws_them_in_their_ranges(project: Project, data: Arrays) -> None:
    command = ["train", f"{DESCRIBED}:fit", "-i", "in.npz", "--device", "cpu", "--steps", "0", "-o", "out.npz"]
    ended = project.run(*command, SLANGAD_CACHE_DIR=os.environ["SLANGAD_CACHE_DIR"])
    assert "SA423" in ended.stderr
    assert 0.5 <= saved(project)["line.slope"] <= 0.6
    assert -1.0 <= saved(project)["line.offset"] <= 1.0


@pytest.mark.parametrize("name", ["mlp.py:fit", "mlp.py:fit_half", "mlp.yaml:fit_half"])
def test_train__network_of_the_samples__learns(project: Project, name: str) -> None:
    inputs = ["-i", str(SAMPLES / "mlp" / "points.npz"), "--device", "cpu"]
    stop = ["--steps", "4000", "--until-loss", "1e-3", "--format", "json"]
    command = ["train", str(SAMPLES / "mlp" / name), *inputs, *stop]
    document = json.loads(project.run(*command, SLANGAD_CACHE_DIR=os.environ["SLANGAD_CACHE_DIR"]).stdout)
    assert document["reached"] is True, document
    assert document["last_loss"] < 1e-3


def test_train__sample_with_several_domains__finds_an_image(project: Project) -> None:
    folder = SAMPLES / "pipeline"
    command = [
        "train",
        str(folder / "sharpen.yaml"),
        "-i",
        str(folder / "seen.npz"),
        "--device",
        "cpu",
        "-o",
        "out.npz",
    ]
    stop = ["--until-loss", "1e-6", "--format", "json"]
    document = json.loads(project.run(*command, *stop, SLANGAD_CACHE_DIR=os.environ["SLANGAD_CACHE_DIR"]).stdout)
    sharpen = runpy.run_path(str(folder / "sharpen.py"))["sharpen"]
    with np.load(folder / "seen.npz") as given:
        assert document["first_loss"] == pytest.approx(float(sharpen(given["image"], given["seen"])), rel=1e-5)
        assert document["reached"] is True
        assert float(sharpen(saved(project)["image"], given["seen"])) < 1e-6


@pytest.mark.skipif(sys.platform == "win32", reason="kill -9 is of POSIX")
def test_train__killed_and_resumed__is_as_if_nothing_had_been(project: Project, data: Arrays) -> None:
    more = ("--batch", "24", "--optimizer", "adam", "--lr", "0.001", "--steps", "3000", "--loss", "loss.json")
    keep = ("--checkpoint", "c.npz", "--checkpoint-every", "10")
    train(project, "fit", *more, "-o", "whole.npz")
    expected = losses(project)
    (project.folder / "loss.json").unlink()
    for _ in range(2):
        running = begun(project, *more, *keep, "--resume", "-o", "out.npz")
        _wait_for_change(project.folder / "c.npz", running)
        running.kill()
        running.communicate()
        assert not (project.folder / "out.npz").exists()
    ended = train(project, "fit", *more, *keep, "--resume", "-o", "out.npz")
    assert "3000 steps" in ended.stderr
    assert losses(project) == expected
    for key, array in saved(project, "whole.npz").items():
        assert array.tobytes() == saved(project)[key].tobytes()


def _wait_for_change(path: Path, running: subprocess.Popen[str]) -> None:
    before = path.stat().st_mtime_ns if path.exists() else 0
    for _ in range(3000):
        if path.exists() and path.stat().st_mtime_ns != before:
            return
        assert running.poll() is None, running.communicate()
        time.sleep(0.02)
    raise AssertionError("no checkpoint")


@pytest.mark.skipif(sys.platform == "win32", reason="signals are of POSIX")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_train__interrupted__leaves_a_checkpoint_and_its_code(
    project: Project, data: Arrays, number: int, code: int
) -> None:
    keep = ("--checkpoint", "c.npz", "--steps", "1000000", "-o", "out.npz")
    running = begun(project, *keep, "--checkpoint-every", "7")
    _wait_for_change(project.folder / "c.npz", running)
    running.send_signal(number)
    _, said = running.communicate(timeout=60)
    assert running.returncode == code
    assert not (project.folder / "out.npz").exists()
    steps = len(saved(project, "c.npz")["losses"])
    assert f"c.npz has step {steps}; --resume continues from it" in said
    train(project, "fit", *keep[:2], "--resume", "--steps", str(steps), "--loss", "loss.json")
    np.testing.assert_allclose(losses(project)[:50], reference(data, min(steps, 50))[0], rtol=1e-5)
    assert [p.name for p in project.folder.iterdir() if p.name.endswith(".tmp")] == []


def test_train__loss_that_is_not_finite__stops_and_writes_nothing(project: Project, data: Arrays) -> None:
    ended = train(project, "fit", "--lr", "1e30", "-o", "out.npz", "--loss", "loss.json", code=1)
    assert "error[SA421]: the loss is " in ended.stderr
    assert not (project.folder / "out.npz").exists()
    assert not (project.folder / "loss.json").exists()


def test_train__loss_of_the_start_that_is_not_finite__names_the_start_and_the_data(project: Project) -> None:
    np.savez(project.folder / "image.npz", image=np.full((2, 2, 3), np.nan, "f4"))
    command = ("train", f"{PICTURE}:by_l2", "-i", "image.npz", "--allow-nan", *BEGIN, "--device", "cpu", "--lr", "0.1")
    ended = project.run(*command, code=1, SLANGAD_CACHE_DIR=os.environ["SLANGAD_CACHE_DIR"])
    assert "error[SA421]: the loss is nan at step 0" in ended.stderr
    assert "look for NaN, zeros and large numbers in these and in the data" in ended.stderr


@pytest.mark.parametrize(
    ("name", "more", "message"),
    [
        ("error", (), "error has no optimizer"),
        ("error", ("--optimizer", "sgd"), "sgd needs a learning rate"),
        ("inner", ("--optimizer", "sgd", "--lr", "1"), "inner has no objective"),
        ("two", ("--optimizer", "sgd", "--lr", "1"), "two has no objective: result.0, result.1 could each"),
        ("nothing", ("--optimizer", "sgd", "--lr", "1"), "nothing has nothing to train"),
        ("dead", ("--optimizer", "sgd", "--lr", "1"), "no gradient flows from the objective of dead to p"),
        ("fit", ("--batch", "97"), "a batch of 97 is more than the 96 elements"),
        ("fit", ("--set", "z=1"), "fit takes no z"),
        ("lost", (), "has no kernel called lost"),
    ],
)
def test_train__what_makes_no_sense__is_refused(
    project: Project, data: Arrays, name: str, more: tuple[str, ...], message: str
) -> None:
    assert message in train(project, name, *more, "-o", "out.npz", code=1).stderr
    assert not (project.folder / "out.npz").exists()


def test_train__checkpoint_of_something_else__is_refused(project: Project, data: Arrays) -> None:
    train(project, "fit", "--steps", "3", "--checkpoint", "c.npz")
    kept = (project.folder / "c.npz").read_bytes()
    for more, message in (
        (("--batch", "5"), "batch 0, not 5"),
        (("--optimizer", "adam"), 'optimizer "sgd", not "adam"'),
        (("--set", "x=[1.0, 2.0]", "--set", "y=[1.0, 2.0]"), "other data"),
    ):
        ended = train(project, "fit", "--steps", "9", "--checkpoint", "c.npz", "--resume", *more, code=1)
        assert f"c.npz is from a training with {message}" in ended.stderr
    assert "SA422" in train(project, "fit", "--steps", "9", "--checkpoint", "c.npz", "--resume", "--lr", "0.2").stderr
    assert (project.folder / "c.npz").read_bytes() != kept
    np.savez(project.folder / "other.npz", x=np.ones(3))
    for more in ((), ("--resume",)):
        assert "other.npz is no checkpoint" in train(project, "fit", "--checkpoint", "other.npz", *more, code=1).stderr
    (project.folder / "cut.npz").write_bytes(kept[: len(kept) // 2])
    said = train(project, "fit", "--checkpoint", "cut.npz", "--resume", code=1).stderr
    assert "can't read cut.npz: it is not an .npz file, or it is damaged" in said
    assert "help: if it is a damaged checkpoint, delete it to start again; else name another --checkpoint" in said


def test_train__resumed_with_another_program__goes_on_and_says_so(project: Project, data: Arrays) -> None:
    own = project.folder / "fit.py"
    own.write_text(DESCRIBED.read_text(encoding="utf-8"), encoding="utf-8")
    going_on = ["train", "fit.py:fit", "-i", "in.npz", "-i", "begin.npz", "--device", "cpu", "--checkpoint", "c.npz"]
    project.run(*going_on, "--steps", "3")
    assert "program" not in project.run(*going_on, "--steps", "6", "--resume").stderr
    own.write_text(own.read_text(encoding="utf-8").replace("return r * r", "return 2.0 * r * r"), encoding="utf-8")
    said = project.run(*going_on, "--steps", "9", "--resume").stderr
    assert "note[SA422]: the program is not the one that c.npz was made with" in said


def test_train__picture_of_an_unknown_kind__is_a_usage_error(project: Project, data: Arrays) -> None:
    assert "--plot draws .png, .svg, .pdf, not loss.gif" in train(project, "fit", "--plot", "loss.gif", code=2).stderr
    assert "--resume needs --checkpoint" in train(project, "fit", "--resume", code=2).stderr


@pytest.mark.parametrize("kinds", [("-o", "--loss"), ("--checkpoint", "-o"), ("--loss", "--plot")])
def test_train__two_outputs_in_one_file__is_a_usage_error(
    project: Project, data: Arrays, kinds: tuple[str, str]
) -> None:
    ended = train(project, "fit", kinds[0], "./x.svg", kinds[1], "x.svg", code=2)
    assert "both name x.svg" in ended.stderr
    assert not (project.folder / "x.svg").exists()


@pytest.mark.parametrize("kind", ["-o", "--loss", "--checkpoint"])
def test_train__output_that_is_data__is_refused_before_training(project: Project, data: Arrays, kind: str) -> None:
    before = (project.folder / "in.npz").read_bytes()
    ended = train(project, "fit", "--steps", "100000000", kind, "in.npz", code=1)
    assert "error[SA406]: in.npz is read and would be overwritten" in ended.stderr
    assert (project.folder / "in.npz").read_bytes() == before


@pytest.mark.parametrize("option", ["--lr", "--until-loss", "--time-limit"])
@pytest.mark.parametrize("number", ["nan", "inf"])
def test_train__setting_that_is_not_finite__is_a_usage_error(
    project: Project, data: Arrays, option: str, number: str
) -> None:
    assert f"{number} is not a finite number" in train(project, "fit", option, number, code=2).stderr


def test_train__resumed_without_a_checkpoint__says_that_it_begins_anew(project: Project, data: Arrays) -> None:
    resumed = ("--steps", "3", "--checkpoint", "new.npz", "--resume")
    note = "note[SA422]: there is no new.npz to continue from: training starts from the beginning"
    assert note in train(project, "fit", *resumed).stderr
    assert "anew" not in train(project, "fit", *resumed).stderr


FIXED = """
import slangad as sa

@sa.struct
class Line:
    slope: float
    gain: sa.NoDiff[float]
    count: int

@sa.kernel
def error(x: sa.NoDiff[sa.Each[float]], line: sa.Param[Line]) -> sa.Mean[float]:
    r = line.slope * x - line.gain * float(line.count)
    return r * r
"""


def test_train__resumed_with_other_fixed_fields__is_refused(project: Project) -> None:
    project.write("fixed.py", FIXED)
    words = [
        "train",
        "fixed.py",
        "--set",
        "x=[0.5,1]",
        "--device",
        "cpu",
        "--optimizer",
        "sgd",
        "--lr",
        "0.1",
        "--resume",
    ]
    words += ["--checkpoint", "c.npz", "--set", "line.slope=0", "--set", "line.gain=1", "--set", "line.count=2"]
    project.run(*words, "--steps", "2")
    for other in ("line.gain=1.5", "line.count=3"):
        said = project.run(*words, "--steps", "4", "--set", other, code=1).stderr
        assert "error[SA422]: c.npz is from a training with other data" in said
    project.run(*words, "--steps", "4", "--set", "line.slope=0.5")
    done = project.run(*words, "--steps", "3").stderr
    assert "note[SA422]: c.npz has step 4: nothing is left of 3 steps" in done


def test_train__one_of_several_outputs_that_fails__leaves_none(project: Project, data: Arrays) -> None:
    (project.folder / "there").write_text("a file", encoding="utf-8")
    outputs = ("-o", "out.npz", "--loss", "there/loss.json")
    assert "error[SA405]" in train(project, "fit", "--steps", "2", *outputs, code=4).stderr
    assert sorted(path.name for path in project.folder.iterdir() if path.suffix in (".npz", ".tmp", ".json")) == [
        "begin.npz",
        "in.npz",
    ]


def test_train__value_that_training_has_no_use_for__is_refused(project: Project, data: Arrays) -> None:
    said = train(project, "fit", "--steps", "2", "--set", "grad.line.slope=1", code=1).stderr
    assert "error[SA411]: fit takes no grad.line.slope for training" in said
