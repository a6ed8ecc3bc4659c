"""Kernels among JAX's operations; ``[dev]`` installs JAX."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest


@pytest.mark.toolchain
@pytest.mark.skipif(find_spec("jax") is None, reason="JAX is not installed")
def test_jax__values_and_derivatives__are_those_of_jax(cxx: object) -> None:
    script = Path(__file__).with_name("jax_interop.py")
    ended = subprocess.run([sys.executable, str(script), "cpu"], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "all as JAX has it" in ended.stdout
