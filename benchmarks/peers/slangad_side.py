"""Run ``slangad check`` on the zoo, with its defaults."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from support import zoo_memory, zoo_pipelines
from support.zoo_functions import RIGHT
from support.zoo_mutants import all_mutants, module_of

from slangad import __version__
from slangad.compiler.check.options import CheckOptions
from slangad.compiler.check.session import check
from slangad.compiler.driver.inputs import parse_inputs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cases import Case
    from kernel_cases import KernelCase

VERSION = f"slangad {__version__}"
CHUNK = 40


def verdicts(cases: list[Case | KernelCase], seed: int) -> Iterator[tuple[str, list[bool]]]:
    """Yield each case's key with True for accepted, False for refused, or nothing for undecided."""
    functions = [case for case in cases if case.family == "functions"]
    mutants = {mutant.name: mutant for mutant in all_mutants()}
    for part in _chunks(functions):
        needed = {case.animal.name for case in part}
        animals = [animal for animal in RIGHT if animal.name in needed]
        yield from _checked(module_of(animals, [mutants[c.name] for c in part if c.kind]), part, seed)
    for family, zoo in (("kernels", zoo_memory), ("pipelines", zoo_pipelines)):
        for part in _chunks([case for case in cases if case.family == family]):
            yield from _checked(zoo.module_of([case.text for case in part]), part, seed)


def _chunks(cases: list) -> list[list]:
    return [cases[start : start + CHUNK] for start in range(0, len(cases), CHUNK)]


def _checked(text: str, part: list, seed: int) -> Iterator[tuple[str, list[bool]]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "zoo.py"
        path.write_text(text, encoding="utf-8")
        options = CheckOptions(seed=seed, only=tuple(case.name for case in part))
        report = check(parse_inputs([str(path)]), options)
    missing = {case.name for case in part} - {result.function for result in report.results}
    if missing:
        raise RuntimeError(f"not checked: {sorted(missing)}: {report.results[0].reason}")
    keys = {case.name: case.key for case in part}
    for result in report.results:
        decided = result.verdict.good or result.verdict.bad
        yield keys[result.function], [result.verdict.good] if decided else []
