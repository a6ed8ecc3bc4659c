"""Make twins of Slang files that count loop iterations and compare them with the declared bound.

In forward mode Slang continues past ``[MaxIters(n)]``. Reverse mode then overwrites or loses stored iterations. The
text of a twin counts the iterations of loops that reverse mode goes through, and sets a flag above the bound:

    { int count = 0; [MaxIters(4)] for (…) { if (++count > (4)) check_flag = 1; … } }
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from slangad.compiler.check.twins.loop_bounds import helpers, watching
from slangad.compiler.check.twins.text_twins import TextTwins
from slangad.compiler.ir.types import VOID
from slangad.compiler.slang_text.bodies import read_source
from slangad.compiler.slang_text.brackets import closing
from slangad.compiler.slang_text.calls import codes_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from slangad.compiler.errors.spans import Span
    from slangad.compiler.ir.nodes import Module
    from slangad.compiler.slang_text.bodies import SlangFunction, SlangSource
    from slangad.compiler.slang_text.tokens import Token

_WORD: Final = "MaxIters"
_FLAG: Final = "\nstatic int check_flag = 0;\n"
_HEADED: Final = frozenset({"if", "for", "while", "switch"})


def add_loop_twins(module: Module, text: str) -> TextTwins | None:
    """Return twins of the kernels of a Slang file that run a bounded loop, or None if no kernel does."""
    counting = with_counters(text, module.source) if _WORD in text else text
    if counting == text:
        return None
    functions = {function.key: function for function in module.functions}
    returning = (kernel for kernel in module.kernels if functions[kernel.function].result != VOID)
    watched = [kernel for kernel in returning if _reaches_bound(kernel.span, module)]
    twins = [watching(functions[kernel.function], kernel, functions[kernel.function]) for kernel in watched]
    added = (*helpers(), *(function for function, _ in twins))
    kernels = tuple(kernel for _, kernel in twins)
    made = replace(module, functions=(*module.functions, *added), kernels=kernels)
    names = {kernel.name: twin.name for kernel, twin in zip(watched, kernels, strict=True)}
    return TextTwins(made, {Path(module.source).name: counting}, names) if names else None


def _reaches_bound(span: Span, module: Module) -> bool:
    return any(token.text == _WORD for code in codes_of(span, module.sources) for token in code.tokens)


def with_counters(text: str, file: str) -> str:
    """Return a Slang text whose bounded loops count iterations; the same text if it has none or has open brackets."""
    source = read_source(text, file)
    if not source.is_closed:
        return text
    tokens, offsets = source.tokens, source.offsets
    marks: list[tuple[int, int, str]] = []
    through = [(f.body, f.end) for f in source.functions if _goes_through(f, source)]
    for k, token in enumerate(tokens):
        if token.text == _WORD and any(body < offsets[k] < end for body, end in through):
            marks += ((offsets[at], order, put) for at, order, put in _counting(tokens, k, len(marks)))
    for offset, _, put in sorted(marks, reverse=True):
        text = text[:offset] + put + text[offset:]
    return text + _FLAG if marks else text


def _goes_through(function: SlangFunction, source: SlangSource) -> bool:
    """Return True if reverse mode goes through a function. It skips one with a custom backward derivative."""
    custom = "BackwardDerivative" in source.scan.attributes_of(function.header)
    return source.is_differentiable(function) and not custom


def _counting(tokens: Sequence[Token], word: int, number: int) -> Iterator[tuple[int, int, str]]:
    """Yield the texts to insert that count a loop's iterations, as token, order and text.

    Yield nothing if only numbers end the loop.
    """
    bound = " ".join(token.text for token in tokens[word + 2 : closing(tokens, word + 1)])
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
    head = closing(tokens, loop + 1)
    last = _end(tokens, head + 1)
    if last >= len(tokens) - 1 or _is_fixed(tokens[loop + 2 : head]):
        return
    name = f"check_turns_{number}"
    yield start, 1, f"{{ int {name} = 0; "
    yield head + 1, 0, f"{{ if (++{name} > ({bound})) check_flag = 1; "
    yield last + 1, -1, "}} "


def _is_fixed(head: Sequence[Token]) -> bool:
    """Return True if only numbers end a loop. Slang then knows the number of iterations, whatever is declared."""
    parts = " ".join(token.text for token in head).split(";")
    if len(parts) != 3:
        return False
    words = [{word for word in part.split() if word[0].isalpha() or word[0] == "_"} for part in parts]
    return words[1] <= words[0] and len(words[0] - {"int", "uint", "let", "var"}) == 1


def _end(tokens: Sequence[Token], index: int) -> int:
    """Return the last token of a statement, the ``else`` of an ``if`` included."""
    if index >= len(tokens):
        return len(tokens)
    text = tokens[index].text
    if text == "[":
        return _end(tokens, closing(tokens, index) + 1)
    if text == "{":
        return closing(tokens, index)
    if text in _HEADED:
        end = _end(tokens, closing(tokens, index + 1) + 1)
        has_else = text == "if" and end + 1 < len(tokens) and tokens[end + 1].text == "else"
        return _end(tokens, end + 2) if has_else else end
    while index < len(tokens) and tokens[index].text != ";":
        index = closing(tokens, index) + 1
    return index
