"""Translate Slang's diagnostics to the words of slangad's users: code, message and help."""

from __future__ import annotations

import re
from dataclasses import dataclass

INTERNAL = 99999
"""Slang's code for 'near this place I failed'."""


@dataclass(frozen=True, slots=True)
class Translation:
    """A message for the user. ``{name}`` in ``text`` is replaced by the first name that Slang quotes."""

    code: str
    text: str
    help: str = ""


_LOOP = Translation(
    "SA201",
    "a loop in a differentiable function needs a bound known at compile time",
    "loop over range(...) with a constant bound, or give one with sa.max_iters(n); in Slang: [MaxIters(n)]",
)
_CALL = Translation(
    "SA202",
    "the derivative is lost at the call of {name}, which is not differentiable",
    "make it differentiable, give it a derivative, or end the gradient there with no_diff(...)",
)
_ASSIGNMENT = Translation(
    "SA203",
    "the derivative is lost at this assignment, because its target can't hold one",
    "make the target differentiable, or end the gradient there with no_diff(...), in Slang detach(...)",
)
_OUT = Translation(
    "SA204",
    "the derivative is lost at this out argument, which can't hold one",
    "pass a local variable and copy it afterwards",
)
_NO_DIFF = Translation(
    "SA205",
    "no_diff has no meaning here",
    "put it around a call inside a differentiable function; around a value, in Slang, write detach(x)",
)
_SIGNATURE = Translation(
    "SA206",
    "a custom derivative does not fit its function",
    "see `slangad explain SA206` for the signature that is expected",
)
_VISIBLE = Translation("SA206", "{text}", "import the module of that function with '__exported import'")
_MEMBER = Translation(
    "SA207",
    "[DerivativeMember] does not fit the struct",
    "use it on a member of a differentiable struct, and name a member of its Differential",
)
_HIGHER = Translation(
    "SA208",
    "this derivative can't be differentiated again",
    "use fwd_diff for one of the two derivatives: fwd_diff of fwd_diff and bwd_diff of fwd_diff work",
)
_TARGET = Translation(
    "SA209",
    "{text}",
    "omit this target, or avoid the feature; see `slangad explain SA209`",
)
_CPU_HELP = "C++ has no waves, barriers and atomics: omit this target, or run it on a GPU: --device vulkan"
_NO_ENTRY = Translation(
    "SA200",
    "{text}",
    "if the file has this function, Slang has one of that name too, such as step: give the entry point another name",
)
_INTERNAL = Translation(
    "SA210",
    "the Slang compiler failed on this program: {text}",
    "this is a defect of Slang; the notes say where. Other targets, or simpler code at that place, may work",
)
_DEFECTS = {
    "createSet called with non-global operands": "a method is called through a parameter of an interface's type, and "
    "takes or returns a vector: make the function generic, f<T : IShape>(T shape) in place of f(IShape shape)",
}
"""Known constructs behind internal errors of Slang 2026.12, by a part of the text."""
_UNROLLED = Translation(
    "SA200",
    "{text}",
    "an array in a function is too long, or a loop with unroll=True: Slang writes a statement for each element. "
    "Keep such arrays in a Tensor or Param, and read their elements in a loop",
)
_TOOL = Translation("SA242", "{text}", "see `slangad doctor` for what is installed")

_BY_CODE: dict[int, Translation] = {
    30510: _LOOP,
    40020: _UNROLLED,
    38000: _NO_ENTRY,
    41022: _CALL,
    41031: _ASSIGNMENT,
    41025: _OUT,
    38031: _NO_DIFF,
    38033: _NO_DIFF,
    **dict.fromkeys(range(31147, 31162), _SIGNATURE),
    31162: _VISIBLE,
    **dict.fromkeys(range(31130, 31133), _MEMBER),
    38035: _HIGHER,
    38037: _HIGHER,  # of later versions than 2026.12, which crashes there
    **dict.fromkeys((36104, 36107, 36108, 41011, 55204, 56103), _TARGET),
    **dict.fromkeys((INTERNAL, 99997, 99998), _INTERNAL),
    **dict.fromkeys((100, 52006), _TOOL),
}


def translation_of(code: int, text: str, *, is_error: bool) -> Translation:
    """Return the message for the user about a diagnostic of Slang; Slang's text if it needs no translation."""
    known = _BY_CODE.get(code) if is_error else None
    if known is None:
        return Translation("SA200" if is_error else "SA220", text)
    if known is _INTERNAL:
        lacking = re.search(r"unexpected: '?([\w -]+?)'? type emitted", text)
        if lacking:
            return Translation(_TARGET.code, f"the type {lacking[1]} is not available on this target", _TARGET.help)
        text = text.rpartition(" unexpected: ")[2]
        remedy = remedy_of_defect(text)
        known = Translation(known.code, known.text, f"this is a defect of Slang: {remedy}") if remedy else known
    if known is _TARGET and "'cpp' compilation target" in text:
        known = Translation(known.code, known.text, _CPU_HELP)
    quoted = re.search(r"[`']([^`']+)[`']", text)
    name = quoted[1] if quoted else "a function"
    return Translation(known.code, known.text.replace("{name}", name).replace("{text}", text), known.help)


def remedy_of_defect(text: str) -> str:
    """Return the construct that causes an internal error of Slang, and what to write; nothing if it is unknown."""
    return next((remedy for part, remedy in _DEFECTS.items() if part in text), "")
