"""Several Python threads that use one device: each gets its own numbers, and the process its own stdout and stderr."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.devices import device_of, near

from slangad.compiler.api import load as calls
from slangad.compiler.runtime.device.slangpy_device import captured_prints

if TYPE_CHECKING:
    from slangad.compiler.api.load import LoadedFile

DESCRIBED = Path(__file__).with_name("memories.py")
THREADS, TIMES = 4, 15
CLOSED_ELSEWHERE = """
import gc, sys, threading

import numpy as np

import slangad as sa
from slangad.compiler.runtime.device.open import open_device

file, name = sys.argv[1:]
kernels = sa.load(file, name)
x, weights = np.ones(4, np.float32), {"slope": 1.5, "bias": [1.0, -2.0, 0.5]}
kernels.sums.forward(x, weights)
others = [open_device(name)]

def close():
    others.pop().close()
    gc.collect()

closing = threading.Thread(target=close)
closing.start()
closing.join()
print(kernels.sums.backward(x, weights).grad["p"]["slope"], *kernels.own.forward(x, domain=4).outputs["out"])
"""


@pytest.mark.toolchain
def test_call__four_threads_at_a_time__each_gets_its_own_numbers(kernels: LoadedFile) -> None:
    def work(number: int) -> None:
        x = np.full(300, number, np.float32)
        for _ in range(TIMES):
            out = kernels.sums.backward(x, {"slope": 1.5, "bias": [1.0, -2.0, 0.5]})
            near(out.result[0], 1.5 * 300 * number**2)
            near(out.result[1], number * np.array([1.0, -2.0, 0.5]))
            near(out.grad["p"]["slope"], 300 * number**2)
            near(kernels.own.forward(x, domain=300).outputs["out"], np.full(300, number**2))

    with ThreadPoolExecutor(THREADS) as pool:
        assert list(pool.map(work, range(1, THREADS + 1))) == [None] * THREADS


@pytest.mark.toolchain
@pytest.mark.parametrize("name", ["vulkan", "cuda"])
def test_device__closed_by_another_thread_than_opened_it__leaves_other_devices_alone(name: str) -> None:
    device_of(name)  # or skip
    # the C library overwrites what is freed: without that, most of it is still there when it is read
    done = subprocess.run(
        [sys.executable, "-c", CLOSED_ELSEWHERE, DESCRIBED, name],
        env=os.environ | {"MALLOC_PERTURB_": "165"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("4.0 1.0 1.0 1.0 1.0\n", 0), done.stderr


def test_captured_prints__two_threads_at_a_time__leave_stdout_and_stderr_as_they_were() -> None:
    before = [os.fstat(number).st_ino for number in (1, 2)]
    inside = threading.Event()

    def first() -> None:
        with captured_prints():
            inside.set()
            time.sleep(0.05)

    def second() -> None:
        inside.wait()
        with captured_prints() as said:
            time.sleep(0.1)
            os.write(1, b"said by a driver\n")
            assert said() == ("said by a driver",)

    with ThreadPoolExecutor(2) as pool:
        ended = [pool.submit(first), pool.submit(second)]
    assert [one.result() for one in ended] == [None, None]
    assert [os.fstat(number).st_ino for number in (1, 2)] == before


def test_opened_device__two_threads_at_a_time__open_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []

    def slowly(name: str) -> SimpleNamespace:
        opened.append(name)
        time.sleep(0.05)
        return SimpleNamespace(name=name)

    monkeypatch.setattr(calls, "_OPEN", {})
    monkeypatch.setattr(calls, "open_device", slowly)
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(calls.opened_device, ["cpu", "cpu"])
    assert first is second
    assert opened == ["cpu"]
