"""Ranks that share the data train as one process does, with the same bits under ``--deterministic``."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import slangad as sa
from slangad.cli.distributed import as_rank, exit_code_of
from slangad.cli.outcome import Terminated
from slangad.compiler.api.program import as_pipeline, read_program
from slangad.compiler.driver.inputs import Input
from slangad.compiler.driver.model import Options
from slangad.compiler.errors.diagnostics import CompileError, Diagnostic, ToolchainError
from slangad.compiler.runtime.training.ranks import RankLostError
from slangad.compiler.runtime.training.shares import element_count, parts_of, refuse_unshared

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NET = """
import slangad as sa
from slangad import Each, Mean, NoDiff, Param, Sum, Tensor


@sa.differentiable
def net(w: Tensor[float, 1], b: float, x: float) -> float:
    h = b
    for k in range(4):
        h += w[k] * sa.sin((k + 1.0) * x)
    return h


@sa.kernel
def fit(w: Tensor[float, 1], b: Param[float], x: NoDiff[Each[float]], y: NoDiff[Each[float]]) -> Mean[float]:
    d = net(w, b, x) - y
    return d * d


@sa.kernel
def total(w: Tensor[float, 1], b: Param[float], x: NoDiff[Each[float]], y: NoDiff[Each[float]]) -> Sum[float]:
    d = net(w, b, x) - y
    return 0.01 * d * d


@sa.kernel
def sines(w: Tensor[float, 1], x: NoDiff[Each[float]]) -> Each[float]:
    return net(w, 0.0, x)


@sa.kernel
def apart(h: Each[float], b: Param[float], y: NoDiff[Each[float]]) -> Mean[float]:
    d = h + b - y
    return d * d


@sa.pipeline(fuse=False)
def staged(w: Tensor[float, 1], b: Param[float], x: NoDiff[Each[float]], y: NoDiff[Each[float]]) -> Mean[float]:
    return apart(sines(w, x), b, y)
"""
REFUSED = """
import slangad as sa
from slangad import Each, InOutTensor, Mean, NoDiff, Param, Sum, Tensor


@sa.kernel
def square(x: Each[float], a: Param[float]) -> Each[float]:
    return a * x * x


@sa.kernel
def near(x: Tensor[float, 1], y: Each[float]) -> Mean[float]:
    return x[sa.thread_id(0)] * y


@sa.kernel
def level(x: Each[float]) -> Sum[float]:
    return x


@sa.kernel
def away(x: Each[float], mean: Param[float]) -> Mean[float]:
    return (x - mean) * (x - mean)


@sa.kernel
def numbered(a: Param[float], y: Each[float]) -> Mean[float]:
    return a * y * sa.thread_id(0)


@sa.kernel
def image(w: Tensor[float, 1]) -> Mean[float]:
    return w[sa.thread_id(0)]


@sa.pipeline
def neighbours(a: Param[float], x: NoDiff[Each[float]], y: NoDiff[Each[float]]) -> Mean[float]:
    return near(square(x, a), y)


@sa.pipeline
def centred(a: Param[float], x: NoDiff[Each[float]]) -> Mean[float]:
    s = square(x, a)
    return away(s, level(s))


@sa.pipeline
def chained(a: Param[float], x: NoDiff[Each[float]]) -> Sum[float]:
    return level(square(square(x, a), a))
"""
SCRIPT = Path(__file__).with_name("distributed_ranks.py")
TRAIN = ("-i", "x.npy", "-i", "y.npy", "-i", "start.npz", "--lr", "0.05")
TWO_GPUS = pytest.mark.skipif(not Path("/dev/nvidia1").exists(), reason="ranks on CUDA need a GPU each")


def _environment() -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A description, and data of a number of elements that no number of ranks divides."""
    folder = tmp_path_factory.mktemp("distributed")
    (folder / "net.py").write_text(NET)
    x = np.linspace(0, 3, 103, dtype="f4")
    np.save(folder / "x.npy", x)
    np.save(folder / "y.npy", np.sign(np.sin(2 * x)).astype("f4"))
    np.savez(folder / "start.npz", w=np.zeros(4, "f4"), b=np.float32(0.1))
    return folder


def _of_ranks(folder: Path) -> list[dict[str, Any]]:
    """Return what two ranks found, and what four found."""
    pytest.importorskip("torch")
    command = [sys.executable, str(SCRIPT), str(folder)]
    ended = subprocess.run(
        command, capture_output=True, text=True, check=False, env=_environment(), cwd=SCRIPT.parents[2]
    )
    assert ended.returncode == 0, ended.stderr
    return [json.loads((folder / f"found{count}.json").read_text()) for count in (2, 4)]


def _alone(folder: Path, kernel: str, batch: int = 0, rows: int | None = None) -> list[float]:
    arrays = {name: np.load(folder / f"{name}.npy")[:rows] for name in "xy"} | dict(np.load(folder / "start.npz"))
    trained = getattr(sa.load(folder / "net.py", device="cpu"), kernel).train(
        **arrays, optimizer=sa.Adam(lr=0.05), steps=6, batch=batch, seed=3
    )
    losses: list[float] = trained.losses
    return losses


@pytest.mark.toolchain
def test_ranks__2_and_4_of_unequal_shares__have_the_losses_of_one_process(folder: Path) -> None:
    alone, batches = _alone(folder, "fit"), _alone(folder, "fit", 37)
    two, four = _of_ranks(folder)
    for one in (two, four):
        np.testing.assert_allclose(one["mean"]["losses"], alone, rtol=2e-6)
        np.testing.assert_allclose(one["exact"]["losses"], batches, rtol=2e-6)
    assert two["exact"] == four["exact"]  # the same bits
    np.testing.assert_allclose(two["sum"]["losses"], _alone(folder, "total", 37), rtol=2e-6)
    np.testing.assert_allclose(two["torch"], _alone(folder, "fit", rows=100), rtol=1e-5)
    np.testing.assert_allclose(two["python"]["mapped"], batches, rtol=2e-6)
    np.testing.assert_allclose(two["python"]["loaded"], _alone(folder, "fit", rows=100), rtol=2e-6)
    assert two["python"]["same"]
    several, one_sum = two["staged"].values()
    assert (several["buckets"], one_sum["buckets"]) == (2, 1)
    assert several["losses"] == one_sum["losses"]  # the same bits
    np.testing.assert_allclose(one_sum["losses"], alone, rtol=2e-6)
    assert two["added"] == ["1.0", str(2 + 2**-29), "nan", "0.0"]


@pytest.mark.toolchain
@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=TWO_GPUS)])
def test_distributed__a_rank_is_killed__the_others_end_with_one_message_and_the_checkpoint_resumes(
    folder: Path, device: str
) -> None:
    pytest.importorskip("torch")
    (folder / "c.npz").unlink(missing_ok=True)
    words = ("net.py:fit", *TRAIN, "--device", device, "--checkpoint", "c.npz", "--checkpoint-every", "20", "--steps")
    command = [sys.executable, "-m", "slangad", "train", *words, "1000000", "--distributed", "2"]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=_environment()
    ) as process:
        _until(lambda: (folder / "c.npz").exists() or process.poll() is not None, 120)
        ranks = _children(process.pid)
        assert len(ranks) == 2, process.communicate()
        os.kill(ranks[1], signal.SIGKILL)
        out, errors = process.communicate(timeout=29)  # before the launcher kills the other
    assert process.returncode == 4
    assert errors.count("error[") == 1, errors
    assert "error[SA428]: another rank ended, so training stopped" in errors
    assert "Traceback" not in errors
    assert not out
    done = _steps(folder)

    words = (*words[:-1], "--resume", "--steps", "1000000", "--distributed", "1")
    with subprocess.Popen(
        [sys.executable, "-m", "slangad", "train", *words],
        cwd=folder, stderr=subprocess.PIPE, text=True, env=_environment(), start_new_session=True,
    ) as process:  # fmt: skip
        _until(lambda: _steps(folder) > done or process.poll() is not None, 120)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal sends Ctrl+C
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert errors == f"slangad: interrupted: c.npz has step {_steps(folder)}; --resume continues from it\n"
    assert _steps(folder) > done


@pytest.mark.toolchain
def test_distributed__a_rank_does_not_answer__one_that_is_asked_to_stop_ends_with_a_message(folder: Path) -> None:
    pytest.importorskip("torch")
    (folder / "c.npz").unlink(missing_ok=True)
    words = ("net.py:fit", *TRAIN, "--device", "cpu", "--checkpoint", "c.npz", "--checkpoint-every", "20", "--steps")
    command = [sys.executable, "-m", "slangad", "train", *words, "1000000", "--distributed", "2"]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True, env=_environment()) as process:
        assert process.stderr is not None
        _until(lambda: (folder / "c.npz").exists() or process.poll() is not None, 120)
        first, other = _children(process.pid)
        os.kill(other, signal.SIGSTOP)
        os.kill(first, signal.SIGTERM)
        _until(lambda: first not in _children(process.pid), 29)  # before the launcher kills it
        os.kill(other, signal.SIGKILL)
        _, errors = process.communicate(timeout=60)
    line, _, errors = errors.partition("  = ")
    assert line == "error[SA428]: another rank ended, so training stopped\n", errors
    assert process.returncode == 4


@pytest.mark.toolchain
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_distributed__a_rank_that_waits_for_the_others__says_so_and_can_be_ended(
    folder: Path, number: int, code: int
) -> None:
    pytest.importorskip("torch")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    one_of_two = {
        "RANK": "0",
        "WORLD_SIZE": "2",
        "LOCAL_RANK": "0",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
    }
    command = [sys.executable, "-m", "slangad", "train", "net.py:fit", *TRAIN, "--steps", "1"]
    with subprocess.Popen(
        command, cwd=folder, stderr=subprocess.PIPE, text=True, env={**_environment(), **one_of_two}
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == f"slangad: rank 0 waits for the others of 2 at 127.0.0.1:{port}\n"
        process.send_signal(number)
        _, errors = process.communicate(timeout=20)
    assert process.returncode == code, errors
    assert "Traceback" not in errors


def test_exit_code_of__ranks_that_were_killed__is_an_error_with_the_signal() -> None:
    assert exit_code_of([4, -9, 4]) == 4
    assert exit_code_of([143, 143]) == 143
    with pytest.raises(ToolchainError, match="the ranks were ended by SIGKILL and signal 90"):
        exit_code_of([-9, 143, -90])


def test_as_rank__ended_while_it_cleans_up_after_a_lost_rank__tells_of_the_loss(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @contextmanager
    def cleaned_up() -> Iterator[None]:
        try:
            yield
        finally:
            raise Terminated

    alone = SimpleNamespace(is_first_to_end=lambda: True)
    monkeypatch.setattr("slangad.compiler.runtime.training.ranks.join_ranks", lambda device: alone)
    monkeypatch.setattr("slangad.cli.distributed.hurry", lambda: None)
    before = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(RankLostError), as_rank("cpu"), cleaned_up():
            raise RankLostError([Diagnostic("SA428", "another rank ended")])
    finally:
        signal.signal(signal.SIGTERM, before)


def _steps(folder: Path) -> int:
    """Return the steps of the checkpoint."""
    with np.load(folder / "c.npz") as checkpoint:
        return len(checkpoint["losses"])


def _until(holds: Callable[[], bool], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.1)


def _children(process: int) -> list[int]:
    """The ranks, which are children of the launcher."""
    listed = subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()[1:]]
    return [int(pid) for pid, parent, words in rows if int(parent) == process and "-m slangad train" in words]


def test_refuse_unshared__programs_whose_result_depends_on_the_split__are_refused(tmp_path: Path) -> None:
    file = tmp_path / "refused.py"
    file.write_text(REFUSED)
    program = read_program(Input(file), Options(targets=()))
    for name, words in (
        ("neighbours", "near reads the elements of"),
        ("centred", "away uses a sum over all elements"),
        ("numbered", "numbered asks for the number of its thread"),
        ("image", "it has no Each parameter"),
    ):
        runnable = as_pipeline(program, program.pipelines.get(name) or program.plans[name], ())
        with pytest.raises(CompileError, match=words) as caught:
            refuse_unshared(runnable, program.module)
        assert caught.value.diagnostics[0].code == "SA420"
    chained = as_pipeline(program, program.pipelines["chained"], ())
    refuse_unshared(chained, program.module)
    assert element_count(chained, {"x": np.zeros(7), "a": 1.0}) == 7
    with pytest.raises(CompileError, match="need one length: they are missing"):
        element_count(chained, {"a": 1.0})


def test_parts_of__any_number__differ_by_at_most_one() -> None:
    for count, parts in ((103, 8), (8, 8), (9, 4)):
        found = parts_of(count, parts)
        assert [k for one in found for k in one] == list(range(count))
        assert max(map(len, found)) - min(map(len, found)) <= 1
