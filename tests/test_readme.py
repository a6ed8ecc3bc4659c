"""The files of the repository's root: the Python of pages gives their Slang, and the version is in the changelog."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from slangad import __version__
from slangad.cli.main import cli

ROOT = Path(__file__).parents[1]


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)


def emitted(folder: Path, page: str) -> str:
    source = folder / "described.py"
    source.write_text(blocks(page, "python")[0], encoding="utf-8")
    result = CliRunner().invoke(cli, ["compile", str(source), "--emit", "slang", "-o", "-"])
    assert result.exit_code == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize(("page", "name"), [("README.md", "float3 shade("), ("docs/cli.md", "void fit_forward(")])
def test_pages__their_python__gives_their_slang(tmp_path: Path, page: str, name: str) -> None:
    shown = blocks(page, "slang")[0]
    assert name in shown
    assert shown in emitted(tmp_path, page)


def test_version__of_the_package__has_a_section_in_the_changelog() -> None:
    assert f"\n## {__version__} - " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_citation__and_release_workflow__are_what_their_readers_expect() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "title", "authors", "message"} <= citation.keys()
    release = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8"))
    steps = release["jobs"]["packages"]["steps"]
    assert any(step.get("run") == ".ci/run" for step in steps), "all tests run before anything is published"
    assert release["jobs"]["publish"]["needs"] == "packages"
