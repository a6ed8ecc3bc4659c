"""Find the likely cause when Slang's code uses a name that it declares nowhere, and what to write instead.

Two patterns are known to make reverse mode do so (docs/slang-notes.md). Both are searched in the Slang text that a
kernel calls. Code from a description has neither: the passes write it in another way.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from slangad.compiler.ir.calls import reached
from slangad.compiler.ir.nodes import External, SlangBody
from slangad.compiler.slang_text.brackets import closing, is_stored, steps_behind, until, written
from slangad.compiler.slang_text.calls import codes_of
from slangad.compiler.slang_text.endings import is_slang
from slangad.compiler.slang_text.files import source_of
from slangad.compiler.slang_text.tokens import read_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from slangad.compiler.ir.nodes import Function, Module
    from slangad.compiler.slang_text.tokens import Token

_FROM_ZERO: Final = (
    "a `for` loop that begins at a number known at run time, and counts down or up, is such a case: write "
    "`for (int k = 0; k < n; ++k)` with `n - k` (or `start + k`) in place of the counter"
)
_ROW: Final = (
    "a store through one run-time index twice, `m[i][i] = e`, is such a case: take the row out, "
    "`float3 row = m[i]; row[i] = e; m[i] = row;`"
)
_UNKNOWN: Final = (
    "two causes are known, and neither is here: a `for` loop that begins at a number known at run time, and a store "
    "such as `m[i][i] = e`; `do` loops that count down may be another: write that part in another way, and report it "
    "to Slang"
)
_TYPES: Final = frozenset({"int", "uint", "let", "var"})


def remedy(module: Module, kernel: str) -> str:
    """Return the text to write in place of the likely cause."""
    texts = list(_texts(module, kernel))
    remedies = [_FROM_ZERO] if any(_begins_anywhere(text) for text in texts) else []
    remedies += [_ROW] if any(_stores_through_one_twice(text) for text in texts) else []
    return "; ".join(remedies) or _UNKNOWN


def _texts(module: Module, kernel: str) -> Iterator[Sequence[Token]]:
    """Yield the Slang text that a kernel reaches, function by function."""
    functions = {function.key: function for function in module.functions}
    for key in reached(functions, {one.function for one in module.kernels if one.name == kernel}):
        function = functions[key]
        match function.body:
            case SlangBody(text):
                yield read_text(text).tokens
            case External():
                yield from _external(function, function.body, module.sources)
            case _:
                continue


def _external(function: Function, body: External, sources: Sequence[str]) -> Iterator[Sequence[Token]]:
    """Return a function of a Slang file and its callees. If only its name is known, take all functions of that name."""
    codes = list(codes_of(function.span, sources))
    if not codes:
        name = re.split(r"::|\.", body.symbol.partition("<")[0])[-1]
        files = [source_of(file) for file in sources if is_slang(file)]
        spans = [one.span for source in files for one in source.functions if one.header.name == name]
        codes = [code for span in spans for code in codes_of(span, sources)]
    return (code.tokens for code in codes)


def _begins_anywhere(tokens: Sequence[Token]) -> bool:
    """Return True if a ``for`` loop starts at something other than a number."""
    heads = [k for k, token in enumerate(tokens[:-1]) if token.text == "for" and tokens[k + 1].text == "("]
    for head in (tokens[k + 2 : closing(tokens, k + 1)] for k in heads):
        start = [token.text for token in until(head, ";")]
        value = start[start.index("=") + 1 :] if "=" in start else start
        if not start or any(word[0].isalpha() or word[0] == "_" for word in value if word not in _TYPES):
            return True
    return False


def _stores_through_one_twice(tokens: Sequence[Token]) -> bool:
    return any(
        token.kind == "word" and tokens[k + 1].text == "[" and is_stored(tokens, k) and _repeats(tokens, k)
        for k, token in enumerate(tokens[:-2])
    )


def _repeats(tokens: Sequence[Token], index: int) -> bool:
    """Return True if two of the indices behind a variable have the same text and are no numbers."""
    opened = [k for k in steps_behind(tokens, index)[0] if tokens[k].text == "["]
    indices = [written(tokens[k + 1 : closing(tokens, k)]) for k in opened]
    return any(indices.count(text) > 1 for text in indices if not text.isdecimal())
