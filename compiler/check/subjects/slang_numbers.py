"""Spell out the code of a Slang function, with numbers in place of its named constants."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from slangad.compiler.slang_text.calls import FunctionCode

_NAMED: Final = re.compile(r"\bconst\s+(?:static\s+)?\w+(?:<[^<>;=]*>)?\s+(\w+)\s*=\s*([^;={}]{1,80});")
_DEFINED: Final = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+([^\n]{1,80})$", re.MULTILINE)


def named_numbers(texts: Iterable[str]) -> dict[str, str]:
    """Return the text of each constant and macro of Slang texts that has a number, by its name."""
    found = (one for text in texts for pattern in (_NAMED, _DEFINED) for one in pattern.findall(text))
    return {name: value for name, value in found if re.search(r"\d", value)}


def spelled_code(codes: Sequence[FunctionCode], named: Mapping[str, str]) -> Iterator[str]:
    """Yield the text of a function, then of its custom derivatives, then of its callees.

    Args:
        codes: The function and the code that its gradient uses; see ``codes_of``.
        named: The texts of named constants. Each follows its name.
    """
    first = codes[0].name if codes else ""
    for code in sorted(codes, key=lambda one: (one.name != first, one.of != first)):
        words = (f"{token.text} {named[token.text]}" if token.text in named else token.text for token in code.tokens)
        yield " ".join(words)
