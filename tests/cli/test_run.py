"""``slangad run``: arrays in, arrays out; whatever is wrong is one clear message, its exit code, and no file."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from click.testing import CliRunner
from support.devices import SOFTWARE, device_of
from support.processor import children_of, worked

from slangad.cli.main import cli
from slangad.compiler.runtime.device import cpu_device
from slangad.compiler.runtime.device.table import DEVICES

if TYPE_CHECKING:
    from conftest import Project

pytestmark = pytest.mark.toolchain

DESCRIBED = Path(__file__).parents[1] / "runtime" / "described.py"
X = [1.0, 2.0, -3.0]
HALF = """
import slangad as sa

@sa.kernel
def half(x: sa.Each[sa.half], a: sa.Param[sa.half]) -> tuple[sa.Each[sa.half], sa.Sum[sa.half]]:
    return x * a, x * a * 2.0
"""
TENSORS = """
import slangad as sa

@sa.kernel
def pick(x: sa.Each[float], w: sa.Tensor[float, 2], out: sa.OutTensor[float, 1]) -> None:
    out[sa.thread_id(0)] = w[0, 1] * x
"""
WIDE = """
import slangad as sa

@sa.kernel
def wide(i: sa.Each[int], w: sa.Tensor[sa.double, 1]) -> sa.Sum[sa.double]:
    return w[i] * w[i]
"""
SLOW = """
import slangad as sa

@sa.kernel
def slow(n: sa.Uniform[int]) -> sa.Each[float]:
    s = float(sa.thread_id(0))
    for i in sa.range(n, max_iters=2000000000):
        s = sa.sin(s * 1.1) + 0.5
    return s
"""


@pytest.fixture(autouse=True)
def _compiler(cxx: object) -> None:
    """Every test here runs kernels on the CPU."""


def run(project: Project, kernel: str, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    cache = os.environ["SLANGAD_CACHE_DIR"]
    return project.run("run", f"{DESCRIBED}:{kernel}", "--device", "cpu", *words, code=code, SLANGAD_CACHE_DIR=cache)


def saved(project: Project, name: str = "out.npz") -> dict[str, np.ndarray]:
    with np.load(project.folder / name) as arrays:
        return dict(arrays)


def save(project: Project, name: str = "in.npz", **arrays: object) -> str:
    np.savez(project.folder / name, **arrays)
    return name


def is_clean(project: Project) -> bool:
    return {p.name for p in project.folder.iterdir()} <= {"in.npz", "fit.py", ".cache"}


def test_run__forward__writes_results(project: Project) -> None:
    given = save(project, x=np.array(X, np.float32))
    ended = run(project, "square", "-i", given, "--set", "a=2", "-o", "out.npz")
    np.testing.assert_array_equal(saved(project)["result"], np.float32([2, 8, 18]))
    assert ended.stdout == ""
    assert ended.stderr == "result  float32[3]  2 8 18\n"


def test_run__backward__takes_cotangents_and_ones_otherwise(project: Project) -> None:
    given = save(project, x=np.array(X, np.float32))
    run(project, "square", "-i", given, "--set", "a=2", "--mode", "backward", "-o", "out.npz")
    assert list(saved(project)) == ["grad.x"]
    np.testing.assert_array_equal(saved(project)["grad.x"], np.float32([4, 8, -12]))
    seeded = ("--set", "cotangent.result=[1,0.5,0]")
    run(project, "square", "-i", given, "--set", "a=2", *seeded, "--mode", "backward", "-o", "out.npz")
    np.testing.assert_array_equal(saved(project)["grad.x"], np.float32([4, 4, 0]))


def test_run__gradients_that_are_given__are_added_to(project: Project) -> None:
    given = save(project, x=np.array(X, np.float32))
    words = ("-i", given, "--set", "a=2", "--mode", "backward", "-o", "out.npz")
    run(project, "square", *words)
    run(project, "square", "-i", "out.npz", *words[:-1], "more.npz")
    np.testing.assert_array_equal(saved(project, "more.npz")["grad.x"], np.float32([8, 16, -24]))


def test_run__jvp_and_jtjvp__follow_the_jacobian(project: Project) -> None:
    words = ("--set", f"x={X}", "--set", "y=[0.5,-1,2]", "--set", "tangent.y=[1,2,3]", "-o", "out.npz")
    run(project, "two", *words, "--mode", "jvp")
    moved = saved(project)
    np.testing.assert_allclose(moved["jvp.result.0"], np.float32(X) * [1, 2, 3], rtol=1e-6)
    slope = np.cos(np.float32([0.5, -1, 2])) * [1, 2, 3]
    np.testing.assert_allclose(moved["jvp.result.1"], np.stack([np.zeros(3), slope], 1), rtol=1e-5)
    run(project, "two", *words, "--mode", "jtjvp")
    product = saved(project)
    cosine = np.cos(np.float32([0.5, -1, 2]))
    np.testing.assert_allclose(product["grad.y"], np.float32(X) ** 2 * [1, 2, 3] + cosine * slope, rtol=1e-5)
    np.testing.assert_allclose(product["grad.x"], np.float32([0.5, -1, 2]) * X * [1, 2, 3], rtol=1e-5)


def test_run__stdout__is_the_file_and_nothing_else(project: Project, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "slangad.cli", "run", f"{DESCRIBED}:indices", "--domain", "4", "-o", "-"]
    ended = subprocess.run([*command, "--device", "cpu"], capture_output=True, check=True)
    (tmp_path / "piped.npz").write_bytes(ended.stdout)
    assert saved(project, "piped.npz")["result"].tolist() == [0, 3, 6, 9]


def test_run__twice__writes_the_same_bytes(project: Project) -> None:
    for name in ("a.npz", "b.npz"):
        run(project, "kinds", "--random", "3", "--domain", "5", "-o", name)
    first, second = ((project.folder / name).read_bytes() for name in ("a.npz", "b.npz"))
    assert first == second


def test_run__json__is_one_document(project: Project) -> None:
    ended = run(project, "square", "--set", "x=[1,2]", "--set", "a=3", "--format", "json", "-o", "out.npz")
    document = json.loads(ended.stdout)
    assert document["ok"] is True
    assert (document["kernel"], document["mode"], document["device"]) == ("square", "forward", "cpu")
    assert document["domain"] == [2]
    assert document["arrays"][0]["value"] == [3, 12]
    assert ended.stderr == "result  float32[2]  3 12\n"


@pytest.mark.parametrize("folder", [".", "..", "/"])
def test_run__a_folder_as_output__is_a_mistake_of_the_command_line(project: Project, folder: str) -> None:
    ended = run(project, "square", "--set", "x=[1,2]", "--set", "a=3", "-o", folder, code=2)
    assert f"File '{folder}' is a directory" in ended.stderr


def test_run__random__needs_a_domain_and_nothing_else(project: Project) -> None:
    run(project, "plane", "--random", "7", "--domain", "3x4", "--mode", "jvp", "-o", "out.npz")
    assert saved(project)["jvp.result"].shape == (3, 4)
    ended = run(project, "plane", "--random", "7", code=1)
    assert "x is missing: float32, shape (n, m)" in ended.stderr


def test_run__random_tensors__have_the_shapes_that_are_said(project: Project) -> None:
    (project.folder / "fit.py").write_text(TENSORS, encoding="utf-8")
    words = ("run", "fit.py:pick", "--device", "cpu", "--random", "7", "-o", "out.npz")
    project.run(*words, "--domain", "5", "--shape", "w=4x3", "--shape", "out=9", code=0)
    assert (saved(project)["out"] != 0).tolist() == [True] * 5 + [False] * 4
    said = project.run(*words, "--shape", "out=9", code=1).stderr
    assert "x is missing: float32, shape (9,)\n  = help: its shape cannot be inferred, " in said
    assert "so it was not drawn: give --domain n\n" in said
    assert "so it was not drawn: give --shape w=nxm\n" in said
    for shape, why in (("w=4", "it has 2 axes, not 1"), ("x=4", "It has: w, out"), ("w", "such as w=16x4")):
        assert why in project.run(*words, "--shape", shape, code=2).stderr
    assert "give --random SEED too" in project.run("run", "fit.py:pick", "--shape", "w=4x3", code=2).stderr


WRONG = {
    "missing": (["square", "--set", "a=2"], 1, "error[SA410]: x is missing: float32, shape (n,)"),
    "unknown": (["square", "--set", "xx=1", "--set", "x=[1]", "--set", "a=1"], 1, "square takes no xx"),
    "suggestion": (["square", "--set", "cotangent.resul=1", "--set", "x=[1]", "--set", "a=1"], 1, "error[SA411]"),
    "shape": (["square", "--set", "x=[[1,2]]", "--set", "a=2"], 1, "x has shape (1, 2), not (n,)"),
    "uniform": (["square", "--set", "x=[1]", "--set", "a=[2]"], 1, "a has shape (1,), not ()"),
    "lengths": (["two", "--set", "x=[1,2]", "--set", "y=[1]"], 1, "y has 1 element and x has 2 elements"),
    "type": (["indices", "--domain", "2", "--set", "x=1"], 1, "indices takes no x"),
    "domain": (["indices"], 1, "the domain of indices is unknown"),
    "dims": (["plane", "--random", "0", "--domain", "4"], 1, "plane has 2 axes"),
    "huge": (["indices", "--domain", "5000000000"], 1, "indices are 32-bit"),
    "mode": (["indices", "--domain", "2", "--mode", "backward"], 1, "indices has no backward mode"),
    "direction": (["square", "--set", "x=[1]", "--set", "a=1", "--mode", "jvp"], 1, "at least one of tangent.x"),
    "kernel": (["nothing"], 1, "has no kernel called nothing"),
    "value": (["square", "--set", "x=one"], 2, "'x=one' is not name=value"),
    "extent": (["indices", "--domain", "3*4"], 2, "is not a shape such as 4096"),
    "device": (["square", "--device", "tpu"], 2, "there is no device 'tpu'"),
    "file": (["square", "-i", "gone.npz"], 1, "can't read gone.npz: No such file"),
}


@pytest.mark.parametrize("case", WRONG)
def test_run__wrong_input__is_one_message_and_no_file(case: str, project: Project) -> None:
    words, code, message = WRONG[case]
    ended = run(project, *words, "-o", "out.npz", code=code)
    assert message in ended.stderr
    assert "Traceback" not in ended.stderr
    assert is_clean(project)


def test_run__files_that_are_no_arrays__are_refused(project: Project) -> None:
    (project.folder / "in.npz").write_bytes(b"PK\x03\x04 and then nothing")
    assert "it is not an .npz file, or it is damaged" in run(project, "square", "-i", "in.npz", code=1).stderr
    np.savez(project.folder / "in.npz", x=np.array([object()]))
    assert "it holds Python objects" in run(project, "square", "-i", "in.npz", code=1).stderr
    np.save(project.folder / "in.npy", np.zeros(3))
    assert "square takes no in" in run(project, "square", "-i", "in.npy", code=1).stderr


def test_run__output_over_an_input__is_refused(project: Project) -> None:
    given = save(project, x=np.array(X, np.float32), a=np.float32(1))
    before = (project.folder / given).read_bytes()
    ended = run(project, "square", "-i", given, "-o", "./in.npz", code=1)
    assert "SA406" in ended.stderr
    assert (project.folder / given).read_bytes() == before


def test_run__output_that_cannot_be_written__is_an_error_of_the_machine(project: Project) -> None:
    project.write("file.txt", "")
    ended = run(project, "indices", "--domain", "2", "-o", "file.txt/out.npz", code=4)
    assert "SA405" in ended.stderr
    assert sorted(p.name for p in project.folder.rglob("*") if p.is_file()) == ["file.txt"]


def test_run__nan__is_refused_unless_allowed(project: Project) -> None:
    given = save(project, x=np.array([1, np.nan, np.nan], np.float32), a=np.float32(1))
    ended = run(project, "square", "-i", given, "-o", "out.npz", code=1)
    assert "error[SA416]: x holds 2 NaN; the first is x[1]" in ended.stderr
    assert is_clean(project)
    ended = run(project, "square", "-i", given, "-o", "out.npz", "--allow-nan")
    assert ended.stderr == "result  float32[3]  1 nan nan\n"
    ended = run(project, "square", "--set", "x=[-inf, NaN, nan, 1]", "--set", "a=1", "--allow-nan")
    assert ended.stderr.startswith("note[SA425]: values are infinite: 1 of result (float32)\n")
    assert ended.stderr.endswith("\nresult  float32[4]  inf nan nan 1\n")


def test_run__nan_in_a_cotangent_of_a_pipeline__is_refused(project: Project) -> None:
    words = ("--mode", "backward", "--set", "x=[1,2]", "--set", "y=[1,2]", "--set", "cotangent.result=nan")
    pipelines = DESCRIBED.parent / "described" / "pipelines.py"
    ended = project.run("run", f"{pipelines}:neighbours", *words, "--device", "cpu", "-o", "out.npz", code=1)
    assert ended.stderr.startswith("error[SA416]: cotangent.result holds 1 NaN\n")
    assert is_clean(project)


def test_run__random_inputs_larger_than_memory__exits_with_4(project: Project) -> None:
    ended = run(project, "square", "--domain", "40000000000000", "--random", "1", "-o", "out.npz", code=4)
    assert "error[SA251]: too little memory on this machine: 145.5 TiB more are needed" in ended.stderr
    assert is_clean(project)


def test_run__other_widths__are_converted_with_a_note(project: Project) -> None:
    given = save(project, x=np.array(X), a=np.float64(2))
    ended = run(project, "square", "-i", given)
    assert "note[SA418]: x, a: converted from float64 to float32" in ended.stderr


@pytest.mark.parametrize(
    ("mode", "key", "value", "taking"),
    [
        ("forward", "grad.x", "1", "backward or jtjvp"),
        ("backward", "tangent.x", "1", "jvp or jtjvp or hvp"),
        ("jvp", "cotangent.result", "[1]", "backward or hvp"),
        ("forward", "result", "1", ""),
        ("jvp", "tangent.a", "1", ""),
    ],
)
def test_run__value_that_the_mode_has_no_use_for__is_refused(
    project: Project, mode: str, key: str, value: str, taking: str
) -> None:
    words = ("--set", "x=[1,2]", "--set", "a=2", *(("--set", "tangent.x=[1,1]") if mode == "jvp" else ()))
    ended = run(project, "square", *words, "--mode", mode, "--set", f"{key}={value}", code=1)
    assert f"error[SA411]: square takes no {key} in mode {mode}\n" in ended.stderr
    assert (f"help: `slangad run` takes it with --mode {taking}\n" in ended.stderr) is bool(taking)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("x=[1,true]", "x holds bool among numbers, not float32"),
        ("x=[[1,2],[3]]", "x is no array: rows have different shapes"),
        ("x=[1,1e400]", "x has values too large for float32, such as 1e+400"),
        ("a=-1e400", "a has values too large for float32, such as -1e+400"),
        ("a=1e39", "a has values too large for float32, such as 1e+39"),
    ],
)
def test_run__set_to_what_files_could_not_have__is_refused_alike(project: Project, value: str, why: str) -> None:
    ended = run(project, "square", "--set", "x=[1,2]", "--set", "a=2", "--random", "0", "--set", value, code=1)
    assert f"error[SA413]: {why}\n" in ended.stderr


def test_run__set_to_an_integer_beyond_64_bits__is_a_float(project: Project) -> None:
    run(project, "square", "--set", "x=[1,18446744073709551616]", "--set", "a=1", "-o", "out.npz")
    np.testing.assert_array_equal(saved(project)["result"], np.float32([1, np.inf]))


def test_run__doubles_scattered_on_a_gpu__are_told_to_be_floats(project: Project) -> None:
    device_of("vulkan")  # skips where it isn't there
    fit = project.folder / "fit.py"
    fit.write_text(WIDE, encoding="utf-8")
    words = ("--mode", "backward", "--set", "i=[0,1]", "--set", "w=[1,2]")
    ended = project.run("run", str(fit), *words, "--device", "vulkan")
    assert "note[SA418]: grad.w: added up on vulkan in float, not double" in ended.stderr
    assert "SA418" not in project.run("run", str(fit), *words, "--device", "cpu").stderr


def test_run__results_too_large_for_half__are_told_in_a_note(project: Project) -> None:
    (project.folder / "fit.py").write_text(HALF, encoding="utf-8")
    given = save(project, x=np.full(300, 300, np.float16), a=np.float16(2))
    ended = project.run("run", "fit.py", "-i", given, "--mode", "backward", "--device", "cpu", code=0)
    assert "note[SA425]: values are infinite: 1 of result.1 (float16), 1 of grad.a (float16)\n" in ended.stderr
    assert "Warning" not in ended.stderr
    ended = project.run("run", "fit.py", "--set", "x=[100000]", "--set", "a=1", "--device", "cpu", code=1)
    assert "x has values too large for float16, such as 100000" in ended.stderr


def test_run__missing_device__exits_with_4(project: Project) -> None:
    ended = project.run("run", f"{DESCRIBED}:indices", "--domain", "2", "--device", "metal", "-o", "out.npz", code=4)
    assert "error[SA249]: the device metal can't be used" in ended.stderr
    assert "never tried" in ended.stderr
    assert ended.stdout == ""
    assert is_clean(project)


@pytest.mark.parametrize("device", ["vulkan", "webgpu"])
def test_run__driver_that_is_not_there__exits_with_4(project: Project, device: str) -> None:
    words = ("run", f"{DESCRIBED}:indices", "--domain", "2", "--device", device, "-o", "out.npz")
    ended = project.run_apart(
        *words, code=4, VK_DRIVER_FILES=str(project.folder / "none.json"), WGPU_BACKEND_TYPE="Vulkan"
    )
    assert f"error[SA249]: the device {device} can't be used" in ended.stderr
    assert ended.stdout == ""
    assert is_clean(project)


def test_run__too_little_memory__exits_with_4(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu_device, "free_memory", lambda: 100 << 20)
    output = tmp_path / "out.npz"
    words = ["run", f"{DESCRIBED}:indices", "--domain", "20000000", "--device", "cpu", "-o", str(output)]
    ended = CliRunner().invoke(cli, words)
    assert ended.exit_code == 4
    assert "error[SA251]: too little memory on cpu: 76.3 MiB more are needed; 100.0 MiB are free" in ended.stderr
    assert not output.exists()


def test_run__auto__takes_a_device_that_works(project: Project) -> None:
    ended = project.run("run", f"{DESCRIBED}:indices", "--domain", "2", "--format", "json")
    assert json.loads(ended.stdout)["device"] in DEVICES


def test_run__yaml_and_slang__are_run_too(project: Project) -> None:
    project.write("hand.slang", "[Differentiable] float curve(float x, no_diff float k) { return x * x * k; }\n")
    words = ("--device", "cpu", "--mode", "backward", "--set", "x=[1,2]", "-o", "out.npz")
    project.run("run", "hand.slang", *words, "--set", "k=[3,4]")
    assert saved(project)["grad.x"].tolist() == [6, 16]
    project.write(
        "bend.yaml",
        "slangad: 1\nkernels:\n  bend:\n    params: {x: each float, k: uniform float}\n    returns: each float\n"
        "    expr: x * x * k\n",
    )
    project.run("run", "bend.yaml", *words, "--set", "k=3")
    assert saved(project)["grad.x"].tolist() == [6, 12]


def test_run__no_cxx_compiler__exits_with_4(project: Project, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    words = ("run", f"{DESCRIBED}:indices", "--domain", "2", "--device", "cpu")
    ended = project.run(*words, code=4, PATH=str(tmp_path / "empty"), CXX="")
    assert "error[SA245]" in ended.stderr


def test_run__cxx_that_is_not_there__exits_with_4(project: Project) -> None:
    words = ("run", f"{DESCRIBED}:indices", "--domain", "2", "--device", "cpu", "-o", "out.npz")
    ended = project.run(*words, code=4, CXX="/nope -O2")
    assert "error[SA245]: the cpu device needs a C++ compiler, and there is no /nope, which CXX names" in ended.stderr
    assert "help: correct CXX, or unset it" in ended.stderr
    assert is_clean(project)


def test_run__several_kernels__asks_for_one(project: Project) -> None:
    ended = project.run("run", str(DESCRIBED), code=1)
    assert "has several kernels: square, " in ended.stderr


def test_run__kernel_beyond_its_time__is_ended(project: Project) -> None:
    ended = run(project, "forever", "--set", "x=[1]", "--time-limit", "1", "-o", "out.npz", code=4)
    assert "error[SA248]: the kernel forever_forward did not end within 1 s" in ended.stderr
    assert is_clean(project)


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_run__interrupted__leaves_nothing(project: Project, number: int, code: int) -> None:
    run(project, "forever", "--set", "x=[]", "-o", "out.npz")  # so that it is compiled
    (project.folder / "out.npz").unlink()
    command = [sys.executable, "-m", "slangad.cli", "run", f"{DESCRIBED}:forever", "--set", "x=[1]", "-o", "out.npz"]
    with subprocess.Popen([*command, "--device", "cpu"], cwd=project.folder, stderr=subprocess.PIPE) as child:
        worker = _child_of(child.pid)
        child.send_signal(number)
        _, said = child.communicate(timeout=20)
    assert child.returncode == code
    assert said.decode() == f"slangad: {'interrupted' if code == 130 else 'ended by SIGTERM'}\n"
    assert is_clean(project)
    assert not worker.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("name", SOFTWARE)
def test_run__interrupted_while_a_gpu_runs__waits_for_nothing(project: Project, name: str) -> None:
    device_of(name)  # skips where it isn't there
    slow = project.folder / "fit.py"
    slow.write_text(SLOW, encoding="utf-8")
    (project.folder / "tmp").mkdir()
    command = [sys.executable, "-m", "slangad.cli", "run", str(slow), "--set", "n=2000000000"]
    environment = {**os.environ, "TMPDIR": str(project.folder / "tmp")}
    command += ["--domain", "4000000", "--device", name, "-o", "out.npz"]
    with subprocess.Popen(command, cwd=project.folder, stderr=subprocess.PIPE, env=environment) as child:
        until = time.monotonic() + 10
        while worked(child.pid) < 4 and time.monotonic() < until:
            time.sleep(0.05)
        child.send_signal(signal.SIGTERM)
        _, said = child.communicate(timeout=10)
    assert (child.returncode, said.decode()) == (143, "slangad: ended by SIGTERM\n")
    assert not [*(project.folder / "tmp").iterdir()]
    assert not (project.folder / "out.npz").exists()


def _child_of(process: int) -> Path:
    """The worker's entry in /proc, once it runs the kernel."""
    for _ in range(200):
        time.sleep(0.05)
        for child in children_of(process):
            if worked(child) > 1.0:  # past its imports
                return Path(f"/proc/{child}")
    raise AssertionError("no worker was seen")


GLOBALS = """
uniform float scale;
StructuredBuffer<float> lut;
cbuffer Params { float gain; };
ConstantBuffer<float4> whole;
float inner(float x) { return x * gain; }
[Differentiable] float plain(float x) { return x * x; }
[Differentiable] float scaled(float x) { return x * x * scale; }
[Differentiable] float looked_up(float x) { return x * no_diff lut[0]; }
[Differentiable] float called(float x) { return x * no_diff inner(x); }
"""
CALLS_GLOBALS = """
import slangad as sa
scaled = sa.extern("scaled", "globals.slang", "(x: float) -> float", differentiable=True)

@sa.kernel
def calls(x: sa.Each[float]) -> sa.Each[float]:
    return scaled(x) * 2.0

@sa.kernel
def free(x: sa.Each[float]) -> sa.Each[float]:
    return x * x
"""


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        *(("globals.slang:scaled", "scale"), ("globals.slang:looked_up", "lut"), ("globals.slang:called", "gain")),
        ("calls.py:calls", "scale"),
    ],
)
def test_run__a_function_that_reads_a_global__is_refused(project: Project, kernel: str, name: str) -> None:
    project.write("globals.slang", GLOBALS)
    project.write("calls.py", CALLS_GLOBALS)
    ended = project.run("run", kernel, "--set", "x=[1,2]", code=1)
    assert f"error[SA426]: {kernel.partition(':')[2]} reads the global '{name}'" in ended.stderr
    assert f"help: make '{name}' a parameter" in ended.stderr


@pytest.mark.parametrize("kernel", ["globals.slang:plain", "calls.py:free"])
def test_run__beside_functions_that_read_globals__others_run(project: Project, kernel: str) -> None:
    project.write("globals.slang", GLOBALS)
    project.write("calls.py", CALLS_GLOBALS)
    assert "1 4" in project.run("run", kernel, "--set", "x=[1,2]").stderr


SPLAT = """
import slangad as sa
from slangad import Each, OutTensor, float2

@sa.kernel
def splat(at: Each[float2], image: OutTensor[float, 2]):
    image[int(at.y * 6.0), int(at.x * 8.0)] += 0.5
"""


def test_output__that_ends_in_png__is_a_picture(project: Project, cxx: object) -> None:
    from PIL import Image

    splat = project.write("splat.py", SPLAT)
    at, image = np.array([[0.1, 0.1], [0.1, 0.1], [0.9, 0.9]], "f4"), np.zeros((6, 8), "f4")
    np.savez(project.folder / "in.npz", at=at, image=image)
    words = ("run", str(splat), "-i", str(project.folder / "in.npz"), "--device", "cpu")
    project.run(*words, "-o", "image.png")
    image[0, 0], image[5, 7] = 255, 128
    np.testing.assert_array_equal(np.asarray(Image.open(project.folder / "image.png")), image)


ONE_MODE = """
namespace odd
{
    [ForwardDerivative(twice_fwd)] float twice(float x) { return x + x; }
    DifferentialPair<float> twice_fwd(DifferentialPair<float> x) { return diffPair(x.p + x.p, x.d + x.d); }
}
"""


def test_run__mode_that_a_slang_function_lacks__has_the_reason(project: Project) -> None:
    project.write("odd.slang", ONE_MODE)
    words = ("run", "odd.slang:odd_twice", "--random", "0", "--domain", "2", "--device", "cpu")
    ended = project.run(*words, "--mode", "backward", code=1)
    assert "odd_twice has no backward mode: it has a forward derivative alone: add [Differentiable]" in ended.stderr
    project.run(*words, "--set", "tangent.x=[1,1]", "--mode", "jvp")
