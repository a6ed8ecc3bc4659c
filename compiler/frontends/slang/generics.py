"""Suggest arguments for a generic function from the text of its files: ``Table<float, 4>.first``."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from slangad.compiler.slang_text.brackets import until
from slangad.compiler.slang_text.tokens import read_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from slangad.compiler.errors.spans import Span
    from slangad.compiler.slang_text.tokens import Token

_OF_FLOATS: Final = (
    *("__BuiltinFloating", "__BuiltinArithmetic", "__BuiltinSigned", "__BuiltinReal", "__BuiltinType"),
    *("IFloat", "IArithmetic", "IDifferentiable", "IComparable"),
)
_OF_INTEGERS: Final = ("__Builtin", "IInteger", "ILogical")
_NUMBERS: Final = frozenset({"let", "int", "uint"})
_YOURS: Final = "YOUR_TYPE"


def example_of(pattern: str, span: Span | None, texts: Sequence[str]) -> str:
    """Return a generic function's name with suitable arguments, as far as the text shows: ``Table<float, 4>.first``.

    Args:
        pattern: Its qualified name with ``<>`` in place of arguments.
        span: The location of its name in the first text, if it stands there.
        texts: The files that may declare it.
    """
    tokens = [read_text(text).tokens for text in texts]
    parts = pattern.split(".")
    return ".".join(_filled(part, span if part is parts[-1] else None, tokens) for part in parts)


def _filled(part: str, span: Span | None, texts: Sequence[Sequence[Token]]) -> str:
    if not part.endswith("<>"):
        return part
    name = part.removesuffix("<>")
    arguments = [_argument(one, texts) for one in next(_parameters(name, span, texts), ())]
    return f"{name}<{', '.join(arguments) or 'float'}>"


def _parameters(name: str, span: Span | None, texts: Sequence[Sequence[Token]]) -> Iterator[list[list[Token]]]:
    """Yield the generic parameters behind a name, each with its ``where`` constraint."""
    for tokens in texts:
        for k, token in enumerate(tokens[:-1]):
            here = span is None or (tokens is texts[0] and (token.line, token.column) == (span.line, span.column))
            if here and token.text == name and tokens[k + 1].text == "<":
                parameters = list(_split(tokens[k + 2 :]))
                if span is not None or _declares(tokens[k - 1]):
                    yield [[*one, *_required(one, tokens[k:])] for one in parameters]


def _declares(before: Token) -> bool:
    return before.kind == "word" and before.text not in ("return", "new", "no_diff")


def _split(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """Yield the parameters up to the closing bracket."""
    depth = 0
    current: list[Token] = []
    for token in tokens:
        depth += {"<": 1, ">": -1}.get(token.text, 0)
        if depth < 0 or (not depth and token.text == ","):
            yield current
            current = []
        else:
            current.append(token)
        if depth < 0:
            return


def _required(parameter: Sequence[Token], tokens: Sequence[Token]) -> Iterator[Token]:
    """Yield what a ``where`` before the body requires of a parameter."""
    head = until(tokens, "{", ";")
    for k, token in enumerate(head[:-2]):
        if token.text == "where" and parameter and head[k + 1].text == parameter[0].text:
            yield from until(head[k + 2 :], "where")


def _argument(parameter: Sequence[Token], texts: Sequence[Sequence[Token]]) -> str:
    """Return an argument for a parameter such as ``let N : int``, ``T`` or ``T : Interface``."""
    words = [token.text for token in parameter if token.kind == "word"]
    if words and words[0] in _NUMBERS:
        return "true" if "bool" in words else "4"
    if not any(token.text == ":" for token in parameter):
        return "float"
    interface = next((t.text for b, t in pairwise(parameter) if b.text == ":"), "")
    if interface.startswith(_OF_FLOATS):
        return "float"
    if interface.startswith(_OF_INTEGERS):
        return "int"
    return next((name for tokens in texts for name in _conforming(interface, tokens)), _YOURS)


def _conforming(interface: str, tokens: Sequence[Token]) -> Iterator[str]:
    """Yield the structs that declare an interface and are not generic."""
    for k, token in enumerate(tokens[:-2]):
        declares = token.text == "struct" and tokens[k + 2].text == ":"
        if declares and any(one.text == interface for one in until(tokens[k + 3 :], "{", ";")):
            yield tokens[k + 1].text
