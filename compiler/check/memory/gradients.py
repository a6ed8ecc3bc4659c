"""Find the memory in which a custom backward derivative accumulates the gradient of other memory."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from slangad.compiler.check.memory.byte_addresses import FLOAT, WORD
from slangad.compiler.ir.calls import closure

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from slangad.compiler.slang_text.calls import FunctionCode
    from slangad.compiler.slang_text.global_parameters import GlobalParameter

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_GRADIENT: Final = frozenset(
    {"grad", "grads", "gradient", "gradients", "d", "deriv", "derivs", "derivative", "derivatives", "adjoint", "adj"}
)
"""Words in the names of memory that holds gradients."""
_PLAIN: Final = frozenset(
    {"buffer", "buf", "g", "rw", "memory", "data", "in", "out", "ptr", "values", "value", "primal"}
)
"""Words in names that do not distinguish memory."""
_MEMBER: Final = frozenset({".", "->"})
_PAIR: Final = "DifferentialPair"
_VECTOR: Final = re.compile(r"(float|half|double)[234]?")
_NUMBERS: Final = re.compile(r"u?int(8|16|32|64)?(_t)?[234]?|bool[234]?")


def bodies_of(codes: Iterable[FunctionCode]) -> Mapping[str, frozenset[str]]:
    """Return the words in the bodies of functions by their names. Members begin with a dot."""
    result: dict[str, frozenset[str]] = {}
    for code in codes:
        tokens = code.tokens[code.opening :]
        dots = ("." if tokens[k - 1].text in _MEMBER else "" for k in range(len(tokens)))
        words = {dot + token.text for dot, token in zip(dots, tokens, strict=True) if token.kind == "word"}
        methods = {t.text for k, t in enumerate(tokens) if t.kind == "word" and tokens[k + 1].text == "("}
        result[code.name] = result.get(code.name, frozenset()) | words | methods
    return result


def gradients_of(
    codes: Sequence[FunctionCode], parameters: Mapping[str, GlobalParameter]
) -> Mapping[str, GlobalParameter]:
    """Return by the name of memory the memory of its gradient.

    Args:
        codes: A function and the code that its gradient uses.
        parameters: The global parameters by name.
    """
    bodies = bodies_of(codes)
    memory = {name: one for name, one in parameters.items() if one.memory}

    def used(name: str) -> list[GlobalParameter]:
        words = closure(bodies.get(name, ()), lambda word: bodies.get(word, ()))
        return [one for one in memory.values() if one.words & words]

    result: dict[str, GlobalParameter] = {}
    getters = {code.name for code in codes if _PAIR not in {t.text for t in code.tokens[: code.opening]}}
    for function, derivative in _backward(codes):
        read = used(function)
        held = [one for one in read if _may_have_gradient(one)]
        free = [one for one in memory.values() if one.writable and one not in read]
        stored = [one for one in free if one in used(derivative)]
        result |= _pairs(held, stored)
        result |= _forgotten([one for one in held if one.name not in result], free, alone=derivative in getters)
    return result


def _backward(codes: Sequence[FunctionCode]) -> Iterator[tuple[str, str]]:
    """Yield functions with their custom backward derivatives."""
    for code in codes:
        texts = [token.text for token in code.tokens[: code.opening]]
        for k, text in enumerate(texts[:-2]):
            if text == "BackwardDerivative":
                yield code.name, next(word for word in reversed(texts[k + 1 : texts.index(")", k)]) if word != ")")
            elif text == "BackwardDerivativeOf" and code.of:
                yield code.of, code.name


def _pairs(held: Sequence[GlobalParameter], stored: Sequence[GlobalParameter]) -> dict[str, GlobalParameter]:
    """Return by the name of memory that of its gradient: the one with the same words in its name, or the only one."""
    pairs: dict[str, GlobalParameter] = {}
    for one in held:
        fitting = [other for other in stored if _fits(one, other)]
        alike = [other for other in fitting if _words(other.name) - _GRADIENT - _PLAIN == _words(one.name) - _PLAIN]
        if len(alike) == 1:
            pairs[one.name] = alike[0]
    left = [one for one in held if one.name not in pairs]
    free = [one for one in stored if one not in pairs.values()]
    if len(left) == len(free) and all(_fits(one, other) for one, other in zip(left, free, strict=True)):
        pairs |= {one.name: other for one, other in zip(left, free, strict=True)}
    return pairs


def _forgotten(
    held: Sequence[GlobalParameter], free: Sequence[GlobalParameter], *, alone: bool
) -> dict[str, GlobalParameter]:
    """Return by the name of memory that of its gradient, to which the derivative stores nothing.

    The names of both must show that they belong together. Any memory for gradients will do if the derivative has no
    other purpose, since it has no pair of a parameter.
    """
    pairs: dict[str, GlobalParameter] = {}
    for one in held:
        fitting = [other for other in free if _fits(one, other) and _words(other.name) & _GRADIENT]
        alike = [other for other in fitting if _words(other.name) - _GRADIENT - _PLAIN == _words(one.name) - _PLAIN]
        candidates = alike or (fitting if alone else [])
        pairs |= {one.name: candidates[0]} if candidates else {}
    return pairs


def _may_have_gradient(one: GlobalParameter) -> bool:
    return not _NUMBERS.fullmatch(one.element)


def _fits(one: GlobalParameter, other: GlobalParameter) -> bool:
    """Return True if memory of one type can hold the gradient of memory of another."""
    if one.element == WORD:
        return other.element == FLOAT
    return other.element in (one.element, f"{one.element}.Differential") or per_element(one, other) > 1


def per_element(one: GlobalParameter, other: GlobalParameter) -> int:
    """Return the number of elements of a gradient's memory for an element: several if it holds single components."""
    vector = _VECTOR.fullmatch(one.element)
    return int(one.element[-1]) if vector and one.element != vector[1] and other.element == vector[1] else 1


def _words(name: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORD.findall(name))
