"""Read from the text of Slang files what reflection omits: globals that functions read, bits of floats, callees.

A check cannot set global parameters, so it cannot check a function that reads one. Slang's reflection does not say who
reads what. The text does: by the names of globals in bodies and in everything that they call.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from slangad.compiler.check.model.subject import SourceFacts
from slangad.compiler.errors.diagnostics import CompileError, Diagnostic
from slangad.compiler.ir.calls import closure, reached
from slangad.compiler.ir.nodes import External
from slangad.compiler.slang_text.brackets import body_of, closing, until
from slangad.compiler.slang_text.calls import CUSTOM
from slangad.compiler.slang_text.endings import is_slang
from slangad.compiler.slang_text.files import source_of
from slangad.compiler.slang_text.global_parameters import BYTES
from slangad.compiler.slang_text.headers import DERIVATIVE_OF, declared_names
from slangad.compiler.slang_text.tokens import words_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from slangad.compiler.ir.nodes import Function, Module
    from slangad.compiler.slang_text.bodies import SlangSource
    from slangad.compiler.slang_text.headers import Header
    from slangad.compiler.slang_text.tokens import Token

_BLOCKS: Final = frozenset({"cbuffer", "tbuffer"})
_TYPES: Final = frozenset({"struct", "class", "interface", "extension"})
_OTHERS: Final = frozenset(
    {"import", "using", "typedef", "typealias", "associatedtype", "__include", "module", "implementing", "func", "enum"}
)
_CASTS: Final = frozenset({"asuint", "asint", "asuint16", "asint16", "f32tof16", "bit_cast"})
_BEFORE_VALUES: Final = frozenset({"return", "no_diff", "else", "case", "do", "throw", "in", "is", "as"})
_SET: Final = "it reads the global '{}', which the check can't set"
_WORDS: Final = (
    "it reads the byte-address buffer '{}', whose words may be the bits of floats: read floats as "
    "asfloat(buffer.Load(address)) or buffer.Load<float>(address)"
)
_GLOBAL: Final = re.compile("it reads the (?:global|byte-address buffer) '(.+?)',")
_UNSET: Final = "it reads '{}', a static variable without an initial value"
_SHARED: Final = (
    "it reads the groupshared variable '{}', which the threads of a group fill together; the check runs one thread, so "
    "what the others store is missing: check the arithmetic in a function that takes these values as parameters, and "
    "add up gradients with WaveActiveSum, which is checked"
)
_BITS: Final = "it reads the bits of floats ({}), which ends the gradient: the text does not say if that is intended"


@dataclass(frozen=True, slots=True)
class _Uses:
    """The uses of a function or macro.

    Attributes:
        name: The name by which text calls it.
        place: The name, line and column of a function; None for a macro.
        why: The reason why it cannot be checked by itself; empty if it can.
        calls: The names that it calls or is differentiated by.
        derived: Those by which it is differentiated alone.
        plain: Its parameters without ``no_diff``.
        custom: True if it has custom derivatives.
        signature: The types of its parameters.
        treated: True if it is ``[TreatAsDifferentiable]``.
        shared: The reason why it can't be checked if it reads a groupshared variable itself.
        calls_its_name: True if it calls an overload, or itself.
    """

    name: str
    place: tuple[str, int, int] | None
    why: str
    calls: frozenset[str]
    plain: frozenset[str] = frozenset()
    custom: bool = False
    signature: str = ""
    treated: bool = False
    derived: frozenset[str] = frozenset()
    shared: str = ""
    calls_its_name: bool = False

    @property
    def bits(self) -> str:
        """The reason why its gradient is unknown, if it reads bits of floats itself."""
        return _BITS.format(min(self.calls & _CASTS)) if self.calls & _CASTS else ""


def facts_of(files: Iterable[str], settable: Collection[str] = ()) -> Mapping[tuple[str, int, int], SourceFacts]:
    """Return the facts of the functions of Slang files, by their names, lines and columns.

    Args:
        files: The files.
        settable: The globals that the check sets.
    """
    sources = [source_of(file) for file in files]
    globals_ = _Globals(sources, settable)
    uses = [one for source in sources for one in globals_.uses(source)]
    unset = _with_callers({one.name: one.why for one in uses if one.why}, uses)
    shared = _with_callers({one.name: one.shared for one in uses if one.shared}, uses)
    values = [replace(one, calls=one.calls - one.derived) for one in uses]
    bits = _with_callers({one.name: one.bits for one in values if one.bits}, values)
    calls = _calls_of_derivatives(uses)
    return {
        one.place: SourceFacts(
            unset=one.why or _inherited(one, unset),
            bits=value.bits or _inherited(value, bits),
            plain=one.plain,
            calls=_called(one, uses, calls),
            signature=one.signature,
            treated=one.treated,
            shared=shared.get(one.name, ""),
        )
        for one, value in zip(uses, values, strict=True)
        if one.place
    }


def _calls_of_derivatives(uses: Sequence[_Uses]) -> Mapping[str, frozenset[str]]:
    """Return by function the callees that its derivative uses; none if it has custom derivatives."""
    custom = {one.name for one in uses if one.custom}
    result: dict[str, frozenset[str]] = {}
    for one in uses:
        result[one.name] = result.get(one.name, frozenset()) | one.calls
    return {name: frozenset() if name in custom else calls for name, calls in result.items()}


def _called(one: _Uses, uses: Sequence[_Uses], calls: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Return the names of all functions that a derivative uses; its own if an overload has a custom derivative."""
    alike = [other for other in uses if other.name == one.name]
    is_known = not one.custom and all(other.place for other in alike)
    if one.calls_its_name and is_known and any(other.custom for other in alike):
        return frozenset(closure(one.calls, lambda name: calls.get(name, ()))) | {one.name}
    return frozenset(closure(calls[one.name], lambda name: calls.get(name, ()))) - {one.name}


def _with_callers(reasons: dict[str, str], uses: Sequence[_Uses]) -> Mapping[str, str]:
    """Return the reasons by function. Callers inherit those of their callees."""
    while more := {one.name: why for one in uses if one.name not in reasons and (why := _inherited(one, reasons))}:
        reasons = {**reasons, **more}
    return reasons


def _inherited(uses: _Uses, reasons: Mapping[str, str]) -> str:
    inherited = uses.calls & reasons.keys()
    return reasons[min(inherited)] if inherited else ""


class _Globals:
    """The globals of some texts, and their users."""

    def __init__(self, sources: Iterable[SlangSource], settable: Collection[str] = ()) -> None:
        self._variables: dict[str, str] = {}
        self._scopes: set[str] = set()
        self._macros: set[str] = set()
        for source in sources:
            self._declare(source.tokens)
            self._macros |= {name for name, _ in source.scan.defines}
        self._variables = {
            name: why for name, why in self._variables.items() if name not in settable or why not in {_SET, _WORDS}
        }

    def uses(self, source: SlangSource) -> Iterator[_Uses]:
        """Yield the uses of each function and macro of a text."""
        for name, text in source.scan.defines:
            words = words_of(text)
            yield _Uses(name, None, self._why(words), words)
        at = {(token.line, token.column): k for k, token in enumerate(source.tokens)}
        for header in source.scan.headers:
            if DERIVATIVE_OF & set(header.attributes):
                for name in header.attributes:
                    derived = frozenset({header.name})
                    yield _Uses(name, None, "", derived, custom=True, derived=derived)
            yield self._function(header, source.tokens, at[header.span.line, header.span.column])

    def _function(self, header: Header, tokens: Sequence[Token], name: int) -> _Uses:
        opening = body_of(tokens, name)
        body = () if opening is None else tokens[opening + 1 : closing(tokens, opening)]
        words = frozenset(self._reads(body, set(header.params)))
        custom = not CUSTOM.isdisjoint(header.attributes)
        params = tokens[name + 2 : closing(tokens, name + 1)]
        return _Uses(
            header.called,
            (header.name, header.span.line, header.span.column),
            self._why(words) or next(_unset(body), ""),
            header.calls.union(words & self._macros, header.attributes) - {header.called},
            frozenset(() if custom else _plain(params)),
            custom,
            header.signature,
            "TreatAsDifferentiable" in header.attributes,
            frozenset(header.attributes) - header.calls,
            next((_SHARED.format(word) for word in sorted(words) if self._variables.get(word) == _SHARED), ""),
            header.called in header.calls,
        )

    def _why(self, words: Iterable[str]) -> str:
        variables = sorted(set(words) & self._variables.keys())
        return self._variables[variables[0]].format(variables[0]) if variables else ""

    def _reads(self, body: Sequence[Token], local: set[str]) -> Iterator[str]:
        """Yield the words of a body that are neither members nor local variables, nor set before they are read."""
        for k, token in enumerate(body):
            if token.kind != "word" or token.text in local:
                continue
            before, after = (body[k - 1] if k else None), "".join(t.text for t in body[k + 1 : k + 3])
            if before is not None and before.text == "." and not (k > 1 and body[k - 2].text in self._scopes):
                continue
            assigned = after.startswith("=") and after != "=="
            typed = before is not None and before.kind == "word" and before.text not in _BEFORE_VALUES
            if typed or (assigned and self._variables.get(token.text) in (_UNSET, _SHARED)):
                local.add(token.text)
                continue
            yield token.text

    def _declare(self, tokens: Sequence[Token]) -> None:
        """Record the variables of a text."""
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
                    ends = any(token.text in ("(", "enum") for token in until(tokens[start:index], "="))
                    index = closing(tokens, index)
                    start = index + 1 if ends else start
            elif text in ("(", "["):
                index = closing(tokens, index)
            elif text == "}":
                scopes = scopes[:-1]
                start = index + 1
            elif text == ";":
                self._variable(tokens[start:index], scopes[-1] if scopes else "")
                start = index + 1
            index += 1

    def _scope(self, head: Sequence[Token]) -> str:
        """Return the kind of scope that a brace opens: a namespace, a type, a block; empty for bodies and values."""
        words = words_of(head)
        for kind, known in (("namespace", {"namespace"}), ("block", _BLOCKS), ("type", _TYPES)):
            if known & words:
                self._scopes |= words
                return kind
        return ""

    def _variable(self, statement: Sequence[Token], scope: str) -> None:
        words = {token.text for token in until(statement, "=")}
        statement = _without_attributes(statement)
        if "(" in {token.text for token in until(statement, "=", ":")} or words & _OTHERS:
            return
        static, constant = "static" in words, bool(words & {"const", "let"})
        has_value = any(token.text == "=" for token in statement)
        if (scope == "type" and not static) or (static and (constant or has_value)):
            return
        given = _SET if words.isdisjoint(BYTES) else _WORDS
        reason = _SHARED if "groupshared" in words else _UNSET if static else given
        self._variables.update((name, reason) for name in declared_names(statement))


def _plain(params: Sequence[Token]) -> Iterator[str]:
    """Yield the names of the parameters without ``no_diff`` in a list of parameters."""
    while params:
        one = until(params, ",")
        if not any(token.text == "no_diff" for token in one):
            yield from declared_names(one)
        params = params[len(one) + 1 :]


def _unset(body: Sequence[Token]) -> Iterator[str]:
    """Yield the reason why a body cannot be checked: a static variable without a value."""
    for k, token in enumerate(body):
        statement = until(body[k:], ";")
        if token.text == "static" and not any(t.text in ("=", "const", "let") for t in statement):
            yield from (_UNSET.format(name) for name in declared_names(statement))


def _without_attributes(statement: Sequence[Token]) -> Sequence[Token]:
    while statement and statement[0].text == "[":
        statement = statement[closing(statement, 0) + 1 :]
    return statement


def refuse_globals(module: Module, kernels: Iterable[str]) -> None:
    """Refuse to run kernels that read global parameters according to the text of Slang files.

    Raises:
        CompileError: A kernel reads one, and nothing gives it a value.
    """
    facts = facts_of(file for file in module.sources if is_slang(file))
    functions = {function.key: function for function in module.functions}
    problems: list[Diagnostic] = []
    for kernel in module.kernels:
        keys = reached(functions, [kernel.function]) if kernel.name in kernels else ()
        for name in sorted({name for key in keys for name in _read_by(functions[key], facts)}):
            message = f"{kernel.name} reads the global '{name}', which has no value here"
            problems.append(Diagnostic("SA426", message, kernel.span, help=f"make '{name}' a parameter"))
    if problems:
        raise CompileError(problems)


def _read_by(function: Function, facts: Mapping[tuple[str, int, int], SourceFacts]) -> Iterator[str]:
    """Yield the global that a function of a Slang file reads. Find a function of another file by its name."""
    if not isinstance(function.body, External):
        return
    name = re.split(r"\.|::", re.sub(r"<[^<>]*>", "", function.body.symbol))[-1]
    exact = facts.get((name, function.span.line, function.span.column))
    alike = [exact] if exact else [one for (known, _, _), one in facts.items() if known == name]
    for one in alike:
        if (occurrence := _GLOBAL.match(one.unset)) is not None:
            yield occurrence[1]
