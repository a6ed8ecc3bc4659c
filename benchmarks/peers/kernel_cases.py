"""List the zoo's kernels with tensors and its pipelines, with inputs, for peers that work on arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from cases import generator
from support.zoo_memory import KERNELS
from support.zoo_pipelines import PIPELINES

if TYPE_CHECKING:
    from support.zoo_memory import Habitat
    from support.zoo_pipelines import ZooPipeline

INDICES = ("i", "j")
SHAPES: dict[str, dict[str, tuple[int, ...]]] = {
    "gathered": {"i": (7,), "w": (4,), "k": ()},
    "paired": {"i": (7,), "j": (7,), "w": (4,)},
    "vectors": {"i": (7,), "w": (4, 3), "x": (7, 3)},
    "table_of_rows": {"i": (7,), "w": (4, 3)},
    "three_points": {"x": (7,)},
    "edges_held": {"x": (3, 4)},
    "blurred": {"x": (6, 2), "k": ()},
    "squared_in_place": {"x": (5,), "k": ()},
    "added_in_place": {"x": (5,), "w": (5,)},
    "clamped_texture": {"uv": (5, 2), "t": (3, 4)},
    "clamped_uv": {"uv": (5, 2), "t": (3, 4)},
    "repeated_texture": {"uv": (5, 2), "t": (3, 4, 3)},
    "mirrored_uv": {"uv": (5, 2), "t": (3, 4, 2)},
    "layer": {"x": (5, 3), "w": (3, 4), "b": ()},
    "summed": {"x": (5,), "m": (3,)},
    "fused": {"x": (5,), "k": ()},
    "apart": {"x": (5,), "k": ()},
    "twice": {"x": (5,), "k": ()},
    "gathering": {"i": (7,), "w": (4,), "k": ()},
}
"""The inputs of each, and their shapes: seven threads read four elements, so indices collide."""


@dataclass(frozen=True)
class KernelCase:
    """A kernel or pipeline to check: right if ``kind`` is empty."""

    subject: Habitat | ZooPipeline
    kind: str = ""

    @property
    def base(self) -> str:
        """The name of the right one."""
        return self.subject.name

    @property
    def name(self) -> str:
        """Its name in the zoo."""
        return f"{self.base}_{self.kind}" if self.kind else self.base

    @property
    def key(self) -> str:
        """Its name, unlike that of any function."""
        return f"{self.name} of {self.family}"

    @property
    def made_from(self) -> str:
        """The key of the right one."""
        return f"{self.base} of {self.family}"

    @property
    def family(self) -> str:
        """What module of the zoo it belongs to."""
        return "kernels" if hasattr(self.subject, "params") else "pipelines"

    @property
    def of_class(self) -> str:
        """What makes the right one hard."""
        return self.subject.kind if self.family == "kernels" else "pipelines"

    @property
    def group(self) -> str:
        """The class of a right one, the mutation of a wrong one."""
        return self.kind or self.of_class

    @property
    def vectors(self) -> bool:
        """Return True if the wrong read is of vectors."""
        return self.family == "kernels" and self.subject.type != "float"

    @cached_property
    def text(self) -> str:
        """Return the case as a description for slangad."""
        return self.subject.mutants()[self.name] if self.kind else self.subject.text

    def shows(self, *_: int) -> bool:
        """Whether what is wrong in one branch only is reached by one of the inputs: by one of so many threads."""
        return True

    def inputs(self, count: int, seed: int) -> list[dict[str, np.ndarray]]:
        """Random inputs, the same for every checker and for the wrong ones made of a right one."""
        rng = generator(self.base, seed)
        return [{name: _drawn(name, shape, rng) for name, shape in SHAPES[self.base].items()} for _ in range(count)]


def _drawn(name: str, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    if name in INDICES:
        return rng.integers(0, 4, shape)
    return rng.uniform(-1.0, 1.0, shape).astype(np.float32)


def kernel_cases() -> list[KernelCase]:
    """Return all cases, the wrong ones after the right ones."""
    subjects = (*KERNELS, *PIPELINES)
    wrong = [
        KernelCase(subject, name.removeprefix(f"{subject.name}_")) for subject in subjects for name in subject.mutants()
    ]
    return [*(KernelCase(subject) for subject in subjects), *wrong]
