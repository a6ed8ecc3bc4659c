"""Explain why mutants survived, from the results of probes.

One probe shifts the value that a mutant changes by 1 (a product is doubled), another replaces it by NaN. If the check
does not catch NaN, no sample gets there. If it only misses the first probe, the value is multiplied by zero. A third
probe changes nothing: if the check catches it, the derivative is wrong already, and the mutant corrects it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from slangad.compiler.check.mutation.mutate import PROBES
from slangad.compiler.report.model import Verdict
from slangad.compiler.slang_text.files import text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from slangad.compiler.report.model import Report, Result

_PLACE: Final = re.compile(r" in line (?P<line>\d+)(, column (?P<column>\d+))?")
_PRODUCT: Final = re.compile(r": [*/] becomes ")
_NOTHING: Final = "is 0 at every sample, or below 5e-7 of the derivative"


def mutants_of(report: Report) -> tuple[Result, ...]:
    """Return the mutants that were tried."""
    return tuple(result for result in report.results if result.verdict is not Verdict.SKIPPED)


def survivors(report: Report) -> tuple[Result, ...]:
    """Return the mutants that the check did not catch."""
    return tuple(result for result in mutants_of(report) if not result.verdict.bad)


def why(name: str, noticed: Mapping[str, bool]) -> str:
    """Return the reason why a mutant passes, from its probes by name and if the check caught them; empty if unknown."""
    shifted, lost, _ = (noticed.get(name + probe) for probe in PROBES)
    if shifted is None or lost is None:
        return ""
    if not shifted and not lost:
        return "no sample gets there, or nothing depends on it"
    if not shifted:
        return f"the value that it changes {_NOTHING}" if not _PRODUCT.search(name) else f"the product {_NOTHING}"
    return _when_used(name)


def corrects(name: str, noticed: Mapping[str, bool]) -> bool:
    """Return True if a mutant passes because it corrects a wrong derivative, from its probes."""
    *_, unchanged = PROBES
    return noticed.get(name + unchanged, False)


def _when_used(name: str) -> str:
    """Return the reason why a change has no effect where its value has one."""
    if _PRODUCT.search(name):
        return "the operand behind the operator is 1 or -1 at every sample"
    if "swapped" in name:
        return "both are the same at every sample"
    if "transposed" in name:
        return "the matrix is symmetric at every sample"
    if "accumulation forgotten" in name:
        return f"the value that it adds to {_NOTHING}"
    return f"the operand behind the operator {_NOTHING}" if "column" in name else f"it {_NOTHING}"


def place_in(result: Result) -> tuple[int, int]:
    """Return the line and column of a mutant's change; 0 if unknown."""
    match = _PLACE.search(result.function)
    return (int(match["line"]), int(match["column"] or 0)) if match else (0, 0)


def line_of(result: Result) -> str:
    """Return the line of the file that a mutant changes."""
    line = place_in(result)[0]
    lines = text_of(result.file).splitlines()
    return lines[line - 1].expandtabs(1) if 0 < line <= len(lines) else ""


def mutation_lines(report: Report) -> Iterator[str]:
    """Yield the outcome of the mutants: survivors, functions without mutants, then the number caught."""
    alive = survivors(report)
    for result in alive:
        yield from _survivor(result)
    if any(result.verdict.right for result in alive):
        yield (
            "A surviving change makes no difference at any sample: the changed value is zero there, or less than 5e-7\n"
            "of the derivative. Larger ranges or more samples may show it."
        )
    for result in report.results:
        if result.verdict is Verdict.SKIPPED:
            yield f"{result.file}: {result.function or 'not mutated'}: {result.reason}"
    count = len(mutants_of(report))
    rate = f", {(count - len(alive)) / count:.1%}" if count else ": there is no derivative to be broken"
    yield f"{count - len(alive)} of {count} mutants killed{rate}"


def _survivor(result: Result) -> Iterator[str]:
    """Yield a survivor with the changed line and the reason."""
    yield f"{result.file}: survived as {result.verdict.value}: {result.function}"
    line, column = place_in(result)
    text = line_of(result)
    if text.strip():
        yield f"  {line} | {text}"
        if column:
            yield f"  {' ' * len(str(line))} | {' ' * (column - 1)}^"
    if result.reason:
        yield f"  why: {result.reason}"
