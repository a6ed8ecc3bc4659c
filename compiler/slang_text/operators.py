"""Find the user-defined operators that a function of a Slang file may use.

Text calls an operator by its symbol, not by its name. An operator counts as used by a function that has its symbol and
mentions one of its types, directly, through calls or through fields. That can be more operators than the function uses.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from slangad.compiler.ir.calls import closure
from slangad.compiler.slang_text.brackets import closing
from slangad.compiler.slang_text.tokens import words_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from slangad.compiler.slang_text.bodies import SlangFunction, SlangSource
    from slangad.compiler.slang_text.tokens import Token

_OPERATOR: Final = "operator"
_COMMENT: Final = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_WORD: Final = re.compile(r"[^\W\d]\w*")
_SCOPES: Final = frozenset({"struct", "class", "interface", "extension"})
_NAMING: Final = frozenset({"typedef", "typealias", "static", "const"})
"""Words of declarations that name types and values."""
_ENDS: Final = frozenset({";", "{", "}", "("})


def is_operator(function: SlangFunction) -> bool:
    """Return True if it is an operator. ``operator`` alone is the name of ``operator()``."""
    name = function.header.name
    return name.startswith(_OPERATOR) and not name.removeprefix(_OPERATOR).isidentifier()


class Operators:
    """The operators that some files define."""

    def __init__(self, files: Sequence[SlangSource]) -> None:
        """Find the operators and the words that lead to their types."""
        every = [(file, function) for file in files for function in file.functions]
        operators = [(file, function) for file, function in every if is_operator(function)]
        self._leads: dict[str, set[str]] = {}
        for name, words in (pair for file in files for pair in _declared(file.tokens) if operators):
            self._leads.setdefault(name, set()).update(words)
        types = frozenset(self._leads)
        self._types = {function: types & _head(file, function) for file, function in operators}
        for file, function in every if operators else ():
            self._leads.setdefault(function.header.name, set()).update(_head(file, function))

    def used(self, text: str, calls: Iterable[str]) -> Iterator[SlangFunction]:
        """Yield the operators that a text may use. ``calls`` are the names that it calls; some may be values."""
        if not self._types:
            return
        code = _COMMENT.sub(" ", text)
        mentioned = self._mentioned(_WORD.findall(code))
        for function, types in self._types.items():
            symbol = function.header.name.removeprefix(_OPERATOR)
            stands = symbol in code if symbol else any(_is_value(called, code) for called in calls)
            if stands and (not types or types & mentioned):
                yield function

    def _mentioned(self, words: Iterable[str]) -> frozenset[str]:
        """Return words and everything that they lead to."""
        return frozenset(closure(words, lambda word: self._leads.get(word, ())))


def _is_value(called: str, code: str) -> bool:
    """Return True if a called name also stands where it is neither called nor a type."""
    return re.search(rf"\b{called}\b(?!\s*[(<\w])", code) is not None


def _head(file: SlangSource, function: SlangFunction) -> frozenset[str]:
    """Return the words in the head of a function and in its path."""
    return frozenset(_WORD.findall(" ".join((file.text[function.start : function.body], *function.header.path))))


def _declared(tokens: Sequence[Token]) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield types, and names of types and values, each with the words of its declaration."""
    for k, token in enumerate(tokens[:-1]):
        if token.text in _SCOPES:
            opening = next((j for j in range(k, len(tokens)) if tokens[j].text in _ENDS), k)
            yield tokens[k + 1].text, words_of(tokens[k + 2 : closing(tokens, opening)])
        elif token.text in _NAMING:
            end = next((j for j in range(k, len(tokens)) if tokens[j].text in _ENDS), k)
            words = words_of(tokens[k + 1 : end])
            yield from ((word, words) for word in words)
