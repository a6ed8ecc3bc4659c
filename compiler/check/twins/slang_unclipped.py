"""Build callers of clipped Slang functions without the clip.

Reverse mode through a clip is not linear, and a clipped gradient says nothing about the rest. So a function whose clip
a line declares (``// check: derivative clip 1e6``) is checked by itself. Its callers are built from a text in which
Slang differentiates that function:

    [BackwardDerivative(f_bwd)] float f(…)          [Differentiable] float f(…)
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from slangad.compiler.check.twins.slang_declared import reached_by, sources_of
from slangad.compiler.check.twins.slang_frozen import TextEdits
from slangad.compiler.check.twins.text_twins import TextTwins
from slangad.compiler.ir.nodes import ClipGradient
from slangad.compiler.slang_text.brackets import closing
from slangad.compiler.slang_text.calls import function_at, name_in_calls

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slangad.compiler.check.model.subject import Subject
    from slangad.compiler.ir.nodes import Module
    from slangad.compiler.slang_text.bodies import SlangFunction, SlangSource


def callers_without_clips(module: Module, text: str, subjects: Iterable[Subject]) -> TextTwins | None:
    """Return the callers of clipped functions with the text to build them from; None if there are none.

    Args:
        module: The module of a Slang file.
        text: The text of the file, without parts that do not compile.
        subjects: Its functions.
    """
    clipped = [one for one in subjects if isinstance(one.directives.derivative, ClipGradient) and one.kernel]
    if not clipped:
        return None
    texts: dict[str, str] = {}
    names: set[str] = set()
    for source in sources_of(module, text):
        functions_calling = [function for one in clipped if (function := function_at(source, one.span)) is not None]
        if functions_calling:
            names |= {name_in_calls(function) for function in functions_calling}
            texts[Path(source.file).name] = _differentiated(source, functions_calling)
    kernels_clipped = {one.kernel for one in clipped}
    reached = reached_by(module)
    callers = [k for k in module.kernels if k.name not in kernels_clipped and names & reached[k.name]]
    if not callers:
        return None
    return TextTwins(replace(module, kernels=tuple(callers)), texts, {k.name: k.name for k in callers})


def _differentiated(source: SlangSource, functions: Iterable[SlangFunction]) -> str:
    """Return a text in which Slang differentiates some functions, in place of their custom derivatives."""
    edits = TextEdits()
    tokens = source.tokens
    for function in functions:
        start = function.first
        while tokens[start].text == "[":
            end = closing(tokens, start)
            if any("Differentiable" in t.text or "Derivative" in t.text for t in tokens[start:end]):
                edits.put(source.offsets[start], "", out=source.offsets[end] + 1 - source.offsets[start])
            start = end + 1
        edits.put(source.offsets[start], "[Differentiable] ")
    return edits.applied(source.text)
