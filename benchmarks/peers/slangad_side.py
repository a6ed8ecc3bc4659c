"""The zoo through ``slangad check``, at its defaults."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from support.zoo_functions import RIGHT
from support.zoo_mutants import all_mutants, module_of

from slangad import __version__
from slangad.compiler.check.session import CheckOptions, check
from slangad.compiler.inputs import parse_inputs

if TYPE_CHECKING:
    from cases import Case

VERSION = f"slangad {__version__}"
CHUNK = 40


def verdicts(cases: list[Case]) -> dict[str, dict[str, list[bool]]]:
    """Whether the check is content with each case; none where it can't tell."""
    mutants = {mutant.name: mutant for mutant in all_mutants()}
    told: dict[str, dict[str, list[bool]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for start in range(0, len(cases), CHUNK):
            part = cases[start : start + CHUNK]
            needed = {case.animal.name for case in part}
            path = Path(folder) / f"part_{start}.py"
            animals = [animal for animal in RIGHT if animal.name in needed]
            path.write_text(module_of(animals, [mutants[c.name] for c in part if c.kind]), encoding="utf-8")
            report = check(parse_inputs([str(path)]), CheckOptions(only=tuple(case.name for case in part)))
            missing = {case.name for case in part} - {result.function for result in report.results}
            if missing:
                raise RuntimeError(f"not checked: {sorted(missing)}: {report.results[0].reason}")
            for result in report.results:
                decided = result.verdict.good or result.verdict.bad
                told[result.function] = {"default": [result.verdict.good] if decided else []}
    return told
