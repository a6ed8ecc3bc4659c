"""What reflection does not say of functions in Slang files: files go in, why functions can't be checked comes out.

Nobody gives global parameters a value when a function is run by itself: it would be another function that is checked.
Slang's reflection does not say who reads what. The text does: names of globals, in bodies and in all that they call.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from slangad.compiler.check.model.subject import SourceFacts
from slangad.compiler.errors.diagnostics import CompileError, Diagnostic
from slangad.compiler.ir.calls import reached
from slangad.compiler.ir.nodes import External
from slangad.compiler.slang_text.files import text_of
from slangad.compiler.slang_text.headers import scan_text
from slangad.compiler.slang_text.tokens import read_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from slangad.compiler.ir.nodes import Function, Module
    from slangad.compiler.slang_text.tokens import Text, Token

_CLOSING: Final = {"(": ")", "[": "]", "{": "}"}
_BLOCKS: Final = frozenset({"cbuffer", "tbuffer"})
_TYPES: Final = frozenset({"struct", "class", "interface", "extension"})
_OTHERS: Final = frozenset(
    {"import", "using", "typedef", "typealias", "associatedtype", "__include", "module", "implementing", "func", "enum"}
)
_CASTS: Final = frozenset({"asuint", "asint", "f32tof16", "bit_cast"})
_OWN_DERIVATIVES: Final = frozenset({"BackwardDerivative", "ForwardDerivative"})
_DERIVATIVES_OF: Final = frozenset({"BackwardDerivativeOf", "ForwardDerivativeOf", "PrimalSubstituteOf"})
_BEFORE_VALUES: Final = frozenset({"return", "no_diff", "else", "case", "do", "throw", "in", "is", "as"})
_SET: Final = "it reads the global '{}', which the check can't set"
_GLOBAL: Final = re.compile(_SET.format("(.+)"))
_UNSET: Final = "it reads '{}', a variable that is static and has no value to begin with"


_BITS: Final = "it looks at the bits of floats ({}), where gradients end: nothing tells whether that is meant"


@dataclass(frozen=True, slots=True)
class _Body:
    """What a function or macro uses: ``why`` it can't be checked by itself, ``bits`` it looks at, what it calls.

    ``place`` is the line and column of a function; ``own`` says that it has derivatives of its own.
    """

    name: str
    place: tuple[int, int] | None
    why: str
    calls: frozenset[str]
    plain: frozenset[str] = frozenset()
    own: bool = False
    signature: str = ""

    @property
    def bits(self) -> str:
        """Why its gradient is not known, if it looks at bits of floats itself."""
        return _BITS.format(min(self.calls & _CASTS)) if self.calls & _CASTS else ""


def facts_of(files: Iterable[str]) -> Mapping[tuple[str, int, int], SourceFacts]:
    """What the text tells of the functions of Slang files, by their names, lines and columns."""
    written = [text_of(file) for file in files]
    texts = [read_text(source) for source in written]
    found = _Globals(texts)
    bodies = [body for source, text in zip(written, texts, strict=True) for body in found.bodies(text, source)]
    unset = _spread({body.name: body.why for body in bodies if body.why}, bodies)
    bits = _spread({body.name: body.bits for body in bodies if body.bits}, bodies)
    sources = _sources(bodies)
    return {
        (b.name, *b.place): SourceFacts(
            b.why or _called(b, unset), b.bits or _called(b, bits), b.plain, _from(b, sources), b.signature
        )
        for b in bodies
        if b.place
    }


def _sources(bodies: Sequence[_Body]) -> Mapping[str, frozenset[str]]:
    """By the names of functions, what their derivatives are made from; nothing where they have their own."""
    own = {body.name for body in bodies if body.own}
    found: dict[str, frozenset[str]] = {}
    for body in bodies:
        found[body.name] = found.get(body.name, frozenset()) | body.calls
    return {name: frozenset() if name in own else calls for name, calls in found.items()}


def _from(body: _Body, sources: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """All that a function's derivative is made from, however far."""
    fresh, found = {*sources[body.name]}, set[str]()
    while fresh:
        found |= fresh
        fresh = {name for known in fresh for name in sources.get(known, ())} - found
    return frozenset(found) - {body.name}


def _spread(reasons: dict[str, str], bodies: Sequence[_Body]) -> Mapping[str, str]:
    """The reasons, given to all that call what has one."""
    while more := {b.name: why for b in bodies if b.name not in reasons and (why := _called(b, reasons))}:
        reasons = {**reasons, **more}
    return reasons


def _called(body: _Body, reasons: Mapping[str, str]) -> str:
    found = body.calls & reasons.keys()
    return reasons[min(found)] if found else ""


class _Globals:
    """The globals of some texts, and what mentions them."""

    def __init__(self, texts: Iterable[Text]) -> None:
        self._variables: dict[str, str] = {}
        self._scopes: set[str] = set()
        self._macros: set[str] = set()
        for text in texts:
            self._declare(text.tokens)
            self._macros |= {name for name, _ in _macros(text)}

    def bodies(self, text: Text, source: str) -> Iterator[_Body]:
        """The functions and macros of a text."""
        for name, words in _macros(text):
            yield _Body(name, None, self._why(words), words)
        tokens = text.tokens
        at = {(token.line, token.column): k for k, token in enumerate(tokens)}
        for header in scan_text(source, "").headers:
            place = (header.span.line, header.span.column)
            first = at[place]
            body = tokens[_body(tokens, first)]
            words = frozenset(self._reads(body, set(header.params)))
            calls = header.calls | (words & self._macros) | set(header.attributes)
            if _DERIVATIVES_OF & set(header.attributes):
                for name in header.attributes:
                    yield _Body(name, None, "", frozenset({header.name}), own=True)
            why = self._why(words) or next(_unset(body), "")
            end = _close(tokens, first + 1)
            own = bool(_OWN_DERIVATIVES & set(header.attributes))
            plain = frozenset(() if own else _plain(tokens[first + 2 : end]))
            yield _Body(header.name, place, why, calls - {header.name}, plain, own, header.signature)

    def _why(self, words: Iterable[str]) -> str:
        found = sorted(set(words) & self._variables.keys())
        return self._variables[found[0]].format(found[0]) if found else ""

    def _reads(self, body: Sequence[Token], own: set[str]) -> Iterator[str]:
        """The words of a body that are neither members nor local variables, nor set before they are read."""
        for k, token in enumerate(body):
            if token.kind != "word" or token.text in own:
                continue
            before, after = (body[k - 1] if k else None), "".join(t.text for t in body[k + 1 : k + 3])
            if before is not None and before.text == "." and not (k > 1 and body[k - 2].text in self._scopes):
                continue
            assigned = after.startswith("=") and after != "=="
            typed = before is not None and before.kind == "word" and before.text not in _BEFORE_VALUES
            if typed or (assigned and self._variables.get(token.text) == _UNSET):
                own.add(token.text)
                continue
            yield token.text

    def _declare(self, tokens: Sequence[Token]) -> None:
        """Take down the variables of a text."""
        scopes: list[str] = []
        start = index = 0
        while index < len(tokens):
            text = tokens[index].text
            if text == "{":
                kind = self._scope(tokens[start:index])
                if kind:
                    scopes.append(kind)
                    start = index + 1
                else:
                    is_function = any(t.text == "(" for t in _until(tokens[start:index], "="))
                    index = _close(tokens, index)
                    start = index + 1 if is_function else start
            elif text in ("(", "["):
                index = _close(tokens, index)
            elif text == "}":
                scopes = scopes[:-1]
                start = index + 1
            elif text == ";":
                self._variable(tokens[start:index], scopes[-1] if scopes else "")
                start = index + 1
            index += 1

    def _scope(self, head: Sequence[Token]) -> str:
        """What a brace begins: a namespace, a type, a block of parameters; nothing for bodies and values."""
        words = [token.text for token in head if token.kind == "word"]
        for kind, known in (("namespace", {"namespace"}), ("block", _BLOCKS), ("type", _TYPES)):
            if known & set(words):
                self._scopes |= set(words)
                return kind
        return ""

    def _variable(self, statement: Sequence[Token], scope: str) -> None:
        words = {token.text for token in _until(statement, "=")}
        if "(" in {t.text for t in _until(_without_attributes(statement), "=", ":")} or words & _OTHERS:
            return
        static, constant = "static" in words, bool(words & {"const", "let"})
        given = any(token.text == "=" for token in statement)
        if (scope == "type" and not static) or (static and (constant or given)):
            return
        reason = _UNSET if static or "groupshared" in words else _SET
        self._variables.update((name, reason) for name in _names(_without_attributes(statement)))


def _plain(params: Sequence[Token]) -> Iterator[str]:
    """The names of the parameters without ``no_diff``, of a list of parameters."""
    while params:
        one = _until(params, ",")
        if not any(token.text == "no_diff" for token in one):
            yield from _names(one)
        params = params[len(one) + 1 :]


def _unset(body: Sequence[Token]) -> Iterator[str]:
    """Why a body with a static variable without a value can't be checked."""
    for k, token in enumerate(body):
        statement = _until(body[k:], ";")
        if token.text == "static" and not any(t.text in ("=", "const", "let") for t in statement):
            yield from (_UNSET.format(name) for name in _names(statement))


def _without_attributes(statement: Sequence[Token]) -> Sequence[Token]:
    while statement and statement[0].text == "[":
        statement = statement[_close(statement, 0) + 1 :]
    return statement


def _until(tokens: Sequence[Token], *marks: str) -> Sequence[Token]:
    return tokens[: next((k for k, token in enumerate(tokens) if token.text in marks), len(tokens))]


def _names(statement: Sequence[Token]) -> Iterator[str]:
    """The last word of each declarator before its extents, its semantic or its value."""
    name, depth, done, k = "", 0, False, 0
    while k < len(statement):
        token = statement[k]
        depth += {"<": 1, ">": -1}.get(token.text, 0)
        if token.text == "," and depth <= 0:
            yield name
            done = False
        elif token.text in ("=", ":"):
            done = True
        elif token.text in _CLOSING:
            k = _close(statement, k)
        elif token.kind == "word" and depth <= 0 and not done:
            name = token.text
        k += 1
    if name:
        yield name


def _body(tokens: Sequence[Token], name: int) -> slice:
    """The tokens between the braces of the function whose name is at ``name``; none for a declaration."""
    position = name
    while position < len(tokens) and tokens[position].text not in ("{", ";"):
        position = _close(tokens, position) + 1
    if position >= len(tokens) or tokens[position].text == ";":
        return slice(0, 0)
    return slice(position + 1, _close(tokens, position))


def _close(tokens: Sequence[Token], index: int) -> int:
    """The token that closes the bracket at ``index``; the same one if it is none."""
    if tokens[index].text not in _CLOSING:
        return index
    depth = 0
    for position in range(index, len(tokens)):
        text = tokens[position].text
        depth += (text in _CLOSING) - (text in _CLOSING.values())
        if not depth:
            return position
    return len(tokens) - 1


def _macros(text: Text) -> Iterator[tuple[str, frozenset[str]]]:
    for directive in text.directives:
        word, _, rest = directive.text.partition(" ")
        words = re.findall(r"[^\W\d]\w*", rest)
        if word == "define" and words:
            yield words[0], frozenset(words[1:])


def refuse_globals(module: Module, kernels: Iterable[str]) -> None:
    """Refuse to run kernels by themselves that read global parameters, as far as the text of Slang files tells.

    Raises:
        CompileError: Nobody gives such a parameter a value.
    """
    facts = facts_of(file for file in module.sources if file.endswith(".slang"))
    functions = {function.key: function for function in module.functions}
    problems: list[Diagnostic] = []
    for kernel in module.kernels:
        keys = reached(functions, [kernel.function]) if kernel.name in kernels else ()
        for name in sorted({name for key in keys for name in _read_by(functions[key], facts)}):
            message = f"{kernel.name} reads the global '{name}', to which nothing here gives a value"
            problems.append(Diagnostic("SA426", message, kernel.span, help=f"give '{name}' as a parameter"))
    if problems:
        raise CompileError(problems)


def _read_by(function: Function, facts: Mapping[tuple[str, int, int], SourceFacts]) -> Iterator[str]:
    """The global that a function of a Slang file reads; of one in another file than is described, by its name."""
    if not isinstance(function.body, External):
        return
    name = re.split(r"\.|::", re.sub(r"<[^<>]*>", "", function.body.symbol))[-1]
    exact = facts.get((name, function.span.line, function.span.column))
    alike = [exact] if exact else [one for (known, _, _), one in facts.items() if known == name]
    for one in alike:
        if (found := _GLOBAL.match(one.unset)) is not None:
            yield found[1]
