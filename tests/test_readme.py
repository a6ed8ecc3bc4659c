"""The files of the repository's root: the README's Python gives its Slang, and the version is in the changelog."""

from __future__ import annotations

import re
from pathlib import Path

import yaml
from click.testing import CliRunner

from slangad import __version__
from slangad.cli.main import cli

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"


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


def test_version__of_the_package__has_a_section_in_the_changelog() -> None:
    assert f"\n## {__version__} - " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_citation__and_release_workflow__are_what_their_readers_expect() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "title", "authors", "message"} <= citation.keys()
    release = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8"))
    steps = release["jobs"]["packages"]["steps"]
    assert any(step.get("run") == ".ci/run" for step in steps), "all tests run before anything is published"
    assert release["jobs"]["publish"]["needs"] == "packages"
