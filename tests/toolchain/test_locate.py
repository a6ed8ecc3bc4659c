"""The Slang compiler is found and told apart without being loaded."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import slangad
from slangad.compiler.toolchain.identity import fingerprint
from slangad.compiler.toolchain.locate import toolchain_record

SCRIPT = """
import sys
from slangad.compiler.toolchain.locate import find_library, toolchain_record
print(find_library().name, toolchain_record(None))
print(sorted({"slangpy", "numpy", "ctypes", "yaml", "rich"} & set(sys.modules)))
"""


@pytest.mark.toolchain
def test_find_library__slangpy_installed__is_found_without_loading_it() -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(slangad.__file__).parent.parent)}
    command = [sys.executable, "-c", SCRIPT]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    found, loaded = ended.stdout.splitlines()
    assert "slang" in found
    assert loaded == "[]"


@pytest.mark.toolchain
def test_toolchain_record__library__names_its_versions() -> None:
    record = toolchain_record(None)
    assert re.fullmatch(r"\d{4}\.\d+(\.\d+)*", record["slang"])
    assert re.fullmatch(r"\d+\.\d+.*", record["slangpy"])


def test_fingerprint__file_replaced__differs(tmp_path: Path) -> None:
    file = tmp_path / "lib.so"
    file.write_bytes(b"1")
    first = fingerprint(file)
    os.utime(file, (1, 1))
    (tmp_path / "elsewhere").mkdir()
    copy = tmp_path / "elsewhere/lib.so"
    copy.write_bytes(b"1")
    assert fingerprint(file) == fingerprint(copy) == first
    file.write_bytes(b"2")
    changed = fingerprint(file)
    assert changed != first
    (tmp_path / "libslang-glslang-1.so").write_bytes(b"")
    assert fingerprint(file) != changed
