"""The passes in order: from what a front end builds to what the emitter prints. Every pass is ``Module -> Module``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from slangad.compiler.passes.declare import declare_locals

if TYPE_CHECKING:
    from collections.abc import Callable

    from slangad.compiler.ir.nodes import Module


@dataclass(frozen=True, slots=True)
class Pass:
    """One step, by the name ``--dump-after`` knows it."""

    name: str
    function: Callable[[Module], Module]


PIPELINE: Final = (Pass("declare", declare_locals),)

PASS_NAMES: Final = tuple(step.name for step in PIPELINE)


def run_passes(module: Module, dump: Callable[[str, Module], None] | None = None) -> Module:
    """Runs every pass; ``dump`` sees the module after each.

    Raises:
        CompileError: when a pass refuses the user's program.
    """
    for step in PIPELINE:
        module = step.function(module)
        if dump is not None:
            dump(step.name, module)
    return module
