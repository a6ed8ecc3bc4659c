"""``.ci/quick_mesa.py``: a library that was linked with a newer libc loads with this one, and its functions work."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import ModuleType

SCRIPT = Path(__file__).resolve().parent.parent / ".ci" / "quick_mesa.py"

pytestmark = pytest.mark.skipif(
    "CS_GNU_LIBC_VERSION" not in getattr(os, "confstr_names", {}), reason="glibc is missing"
)


@pytest.fixture(scope="module")
def quick_mesa() -> ModuleType:
    spec = importlib.util.spec_from_file_location("quick_mesa", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _linked_with_newer(folder: Path, function: str, compiler: str) -> Path:
    """A library that calls a function of a libc of the year 2100."""
    declared = f"long {function}(const char *text, char **end, int base)"
    (folder / "libc.c").write_text(f"{declared} {{ return -1; }}\n")
    (folder / "libc.map").write_text(f"GLIBC_2.199 {{ {function}; }};\n")
    (folder / "reader.c").write_text(
        f"{declared};\nlong number(const char *text) {{ return {function}(text, 0, 10); }}\n"
    )
    shared = (compiler, "-shared", "-fPIC", "-nostdlib")
    newer = ("libc.c", "-Wl,-soname,libc.so.6", "-Wl,--version-script=libc.map", "-o", "newer.so")
    for options in (newer, ("reader.c", "newer.so", "-o", "reader.so")):
        subprocess.run([*shared, *options], cwd=folder, check=True)
    return folder / "reader.so"


def test_library__linked_with_a_newer_libc__loads_and_reads_numbers(tmp_path, tool, quick_mesa) -> None:
    path = _linked_with_newer(tmp_path, "__isoc23_strtol", tool("gcc"))
    with pytest.raises(OSError, match=r"GLIBC_2\.199"):
        ctypes.CDLL(str(path))
    library = bytearray(path.read_bytes())
    quick_mesa._use_older_functions(library)
    changed = tmp_path / "changed.so"
    changed.write_bytes(library)
    assert ctypes.CDLL(str(changed)).number(b"12") == 12


def test_library__that_needs_another_newer_function__is_refused(tmp_path, tool, quick_mesa) -> None:
    path = _linked_with_newer(tmp_path, "strtofuture", tool("gcc"))
    with pytest.raises(SystemExit, match="strtofuture"):
        quick_mesa._use_older_functions(bytearray(path.read_bytes()))
