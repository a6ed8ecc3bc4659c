"""Several Python threads that use one device: each gets its own numbers, and the process its own stdout and stderr."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.devices import near

from slangad.compiler.api import load as calls
from slangad.compiler.runtime.device.slangpy_device import captured_prints

if TYPE_CHECKING:
    from slangad.compiler.api.load import LoadedFile

DESCRIBED = Path(__file__).with_name("memories.py")
THREADS, TIMES = 4, 15


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
