"""The registry of diagnostic codes: the tables of all stages as one, and their text for the terminal and for docs."""

from __future__ import annotations

import re
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from slangad.compiler.errors.diagnostics import Explanation
    from slangad.compiler.errors.examples import Example

TABLES: Final = (
    "frontends",
    "yaml",
    "slang_files",
    "passes",
    "toolchain",
    "driver",
)
"""The modules of ``errors.codes``, one for each stage; each has a table ``CODES``."""

PRINTED: Final = Path(__file__).parent / "printed.txt"
"""The output of each wrong example; tests/test_errors.py runs the examples and keeps this file up to date."""

_HEAD: Final = """# Error codes

Each code has a wrong example with the message that slangad prints for it, and a right one. `slangad explain CODE`
prints the same texts. Codes are stable: a code never changes its meaning.
"""

_LANGUAGES: Final = {".py": "python", ".yaml": "yaml", ".slang": "hlsl", ".toml": "toml", ".sh": "sh"}


@cache
def explanations() -> Mapping[str, Explanation]:
    """Return all codes in order.

    Raises:
        ValueError: A code is defined twice, which is a defect of slangad.
    """
    merged: dict[str, Explanation] = {}
    for name in TABLES:
        table: dict[str, Explanation] = import_module(f"slangad.compiler.errors.codes.{name}").CODES
        twice = merged.keys() & table.keys()
        if twice:
            raise ValueError(f"defined twice: {', '.join(sorted(twice))}")
        merged.update(table)
    return dict(sorted(merged.items()))


def nearest(code: str) -> str | None:
    """Return the known code that is most similar, or None if none is similar."""
    from difflib import get_close_matches

    short = re.fullmatch(r"(?:SA)?(\d{1,3})", code.upper())
    if short and (full := f"SA{short[1]:0>3}") in explanations():
        return full
    return next(iter(get_close_matches(code.upper(), explanations(), n=1, cutoff=0.5)), None)


def printed() -> dict[str, str]:
    """Return the output of the wrong example of each code."""
    parts = re.split(r"^=== (SA\d{3})\n", PRINTED.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def as_text(code: str) -> str:
    """Return the explanation of a code for a terminal: code is indented."""
    lines = []
    for language, text in _blocks(code):
        lines.append("".join(f"    {line}".rstrip() + "\n" for line in text.splitlines()) if language else f"{text}\n")
    return f"{code}: {explanations()[code].title}\n\n" + "\n".join(lines)


def as_markdown() -> str:
    """Return all explanations as the text of docs/errors.md."""
    return "\n".join((_HEAD, *(_section(code) for code in explanations())))


def _section(code: str) -> str:
    blocks = (f"```{language}\n{text}\n```\n" if language else f"{text}\n" for language, text in _blocks(code))
    return "\n".join((f"## {code}: {explanations()[code].title}\n", *blocks))


def _blocks(code: str) -> Iterator[tuple[str, str]]:
    """Yield the parts of an explanation as (language, text); prose has no language."""
    entry = explanations()[code]
    if entry.wrong and entry.right:
        yield "", "Wrong:"
        yield from _files(entry.wrong, {})
        yield "console", f"{_prompted(entry.wrong)}\n{printed().get(code, '').rstrip()}"
        yield "", "Right:"
        yield from _files(entry.right, entry.wrong.files)
        if entry.right.command != entry.wrong.command:
            yield "console", _prompted(entry.right)
    yield "", entry.text.strip()
    if entry.no_example:
        yield "", f"No example: {entry.no_example}"


def _files(example: Example, known: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the files of an example that are not shown yet; if there are several, each with its name."""
    for name, text in example.files.items():
        if known.get(name) != text:
            if len(example.files) > 1:
                yield "", f"{name}:"
            yield _LANGUAGES.get(Path(name).suffix, "text"), text.rstrip()


def _prompted(example: Example) -> str:
    return "\n".join(f"$ {line}" for line in example.command.splitlines())


if __name__ == "__main__":
    sys.stdout.write(as_markdown())
