"""Express the zoo's kernels and pipelines in JAX: arrays, gathers by index, ``.at[].set`` and ``.at[].add``."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
from kernel_arrays import ON_ARRAYS, factor
from kernel_cases import INDICES

if TYPE_CHECKING:
    import numpy as np
    from kernel_cases import KernelCase

OPERATIONS = SimpleNamespace(
    **{name: getattr(jnp, name) for name in ("sin", "exp", "floor", "where", "arange", "zeros_like", "full_like")},
    relu=jax.nn.relu,
    clip=jnp.clip,
    whole=lambda x: jax.lax.stop_gradient(x).astype(int),
    set_in=lambda x, value: x.at[:].set(value),
    add_in=lambda x, value: x.at[:].add(value),
)


class KernelSubject:
    """A kernel or pipeline in JAX."""

    modes = ("fwd", "rev")

    def __init__(self, case: KernelCase, dtype: str) -> None:
        self._case, self._dtype = case, dtype

    def active(self, values: dict[str, np.ndarray]) -> tuple[jax.Array, ...]:
        """Return the inputs with gradients."""
        return tuple(jnp.asarray(value, self._dtype) for name, value in values.items() if name not in INDICES)

    def function(self, values: dict[str, np.ndarray]):
        """Return the function for check_grads, with the indices bound."""
        whole = {name: jnp.asarray(value) for name, value in values.items() if name in INDICES}
        names = [name for name in values if name not in INDICES]
        run = ON_ARRAYS[self._case.base]

        def on_arrays(*active) -> tuple:
            given = {name: jnp.asarray(value) for name, value in zip(names, active, strict=True)}
            return run(OPERATIONS, self._keep, **whole, **given)

        return on_arrays

    def _keep(self, read: jax.Array, index) -> jax.Array:
        kind, vectors = self._case.kind, self._case.vectors
        if not kind:
            return read
        kept = jax.custom_jvp(lambda value: value)

        @kept.defjvp
        def derivative(primals, tangents):
            (value,), (moved,) = primals, tangents
            return value, (moved * factor(jnp, kind, value, index, vectors=vectors)).astype(moved.dtype)

        return kept(read)
