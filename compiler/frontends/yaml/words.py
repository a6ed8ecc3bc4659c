"""The meanings of names of the language in a body: words of ``sa``, Python's own, ``math``.

If both have a word, a bare name has Python's meaning: ``round`` returns an int, ``sa.round`` a float. One exception:
``range`` takes the options of ``sa.range`` too.
"""

from __future__ import annotations

import builtins
import math
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from slangad.compiler.frontends.lowering.entities import Entity, FormEntity, NamespaceEntity, TypeEntity, ValueEntity
from slangad.compiler.frontends.lowering.vocabulary import builtin_names, meaning_of, public_words, refusal

if TYPE_CHECKING:
    from slangad.compiler.ir.types import Type

NETWORKS: Final = NamespaceEntity("sa.nn", "sa.nn")
"""``sa.nn``, whose functions are looked up in ``networks``."""
_NAMESPACES: Final = {"sa": NamespaceEntity("sa", "sa"), "math": NamespaceEntity(math, "math"), "nn": NETWORKS}


@lru_cache(maxsize=1)
def words() -> dict[str, Entity]:
    """Return every bare name with a meaning."""
    builtins_ = {name: meaning_of(getattr(builtins, name)) for name in builtin_names()}
    known = {name: entity for name, entity in builtins_.items() if entity is not None}
    return {**_NAMESPACES, **_sa(), **known, "range": FormEntity("sa_range")}


@lru_cache(maxsize=1)
def _sa() -> dict[str, Entity]:
    return public_words()


@lru_cache(maxsize=1)
def types() -> dict[str, Type]:
    """Return every name of a type of the language."""
    return {name: entity.type for name, entity in words().items() if isinstance(entity, TypeEntity)}


def refused_builtin(name: str) -> Entity | None:
    """Return the reason why a function of Python can't be used; None for other names."""
    return refusal(getattr(builtins, name)) if hasattr(builtins, name) else None


def attribute(namespace: NamespaceEntity, name: str) -> Entity | None:
    """Return the meaning of ``sa.name`` or ``math.name``."""
    if namespace.name == "sa":
        return NETWORKS if name == "nn" else _sa().get(name)
    value = getattr(math, name, None)
    if isinstance(value, float):
        return ValueEntity(value)
    return None if value is None else meaning_of(value) or refusal(value)


def attribute_names(namespace: NamespaceEntity) -> list[str]:
    """Return the names of a namespace."""
    return [*_sa(), "nn"] if namespace.name == "sa" else [n for n in dir(math) if not n.startswith("_")]
