"""``slangad explain`` and the registry behind it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from slangad.cli.main import cli
from slangad.compiler.errors.explain import explanations

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.mark.parametrize("code", sorted(explanations()))
def test_explain__every_code__prints_title_and_text(code: str) -> None:
    result = CliRunner().invoke(cli, ["explain", code])
    entry = explanations()[code]
    assert result.exit_code == 0
    assert result.stdout.startswith(f"{code}: {entry.title}\n\n")
    assert entry.text.strip() in result.stdout
    assert re.fullmatch(r"SA\d{3}", code)


def test_explain__lower_case_and_brackets__are_understood() -> None:
    assert CliRunner().invoke(cli, ["explain", "[sa401]"]).stdout.startswith("SA401: ")


def test_explain__unknown_code__suggests_the_nearest() -> None:
    result = CliRunner().invoke(cli, ["explain", "SA41"])
    assert result.exit_code == 2
    assert "Did you mean SA041" in result.stderr
    assert "--list" in CliRunner().invoke(cli, ["explain", "what"]).stderr


def test_explain__no_code__says_what_to_do() -> None:
    result = CliRunner().invoke(cli, ["explain"])
    assert result.exit_code == 2
    assert "slangad explain SA012" in result.stderr


def test_explain__list__has_every_code_once() -> None:
    lines = CliRunner().invoke(cli, ["explain", "--list"]).stdout.splitlines()
    assert [line.split("  ")[0] for line in lines] == sorted(explanations())


def test_codes__used_in_the_code__are_all_explained() -> None:
    used: dict[str, str] = {}
    for folder in ("cli", "compiler"):
        for path in (ROOT / folder).rglob("*.py"):
            for code in re.findall(r'"(SA\d{3})"', path.read_text(encoding="utf-8")):
                used.setdefault(code, path.name)
    unexplained = {code: name for code, name in used.items() if code not in explanations()}
    assert not unexplained
    assert set(explanations()) <= set(used), "explained but never used"


def test_explain__a_crash_of_slang__names_properties_and_what_to_write_instead() -> None:
    text = " ".join(CliRunner().invoke(cli, ["explain", "SA240"]).stdout.split())
    assert "a property whose `get` is [Differentiable]. Instead of the property write a method" in text
