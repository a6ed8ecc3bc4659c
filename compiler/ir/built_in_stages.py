"""Stages of pipelines that no user describes: ``sa.bin`` lists the items whose boxes overlap each tile of a grid.

    start, count, order = sa.bin(lower, upper, depth, tiles=(4, 6), capacity=100)
    ->  stage "sa.bin(2, depth)"(lower, upper, depth) -> start, count, order domain (4, 6, 100)

Such a stage has a kernel with parameters and results, but without a function. It has no derivative: no parameter and no
result carries gradient. The last size of its domain is the capacity of the list.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from slangad.compiler.ir.kernels import Kernel, KernelParam, KernelResult, Memory
from slangad.compiler.ir.types import FLOAT, INT, Tensor, Type, Vector

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slangad.compiler.ir.pipelines import Stage

BIN: Final = "sa.bin"
ORDER: Final = "order"
"""The result of ``sa.bin`` with one entry for each place of its list. The others have one for each tile."""


def bin_name(dims: int, *, depth: bool) -> str:
    """Return the name of ``sa.bin`` for a grid with so many axes, with or without depths of items."""
    return f"{BIN}({dims}, depth)" if depth else f"{BIN}({dims})"


def _bin(dims: int, *, depth: bool) -> Kernel:
    box: Type = INT if dims == 1 else Vector(INT, dims)
    params = [("lower", box), ("upper", box), *([("depth", FLOAT)] if depth else [])]
    return Kernel(
        bin_name(dims, depth=depth),
        "",
        tuple(KernelParam(name, Memory.TENSOR, Tensor(type_, 1), no_diff=True) for name, type_ in params),
        tuple(KernelResult(name, Memory.EACH, INT) for name in ("start", "count", ORDER)),
        dims,
    )


BUILT_IN: Final[Mapping[str, Kernel]] = {
    kernel.name: kernel for dims in (1, 2, 3) for depth in (False, True) for kernel in [_bin(dims, depth=depth)]
}
"""The kernels of stages that no user describes, by name."""


def is_built_in(stage: Stage) -> bool:
    """Return True if a stage calls no kernel of the module."""
    return stage.kernel in BUILT_IN


def result_ranks(kernel: Kernel) -> tuple[int, ...]:
    """Return the number of axes of each result of a built-in stage."""
    return tuple(1 if result.name == ORDER else kernel.dims for result in kernel.results)


def shown_name(kernel: str) -> str:
    """Return the name of a stage's kernel as the user writes it."""
    return BIN if kernel in BUILT_IN else kernel
