"""Expand the macros of Slang files, and find what the expanded text declares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from slangad.compiler.slang_text.bodies import read_source
from slangad.compiler.slang_text.brackets import closing
from slangad.compiler.slang_text.declarations import STRUCTS, declarations_of
from slangad.compiler.slang_text.headers import DERIVATIVE_OF
from slangad.compiler.slang_text.tokens import Token, words_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from slangad.compiler.slang_text.headers import Scan

_PASTE: Final = "#"
_NESTED: Final = 40
"""Macros in macros, at most. More means that they call each other."""
_LONGEST: Final = 200_000
"""Tokens of an expanded text, at most."""
HIDDEN: Final = ("operator", "__")
"""The prefixes of functions that text calls without their name."""
_PLAIN: Final = STRUCTS | {"function", "global", "typedef", "typealias"}
"""The kinds of declarations that text uses by their names alone."""


class _Macro(NamedTuple):
    """A definition of a macro: its parameters, or None if it takes no arguments, and the tokens of its text."""

    params: tuple[str, ...] | None
    body: tuple[Token, ...]


class Expanded(NamedTuple):
    """The names that some text declares after expansion, and all words in it."""

    names: frozenset[str]
    words: frozenset[str]


class Expander:
    """The macros of some files. A macro may have several definitions, of which conditions choose one."""

    def __init__(self, scans: Iterable[Scan]) -> None:
        self._macros: dict[str, list[_Macro]] = {}
        for scan in scans:
            for name, tokens in scan.defines:
                self._macros.setdefault(name, []).append(_macro(name, tokens))

    def read(self, tokens: Sequence[Token]) -> Expanded | None:
        """Return what tokens declare after expansion; None if text may use that without a name."""
        used = [len(self._macros[token.text]) for token in tokens if token.text in self._macros]
        names, words = frozenset[str](), frozenset[str]()
        for which in range(max(used, default=1)):
            expanded = self._expanded(tokens, which, 0)
            declared = _declared(tokens, expanded) if len(expanded) < _LONGEST else None
            if declared is None:
                return None
            names, words = names | declared, words | words_of(expanded)
        return Expanded(names, words)

    def _expanded(self, tokens: Sequence[Token], which: int, depth: int) -> list[Token]:
        """Return tokens without macros, each with the definition ``which``, or its last one."""
        out: list[Token] = []
        k = 0
        while k < len(tokens):
            known = self._macros.get(tokens[k].text, ()) if depth < _NESTED and len(out) < _LONGEST else ()
            macro = known[min(which, len(known) - 1)] if known else None
            called = k + 1 < len(tokens) and tokens[k + 1].text == "("
            if macro is None or (macro.params is not None and not called):
                out.append(tokens[k])
            elif macro.params is None:
                out += self._expanded([*_pasted(macro.body)], which, depth + 1)
            else:
                last = closing(tokens, k + 1)
                given = dict(zip(macro.params, _arguments(tokens[k + 2 : last]), strict=False))
                out += self._expanded([*_pasted(_with(macro.body, given))], which, depth + 1)
                k = last
            k += 1
        return out


def _macro(name: str, tokens: Sequence[Token]) -> _Macro:
    """Return a definition. A bracket directly behind the name begins its parameters."""
    if not tokens or tokens[0].text != "(" or tokens[0].column != len(name) + 1:
        return _Macro(None, tuple(tokens))
    last = closing(tokens, 0)
    return _Macro(tuple(token.text for token in tokens[1:last] if token.kind == "word"), tuple(tokens[last + 1 :]))


def _arguments(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """Yield the arguments of a macro: what commas outside of brackets separate."""
    start = k = 0
    while k < len(tokens):
        if tokens[k].text == ",":
            yield tokens[start:k]
            start = k + 1
        k = (closing(tokens, k) if tokens[k].text in "([{" else k) + 1
    yield tokens[start:]


def _with(body: Sequence[Token], given: Mapping[str, Sequence[Token]]) -> list[Token]:
    """Return the text of a macro with its arguments."""
    return [one for token in body for one in given.get(token.text, (token,))]


def _pasted(tokens: Sequence[Token]) -> Iterator[Token]:
    """Yield tokens. Those around ``##`` become one."""
    last: Token | None = None
    k = 0
    while k < len(tokens):
        if last is not None and [token.text for token in tokens[k : k + 2]] == [_PASTE, _PASTE] and k + 2 < len(tokens):
            last = Token("word", last.text + tokens[k + 2].text, last.line, last.column)
            k += 3
            continue
        if last is not None:
            yield last
        last = tokens[k]
        k += 1
    if last is not None:
        yield last


def _declared(tokens: Sequence[Token], expanded: Sequence[Token]) -> frozenset[str] | None:
    """Return the names that an expanded text declares; None if macros declare more than plain declarations."""
    plain = {token.text for token in tokens}
    if any(token.text in DERIVATIVE_OF and token.text not in plain for token in expanded):
        return None
    source = read_source(" ".join(token.text for token in expanded), "")
    declared = [*declarations_of(source)]
    if not source.is_closed or any(one.kind not in _PLAIN or not one.names for one in declared):
        return None
    names = frozenset(function.header.name for function in source.functions).union(*(one.names for one in declared))
    return None if any(name.startswith(HIDDEN) for name in names) else names
