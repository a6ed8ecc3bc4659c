"""Which operators of users a function of a Slang file may use: files go in, and for a function its operators come out.

Operators are called without their names. One is taken for used where its symbol stands in a function that mentions one
of its types, itself or by what it calls and by fields: more than are used, but not those of other types.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from slangad.compiler.slang_text.brackets import closing
from slangad.compiler.slang_text.tokens import read_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from slangad.compiler.slang_text.bodies import Bodies, Function
    from slangad.compiler.slang_text.tokens import Token

_OPERATOR: Final = "operator"
_COMMENT: Final = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_WORD: Final = re.compile(r"[^\W\d]\w*")
_SCOPES: Final = frozenset({"struct", "class", "interface", "extension"})
_NAMING: Final = frozenset({"typedef", "typealias", "static", "const"})
"""Words of declarations that give names to types and values of them."""
_ENDS: Final = frozenset({";", "{", "}", "("})


def is_operator(function: Function) -> bool:
    """Whether it is an operator; ``operator`` alone is the name of ``operator()``."""
    name = function.header.name
    return name.startswith(_OPERATOR) and not name.removeprefix(_OPERATOR).isidentifier()


class Operators:
    """The operators that some files define."""

    def __init__(self, files: Sequence[Bodies]) -> None:
        """Find them, and what words lead to their types."""
        every = [(bodies, function) for bodies in files for function in bodies.functions]
        found = [(bodies, function) for bodies, function in every if is_operator(function)]
        self._leads: dict[str, set[str]] = {}
        for name, words in (pair for bodies in files for pair in _declared(read_text(bodies.text).tokens) if found):
            self._leads.setdefault(name, set()).update(words)
        types = frozenset(self._leads)
        self._types = {function: types & _head(bodies, function) for bodies, function in found}
        for bodies, function in every if found else ():
            self._leads.setdefault(function.header.name, set()).update(_head(bodies, function))

    def used(self, text: str, calls: Iterable[str]) -> Iterator[Function]:
        """The operators that a text may use; ``calls`` are the names that it calls, of which values may be some."""
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
        """Words and all that they lead to."""
        found, fresh = set[str](), {*words}
        while fresh:
            found |= fresh
            fresh = {further for word in fresh for further in self._leads.get(word, ())} - found
        return frozenset(found)


def _is_value(called: str, code: str) -> bool:
    """Whether something that is called stands where it is neither called nor a type."""
    return re.search(rf"\b{called}\b(?!\s*[(<\w])", code) is not None


def _head(bodies: Bodies, function: Function) -> frozenset[str]:
    """The words of the head of a function, and of the types it stands in."""
    return frozenset(_WORD.findall(" ".join((bodies.text[function.start : function.body], *function.header.path))))


def _declared(tokens: Sequence[Token]) -> Iterator[tuple[str, set[str]]]:
    """Types, and names of types and values, with the words that they are declared by."""
    for k, token in enumerate(tokens[:-1]):
        if token.text in _SCOPES:
            opening = next((j for j in range(k, len(tokens)) if tokens[j].text in _ENDS), k)
            yield tokens[k + 1].text, _words(tokens[k + 2 : closing(tokens, opening)])
        elif token.text in _NAMING:
            end = next((j for j in range(k, len(tokens)) if tokens[j].text in _ENDS), k)
            words = _words(tokens[k + 1 : end])
            yield from ((word, words) for word in words)


def _words(tokens: Iterable[Token]) -> set[str]:
    return {token.text for token in tokens if token.kind == "word"}
