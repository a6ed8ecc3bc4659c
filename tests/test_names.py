"""What ``import slangad`` gives: every name of the language, also by a star, and only when it is used."""

from __future__ import annotations

import subprocess
import sys


def test_import__star__gives_every_name_of_the_language() -> None:
    code = "from slangad import *; print(kernel.__name__, float3.__name__, Each)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    assert said.stdout.startswith("kernel float3 ")


def test_import__plain__loads_no_numpy() -> None:
    code = "import sys, slangad; slangad.__version__; print('numpy' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert said.stdout == "False\n"
