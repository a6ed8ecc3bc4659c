"""Time limits of child processes: who works for too long is killed, who was not given the time is waited for."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from slangad.compiler.toolchain.workers.deadlines import deadline


def _started(code: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-I", "-S", "-c", code], start_new_session=True)


def test_deadline__of_a_process_that_works_on__kills_it() -> None:
    process = _started("while True: pass")
    with deadline(process, 0.5, 1000.0) as expired:
        assert process.wait() != 0
    assert expired()


@pytest.mark.skipif(sys.platform != "linux", reason="nothing tells how long a process had the processor")
def test_deadline__of_a_process_that_did_not_get_the_processor__waits() -> None:
    process = _started("import time; time.sleep(2)")
    with deadline(process, 0.8, 1000.0) as expired:
        assert process.wait() == 0
    assert not expired()


@pytest.mark.parametrize("patience", [1.0, 2.0])
def test_deadline__of_a_process_that_waits_for_ever__kills_it_in_the_end(patience: float) -> None:
    process = _started("import time; time.sleep(600)")
    with deadline(process, 0.5, patience) as expired:
        assert process.wait() != 0
    assert expired()


def test_deadline__shorter_than_another__does_not_wait_for_it() -> None:
    patient, hasty = _started("import time; time.sleep(600)"), _started("import time; time.sleep(600)")
    with deadline(patient, 600.0) as first:
        with deadline(hasty, 0.5) as second:
            assert hasty.wait() != 0
        assert second()
        assert patient.poll() is None
        patient.kill()
        patient.wait()
    assert not first()


def test_deadline__that_was_left__does_not_strike() -> None:
    process = _started("import time; time.sleep(1.5)")
    with deadline(process, 0.3) as expired:
        pass
    assert process.wait() == 0
    assert not expired()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_deadline__in_a_fork__strikes_there_too() -> None:
    parent = _started("")
    with deadline(parent, 600.0):
        child = os.fork()
        if child == 0:
            process = _started("import time; time.sleep(600)")
            with deadline(process, 0.3):
                process.wait()
            os._exit(0 if process.returncode < 0 else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert parent.wait() == 0
