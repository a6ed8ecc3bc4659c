"""The cases cover what they are there for: every code, every rule of the fence, every line of docs/language.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from slangad.compiler.errors.codes.frontends import CODES
from slangad.compiler.errors.explain import explanations
from slangad.compiler.frontends.reading import fence

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
DIAGNOSTICS = "".join(path.read_text(encoding="utf-8") for path in HERE.glob("*/*/diag.txt"))
LANGUAGE = (ROOT / "docs" / "language.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("code", sorted(CODES))
def test_code__of_the_front_ends__has_a_case(code: str) -> None:
    assert f"error[{code}]" in DIAGNOSTICS


@pytest.mark.parametrize("code", sorted(set(re.findall(r"error\[(SA\d+)\]", DIAGNOSTICS))))
def test_code__of_a_case__is_explained(code: str) -> None:
    assert code in explanations()


@pytest.mark.parametrize("what", sorted({what for what, _ in fence._REFUSED.values()}))
def test_fence__every_rule__has_a_case(what: str) -> None:
    assert f"{what} is not supported in a described function" in DIAGNOSTICS


@pytest.mark.parametrize("what", sorted({what for what, _ in fence._REFUSED_OPERATORS.values()}))
def test_fence__every_operator_refused__has_a_case(what: str) -> None:
    assert f"{what} is not supported in a described function" in DIAGNOSTICS


def test_language_page__the_cases_it_names__exist() -> None:
    named = set(re.findall(r"`([a-z]+/[a-z_]+)`", LANGUAGE))
    assert len(named) > 40
    assert not {name for name in named if not (HERE / name / "input.py").exists()}


def test_language_page__the_tests_it_names__exist() -> None:
    texts = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    named = set(re.findall(r"`(test_\w+)`", LANGUAGE))
    assert len(named) > 15
    assert not {name for name in named if f"def {name}(" not in texts}
