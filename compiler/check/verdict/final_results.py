"""Decide when the result of a subject is final, so that its row can be shown."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from slangad.compiler.check.verdict.decide import with_expectation
from slangad.compiler.check.verdict.explain.callers import called, is_derivative, with_causes_in_callees

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from slangad.compiler.check.model.subject import Subject
    from slangad.compiler.ir.nodes import Module
    from slangad.compiler.report.model import Result


@dataclass(slots=True)
class FinalResults:
    """Results of one file in its order. A wrong one is final when those of all functions that it calls are known.

    Attributes:
        subjects: The subjects of the file.
        module: The module with their functions.
        decided: Called with each result when it is final.
    """

    subjects: Sequence[Subject]
    module: Module
    decided: Callable[[Result], None]
    _results: list[Result] = field(default_factory=list)
    _shown: int = 0

    def add(self, result: Result) -> None:
        """Add the result of the next subject."""
        self._results.append(result)
        while self._shown < len(self._results) and self._is_final(self._shown):
            self._show()

    def finish(self) -> list[Result]:
        """Return all results after the last was added."""
        while self._shown < len(self._results):
            self._show()
        results = with_causes_in_callees(self._results, self.subjects, self.module)
        return [with_expectation(*one) for one in zip(results, self.subjects, strict=True)]

    def _show(self) -> None:
        known = self.subjects[: len(self._results)]
        result = self._results[self._shown]
        if is_derivative(result):
            result = with_causes_in_callees(self._results, known, self.module)[self._shown]
        self.decided(with_expectation(result, self.subjects[self._shown]))
        self._shown += 1

    def _is_final(self, number: int) -> bool:
        """Return True if no result that comes later can be the cause of this one."""
        if not is_derivative(self._results[number]):
            return True
        functions = {function.key: function for function in self.module.functions}
        seen = {number}
        waiting = [number]
        while waiting:
            others = set(called(self.subjects, waiting.pop(), functions, self.module)) - seen
            if any(k >= len(self._results) for k in others):
                return False
            seen |= others
            waiting += others
        return True
