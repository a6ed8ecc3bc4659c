"""Write the text of a twin of a Slang file that freezes what the text declares to carry no gradient.

Differences then measure the declared derivative, as with descriptions (see ``declared``):

    no_diff f(x)                              no_diff check_freeze(f(x))
    detach(x)                                 check_freeze(x)
    float f(no_diff float k) { … }            float f(no_diff float k) { k = check_freeze(k); … }
    [TreatAsDifferentiable] float f() { … }   every `return e;` becomes `return check_freeze(e);`
    no_diff float f() { … }                   likewise

A function with a declared derivative gets a body that has this derivative, and its own body another name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from slangad.compiler.check import tolerances as tol
from slangad.compiler.slang_text.brackets import closing, until
from slangad.compiler.slang_text.calls import name_in_calls
from slangad.compiler.slang_text.headers import declared_names

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from slangad.compiler.slang_text.bodies import SlangFunction, SlangSource
    from slangad.compiler.slang_text.tokens import Token

STOPS: Final = frozenset({"no_diff", "detach", "TreatAsDifferentiable"})
"""Words by which Slang declares that a gradient ends."""
LIBRARY: Final = "slangad_check_frozen"
TAPE, STATE = "check_bytes", "check_state"
"""Buffers of the twins: the frozen values; how many bytes they have, a flag to read them again, and a flag that the
tape was too short. A run with that flag has no results."""
TEXT: Final = f"""
public RWByteAddressBuffer {TAPE};
public RWStructuredBuffer<int> {STATE};

[TreatAsDifferentiable]
public T check_freeze<T>(T v)
{{
    int size = (int(sizeof(T)) + 7) / 8 * 8;
    int place = {STATE}[0];
    if (size > {tol.TAPE_SPARE})
        return v;
    if (place + size > {tol.TAPE_BYTES})
    {{
        {STATE}[2] = 1;
        return v;
    }}
    {STATE}[0] = place + size;
    if ({STATE}[1] == 0)
        {TAPE}.Store<T>(place, v);
    return {TAPE}.Load<T>(place);
}}
"""
"""The module that twins import."""
_NUMBERS: Final = re.compile(r"(?:float|half|double)(?:[2-4](?:x[2-4])?)?|vector|matrix")
_AUTOMATIC: Final = frozenset({"Differentiable", "BackwardDifferentiable", "ForwardDifferentiable"})
_OUT: Final = frozenset({"out", "inout"})


@dataclass(frozen=True, slots=True)
class FrozenText:
    """The text of a twin.

    Attributes:
        frozen: The names of functions with frozen parts.
        passive: The names of functions that freeze parameters, for their callers.
        incomplete: Those in which a part could not be frozen.
    """

    text: str
    frozen: frozenset[str]
    passive: frozenset[str]
    incomplete: frozenset[str]


@dataclass(slots=True)
class TextEdits:
    """Changes of a text: an offset, an order among changes there, the characters to put there and to take out."""

    edits: list[tuple[int, int, str, int]] = field(default_factory=list)

    def put(self, offset: int, text: str, *, order: int = 0, out: int = 0) -> None:
        """Put characters at an offset; take some out."""
        self.edits.append((offset, order, text, out))

    def around(self, start: int, end: int) -> None:
        """Freeze an expression. ``no_diff(f(x))`` needs a space between the words."""
        self.put(start, " check_freeze(", order=1)
        self.put(end, ")", order=-1)

    def applied(self, text: str) -> str:
        """Return the changed text."""
        for offset, _, put, out in sorted(self.edits, reverse=True):
            text = text[:offset] + put + text[offset + out :]
        return text


def frozen_text(
    source: SlangSource,
    bodies: Mapping[tuple[int, int], str],
    outs: Mapping[str, Sequence[int]],
    structs: Collection[str],
) -> FrozenText | None:
    """Return the text of a file's twin; None if nothing in it is declared.

    Args:
        source: The file.
        bodies: By line and column of its name, the body of a function that has its declared derivative.
        outs: By the name of a function, which of its parameters are ``out`` or ``inout``.
        structs: The names of structs of numbers.
    """
    if not source.is_closed:
        return None
    edits = TextEdits()
    frozen: set[str] = set()
    passive: set[str] = set()
    incomplete: set[str] = set()
    derivatives = {name for function in source.functions for name in function.header.attributes}
    for function in source.functions:
        body = bodies.get((function.span.line, function.span.column))
        if function.header.name in derivatives and body is None:
            continue
        editor = _FunctionEditor(source, function, edits, outs, structs)
        attributes = source.scan.attributes_of(function.header)
        custom = "BackwardDerivative" in attributes and _AUTOMATIC.isdisjoint(attributes)
        if not custom and any([*editor.calls(), *editor.detached(), *editor.returns()]):
            frozen.add(name_in_calls(function))
        if any([*editor.parameters()]):
            passive.add(name_in_calls(function))
        if editor.incomplete:
            incomplete.add(name_in_calls(function))
        if body is not None:
            frozen.add(name_in_calls(function))
            editor.replace_body(body)
    if not frozen | passive:
        return None
    return FrozenText(
        f"{edits.applied(source.text)}\nimport {LIBRARY};\n",
        frozenset(frozen),
        frozenset(passive),
        frozenset(incomplete),
    )


@dataclass(slots=True)
class _FunctionEditor:
    """Freezes the parts of one function."""

    source: SlangSource
    function: SlangFunction
    edits: TextEdits
    outs: Mapping[str, Sequence[int]]
    structs: Collection[str]
    incomplete: bool = False

    def replace_body(self, body: str) -> None:
        """Give the function another body, and its own body another name. It needs no derivative then."""
        tokens, function = self.source.tokens, self.function
        start = function.first
        while tokens[start].text == "[":
            end = closing(tokens, start)
            if any("Differentiable" in t.text or "Derivative" in t.text for t in tokens[start:end]):
                self.edits.put(self._at(start), "", out=self._behind(end) - self._at(start))
            start = end + 1
        words = [token.text for token in tokens[start : function.opening]]
        words[function.name_token - start] = own_name(function.header.name)
        self.edits.put(self._at(start), "[TreatAsDifferentiable] ")
        self.edits.put(function.body + 1, f" {body} }} {' '.join(words)} {{", order=-2)

    def calls(self) -> Iterator[bool]:
        """Freeze the calls behind ``no_diff``, and what they store into their arguments. Yield True for each."""
        tokens = self.source.tokens
        for k in range(self.function.opening, self.function.last):
            if tokens[k].text != "no_diff" or not (end := end_of_call(tokens, k + 1)):
                continue
            stored = list(self._stored(k + 1, end))
            if tokens[k - 1].text not in (";", "{", "}"):
                self.edits.around(self._at(k + 1), self._behind(end))
                self.incomplete |= bool(stored)
                yield True
            elif stored and tokens[end + 1].text == ";":
                text = "".join(f" {name} = check_freeze({name});" for name in stored)
                self.edits.put(self._behind(end + 1), text)
                yield True

    def _stored(self, start: int, end: int) -> Iterator[str]:
        """Yield the arguments of a call that it stores into."""
        tokens = self.source.tokens
        opening = next((k for k in range(start, end) if tokens[k].text == "("), end)
        name = tokens[opening - 1].text
        arguments = list(parts(tokens[opening + 1 : closing(tokens, opening)]))
        for number in self.outs.get(name, ()):
            if number < len(arguments):
                yield "".join(token.text for token in arguments[number])

    def detached(self) -> Iterator[bool]:
        """Freeze the values of ``detach``."""
        tokens = self.source.tokens
        for k in range(self.function.opening, self.function.last):
            if tokens[k].text == "detach" and tokens[k + 1].text == "(" and tokens[k - 1].text not in (".", "::"):
                self.edits.put(self._at(k), "check_freeze", out=len("detach"))
                yield True

    def parameters(self) -> Iterator[bool]:
        """Freeze the parameters with ``no_diff``, where they begin."""
        tokens, function = self.source.tokens, self.function
        opening = next(k for k in range(function.name_token, function.opening) if tokens[k].text == "(")
        for part in parts(tokens[opening + 1 : closing(tokens, opening)]):
            words = {token.text for token in part}
            plain = until(part, "=")
            numbers = any(_NUMBERS.fullmatch(word) or word in self.structs for word in words)
            if "no_diff" in words and numbers and "const" not in words and not words & _OUT:
                for name in declared_names(plain):
                    text = f" {name} = check_freeze({name});"
                    self.edits.put(function.body + 1, text)
                    yield True

    def returns(self) -> Iterator[bool]:
        """Freeze the result of a function that is treated as differentiable, or whose result has ``no_diff``."""
        tokens, function = self.source.tokens, self.function
        head = {token.text for token in tokens[function.first : function.name_token]}
        if not head & {"TreatAsDifferentiable", "no_diff"} or not function.returns:
            return
        for k in range(function.opening, function.last):
            if tokens[k].text == "return" and tokens[k + 1].text != ";":
                end = k
                while tokens[end + 1].text != ";" and end < function.last:
                    end = closing(tokens, end + 1)
                self.edits.around(self._at(k + 1), self._behind(end))
                yield True

    def _at(self, token: int) -> int:
        return self.source.offsets[token]

    def _behind(self, token: int) -> int:
        return self.source.offsets[token] + len(self.source.tokens[token].text)


def own_name(name: str) -> str:
    """Return the name that the body of a function with a declared derivative gets in the twin."""
    return f"check_own_{name}"


def end_of_call(tokens: Sequence[Token], start: int) -> int:
    """Return the last token of a call with everything behind it: ``a.f<T>(x)[i].y``; 0 if there is no call."""
    k, called = start, False
    if tokens[k].text == "(":
        k = closing(tokens, k)
    elif tokens[k].kind != "word":
        return 0
    while k + 1 < len(tokens):
        text = tokens[k + 1].text
        if text in (".", "::", "->"):
            k += 2
        elif text in ("(", "["):
            k = closing(tokens, k + 1)
            called = True
        elif text == "<" and (end := _end_of_arguments(tokens, k + 1)):
            k = end
        else:
            break
    return k if called or tokens[start].text == "(" else 0


def _end_of_arguments(tokens: Sequence[Token], index: int) -> int:
    """Return the ``>`` of generic arguments in front of a call; 0 if they are none."""
    depth = 0
    for k in range(index, len(tokens) - 1):
        text = tokens[k].text
        depth += (text == "<") - (text == ">")
        if not depth:
            return k if tokens[k + 1].text in ("(", "::", ".") else 0
        if tokens[k].kind == "mark" and text not in ("<", ">", ",", ".", "::", "+", "-", "*"):
            return 0
    return 0


def parts(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """Yield the parts of a list between its commas."""
    start = k = depth = 0
    while k < len(tokens):
        depth = max(0, depth + (tokens[k].text == "<") - (tokens[k].text == ">"))
        if tokens[k].text == "," and not depth:
            yield tokens[start:k]
            start = k + 1
        k = closing(tokens, k) + 1
    if start < len(tokens):
        yield tokens[start:]
