"""Loops of Slang files against their bounds: a module and its text go in, twins that count turns come out.

Slang goes on beyond ``[MaxIters(n)]`` in forward mode, and what reverse mode kept of the turns is then overwritten or
lost. The text of twins counts the turns of loops that reverse mode goes through; beyond the bound it raises a flag:

    { int turns = 0; [MaxIters(4)] for (…) { if (++turns > (4)) check_flag = 1; … } }
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from slangad.compiler.check.twins.loop_bounds import asking, helpers
from slangad.compiler.ir.types import VOID
from slangad.compiler.slang_text.bodies import read_bodies
from slangad.compiler.slang_text.reachable_code import codes_of
from slangad.compiler.slang_text.tokens import read_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from slangad.compiler.errors.spans import Span
    from slangad.compiler.ir.nodes import Module
    from slangad.compiler.slang_text.bodies import Bodies, Function
    from slangad.compiler.slang_text.tokens import Token

_WORD: Final = "MaxIters"
_FLAG: Final = "\nstatic int check_flag = 0;\n"
_OPENED: Final = {"(": ")", "[": "]", "{": "}"}
_HEADED: Final = frozenset({"if", "for", "while", "switch"})


@dataclass(frozen=True, slots=True)
class Turns:
    """Twins that count turns.

    Attributes:
        module: Holds just their kernels.
        text: Of the file they are built with.
        watches: Their names by the kernels whose loops they watch.
    """

    module: Module
    text: str
    watches: Mapping[str, str]


def count_turns(module: Module, text: str) -> Turns | None:
    """Twins of the kernels of a Slang file that reach a loop with a bound; none if there are no such ones."""
    counting = counted(text, module.source) if _WORD in text else text
    if counting == text:
        return None
    functions = {function.key: function for function in module.functions}
    told = [kernel for kernel in module.kernels if functions[kernel.function].result != VOID]
    watched = [kernel for kernel in told if _reaches(kernel.span, module)]
    asked = [asking(functions[kernel.function], kernel, functions[kernel.function]) for kernel in watched]
    added = (*helpers(), *(function for function, _ in asked))
    kernels = tuple(kernel for _, kernel in asked)
    made = replace(module, functions=(*module.functions, *added), kernels=kernels)
    names = {kernel.name: twin.name for kernel, twin in zip(watched, kernels, strict=True)}
    return Turns(made, counting, names) if names else None


def _reaches(span: Span, module: Module) -> bool:
    return any(token.text == _WORD for code in codes_of(span, module.sources) for token in code.tokens)


def counted(text: str, file: str) -> str:
    """A Slang text whose bounded loops count their turns; the same if it has none, or can not be taken apart."""
    bodies = read_bodies(text, file)
    if not bodies.whole:
        return text
    tokens = read_text(text).tokens
    offsets = [bodies.starts[token.line - 1] + token.column - 1 for token in tokens]
    marks: list[tuple[int, int, str]] = []
    through = [(f.body, f.end) for f in bodies.functions if _goes_through(f, bodies)]
    for k, token in enumerate(tokens):
        if token.text == _WORD and any(body < offsets[k] < end for body, end in through):
            marks += ((offsets[at], order, put) for at, order, put in _counting(tokens, k, len(marks)))
    for offset, _, put in sorted(marks, reverse=True):
        text = text[:offset] + put + text[offset:]
    return text + _FLAG if marks else text


def _goes_through(function: Function, bodies: Bodies) -> bool:
    """Whether reverse mode goes through a function: it can, and has no backward derivative of its own."""
    further = bodies.scan.derivatives_of.get(function.header.name, frozenset())
    own = "BackwardDerivative" in {*function.header.attributes, *further}
    return bodies.is_differentiable(function) and not own


def _counting(tokens: Sequence[Token], word: int, number: int) -> Iterator[tuple[int, int, str]]:
    """What is put before which tokens to count a loop's turns, in which order; nothing if numbers alone end it."""
    bound = " ".join(token.text for token in tokens[word + 2 : _close(tokens, word + 1)])
    start = word - 1
    while start > 0 and tokens[start - 1].text == "]":
        start = max(k for k in range(start) if tokens[k].text == "[")
    loop = word
    while tokens[loop - 1].text != "]" or tokens[loop].text == "[":
        loop += 1
        if loop >= len(tokens) - 1:
            return
    if tokens[loop].text not in ("for", "while"):
        return
    head = _close(tokens, loop + 1)
    last = _end(tokens, head + 1)
    if last >= len(tokens) - 1 or _is_fixed(tokens[loop + 2 : head]):
        return
    name = f"check_turns_{number}"
    yield start, 1, f"{{ int {name} = 0; "
    yield head + 1, 0, f"{{ if (++{name} > ({bound})) check_flag = 1; "
    yield last + 1, -1, "}} "


def _is_fixed(head: Sequence[Token]) -> bool:
    """Whether numbers alone end a loop: Slang knows then how often it turns, whatever is declared."""
    parts = " ".join(token.text for token in head).split(";")
    if len(parts) != 3:
        return False
    words = [{word for word in part.split() if word[0].isalpha() or word[0] == "_"} for part in parts]
    return words[1] <= words[0] and len(words[0] - {"int", "uint", "let", "var"}) == 1


def _end(tokens: Sequence[Token], index: int) -> int:
    """The last token of a statement."""
    if index >= len(tokens):
        return len(tokens)
    text = tokens[index].text
    if text == "[":
        return _end(tokens, _close(tokens, index) + 1)
    if text == "{":
        return _close(tokens, index)
    if text in _HEADED:
        end = _end(tokens, _close(tokens, index + 1) + 1)
        has_else = text == "if" and end + 1 < len(tokens) and tokens[end + 1].text == "else"
        return _end(tokens, end + 2) if has_else else end
    while index < len(tokens) and tokens[index].text != ";":
        index = _close(tokens, index) + 1
    return index


def _close(tokens: Sequence[Token], index: int) -> int:
    """The token that closes the bracket at ``index``; the same one if it is none."""
    depth = 0
    for k in range(index, len(tokens)) if tokens[index].text in _OPENED else ():
        depth += (tokens[k].text in _OPENED) - (tokens[k].text in _OPENED.values())
        if not depth:
            return k
    return index
