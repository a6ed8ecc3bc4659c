"""Say why groups do not run a loop together, where the user wants them to: ``sa.group_range``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.calls import reached_in_order, value_callees
from slangad.compiler.ir.walk import statements, walk_stmts
from slangad.compiler.ir.whole_tiles import why_no_tile
from slangad.compiler.passes.share_tiles.read import callee

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from slangad.compiler.errors.spans import Span

_ANOTHER: Final = "it runs another loop of the kernel"
_WAYS: Final = {"keep": "reverse mode keeps its states", "recompute": "reverse mode computes its states again"}


def unshared_loops(
    module: ir.Module, refused: Mapping[str, str], shared: Mapping[str, str]
) -> tuple[ir.UnsharedLoop, ...]:
    """Return the loops of ``sa.group_range`` that kernels run and no tile shares.

    Args:
        module: The module.
        refused: Why a tile can't share the loop that was looked at, by the name of the kernel.
        shared: The key of the function that runs the shared loop, by the name of the kernel.
    """
    if not any(_together(module.functions)):
        return ()
    functions = {f.key: f for f in module.functions}
    found = []
    for kernel in module.kernels:
        if kernel.product_of:
            continue
        run = {s.span for s in _together([functions[shared[kernel.name]]] if kernel.name in shared else [])}
        spans = dict.fromkeys(s.span for s in _together(reached_in_order(functions, kernel.function, value_callees)))
        for span in (s for s in spans if s not in run):
            reason = _reason(module, kernel, functions, span) or refused.get(kernel.name, _ANOTHER)
            found.append(ir.UnsharedLoop(kernel.name, reason, span))
    return tuple(found)


def _together(functions: Iterable[ir.Function]) -> Iterator[ir.For]:
    """Yield the loops that the user wants to be shared."""
    stmts = (s for f in functions for s in walk_stmts(statements(f)))
    return (s for s in stmts if isinstance(s, ir.For) and s.together)


def _reason(module: ir.Module, kernel: ir.Kernel, functions: Mapping[str, ir.Function], span: Span) -> str:
    """Return why ``share_tiles`` does not look at a loop of a kernel; empty if it does."""
    function = functions[kernel.function]
    choice = next((c for c in module.loops if (c.key, c.span) == (function.key, span)), None)
    if kernel.fused:
        return "a pipeline joins its kernel with another one"
    if span not in _at_the_top(function, functions):
        return "it is not at the top of the kernel"
    if why := why_no_tile(kernel):
        return why
    if choice is None:
        return "no gradient flows through its state"
    if choice.way in _WAYS:
        return f"{_WAYS[choice.way]}: {choice.reason}"
    return "" if choice in (loop.choice for loop in module.replayed) else "its iterations take elements of arrays"


def _at_the_top(function: ir.Function, functions: Mapping[str, ir.Function]) -> set[Span]:
    """Return the locations of the loops at the top of a function, those in functions of their own too."""
    body = statements(function)
    keys = (callee(s.value) for s in body if isinstance(s, ir.Assign))
    apart = (s for key in keys if key.startswith(f"{function.key}[loop") for s in statements(functions[key]))
    return {s.span for s in (*body, *apart) if isinstance(s, ir.For)}
