"""The README's picture is what slangad does: its Python gives its Slang, and its commands exist."""

from __future__ import annotations

import re
from pathlib import Path

from click.testing import CliRunner

from slangad.cli.main import cli

README = Path(__file__).parents[1] / "README.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


def emitted(folder: Path) -> str:
    source = folder / "readme.py"
    source.write_text(blocks("python")[0], encoding="utf-8")
    result = CliRunner().invoke(cli, ["compile", str(source), "--emit", "slang", "-o", "-"])
    assert result.exit_code == 0, result.stderr
    return result.stdout


def test_readme__its_python__gives_its_slang(tmp_path: Path) -> None:
    shown = blocks("slang")[0]
    assert len(shown) > 200
    assert shown in emitted(tmp_path)
