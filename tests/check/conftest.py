"""What tests of the check share: descriptions as text go in, reports come out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from slangad.compiler.check.options import CheckOptions
from slangad.compiler.check.session import check
from slangad.compiler.driver.inputs import parse_inputs

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from slangad.compiler.report.model import Report, Result

    Checked = Callable[..., dict[str, Result]]


@pytest.fixture
def checked(tmp_path: Path) -> Callable[..., dict[str, Result]]:
    """Check a text, as a Python description unless ``suffix`` says otherwise; the results by name."""

    def run(text: str, suffix: str = ".py", **options: object) -> dict[str, Result]:
        path = tmp_path / f"subject{suffix}"
        path.write_text(text, encoding="utf-8")
        return by_name(check(parse_inputs([str(path)]), CheckOptions(**options)))  # type: ignore[arg-type]  # named by tests

    return run


@pytest.fixture(scope="module")
def checked_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., dict[str, Result]]:
    """As ``checked``, but the tests of a module share the report of a text: put the subjects of several into one."""
    known: dict[str, dict[str, Result]] = {}

    def run(text: str, suffix: str = ".py", **options: object) -> dict[str, Result]:
        key = repr((text, suffix, sorted(options.items())))
        if key not in known:
            path = tmp_path_factory.mktemp("once") / f"subject{suffix}"
            path.write_text(text, encoding="utf-8")
            known[key] = by_name(check(parse_inputs([str(path)]), CheckOptions(**options)))  # type: ignore[arg-type]  # named by tests
        return known[key]

    return run


def by_name(report: Report) -> dict[str, Result]:
    """The results of a report by name."""
    return {result.function: result for result in report.results}
