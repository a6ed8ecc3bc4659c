"""Run ``jax.test_util.check_grads`` on the zoo, forward and reverse, with its defaults and first order."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
from cases import edge, mask, step_away, until_refused, weights
from jax.test_util import check_grads
from jax_kernels import KernelSubject
from translate import OF_ONE, translate

if TYPE_CHECKING:
    from cases import Case
    from kernel_cases import KernelCase

    Inputs = list[np.ndarray] | dict[str, np.ndarray]

VERSION = f"JAX {jax.__version__}"
_FACTORS = {"sign": -1.0, "thousandth": 1.001, "double": 2.0, "missing": 0.0, "extra": 1.5}


def operations(dtype: str) -> SimpleNamespace:
    """Return the operations of translated functions."""
    array = lambda x: x if isinstance(x, jax.Array) else jnp.asarray(x, dtype)  # noqa: E731
    return SimpleNamespace(
        **{name: getattr(jnp, name) for name in OF_ONE},
        array=array,
        is_array=lambda x: isinstance(x, jax.Array),
        stack=lambda parts: jnp.stack([array(p) for p in parts]),
        stop=jax.lax.stop_gradient,
        maximum=jnp.maximum,
        minimum=jnp.minimum,
        abs=jnp.abs,
        sum=jnp.sum,
        any=jnp.any,
        all=jnp.all,
        atan2=jnp.arctan2,
        matmul=jnp.matmul,
        fmod=jnp.fmod,
        isnan=jnp.isnan,
        isfinite=jnp.isfinite,
        structs={},
    )


class Subject:
    """A case in JAX."""

    def __init__(self, case: Case, dtype: str) -> None:
        self._case, self._dtype = case, dtype
        self._translated = translate(case, operations(dtype))
        self._names = [leaf.path for leaf in case.leaves if leaf.active]

    @property
    def modes(self) -> tuple[str, ...]:
        """Return the modes of the case; a case with only a backward function has no forward mode."""
        only_backward = self._case.kind.startswith(("own_", "seedless")) or (
            not self._case.kind and self._translated.backward is not None
        )
        return ("rev",) if only_backward else ("fwd", "rev")

    def active(self, values: list[np.ndarray]) -> tuple[jax.Array, ...]:
        """Return the inputs with gradients."""
        both = zip(self._case.leaves, values, strict=True)
        return tuple(jnp.asarray(v, self._dtype) for leaf, v in both if leaf.active)

    def function(self, values: list[np.ndarray]):
        """Return the function for check_grads, with the other inputs bound."""
        case = self._case

        def whole(active) -> list:
            left = iter(active)
            return [
                jnp.asarray(next(left))
                if leaf.active
                else jnp.asarray(v, self._dtype)
                if leaf.scalar == "float"
                else v.item()
                for leaf, v in zip(case.leaves, values, strict=True)
            ]

        def run(*active) -> tuple:
            return tuple(self._translated.run(whole(active)))

        if case.kind.startswith("own_") or (not case.kind and self._translated.backward is not None):
            own = self._translated.backward
            return _with_backward(run, lambda active, seeds: tuple(own(whole(active), list(seeds))))
        if case.kind == "seedless":
            return _with_backward(run, lambda a, seeds: jax.vjp(run, *a)[1](tuple(jnp.ones_like(s) for s in seeds)))
        return self._tampered(run, values) if case.kind else run

    def _tampered(self, run, values: list[np.ndarray]):
        """Return the function with the mutant's wrong derivative in both modes."""
        case = self._case
        word, _, name = case.kind.partition("_")
        whole = {leaf.path: v.item() for leaf, v in zip(case.leaves, values, strict=True) if leaf.scalar == "int"}

        def derivative(primals, tangents):
            at, moved = list(primals), list(tangents)
            extra = None
            if word == "swapped":
                a, b = (self._names.index(n) for n in name.rsplit("_", 1))
                moved[a], moved[b] = moved[b], moved[a]
            else:
                k = self._names.index(name)
                if word == "stale":
                    at[k] = at[k] + step_away(case)
                elif word == "transposed":
                    moved[k] = moved[k].T
                else:
                    moved[k] = moved[k] * self._factor(word, primals[k], whole)
                extra = 0.25 * tangents[k] if word == "extra" else None
            _, found = jax.jvp(run, tuple(at), tuple(moved))
            return run(*primals), tuple(f + extra for f in found) if extra is not None else found

        wrong = jax.custom_jvp(run)
        wrong.defjvp(derivative)
        return wrong

    def _factor(self, word: str, value: jax.Array, whole: dict[str, int]):
        if word in _FACTORS:
            return _FACTORS[word]
        if word == "branch":
            return jnp.where(value > edge(self._case), 1.25, 1.0).astype(self._dtype)
        if word == "integer":
            return 1.5 if next(iter(whole.values())) == 2 else 1.0
        return jnp.asarray(mask(self._case), self._dtype)


def _with_backward(run, backward):
    made = jax.custom_vjp(run)
    made.defvjp(lambda *active: (run(*active), active), backward)
    return made


def check(subject: Subject | KernelSubject, values: Inputs, mode: str) -> bool:
    """Return True if check_grads accepts one input."""
    try:
        check_grads(subject.function(values), subject.active(values), order=1, modes=(mode,))
    except AssertionError:
        return False
    return True


def gradients(subject: Subject | KernelSubject, values: Inputs) -> list[list[float]]:
    """Return the gradients of a weighted sum of the results."""

    def total(*active):
        results = subject.function(values)(*active)
        return sum((jnp.asarray(weights(r.shape, k), r.dtype) * r).sum() for k, r in enumerate(results))

    active = subject.active(values)
    return [np.asarray(g, np.float64).ravel().tolist() for g in jax.grad(total, range(len(active)))(*active)]


def verdicts(case: Case | KernelCase, dtype: str, samples: list[Inputs]) -> tuple[dict[str, list[bool]], list]:
    """Return each mode's answer for each input, and the gradients of a right case."""
    subject = (Subject if case.family == "functions" else KernelSubject)(case, dtype)
    told = {
        mode: until_refused(lambda values, mode=mode: check(subject, values, mode), samples) for mode in subject.modes
    }
    both = [all(one) for one in zip(*told.values(), strict=False)]
    return {**told, "default": both}, [] if case.kind else [gradients(subject, values) for values in samples]
