"""The last lines of ``pytest --slangad``: reports of tests go in; how many gradients came to what comes out.

Taken from the reports, so that it is the same where pytest-xdist runs the tests in other processes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

VERDICT: Final = "slangad_verdict"
REASON: Final = "slangad_reason"
"""Names of what a test tells of itself, also in pytest's own JUnit file."""
_MOST: Final = 20


def summary_lines(reports: list[pytest.TestReport]) -> Iterator[str]:
    """How many gradients were checked with which verdicts, then each that could not be tested, with the reason."""
    from slangad.compiler.report.figures import counted
    from slangad.compiler.report.model import Verdict
    from slangad.compiler.report.words import SEVERITY

    found = [(one, told) for one in reports if one.when == "call" and VERDICT in (told := _told(one))]
    if not found:
        return
    verdicts = [Verdict(told[VERDICT]) for _, told in found]
    counts = ", ".join(f"{verdicts.count(one)} {one.value}" for one in SEVERITY if one in verdicts)
    files = len({one.nodeid.partition("::")[0] for one, _ in found})
    yield f"gradients: {counted(len(found), 'result')} in {counted(files, 'file')}: {counts}"
    untested = [
        f"{one.nodeid}: {verdict.value}: {told.get(REASON, '')}"
        for (one, told), verdict in zip(found, verdicts, strict=True)
        if not verdict.good and not verdict.bad
    ]
    yield from (f"not tested: {line}" for line in untested[:_MOST])
    if len(untested) > _MOST:
        yield f"and {len(untested) - _MOST} more that were not tested"


def _told(report: pytest.TestReport) -> dict[str, str]:
    return {str(name): str(value) for name, value in report.user_properties}
