"""The plain rendering of diagnostics: exact text, since people and editors parse it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from slangad.compiler.errors.diagnostics import Diagnostic, Severity
from slangad.compiler.errors.spans import NOWHERE, Span
from slangad.compiler.report.json import diagnostic_records, document
from slangad.compiler.report.text import render

if TYPE_CHECKING:
    from pathlib import Path


def _render(source: str, span: Span, **fields: object) -> str:
    diagnostic = Diagnostic("SA012", "exponent must be a constant", span, **fields)  # type: ignore[arg-type]  # test data
    return render([diagnostic], lambda path: source.split("\n"))


def test_render__one_line__has_caret_label_and_help() -> None:
    text = _render(
        "def f(x, n):\n    return x ** n\n",
        Span("k.py", 2, 17, 2, 18),
        label="not a constant",
        help="write x * x, or annotate n as Const[int]",
    )
    assert text == (
        "k.py:2:17: error[SA012]: exponent must be a constant\n"
        "  |\n"
        "2 |     return x ** n\n"
        "  |                 ^ not a constant\n"
        "  = help: write x * x, or annotate n as Const[int]\n"
    )


def test_render__line_number_of_two_digits__widens_the_gutter() -> None:
    text = _render("\n" * 11 + "abc", Span("k.py", 12, 2, 12, 4), notes=("one", "two\nlines"))
    assert text.splitlines()[1:] == [
        "   |",
        "12 | abc",
        "   |  ^^",
        "   = note: one",
        "   = note: two",
        "     lines",
    ]


def test_render__tab_before_the_span__caret_lines_up() -> None:
    lines = _render("\tx = y", Span("k.py", 1, 6, 1, 7)).splitlines()
    assert lines[2].index("y") == lines[3].index("^")


def test_render__wide_characters__caret_lines_up() -> None:
    lines = _render('s = "日本" + y', Span("k.py", 1, 12, 1, 13)).splitlines()
    assert lines[2].endswith("y")
    assert lines[3] == "  |              ^"  # each wide character takes two cells


def test_render__span_of_two_lines__underlines_both_and_labels_the_last() -> None:
    assert _render("a = f(1,\n      2)", Span("k.py", 1, 5, 2, 9), label="here").splitlines()[1:] == [
        "  |",
        "1 | a = f(1,",
        "  |     ^^^^",
        "2 |       2)",
        "  |       ^^ here",
    ]


def test_render__long_span__shows_first_and_last_line() -> None:
    source = "f(\n" + "  1,\n" * 5 + ")"
    assert _render(source, Span("k.py", 1, 1, 7, 2)).splitlines()[1:] == [
        "  |",
        "1 | f(",
        "  | ^^",
        "..",
        "7 | )",
        "  | ^",
    ]


def test_render__empty_or_past_the_end__still_one_caret() -> None:
    assert _render("ab", Span("k.py", 1, 3, 1, 3)).splitlines()[-1] == "  |   ^"
    assert _render("ab", Span("k.py", 1, 90, 1, 95)).splitlines()[-1] == "  |   ^"
    assert _render("", Span("k.py", 1, 1, 1, 1)).splitlines()[-1] == "  | ^"


def test_render__control_characters__never_reach_the_terminal() -> None:
    text = _render("x = '\x1b[31m\u202e'", Span("k.py", 1, 1, 1, 2))
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_render__missing_file__header_and_help_remain(tmp_path: Path) -> None:
    span = Span(str(tmp_path / "gone.py"), 3, 1, 3, 2)
    assert render([Diagnostic("SA001", "gone", span, help="look")]) == (f"{span}: error[SA001]: gone\n  = help: look\n")


def test_render__no_place__starts_with_the_severity() -> None:
    assert render([Diagnostic("SA300", "odd", NOWHERE, severity=Severity.WARNING)]) == "warning[SA300]: odd\n"
    assert render([Diagnostic("SA300", "odd", Span("a.py", 0, 0, 0, 0))]) == "a.py: error[SA300]: odd\n"


def test_render__form_feed_and_encoding_of_the_file__lines_as_python_counts(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_bytes(b"# coding: latin-1\r\n\x0cx = '\xe9' + y\r\n")
    text = render([Diagnostic("SA001", "m", Span(str(path), 2, 12, 2, 13))])
    assert "é" in text
    assert text.splitlines()[-1].index("^") == text.splitlines()[-2].index("y")


def test_records__all_fields__survive_json() -> None:
    found = Diagnostic("SA012", "m", Span("k.py", 1, 2, 3, 4), "label", "help", ("note",))
    value = json.loads(document({"diagnostics": diagnostic_records([found])}))
    assert value == {
        "schema": 1,
        "diagnostics": [
            {
                "code": "SA012",
                "severity": "error",
                "message": "m",
                "file": "k.py",
                "line": 1,
                "column": 2,
                "end_line": 3,
                "end_column": 4,
                "label": "label",
                "help": "help",
                "notes": ["note"],
            }
        ],
    }
