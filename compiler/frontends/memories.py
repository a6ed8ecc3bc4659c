"""Where values of kernels may live so far, and what else is not there yet: every front end asks here."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from slangad.compiler.ir.nodes import Memory

if TYPE_CHECKING:
    from slangad.compiler.frontends.problems import Problems
    from slangad.compiler.spans import Span

PARAM_MEMORIES: Final = frozenset({Memory.EACH, Memory.UNIFORM})
RESULT_MEMORIES: Final = frozenset({Memory.EACH})


Spelling = Callable[[Memory], str]
"""The user's word for a place."""


def check_param_memory(memory: Memory, spell: Spelling, where: Span, problems: Problems) -> bool:
    """Whether a kernel's parameter may live there; reported otherwise."""
    return memory in PARAM_MEMORIES or _not_yet(spell(memory), where, problems, help_=_known(PARAM_MEMORIES, spell))


def check_result_memory(memory: Memory, spell: Spelling, where: Span, problems: Problems) -> bool:
    """As ``check_param_memory``, for a result."""
    return memory in RESULT_MEMORIES or _not_yet(spell(memory), where, problems, help_=_known(RESULT_MEMORIES, spell))


def _known(memories: frozenset[Memory], spell: Spelling) -> str:
    words = [spell(memory) for memory in Memory if memory in memories]
    return f"{' and '.join(words)} {'is' if len(words) == 1 else 'are'}"


def refuse_pipeline(name: str, where: Span, problems: Problems) -> None:
    """Reports that pipelines are not there yet."""
    _not_yet(f"pipeline '{name}'", where, problems, help_="kernels are")


def _not_yet(what: str, where: Span, problems: Problems, *, help_: str) -> bool:
    problems.error("SA031", where, f"{what} is not supported by this version", help=help_)
    return False


def yaml_spelling(memory: Memory) -> str:
    """``inout_tensor``: how YAML descriptions spell a place."""
    return memory.value


def python_spelling(memory: Memory) -> str:
    """``InOutTensor`` for ``inout_tensor``: how Python annotations spell a place."""
    return {Memory.INOUT_TENSOR: "InOutTensor", Memory.TEXTURE2D: "Texture2D"}.get(
        memory, memory.value.title().replace("_", "")
    )
