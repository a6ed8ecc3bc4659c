"""Kernels among torch's operations, where torch is installed; it is no dependency of slangad."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest


@pytest.mark.toolchain
@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
def test_torch__gradients_and_tangents__are_torchs_own(cxx: object) -> None:
    script = Path(__file__).with_name("torch_interop.py")
    ended = subprocess.run([sys.executable, str(script), "cpu"], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "all as torch has it" in ended.stdout
