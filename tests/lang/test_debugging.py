"""Described functions under a debugger: the user's file, lines and names, and tracebacks that point there."""

from __future__ import annotations

import inspect
import sys
import traceback
from typing import TYPE_CHECKING

import pytest

import slangad as sa

if TYPE_CHECKING:
    from types import FrameType


@sa.differentiable
def traced(x: float, n: int) -> float:
    total = 0.0
    for i in range(n):
        if i == 1:
            total += x
    while sa.max_iters(2) and total > 100.0:
        total = total - 1.0
    return total / n


FIRST = inspect.getsourcelines(traced.python)[1]


@sa.function
def fails(a: int) -> int:
    b = a + 1
    return b // (a - a)


def _lines_run(function: object, *args: object) -> tuple[list[int], list[dict[str, object]], set[str]]:
    lines: list[int] = []
    seen: list[dict[str, object]] = []
    names: set[str] = set()

    def on_line(frame: FrameType, event: str, _: object) -> object:
        if event == "line":
            lines.append(frame.f_lineno)
            seen.append(dict(frame.f_locals))
        return on_line

    def on_call(frame: FrameType, _event: str, _: object) -> object:
        if frame.f_code.co_filename == __file__ and frame.f_code.co_name == "traced":
            names.add(getattr(frame.f_code, "co_qualname", "traced"))
            return on_line
        return None

    sys.settrace(on_call)
    try:
        function(*args)
    finally:
        sys.settrace(None)
    return lines, seen, names


def test_trace__of_a_described_function__shows_the_user_s_lines() -> None:
    lines, seen, names = _lines_run(traced, 2.0, 2)
    assert names == {"traced"}
    relative = [line - FIRST for line in lines]
    distinct = [line for i, line in enumerate(relative) if i == 0 or line != relative[i - 1]]
    assert distinct == [2, 3, 4, 3, 4, 5, 3, 6, 8]
    assert seen[-1]["total"] == 2.0
    assert seen[-1]["x"] == 2.0
    assert seen[-1]["i"] == 1


def test_traceback__of_an_error__names_file_function_and_line() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        fails(1)
    frames = traceback.extract_tb(caught.value.__traceback__)
    here = [f for f in frames if f.filename == __file__ and f.name == "fails"]
    assert [f.line for f in here] == ["return b // (a - a)"]


def test_wrapped__function__keeps_name_and_documentation() -> None:
    @sa.differentiable
    def documented(x: float) -> float:
        """What it does."""
        return x

    assert documented.__name__ == "documented"
    assert documented.__doc__ == "What it does."
    assert str(inspect.signature(documented)) == "(x: 'float') -> 'float'"
