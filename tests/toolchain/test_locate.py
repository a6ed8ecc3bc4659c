"""The Slang compiler is found and told apart without being loaded."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import slangad
from slangad.compiler.toolchain import identity
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


def test_own_code__unchanged__is_read_from_what_was_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one/toolchain/identity.py", "templates/x.slang"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("a")
        os.utime(tmp_path / name, (100, 100))
    monkeypatch.setattr(identity, "__file__", str(tmp_path / "one" / "toolchain" / "identity.py"))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    own_code = identity.own_code.__wrapped__
    first = own_code()
    with monkeypatch.context() as context:
        context.setattr(identity, "_digest_of", lambda _: "read again")
        assert own_code() == first
        (tmp_path / "templates" / "x.slang").write_text("b")  # same size; its time is new
        assert own_code() == "read again"
    assert own_code() != first
