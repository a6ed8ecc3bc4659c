"""Run ``torch.autograd.gradcheck`` on the zoo: slow and fast with its defaults, and looser in float32."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import torch
from cases import factor, step_away, until_refused, weights
from torch.autograd.gradcheck import GradcheckError
from torch_kernels import KernelSubject
from translate import OF_ONE, translate

if TYPE_CHECKING:
    from cases import Case
    from kernel_cases import KernelCase

    Inputs = list[np.ndarray] | dict[str, np.ndarray]

MODES: dict[str, dict[str, dict[str, float]]] = {
    "float64": {"slow": {}, "fast": {"fast_mode": True}},
    "float32": {"slow": {}, "eased": {"eps": 1e-3, "atol": 1e-3, "rtol": 1e-2}},
}
"""What gradcheck is told besides functions and inputs."""
VERSION = f"PyTorch {torch.__version__.split('+')[0]}"


def operations(dtype: torch.dtype) -> SimpleNamespace:
    """Return the operations of translated functions."""
    array = lambda x: x if isinstance(x, torch.Tensor) else torch.tensor(x, dtype=dtype)  # noqa: E731
    return SimpleNamespace(
        **{name: getattr(torch, name) for name in OF_ONE},
        array=array,
        is_array=lambda x: isinstance(x, torch.Tensor),
        stack=lambda parts: torch.stack([array(p) for p in parts]),
        stop=lambda x: x.detach(),
        maximum=torch.maximum,
        minimum=torch.minimum,
        abs=torch.abs,
        sum=torch.sum,
        any=torch.any,
        all=torch.all,
        atan2=torch.atan2,
        matmul=torch.matmul,
        fmod=torch.fmod,
        isnan=torch.isnan,
        isfinite=torch.isfinite,
        structs={},
    )


class _Own(torch.autograd.Function):
    """A function with a custom backward function."""

    @staticmethod
    def forward(ctx, forward, backward, *values):
        """Compute the results."""
        ctx.backward_of = backward
        ctx.save_for_backward(*values)
        return tuple(result.clone() for result in forward(list(values)))

    @staticmethod
    def backward(ctx, *seeds):
        """Compute the gradients."""
        return None, None, *ctx.backward_of(list(ctx.saved_tensors), list(seeds))


class Subject:
    """A case in torch at one input."""

    def __init__(self, case: Case, dtype: torch.dtype) -> None:
        self._case, self._dtype = case, dtype
        self._translated = translate(case, operations(dtype))

    def active(self, values: list[np.ndarray]) -> tuple[torch.Tensor, ...]:
        """Return the inputs with gradients."""
        both = zip(self._case.leaves, values, strict=True)
        return tuple(torch.tensor(v, dtype=self._dtype).requires_grad_() for leaf, v in both if leaf.active)

    def function(self, values: list[np.ndarray]):
        """Return the function for gradcheck, with the other inputs bound."""
        case, translated = self._case, self._translated

        def whole(active: list) -> list:
            left = iter(active)
            return [
                next(left) if leaf.active else self._passive(leaf.scalar, value)
                for leaf, value in zip(case.leaves, values, strict=True)
            ]

        def run(active: list) -> list:
            return translated.run(whole(active))

        if translated.backward is None and not case.kind:
            return lambda *active: tuple(run(list(active)))
        if case.kind.startswith("own_") or not case.kind:
            own = translated.backward
            return lambda *active: _Own.apply(run, lambda a, seeds: own(whole(a), seeds), *active)
        return lambda *active: _Own.apply(run, lambda a, seeds: self._tampered(run, values, a, seeds), *active)

    def _passive(self, scalar: str, value: np.ndarray):
        return torch.tensor(value, dtype=self._dtype) if scalar == "float" else value.item()

    def _tampered(self, run, values: list[np.ndarray], active: list, seeds: list) -> list:
        """Return the right gradients with the mutant's change."""
        case = self._case
        names = [leaf.path for leaf in case.leaves if leaf.active]
        word, _, name = case.kind.partition("_")
        at = [a.detach() for a in active]
        if word == "stale":
            at[names.index(name)] = at[names.index(name)] + step_away(case)
        seeds = [torch.ones_like(s) for s in seeds] if word == "seedless" else seeds
        with torch.enable_grad():
            at = [a.requires_grad_() for a in at]
            both = [(r, s) for r, s in zip(run(at), seeds, strict=True) if r.requires_grad]
            found = [None] * len(at)
            if both:
                results, weights = zip(*both, strict=True)
                found = list(torch.autograd.grad(results, at, weights, allow_unused=True))
        found = [torch.zeros_like(a) if g is None else g for a, g in zip(at, found, strict=True)]
        if word in ("stale", "seedless"):
            return found
        if word == "swapped":
            a, b = (names.index(n) for n in name.rsplit("_", 1))
            found[a], found[b] = found[b], found[a]
            return found
        k = names.index(name)
        if word == "transposed":
            found[k] = found[k].T
            return found
        by_name = {leaf.path: value for leaf, value in zip(case.leaves, values, strict=True)}
        by_name |= {n: a.detach().numpy() for n, a in zip(names, active, strict=True)}
        found[k] = found[k] * torch.as_tensor(factor(case, by_name)[1], dtype=self._dtype)
        if word == "extra":
            found[k] = found[k] + 0.25 * seeds[0]
        return found


def check(subject: Subject | KernelSubject, values: Inputs, settings: dict[str, float]) -> bool:
    """Return True if gradcheck accepts one input."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return torch.autograd.gradcheck(subject.function(values), subject.active(values), **settings)
    except GradcheckError:
        return False


def gradients(subject: Subject | KernelSubject, values: Inputs) -> list[list[float]]:
    """Return the gradients of a weighted sum of the results."""
    active = subject.active(values)
    results = subject.function(values)(*active)
    weighted = [(torch.as_tensor(weights(r.shape, k), dtype=r.dtype) * r).sum() for k, r in enumerate(results)]
    total = sum(weighted, torch.zeros(()))
    if not total.requires_grad:
        return [np.zeros(a.numel()).tolist() for a in active]
    found = torch.autograd.grad(total, active, allow_unused=True)
    return [
        (torch.zeros_like(a) if g is None else g).flatten().double().tolist()
        for a, g in zip(active, found, strict=True)
    ]


def verdicts(case: Case | KernelCase, dtype: str, samples: list[Inputs]) -> tuple[dict[str, list[bool]], list]:
    """Return each mode's answer for each input, and the gradients of a right case."""
    made = Subject if case.family == "functions" else KernelSubject
    subject = made(case, getattr(torch, dtype))
    told = {
        mode: until_refused(lambda values, settings=settings: check(subject, values, settings), samples)
        for mode, settings in MODES[dtype].items()
    }
    return told, [] if case.kind else [gradients(subject, values) for values in samples]
