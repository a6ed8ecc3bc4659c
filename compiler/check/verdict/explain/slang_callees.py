"""Name the Slang functions that a failed kernel of a description calls: they are checked with their own files."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from slangad.compiler.ir.calls import reached_in_order
from slangad.compiler.ir.nodes import External
from slangad.compiler.report.model import Leg
from slangad.compiler.slang_text.search import shown_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slangad.compiler.check.model.subject import Subject
    from slangad.compiler.ir.nodes import Module
    from slangad.compiler.report.model import Result

_ELSEWHERE: Final = "it calls {} of {}, whose derivative may be wrong instead: 'slangad check {}' checks it"
_NO_DERIVATIVE: Final = frozenset({Leg.COMPILE, Leg.BOUND, Leg.JOINED})


def with_slang_callees(result: Result, subject: Subject, module: Module) -> Result:
    """Return a result whose failures name the functions of Slang files that a kernel calls."""
    if not result.failures or result.verdict.right:
        return result
    notes = tuple(_ELSEWHERE.format(", ".join(names), file, file) for file, names in _files(subject, module))
    failures = (
        failure if failure.leg in _NO_DERIVATIVE else replace(failure, notes=(*failure.notes, *notes))
        for failure in result.failures
    )
    return replace(result, failures=tuple(failures))


def _files(subject: Subject, module: Module) -> Iterator[tuple[str, list[str]]]:
    functions = {function.key: function for function in module.functions}
    named: dict[str, list[str]] = {}
    for function in reached_in_order(functions, subject.function) if subject.function in functions else ():
        if isinstance(function.body, External):
            path = Path(os.path.abspath(module.source)).parent / function.body.file  # noqa: PTH100
            named.setdefault(shown_path(str(path)), []).append(function.body.symbol)
    yield from named.items()
