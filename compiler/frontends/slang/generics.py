"""Read generic parameters from the text of a file and its imports, and suggest arguments: ``Table<float, 4>.first``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from slangad.compiler.slang_text.brackets import closing, until
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
_NUMBERS: Final = frozenset({"int", "uint", "int32_t", "uint32_t", "int64_t", "uint64_t"})
_BEFORE_TYPES: Final = frozenset({"typename", "each", "type"})
_TYPES: Final = frozenset({"struct", "class", "interface"})
_YOURS: Final = "YOUR_TYPE"
_ARGUMENTS: Final = re.compile(r"<[^<>]*>")
TYPE: Final = "type"
BOOL: Final = "bool"
NUMBER: Final = "number"


@dataclass(frozen=True, slots=True)
class GenericParameter:
    """A generic parameter.

    Attributes:
        kind: ``TYPE``, ``BOOL``, ``NUMBER``, or the name of an enum.
        bounds: The words of its constraints, such as the name of an interface.
    """

    kind: str
    bounds: tuple[str, ...] = ()

    @property
    def builtin(self) -> str:
        """The plain type that fits if the constraints name interfaces of Slang alone; empty if none does."""
        if not self.bounds or self.bounds[0].startswith(_OF_FLOATS):
            return "float"
        return "int" if self.bounds[0].startswith(_OF_INTEGERS) else ""


def without_arguments(text: str) -> str:
    """Return a name without generic arguments: ``Table.first`` for ``Table<float, 4>.first``."""
    while text != (text := _ARGUMENTS.sub("", text)):
        pass
    return text


def tokens_of(texts: Sequence[str]) -> list[Sequence[Token]]:
    """Return the tokens of each text."""
    return [read_text(text).tokens for text in texts]


def parameters_of(name: str, span: Span | None, texts: Sequence[Sequence[Token]]) -> tuple[GenericParameter, ...]:
    """Return the generic parameters of a function or struct.

    Args:
        name: Its name.
        span: The location of its name in the first text, if it stands there.
        texts: The tokens of the files that may declare it.
    """
    return next(_declared(name, span, texts), ())


def example_of(pattern: str, span: Span | None, texts: Sequence[Sequence[Token]]) -> str:
    """Return a generic function's name with suitable arguments, as far as the text shows: ``Table<float, 4>.first``.

    Args:
        pattern: Its qualified name with ``<>`` in place of arguments.
        span: The location of its name in the first text, if it stands there.
        texts: The tokens of the files that may declare it.
    """
    parts = pattern.split(".")
    return ".".join(_filled(part, span if part is parts[-1] else None, texts) for part in parts)


def _filled(part: str, span: Span | None, texts: Sequence[Sequence[Token]]) -> str:
    if not part.endswith("<>"):
        return part
    name = part.removesuffix("<>")
    arguments = [_argument(one, texts) for one in parameters_of(name, span, texts)]
    return f"{name}<{', '.join(arguments) or 'float'}>"


def _argument(parameter: GenericParameter, texts: Sequence[Sequence[Token]]) -> str:
    if parameter.kind != TYPE:
        return "true" if parameter.kind == BOOL else "4"
    types_ = (name for tokens in texts for name in _conforming(parameter.bounds[0], tokens))
    return parameter.builtin or next(types_, _YOURS)


def _declared(name: str, span: Span | None, texts: Sequence[Sequence[Token]]) -> Iterator[tuple[GenericParameter, ...]]:
    """Yield the parameters of each declaration of a name."""
    for tokens in texts:
        for k, token in enumerate(tokens[:-1]):
            here = span is None or (tokens is texts[0] and (token.line, token.column) == (span.line, span.column))
            if not here or token.text != name:
                continue
            start = k + 1 if tokens[k + 1].text == "<" else _old_style(tokens, k)
            if start and (span is not None or _declares(tokens, k)):
                yield tuple(read_parameter(one, tokens[k:]) for one in arguments_at(tokens, start))


def _declares(tokens: Sequence[Token], name: int) -> bool:
    """Return True if a name is declared: it stands behind ``struct``, or between a type and parameters."""
    before = tokens[name - 1]
    if before.text in _TYPES:
        return True
    depth, k = 0, name + 1
    while k < len(tokens) and (depth or tokens[k].text == "<"):
        depth += {"<": 1, ">": -1}.get(tokens[k].text, 0)
        k += 1
    if k >= len(tokens) or tokens[k].text != "(":
        return False
    if before.kind == "word":
        return before.text not in ("return", "new", "no_diff")
    behind = tokens[closing(tokens, k) + 1 :][:1]
    return before.text in (">", "]") and bool(behind) and behind[0].text in ("{", "where")


def _old_style(tokens: Sequence[Token], name: int) -> int:
    """Return the bracket behind ``__generic`` before a declared name; 0 if there is none."""
    for k in range(name - 1, 0, -1):
        if tokens[k].text in (";", "{", "}"):
            return 0
        if tokens[k].text == "__generic":
            return k + 1
    return 0


def arguments_at(tokens: Sequence[Token], start: int) -> Iterator[list[Token]]:
    """Yield the parts between commas up to the bracket that closes the one at ``start``."""
    depth = 0
    current: list[Token] = []
    for token in tokens[start + 1 :]:
        depth += {"<": 1, ">": -1, "(": 1, ")": -1}.get(token.text, 0)
        if depth < 0 or (not depth and token.text == ","):
            yield current
            current = []
        else:
            current.append(token)
        if depth < 0:
            return


def read_parameter(tokens: Sequence[Token], head: Sequence[Token]) -> GenericParameter:
    """Read ``let N : int``, ``int N``, ``T`` or ``T : Interface``, each with a default or not.

    Args:
        tokens: The tokens of the parameter.
        head: The tokens behind, which may have a ``where``.
    """
    words = [token.text for token in until(tokens, "=") if token.kind == "word"]
    declared = [word for word in words if word not in _BEFORE_TYPES]
    constrained = any(token.text == ":" for token in tokens)
    if words[:1] == ["let"] or (not constrained and len(declared) > 1):
        kind = words[-1] if words[0] == "let" and constrained else "int" if words[0] == "let" else words[0]
        return GenericParameter(BOOL if kind == "bool" else NUMBER if kind in _NUMBERS else kind)
    return GenericParameter(TYPE, (*declared[1:], *_required(declared[:1], head)))


def _required(name: Sequence[str], tokens: Sequence[Token]) -> Iterator[str]:
    """Yield the words of a ``where`` before the body that constrains a parameter."""
    head = until(tokens, "{", ";")
    for k, token in enumerate(head[:-2]):
        if token.text == "where" and [head[k + 1].text] == [*name] and head[k + 2].text == ":":
            yield from (word.text for word in until(head[k + 3 :], "where") if word.kind == "word")


def _conforming(interface: str, tokens: Sequence[Token]) -> Iterator[str]:
    """Yield the structs that declare an interface and are not generic."""
    for k, token in enumerate(tokens[:-2]):
        declares = token.text == "struct" and tokens[k + 2].text == ":"
        if declares and any(one.text == interface for one in until(tokens[k + 3 :], "{", ";")):
            yield tokens[k + 1].text
