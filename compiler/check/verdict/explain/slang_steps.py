"""Read the statements of a custom derivative in a Slang file: what each stores and reads."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from slangad.compiler.check.verdict.explain.steps import COMPONENTS, Step, letters
from slangad.compiler.errors.spans import NOWHERE, Span
from slangad.compiler.slang_text.brackets import BEFORE_VALUES, CLOSING_OF, closing

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from slangad.compiler.slang_text.bodies import SlangFunction, SlangSource
    from slangad.compiler.slang_text.tokens import Token

RETURNED: Final = "return"
"""The name that return statements store to."""
_OPERATORS: Final = frozenset({"+", "-", "*", "/"})
_OPENING: Final = frozenset({"(", "["})
_COMPARING: Final = frozenset({"=", "<", ">", "!"})
_DIFFERENTIAL: Final = frozenset({"d", "getDifferential"})
_PRIMAL: Final = frozenset({"p", "v", "primal"})
_VECTOR: Final = re.compile(r"(?:float|half|double)([234]?)")
_ELEMENT: Final = re.compile(r"\[[0-3]\]")
_LAST_ELEMENT: Final = re.compile(r"(?<=\w)(?:\[\d+\])+$")
_ARRAY: Final = re.compile(r"[\w ]+\.(\w+)\[[^\[\]]*\]")
_PAIR: Final = "diffPair"
_LOOP: Final = "for"
_CLAMPING: Final = frozenset({"clamp", "saturate", "max", "min"})
_BRANCHES: Final = frozenset({"if", "switch"})
_HEADS: Final = frozenset({"if", "else", "while", "switch", "do", _LOOP})
"""The words that a branch or loop begins with."""
_BEFORE_LISTS: Final = frozenset({"=", "(", ",", RETURNED})
"""Tokens before the brace of a list of values."""
_ADDING: Final = frozenset({"InterlockedAdd", "__atomic_add", "InterlockedAddF32", "add", "set", "setv"})
"""Functions and methods that only store to their first argument or object."""


def steps_of(
    source: SlangSource, function: SlangFunction, names: Mapping[str, str], of: str, *, of_value: bool = False
) -> tuple[Step, ...]:
    """Return the statements of a derivative. The value of a pair does not count as read, only its differential does.

    The head of a branch or loop is a statement that stores to all that its blocks store to.

    Args:
        source: The text.
        function: The derivative.
        names: The parameters of its function, by its own.
        of: The body of its function, token by token, with blanks between.
        of_value: Of a pair that is returned, the value is read and not the differential.
    """
    pairs = frozenset(names)
    body = source.tokens[function.opening + 1 : function.last]
    ranges = tuple(_statements(body))
    apart = _apart(body)
    steps = tuple(
        replace(step, is_copy=_is_copy(body[start:end], names, of) or _is_mirrored(body[start:end], step.parts))
        for start, end in ranges
        for step in [_step(apart[start:end], pairs, source.file, of_value=of_value)]
    )
    statements = [body[start:end] for start, end in ranges]
    parts, vectors = _parts_of_locals(statements), _vectors(statements)
    steps = tuple(
        replace(
            step,
            parts=_components(step, vectors) if step.parts else _joined(parts, step.stores),
            numbers=frozenset(_numbers_in(tokens)),
            takes=taken - {""},
            takes_all="" in taken,
            in_step=frozenset(_read_in_step(tokens)),
            is_repeated=step.declares and re.search(rf"\w {re.escape(step.target)} =", of) is not None,
        )
        for step, tokens in zip(steps, statements, strict=True)
        for taken in [frozenset(_parts_of_last(tokens, function))]
    )
    starts = [start for start, _ in ranges]
    guards, branches, blocks = [*_guards(body, names)], [*_branches(body)], [*_blocks(body)]
    local = frozenset(token.text for k, token in enumerate(apart) if _is_declared(apart, k))
    steps = tuple(
        replace(
            step,
            guards=frozenset(guard for first, last, guard in guards if first < start < last),
            is_conditional=step.is_conditional or any(first < start < last for first, last in branches),
            loop=step.loop if step.loop.line else _loop_around(body, start, source.file),
            block=max((first for first, last in blocks if first < start < last), default=-1),
            parts=step.parts if step.parts or step.stores.isdisjoint(local) else frozenset(_array_in(step.target)),
        )
        for step, start in zip(steps, starts, strict=True)
    )
    return tuple(
        _head(step, steps[number + 1 : bisect_left(starts, _after_blocks(body, end))], is_loop=word == _LOOP)
        if (word := _first_word(body[start:end])) in _HEADS and body[end].text == "{"
        else step
        for number, (step, (start, end)) in enumerate(zip(steps, ranges, strict=True))
    )


def _guards(body: Sequence[Token], names: Mapping[str, str]) -> Iterator[tuple[int, int, tuple[str, bool]]]:
    """Yield the blocks of branches whose condition is a variable or field: their braces, the condition, its value."""
    for k, token in enumerate(body[:-1]):
        if token.text != "if" or body[k + 1].text != "(":
            continue
        end = closing(body, k + 1)
        condition = [one.text for one in body[k + 2 : end]]
        value = condition[:1] != ["!"]
        path = condition if value else condition[1:]
        if end + 1 >= len(body) or body[end + 1].text != "{" or not _is_variable(body[end - len(path) : end]):
            continue
        name = "".join([names.get(path[0], path[0]), *path[1:]]).replace(".", "_")
        last = closing(body, end + 1)
        yield end + 1, last, (name, value)
        if [one.text for one in body[last + 1 : last + 3]] == ["else", "{"]:
            yield last + 2, closing(body, last + 2), (name, not value)


def _branches(body: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Yield the braces of the blocks of branches."""
    for k, token in enumerate(body[:-1]):
        after = closing(body, k + 1) + 1 if token.text in _BRANCHES and body[k + 1].text == "(" else k + 1
        if token.text in _BRANCHES | {"else"} and after < len(body) and body[after].text == "{":
            yield after, closing(body, after)


def _blocks(body: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Yield the braces of all blocks."""
    yield from ((k, closing(body, k)) for k, token in enumerate(body) if token.text == "{")


def _loop_around(body: Sequence[Token], start: int, file: str) -> Span:
    """Return the head of the innermost loop with braces around a token; nowhere if there is none."""
    for k in range(start - 1, -1, -1):
        if body[k].text == _LOOP and body[k + 1].text == "(":
            end = closing(body, k + 1)
            if end + 1 < len(body) and body[end + 1].text == "{" and end + 1 < start < closing(body, end + 1):
                return _span(body[k : end + 1], file)
    return NOWHERE


def clamped_in(source: SlangSource, function: SlangFunction) -> frozenset[str]:
    """Return the variables in which a function stores values of ``clamp``, ``saturate``, ``max`` and ``min``."""
    body = source.tokens[function.opening + 1 : function.last]
    statements = [body[start:end] for start, end in _statements(body)]
    return frozenset(
        _target(_variable(tokens[_after_heads(tokens) : equals]))[0]
        for tokens in statements
        if (equals := _assignment(tokens)) is not None and not _CLAMPING.isdisjoint(one.text for one in tokens[equals:])
    )


def _array_in(target: str) -> Iterator[str]:
    """Yield the field that is an array: ``light`` of ``g.light[i]``."""
    if (found := _ARRAY.fullmatch(target)) is not None:
        yield found[1]


def text_of_body(source: SlangSource, function: SlangFunction) -> str:
    """Return the body of a function, token by token, with blanks between."""
    return " ".join(token.text for token in source.tokens[function.opening : function.last + 1])


def _is_copy(tokens: Sequence[Token], names: Mapping[str, str], of: str) -> bool:
    """Return True if a statement stores a complete expression of the function of which it is in the derivative."""
    equals = _assignment(tokens)
    if equals is None:
        return False
    words: list[str] = []
    value = [token.text for token in tokens[equals + 1 :]]
    for k, word in enumerate(value):
        is_value = k >= 2 and value[k - 1] == "." and value[k - 2] in names and word in _PRIMAL
        if is_value:
            words.pop()
        else:
            words.append(names.get(word, word))
    text = re.escape(" ".join(words))
    return len(words) > 1 and re.search(rf"(?:return|[=(,]) {text} [;),]", of) is not None


def _is_mirrored(tokens: Sequence[Token], parts: Collection[str]) -> bool:
    """Return True if a statement stores a part of a value to the same part of another: ``add(g[i].x, d.x)``."""
    words = "".join(token.text for token in tokens).rstrip(")")
    return any(words.endswith(f".{part}") for part in parts)


def _apart(body: Sequence[Token]) -> list[Token]:
    """Return a body in which local variables of one name have different ones: ``sum`` and ``sum 2``."""
    declared: dict[str, list[tuple[int, int]]] = {}
    openings = list[int]()
    for k, token in enumerate(body):
        if token.text in CLOSING_OF:
            openings.append(k)
        elif token.text in CLOSING_OF.values():
            openings = openings[:-1]
        elif _is_declared(body, k):
            declared.setdefault(token.text, []).append((k, _end_of_scope(body, openings)))
    result = list(body)
    for name, scopes in declared.items():
        for number, (start, end) in enumerate(scopes[1:], 2):
            for k in range(start, end):
                if body[k].text == name and body[k - 1].text != ".":
                    result[k] = replace(body[k], text=f"{name} {number}")
    return result


def _is_declared(body: Sequence[Token], k: int) -> bool:
    """Return True if a token is the name in the declaration of a variable."""
    if body[k].kind != "word" or not 0 < k < len(body) - 1 or body[k + 1].text not in ("=", ";", "["):
        return False
    before = body[k - 1]
    typed = before.kind == "word" and before.text not in BEFORE_VALUES and before.text not in _HEADS
    return typed or (before.text in ("]", ">") and body[k + 1].text != "[")


def _end_of_scope(body: Sequence[Token], openings: Sequence[int]) -> int:
    """Return the end of the innermost bracket; of the loop for a variable in its head."""
    if not openings:
        return len(body)
    end = closing(body, openings[-1])
    if body[openings[-1]].text == "{" or end + 1 >= len(body):
        return end
    behind = next((k for k in range(end + 1, len(body)) if body[k].text in ("{", ";")), len(body))
    return closing(body, behind) + 1


def _parts_of_locals(statements: Sequence[Sequence[Token]]) -> Mapping[str, frozenset[str]]:
    """Return the components that local variables become: of ``float3(a, b)``, ``b`` is ``z`` if ``a`` has two."""
    widths: dict[str, int] = {}
    result: dict[str, frozenset[str]] = {}
    for tokens in statements:
        texts = [token.text for token in tokens]
        if len(texts) > 1 and (declared := _VECTOR.fullmatch(texts[0])):
            widths[texts[1]] = int(declared[1] or 1)
        for k, text in enumerate(texts[:-1]):
            made = _VECTOR.fullmatch(text)
            if made and made[1] and texts[k + 1] == "(":
                result |= dict(_parts_in(texts[k + 2 : closing(tokens, k + 1)], int(made[1]), widths))
    return result


def _parts_in(texts: Sequence[str], size: int, widths: Mapping[str, int]) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the local variables among the arguments of a vector's constructor, with the components that they become."""
    arguments: list[list[str]] = [[]]
    depth = 0
    for text in texts:
        depth += (text in CLOSING_OF) - (text in CLOSING_OF.values())
        if text == "," and not depth:
            arguments.append([])
        else:
            arguments[-1].append(text)
    known = [widths.get(one[0], 0) if len(one) == 1 else 0 for one in arguments]
    known = [1] * size if len(known) == size else known
    if known.count(0) == 1:
        known[known.index(0)] = size - sum(known)
    if 0 in known or sum(known) != size:
        return
    start = 0
    for one, width in zip(arguments, known, strict=True):
        if len(one) == 1:
            yield one[0], frozenset(COMPONENTS[start : start + width])
        start += width


def _vectors(statements: Sequence[Sequence[Token]]) -> frozenset[str]:
    """Return the local variables that are vectors."""
    declared = ([token.text for token in tokens[:3]] for tokens in statements if len(tokens) > 1)
    return frozenset(
        texts[1] for texts in declared if (made := _VECTOR.fullmatch(texts[0])) and made[1] and texts[2:] != ["["]
    )


def _components(step: Step, vectors: Collection[str]) -> frozenset[str]:
    """Return the parts of a statement, ``x`` in place of the element ``[0]`` of a vector."""
    if step.stores.isdisjoint(vectors):
        return step.parts
    return frozenset(COMPONENTS[int(part[1])] if _ELEMENT.fullmatch(part) else part for part in step.parts)


def _parts_of_last(tokens: Sequence[Token], function: SlangFunction) -> Iterator[str]:
    """Yield the parts of a derivative's last parameter, the cotangent, that a statement reads; empty for all of it."""
    seed = next(reversed(function.header.params), "")
    for k, token in enumerate(tokens):
        if token.text != seed or (k and tokens[k - 1].text == "."):
            continue
        texts = [one.text for one in tokens[k + 1 :]]
        fields: list[str] = []
        while texts[0:1] == ["."] and len(texts) > 1:
            fields.append(texts[1])
            del texts[:2]
        if fields:
            for last in letters(fields[-1]):
                yield from {*fields[-2:-1], last, ".".join([*fields[-2:-1], last])}
            continue
        element = ""
        while texts[0:1] == ["["] and texts[1:2] and texts[1].isdigit():
            element += f"[{texts[1]}]"
            del texts[:3]
        yield element


def _read_in_step(tokens: Sequence[Token]) -> Iterator[str]:
    """Yield the variables that a statement takes component by component: ``a`` and ``b`` of ``v = a / s + b``.

    Those that a vector or pair is made of are, too: ``a`` and ``b`` of ``float4(a, b)``.
    """
    for k, token in enumerate(tokens[:-1]):
        made = _VECTOR.fullmatch(token.text)
        is_made = token.text == _PAIR or (made is not None and made[1])
        if is_made and tokens[k + 1].text == "(":
            arguments = _arguments(tokens[k + 2 : closing(tokens, k + 1)])
            yield from (one[0].text for one in arguments if len(one) == 1 and one[0].kind == "word")
    equals = _assignment(tokens)
    value = () if equals is None else tokens[equals + 1 :]
    texts = [token.text for token in value]
    if any(text == "(" and k and value[k - 1].kind == "word" for k, text in enumerate(texts)):
        return
    for token, behind in zip(value, (*texts[1:], ""), strict=False):
        if token.kind == "word" and behind not in (".", "["):
            yield token.text


def _numbers_in(tokens: Sequence[Token]) -> Iterator[str]:
    """Yield the components that are plain numbers in the constructors of vectors."""
    for k, token in enumerate(tokens[:-1]):
        made = _VECTOR.fullmatch(token.text)
        if made is None or not made[1] or tokens[k + 1].text != "(":
            continue
        arguments = list(_arguments(tokens[k + 2 : closing(tokens, k + 1)]))
        if len(arguments) == int(made[1]):
            signs = ("+", "-")
            yield from (
                COMPONENTS[number]
                for number, one in enumerate(arguments)
                if one and one[-1].kind == "number" and all(before.text in signs for before in one[:-1])
            )


def _joined(parts: Mapping[str, frozenset[str]], names: Collection[str]) -> frozenset[str]:
    """Return the components of some variables."""
    return frozenset[str]().union(*(parts.get(name, frozenset()) for name in names))


def _statements(body: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Yield first token and end of every statement; a branch or loop without braces includes what it controls."""
    depth, start, inside = 0, 0, 0
    for index, token in enumerate(body):
        if index < inside:
            continue
        if token.text == "{" and index and body[index - 1].text in _BEFORE_LISTS:
            inside = closing(body, index) + 1
            continue
        depth += (token.text in _OPENING) - (token.text in (")", "]"))
        if depth <= 0 and token.text in (";", "{", "}"):
            if index > start:
                yield start, index
            start = index + 1


def _first_word(tokens: Sequence[Token]) -> str:
    """Return the first token behind attributes."""
    index = 0
    while index < len(tokens) and tokens[index].text == "[":
        index = closing(tokens, index) + 1
    return tokens[index].text if index < len(tokens) else ""


def _after_blocks(body: Sequence[Token], opening: int) -> int:
    """Return the token behind a block and behind the ``else`` blocks that follow it."""
    end = closing(body, opening) + 1
    while end < len(body) and body[end].text == "else":
        opening = next((k for k in range(end, len(body)) if body[k].text in ("{", ";")), len(body) - 1)
        end = closing(body, opening) + 1
    return end


def _head(head: Step, inside: Sequence[Step], *, is_loop: bool) -> Step:
    """Return a head that stores what its blocks store; that of a ``for`` loop also stores its counter."""
    stores = frozenset[str]().union(*(step.stores for step in inside))
    stores |= head.stores if is_loop else frozenset()
    loop = head.span if is_loop else head.loop
    return replace(head, stores=stores, is_head=True, takes=frozenset(), takes_all=False, loop=loop)


def _operators(tokens: Sequence[Token]) -> int:
    """Return the number of operators outside of indices."""
    count = depth = 0
    for token in tokens:
        depth += (token.text == "[") - (token.text == "]")
        count += not depth and token.text in _OPERATORS
    return count


def _iterations(head: Sequence[Token]) -> int:
    """Return the number in ``i < 4``; 0 for other heads."""
    pairs = [*pairwise(token.text for token in head)] if head and head[0].text == _LOOP else []
    return next((int(number) for sign, number in pairs if sign == "<" and number.isdigit()), 0)


def _step(tokens: Sequence[Token], pairs: Collection[str], file: str, *, of_value: bool) -> Step:
    begin = _after_heads(tokens)
    step = _plain_step(tokens, begin, pairs, file, of_value=of_value)
    heads = [token.text for token in tokens[:begin]]
    loop = _span(tokens[:begin], file) if _LOOP in heads else step.loop
    conditional = not {"if", "else"}.isdisjoint(heads)
    return replace(step, is_conditional=conditional, loop=loop, iterations=_iterations(tokens))


def _plain_step(tokens: Sequence[Token], begin: int, pairs: Collection[str], file: str, *, of_value: bool) -> Step:
    equals = _assignment(tokens)
    span = _span(tokens[begin:] or tokens, file)
    value = tokens if equals is None else tokens[equals + 1 :]
    operators = _operators(value)
    reads = frozenset(_reads(value, pairs))
    if equals is not None:
        compound = tokens[equals - 1].text in _OPERATORS
        target, part = _target(tokens[begin : equals - compound])
        stores = {target, *_memory_of(tokens[begin:equals])}
        read = reads | (stores if compound else set[str]())
        written = tokens[begin : equals - compound]
        variable = _variable(written)
        return Step(
            frozenset(stores),
            read,
            operators + compound,
            span,
            frozenset({part} - {""}),
            target="".join(token.text for token in variable),
            adds=compound,
            declares=len(variable) < len(written),
        )
    if tokens[begin:] and tokens[begin].text == RETURNED:
        if [token.text for token in tokens[begin + 1 : begin + 3]] == [_PAIR, "("]:
            both = list(_arguments(tokens[begin + 3 : closing(tokens, begin + 2)]))
            reads = frozenset(_reads(both[0] if of_value else both[-1], pairs))
        return Step(frozenset({RETURNED}), reads, operators, span)
    declared = _variable(tokens[begin:])
    if 0 < len(declared) < len(tokens) - begin and _is_variable(declared):
        return Step(frozenset({_target(declared)[0]}), frozenset(), 0, span, declares=True)
    stored = _stored_by_call(tokens[begin:])
    if not begin and tokens and _first_word(tokens) in _HEADS:
        return Step(frozenset(_counters(tokens)), reads, operators, span)
    if stored is None:
        return Step(frozenset(token.text for token in tokens if token.kind == "word"), reads, operators, span)
    names = frozenset(name for one in stored for name in (_target(one)[0], *_memory_of(one)))
    parts = frozenset(_target(one)[1] for one in stored[:1]) if len(stored) == 1 else frozenset[str]()
    return Step(names, reads, operators, span, parts - {""})


def _span(tokens: Sequence[Token], file: str) -> Span:
    return Span(file, tokens[0].line, tokens[0].column, tokens[-1].line, tokens[-1].column + len(tokens[-1].text))


def _after_heads(tokens: Sequence[Token]) -> int:
    """Return the first token behind attributes and the heads of branches and loops; 0 if nothing follows them."""
    index = 0
    while index < len(tokens) and (tokens[index].text == "[" or tokens[index].text in _HEADS):
        is_open = index + 1 < len(tokens) and tokens[index + 1].text == "("
        bracket = index if tokens[index].text == "[" else index + 1
        index = closing(tokens, bracket) + 1 if tokens[index].text == "[" or is_open else index + 1
    return index if index < len(tokens) else 0


def _stored_by_call(tokens: Sequence[Token]) -> list[Sequence[Token]] | None:
    """Return the variables that a call may store to, its object first; None for other statements.

    An argument is one of them unless it is an expression.
    """
    opening = next((k for k, token in enumerate(tokens) if token.text == "("), 0)
    callee = tokens[:opening]
    is_call = opening and callee[-1].kind == "word" and callee[-1].text not in _HEADS
    if not is_call or closing(tokens, opening) != len(tokens) - 1:
        return None
    target = callee[:-2] if len(callee) > 2 and callee[-2].text == "." else ()
    arguments = [one for one in _arguments(tokens[opening + 1 : -1]) if _is_variable(one)]
    if callee[-1].text in _ADDING:
        return [target] if target else arguments[:1]
    return [*([target] if target else ()), *arguments]


def _counters(head: Sequence[Token]) -> Iterator[str]:
    """Yield the variables that the head of a loop stores to."""
    for token, following in pairwise(head):
        if token.kind == "word" and following.text in ("=", "+", "-", "*"):
            yield token.text


def _arguments(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """Yield the arguments of a call."""
    depth = start = 0
    for k, token in enumerate(tokens):
        depth += (token.text in CLOSING_OF) - (token.text in CLOSING_OF.values())
        if token.text == "," and not depth:
            yield tokens[start:k]
            start = k + 1
    yield tokens[start:]


def _is_variable(tokens: Sequence[Token]) -> bool:
    """Return True for ``a``, ``a.b`` and ``a[i].b``."""
    depth = 0
    for token in tokens:
        inside = depth or token.text in ("[", "]")
        depth += (token.text == "[") - (token.text == "]")
        if not inside and token.text != "." and token.kind != "word":
            return False
    return bool(tokens) and tokens[0].kind == "word"


def _memory_of(tokens: Sequence[Token]) -> Iterator[str]:
    """Yield the field with memory in a path: ``weights`` of ``layer.weights[i].x``."""
    first = next((k for k, token in enumerate(tokens) if token.text == "["), 0)
    if first > 1 and tokens[first - 2].text == "." and tokens[first - 1].text not in _DIFFERENTIAL | _PRIMAL:
        yield tokens[first - 1].text


def _assignment(tokens: Sequence[Token]) -> int | None:
    """Return the ``=`` that stores, outside of brackets; None if there is none."""
    depth = 0
    for index, token in enumerate(tokens):
        depth += (token.text in _OPENING) - (token.text in (")", "]"))
        if depth or token.text != "=" or not 0 < index < len(tokens) - 1:
            continue
        if tokens[index - 1].text not in _COMPARING and tokens[index + 1].text != "=":
            return index
    return None


def _target(tokens: Sequence[Token]) -> tuple[str, str]:
    """Return the variable that is stored to, and its part: of ``x.d.y`` these are ``x`` and ``y``.

    The part of an element is its path: ``position.y`` of ``g[i].position.y``, and ``[0][1]`` of ``g[0][1]``.
    """
    depth, target, fields, indexed = 0, "", list[str](), False
    texts = "".join(token.text for token in tokens)
    if element := _LAST_ELEMENT.search(texts):
        return _target(tokens[: _first_bracket(tokens)])[0], element[0]
    for before, token in pairwise((None, *tokens)):
        if token is None:
            continue
        if not depth and token.text == "[" and target:
            fields, indexed = [], True
        elif not depth and token.kind == "word":
            is_field = target and before is not None and before.text == "."
            target, fields = (target, [*fields, token.text]) if is_field else (token.text, [])
        depth += (token.text in CLOSING_OF) - (token.text in CLOSING_OF.values())
    return target, ".".join(fields[-2:] if indexed else fields[-1:])


def _variable(tokens: Sequence[Token]) -> Sequence[Token]:
    """Return the tokens of a variable with its path, without the type in its declaration."""
    pairs = enumerate(pairwise(tokens))
    typed = [k for k, (one, after) in pairs if (one.kind == "word" or one.text == ">") and after.kind == "word"]
    return tokens[typed[-1] + 1 :] if typed else tokens


def _first_bracket(tokens: Sequence[Token]) -> int:
    return next(k for k, token in enumerate(tokens) if token.text == "[" and k)


def _reads(tokens: Sequence[Token], pairs: Collection[str]) -> Iterator[str]:
    """Yield the variables that are read. Attributes, the words of heads, and types before names are none."""
    start = 0
    while start < len(tokens) and tokens[start].text == "[":
        start = closing(tokens, start) + 1
    for index, token in enumerate(tokens):
        following = tokens[index + 1] if index + 1 < len(tokens) else None
        is_type = following is not None and following.kind == "word" and token.text != RETURNED
        if index < start or token.kind != "word" or token.text in _HEADS or is_type:
            continue
        if index and tokens[index - 1].text == ".":
            continue
        member = tokens[index + 2].text if index + 2 < len(tokens) and tokens[index + 1].text == "." else ""
        if token.text not in pairs or member in _DIFFERENTIAL:
            yield token.text
