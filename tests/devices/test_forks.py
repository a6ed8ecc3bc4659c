"""Processes that were forked after a kernel ran: each has a CPU device of its own, and GPUs refuse by name."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from support.devices import device_of

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.toolchain,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here"),
    pytest.mark.usefixtures("cxx"),
]
LIMIT = 60
KERNELS = """
import slangad as sa

@sa.kernel
def scale(x: sa.Each[float], by: sa.Uniform[float]) -> sa.Each[float]:
    return x * by

@sa.kernel
def shift(x: sa.Each[float], by: sa.Uniform[float]) -> sa.Each[float]:
    return x + by
"""
PRELUDE = """
import gc, os, signal, sys, threading, time
import numpy as np
import slangad as sa

K = sa.load("kernels.py", device="cpu")
LARGE = 200_000

def right(n, size=LARGE, times=10):
    x = np.arange(size, dtype=np.float32)
    for _ in range(times):
        np.testing.assert_array_equal(K.scale(x, float(n)), x * n)
        np.testing.assert_array_equal(K.shift(x[: 100 * n], float(n)), x[: 100 * n] + n)

def forked(work, end=sys.exit):
    pid = os.fork()
    if pid == 0:
        try:
            work()
        except BaseException as error:
            print(type(error).__name__, error, flush=True)
            os._exit(1)
        end(0)
    return pid

def ended(*pids):
    return [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
"""

AT_ONCE = """
np.testing.assert_array_equal(K.scale(np.ones(3, np.float32), 2.0), [2, 2, 2])
children = [forked(lambda n=n: right(n)) for n in (2, 3)]
right(4)
print(ended(*children))
right(5)
print("right")
"""

LEFT = """
right(2, times=1)
worker = calls.opened_device("cpu")._child._process.pid
print(ended(forked(lambda: None), forked(lambda: [calls.opened_device("cpu").close(), gc.collect()])))
right(3, times=1)
print(calls.opened_device("cpu")._child._process.pid == worker)
"""

BUSY = """
right(2, times=1)
stop = threading.Event()

def keep_busy():
    while not stop.is_set():
        right(2, times=1)

thread = threading.Thread(target=keep_busy)
thread.start()
time.sleep(0.1)
codes = [code for n in (3, 4, 5) for code in ended(forked(lambda n=n: right(n, times=2)))]
stop.set()
thread.join()
print(codes)
"""

RESULTS = """
x = np.ones(LARGE, np.float32)
large, small = K.scale(x, 2.0), K.scale(x[:5], 2.0)

def overwrite():
    large[:] = 7.0
    small[:] = 7.0

print(ended(forked(overwrite)), large.max(), small.max())
large += 1.0
print(large.min())
"""

POOL = """
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

def total(n):
    return float(K.scale(np.ones(1000, np.float32), float(n)).sum())

print(total(1))
with ProcessPoolExecutor(2, mp_context=get_context("fork")) as pool:
    print(list(pool.map(total, range(6))))
print(total(2))
"""

PARENT_ENDS = """
right(2, times=1)
worker = calls.opened_device("cpu")._child._process.pid
pid = os.fork()
if pid == 0:
    time.sleep(60)
    os._exit(0)
process = calls.opened_device("cpu")._child._process
process.stdin.close()  # what happens to it when this process ends
print(process.wait(20))
os.kill(pid, signal.SIGKILL)
"""


def said(script: str, folder: Path) -> list[str]:
    """What a script prints in a process of its own."""
    (folder / "kernels.py").write_text(KERNELS, encoding="utf-8")
    text = f"{PRELUDE}\nfrom slangad.compiler.api import load as calls\n{script}"
    quiet = ("-W", "ignore:This process:DeprecationWarning")  # Python 3.12 and later warn of every fork with threads
    command = [sys.executable, *quiet, "-u", "-c", text]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False, cwd=folder)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stderr == ""
    return ended.stdout.splitlines()


def test_fork__kernels_in_two_children_and_the_parent_at_once__each_has_its_own_numbers(tmp_path: Path) -> None:
    assert said(AT_ONCE, tmp_path) == ["[0, 0]", "right"]


def test_fork__child_that_ends_or_closes_the_device__leaves_the_worker_to_the_parent(tmp_path: Path) -> None:
    assert said(LEFT, tmp_path) == ["[0, 0]", "True"]


def test_fork__while_another_thread_runs_a_kernel__does_not_hang(tmp_path: Path) -> None:
    assert said(BUSY, tmp_path) == ["[0, 0, 0]"]


def test_fork__child_that_writes_to_a_result__writes_to_its_own(tmp_path: Path) -> None:
    assert said(RESULTS, tmp_path) == ["[0] 2.0 2.0", "3.0"]


def test_fork__pool_of_processes__computes_what_it_is_given(tmp_path: Path) -> None:
    assert said(POOL, tmp_path) == ["1000.0", str([1000.0 * n for n in range(6)]), "2000.0"]


def test_fork__children_that_live_on__do_not_keep_the_worker(tmp_path: Path) -> None:
    assert said(PARENT_ENDS, tmp_path) == ["0"]


ON_GPU = """
from slangad.compiler.errors.diagnostics import ToolchainError

x = np.ones(5, np.float32)
print(K.scale(x, 2.0, device=DEVICE)[0])

def refused():
    for device in (DEVICE, "cpu"):
        try:
            print(K.scale(x, 3.0, device=device)[0], flush=True)
        except ToolchainError as error:
            print(str(error).splitlines()[0], flush=True)
            print("spawn" in str(error.diagnostics[0].help), flush=True)

print(ended(forked(refused, os._exit)))
print(K.shift(x, 3.0, device=DEVICE)[0])
"""


@pytest.mark.parametrize("name", ["vulkan", "webgpu", "cuda"])
def test_fork__gpu_of_the_parent__is_refused_by_name(name: str, tmp_path: Path) -> None:
    device_of(name)
    first, message, *rest = said(ON_GPU.replace("DEVICE", repr(name)), tmp_path)
    assert first == "2.0"
    assert f"the device {name} can't be used here: this process is a fork of one that had opened {name}" in message
    assert rest == ["True", "3.0", "[0]", "4.0"]
