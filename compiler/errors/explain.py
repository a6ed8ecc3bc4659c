"""Every diagnostic code at length: the tables of all stages go in, one registry and docs/errors.md come out."""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slangad.compiler.errors.diagnostics import Explanation

TABLES: Final = (
    "frontends",
    "yaml",
    "slang_files",
    "passes",
    "toolchain",
    "driver",
)
"""The modules of ``errors.codes``, one for each stage; each has a table ``CODES``."""

_HEAD: Final = """# Error codes

`slangad explain CODE` prints the same texts. Codes are stable: a code never changes its meaning.
"""


@cache
def explanations() -> Mapping[str, Explanation]:
    """All codes in order. A code defined twice is a defect of slangad."""
    merged: dict[str, Explanation] = {}
    for name in TABLES:
        table: dict[str, Explanation] = import_module(f"slangad.compiler.errors.codes.{name}").CODES
        twice = merged.keys() & table.keys()
        if twice:
            raise ValueError(f"defined twice: {', '.join(sorted(twice))}")
        merged.update(table)
    return dict(sorted(merged.items()))


def nearest(code: str) -> str | None:
    """The known code most like this one, or None when nothing is close."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(code.upper(), explanations(), n=1, cutoff=0.5)), None)


def as_markdown() -> str:
    """The registry as the text of docs/errors.md."""
    sections = (f"## {code}: {entry.title}\n\n{entry.text.strip()}\n" for code, entry in explanations().items())
    return "\n".join((_HEAD, *sections))


if __name__ == "__main__":
    sys.stdout.write(as_markdown())
