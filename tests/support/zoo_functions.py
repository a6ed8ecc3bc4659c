"""Functions whose gradients are right, as a table: ``slangad check`` must not accuse them, mutants are made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support import zoo_own, zoo_scalars, zoo_shapes

if TYPE_CHECKING:
    from support.zoo_animals import Animal

CLASSES: dict[str, tuple[Animal, ...]] = {
    "intrinsics": zoo_scalars.INTRINSICS,
    "flat": zoo_scalars.FLAT,
    "kinks": zoo_scalars.KINKS,
    "jumps": zoo_scalars.JUMPS,
    "scales": zoo_scalars.SCALES,
    "cancellation": zoo_scalars.CANCELLATION,
    "compositions": zoo_scalars.COMPOSITIONS,
    "vectors and matrices": zoo_shapes.MATRICES,
    "loops": zoo_shapes.LOOPS,
    "branches": zoo_shapes.BRANCHES,
    "arrays": zoo_shapes.ARRAYS,
    "structs": zoo_shapes.STRUCTS,
    "custom derivatives": zoo_own.OWN,
    "policies": zoo_own.POLICIES,
}
"""Right functions by what makes them hard."""

RIGHT = tuple(animal for animals in CLASSES.values() for animal in animals)
CLASS_OF = {animal.name: name for name, animals in CLASSES.items() for animal in animals}
