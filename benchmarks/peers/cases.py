"""Make cases for the checkers: the functions of the zoo and their mutants, with inputs."""

from __future__ import annotations

import hashlib
import math
import re
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from support.zoo_functions import CLASS_OF, RIGHT
from support.zoo_mutants import all_mutants

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.zoo_animals import Animal

Values = TypeVar("Values")
STRUCTS = {
    "Lamp": {"at": "float3", "power": "float", "kind": "int"},
    "Room": {"lamp": "Lamp", "weights": "sa.Array[float, 3]", "gain": "NoDiff[float]"},
    "Lobe": {"sharp": "float", "weight": "float"},
}
"""The fields of the zoo's structs."""
DECLARED = "its declared derivative is not the function's; the checker has no way to declare that"


class InexpressibleError(Exception):
    """A framework can't express the function, or not by machine; the message has the reason."""


@dataclass(frozen=True)
class Leaf:
    """One array of inputs: a parameter or a field of one."""

    path: str
    shape: tuple[int, ...]
    scalar: str
    passive: bool = False

    @property
    def active(self) -> bool:
        """Whether it has a gradient."""
        return self.scalar == "float" and not self.passive


@dataclass(frozen=True)
class Case:
    """A function to check: right if ``kind`` is empty."""

    animal: Animal
    kind: str = ""

    family = "functions"

    @property
    def name(self) -> str:
        """Its name in the zoo."""
        return f"{self.animal.name}_{self.kind}" if self.kind else self.animal.name

    @property
    def key(self) -> str:
        """Its name, unlike that of any kernel."""
        return self.name

    @property
    def made_from(self) -> str:
        """The key of the right one."""
        return self.animal.name

    @property
    def of_class(self) -> str:
        """What makes the right one hard."""
        return CLASS_OF[self.animal.name]

    @property
    def group(self) -> str:
        """The class of a right one, the mutation of a wrong one."""
        return self.kind.split("_")[0] if self.kind else self.of_class

    @cached_property
    def leaves(self) -> list[Leaf]:
        """Its inputs as arrays."""
        return [leaf for name, type_ in self.animal.types.items() for leaf in leaves(name, type_)]

    def shows(self, count: int, seed: int) -> bool:
        """Whether what is wrong in one branch only is reached by one of the inputs."""
        place = [leaf.path for leaf in self.leaves].index(self.kind.partition("_")[2])
        return any(values[place] > edge(self) for values in self.inputs(count, seed))

    def refuse(self) -> None:
        """Raise if no framework of numbers of one type can say it.

        Raises:
            InexpressibleError: With the reason.
        """
        if "derivative=" in self.animal.options or "no_diff" in self.animal.body:
            raise InexpressibleError(DECLARED)
        if any(word in self.animal.params for word in ("half", "double")):
            raise InexpressibleError("it is not float32")

    def inputs(self, count: int, seed: int) -> list[list[np.ndarray]]:
        """Random inputs in the ranges the zoo declares, the same for every checker."""
        rng = generator(self.animal.name, seed)
        return [[self._drawn(leaf, rng) for leaf in self.leaves] for _ in range(count)]

    def _drawn(self, leaf: Leaf, rng: np.random.Generator) -> np.ndarray:
        if leaf.scalar == "bool":
            return rng.integers(0, 2, leaf.shape).astype(bool)
        if leaf.scalar == "int":
            low, high = self.animal.ranges.get(leaf.path, (0, 3))
            return rng.integers(int(low), int(high) + 1, leaf.shape)
        low, high = self.animal.ranges.get(leaf.path, (-1.0, 1.0))
        drawn = rng.uniform(low, high, leaf.shape).astype(np.float32)
        for place, letter in enumerate("xyzw"):
            if f"{leaf.path}.{letter}" in self.animal.ranges:
                drawn[place] = rng.uniform(*self.animal.ranges[f"{leaf.path}.{letter}"])
        return drawn


def generator(name: str, seed: int) -> np.random.Generator:
    """Return the random generator for one right function and its mutants."""
    return np.random.default_rng(int.from_bytes(hashlib.sha256(f"{name} {seed}".encode()).digest()[:8], "little"))


def weights(shape: tuple[int, ...], k: int) -> np.ndarray:
    """Return the weights of the entries of result ``k`` for the comparison of gradients; all differ."""
    return (1.0 + 0.1 * k + 0.05 * np.arange(math.prod(shape), dtype=np.float64)).reshape(shape)


def until_refused(check: Callable[[Values], bool], samples: list[Values]) -> list[bool]:
    """Return the checker's answer for each input, up to the first refusal."""
    accepted: list[bool] = []
    for values in samples:
        accepted.append(check(values))
        if not accepted[-1]:
            break
    return accepted


def leaves(path: str, type_: str, *, passive: bool = False) -> Iterator[Leaf]:
    """Return the arrays that represent a value of a type."""
    if found := re.fullmatch(r"NoDiff\[(.*)\]", type_):
        yield from leaves(path, found[1], passive=True)
    elif found := re.fullmatch(r"sa\.Array\[(.*), (\d+)\]", type_):
        inner = list(leaves(path, found[1], passive=passive))
        if found[1] in STRUCTS:
            yield from (
                leaf for k in range(int(found[2])) for leaf in leaves(f"{path}[{k}]", found[1], passive=passive)
            )
        else:
            yield Leaf(path, (int(found[2]), *inner[0].shape), "float", passive)
    elif type_ in STRUCTS:
        for name, field in STRUCTS[type_].items():
            yield from leaves(f"{path}.{name}", field, passive=passive)
    elif found := re.fullmatch(r"float(\d)?(?:x(\d))?", type_):
        yield Leaf(path, tuple(int(size) for size in found.groups() if size), "float", passive)
    elif type_ in ("int", "bool"):
        yield Leaf(path, (), type_)
    else:
        raise InexpressibleError(f"a {type_} among its inputs")


def factor(case: Case, values: dict[str, np.ndarray]) -> tuple[str, object]:
    """Return the input and the factor of a mutant that scales one gradient: a number, or one per entry."""
    word, _, name = case.kind.partition("_")
    plain = {"sign": -1.0, "thousandth": 1.001, "double": 2.0, "missing": 0.0, "extra": 1.5}
    if word in plain:
        return name, plain[word]
    if word == "branch":
        return name, 1.25 if values[name] > edge(case) else 1.0
    if word == "integer":
        whole = next(n for n, t in case.animal.types.items() if t == "int")
        return name, 1.5 if values[whole] == 2 else 1.0
    return name, mask(case)


def edge(case: Case) -> float:
    """Return where the wrong branch begins."""
    name = case.kind.partition("_")[2]
    low, high = case.animal.ranges.get(name, (-1.0, 1.0))
    return low + 0.8 * (high - low)


def step_away(case: Case) -> float:
    """Return the distance at which a stale derivative is taken."""
    low, high = case.animal.ranges.get(case.kind.partition("_")[2], (-1.0, 1.0))
    return 0.02 * (high - low)


def mask(case: Case) -> np.ndarray:
    """Return the factors of the entries for a mutant with one wrong index."""
    word, _, name = case.kind.partition("_")
    shape = next(leaf.shape for leaf in case.leaves if leaf.path == name)
    factors = np.ones(shape, np.float32)
    if word == "forgotten":
        factors[1] = 0.0
    elif "Array" in case.animal.types[name]:
        factors[2] = 1.01
    else:
        factors[(1, 0) if len(shape) == 2 else -1] = 1.01
    return factors


def function_cases(every: int) -> list[Case]:
    """Return all right functions, and every n-th wrong one; mutants of custom derivatives are all included."""
    wrong = [Case(mutant.animal, mutant.kind) for mutant in all_mutants()]
    own = [case for case in wrong if case.kind.startswith("own_")]
    rest = [case for case in wrong if not case.kind.startswith("own_")]
    return [*(Case(animal) for animal in RIGHT), *own, *rest[::every]]
