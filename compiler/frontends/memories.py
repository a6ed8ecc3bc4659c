"""Where values of kernels may live so far, and what else is not there yet: every front end asks here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from slangad.compiler.ir.nodes import Memory

if TYPE_CHECKING:
    from slangad.compiler.frontends.problems import Problems
    from slangad.compiler.spans import Span

PARAM_MEMORIES: Final = frozenset({Memory.EACH, Memory.UNIFORM})
RESULT_MEMORIES: Final = frozenset({Memory.EACH})


def check_param_memory(memory: Memory, spelled: str, where: Span, problems: Problems) -> bool:
    """Whether a kernel's parameter may live there; reported otherwise. ``spelled`` is the user's word for the place."""
    return memory in PARAM_MEMORIES or _not_yet(spelled, where, problems, help_="Each and Uniform are")


def check_result_memory(memory: Memory, spelled: str, where: Span, problems: Problems) -> bool:
    """As ``check_param_memory``, for a result."""
    return memory in RESULT_MEMORIES or _not_yet(spelled, where, problems, help_="Each is")


def refuse_pipeline(name: str, where: Span, problems: Problems) -> None:
    """Reports that pipelines are not there yet."""
    _not_yet(f"pipeline '{name}'", where, problems, help_="kernels are")


def _not_yet(what: str, where: Span, problems: Problems, *, help_: str) -> bool:
    problems.error("SA031", where, f"{what} is not supported by this version", help=help_)
    return False


def python_spelling(memory: Memory) -> str:
    """``InOutTensor`` for ``inout_tensor``: how Python annotations spell a place."""
    return {Memory.INOUT_TENSOR: "InOutTensor", Memory.TEXTURE2D: "Texture2D"}.get(
        memory, memory.value.title().replace("_", "")
    )
