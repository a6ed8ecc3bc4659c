"""Return the summary of ``pytest --slangad`` from the reports of its tests.

Reports also arrive from the processes of pytest-xdist, so the summary is the same there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

VERDICT: Final = "slangad_verdict"
REASON: Final = "slangad_reason"
"""Names of a test's properties in reports and in pytest's JUnit file."""
_MAX_LISTED: Final = 20


def summary_lines(reports: list[pytest.TestReport]) -> Iterator[str]:
    """Yield the number of gradients for each verdict, then each untested gradient with its reason."""
    from slangad.compiler.report.figures import counted
    from slangad.compiler.report.model import Verdict
    from slangad.compiler.report.words import SEVERITY

    checked = [(one, known) for one in reports if one.when == "call" and VERDICT in (known := _properties(one))]
    if not checked:
        return
    verdicts = [Verdict(known[VERDICT]) for _, known in checked]
    counts = ", ".join(f"{verdicts.count(one)} {one.value}" for one in SEVERITY if one in verdicts)
    files = len({one.nodeid.partition("::")[0] for one, _ in checked})
    yield f"gradients: {counted(len(checked), 'result')} in {counted(files, 'file')}: {counts}"
    untested = [
        f"{one.nodeid}: {verdict.value}: {known.get(REASON, '')}"
        for (one, known), verdict in zip(checked, verdicts, strict=True)
        if not verdict.right and not verdict.bad
    ]
    yield from (f"not tested: {line}" for line in untested[:_MAX_LISTED])
    if len(untested) > _MAX_LISTED:
        yield f"and {len(untested) - _MAX_LISTED} more that were not tested"


def _properties(report: pytest.TestReport) -> dict[str, str]:
    return {str(name): str(value) for name, value in report.user_properties}
