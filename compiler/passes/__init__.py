"""Transform the IR between the front ends and the emitter. ``order`` lists the passes.

Each file holds one pass and is named by its effect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from slangad.compiler.ir.nodes import Module


def run_passes(
    module: Module,
    dump: Callable[[str, Module], None] | None = None,
    *,
    deterministic: bool = False,
    second_order: bool = False,
) -> Module:
    """Run every pass and call ``dump`` with the module after each. The passes are imported when they are needed.

    Raises:
        CompileError: A pass refuses the user's program.
    """
    from slangad.compiler.passes.order import run_all

    return run_all(module, dump, deterministic=deterministic, second_order=second_order)


__all__ = ["run_passes"]
