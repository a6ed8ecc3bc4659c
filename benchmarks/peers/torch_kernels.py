"""Express the zoo's kernels and pipelines in torch: arrays, gathers by index, in-place changes of a copy."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import torch
from kernel_arrays import ON_ARRAYS, factor
from kernel_cases import INDICES

if TYPE_CHECKING:
    import numpy as np
    from kernel_cases import KernelCase


def _set_in(x: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    changed = x.clone()
    changed[:] = value
    return changed


OPERATIONS = SimpleNamespace(
    **{name: getattr(torch, name) for name in ("sin", "exp", "floor", "where", "arange", "zeros_like", "full_like")},
    relu=torch.relu,
    clip=torch.clip,
    whole=lambda x: x.detach().long(),
    set_in=_set_in,
    add_in=lambda x, value: x.clone().add_(value),
)


class _Kept(torch.autograd.Function):
    """The identity with another derivative."""

    @staticmethod
    def forward(ctx, read, factor_of):
        """Return the read."""
        ctx.factor = factor_of(read.detach())
        return read.clone()

    @staticmethod
    def backward(ctx, seed):
        """Scale the seed."""
        return (seed * ctx.factor).to(seed.dtype), None


class KernelSubject:
    """A kernel or pipeline in torch."""

    def __init__(self, case: KernelCase, dtype: torch.dtype) -> None:
        self._case, self._dtype = case, dtype

    def active(self, values: dict[str, np.ndarray]) -> tuple[torch.Tensor, ...]:
        """Return the inputs with gradients."""
        return tuple(
            torch.tensor(v, dtype=self._dtype).requires_grad_() for name, v in values.items() if name not in INDICES
        )

    def function(self, values: dict[str, np.ndarray]):
        """Return the function for gradcheck, with the indices bound."""
        whole = {name: torch.tensor(value) for name, value in values.items() if name in INDICES}
        names = [name for name in values if name not in INDICES]
        run = ON_ARRAYS[self._case.base]
        return lambda *active: run(OPERATIONS, self._keep, **whole, **dict(zip(names, active, strict=True)))

    def _keep(self, read: torch.Tensor, index) -> torch.Tensor:
        kind, vectors = self._case.kind, self._case.vectors
        if not kind:
            return read
        return _Kept.apply(read, lambda value: factor(torch, kind, value, index, vectors=vectors))
