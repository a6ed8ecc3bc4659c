"""Names of files that no file can have are files that aren't there, not a fault."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from slangad.compiler.driver.inputs import parse_inputs
from slangad.compiler.errors.diagnostics import CompileError
from slangad.compiler.frontends import load

if TYPE_CHECKING:
    from pathlib import Path

LONG = "x" * 300


def test_extern__file_name_longer_than_any__is_not_there(tmp_path: Path) -> None:
    text = f"slangad: 1\nfunctions:\n  f: {{params: {{x: float}}, returns: float, extern: {LONG}.slang}}\n"
    (tmp_path / "f.yaml").write_text(text)
    with pytest.raises(CompileError, match="there is no Slang file xxx"):
        load(tmp_path / "f.yaml")
    text = f'import slangad as sa\nf = sa.extern("f", "{LONG}.slang", "(x: float) -> float")\n'
    text += "@sa.function\ndef g(x: float) -> float:\n    return f(x)\n"
    (tmp_path / "f.py").write_text(text)
    with pytest.raises(CompileError, match="there is no Slang file xxx"):
        load(tmp_path / "f.py")


def test_parse_inputs__name_longer_than_any__is_taken_apart() -> None:
    (found,) = parse_inputs([f"{LONG}.py:fit"])
    assert (found.path.name, found.kernels) == (f"{LONG}.py", ("fit",))
