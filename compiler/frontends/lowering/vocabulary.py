"""The meaning of the words of ``sa`` and of Python's functions in a described function, by identity of the objects."""

from __future__ import annotations

import builtins
import math
from functools import lru_cache
from types import ModuleType
from typing import Final

from slangad.compiler.frontends.lowering.entities import (
    ArrayEntity,
    Entity,
    FormEntity,
    IntrinsicEntity,
    RefusedEntity,
    TypeEntity,
)
from slangad.compiler.ir.types import BOOL, FLOAT, INT
from slangad.compiler.lang.decorators.groups import GROUP_OPERATIONS
from slangad.compiler.lang.errors import AnnotationError
from slangad.compiler.lang.intrinsics import INTRINSICS, python_equivalents
from slangad.compiler.lang.other_names import other_name
from slangad.compiler.lang.types.annotations import ir_type

_SA_FORMS: Final = (
    "no_diff", "bwd_diff", "fwd_diff", "diff_pair", "zeros", "copy", "max_iters", "thread_id", "thread_count",
    "static_assert", "probe", "Shared", "barrier", "group_range", *GROUP_OPERATIONS,
)  # fmt: skip
_BUILTIN_FORMS: Final[dict[object, str]] = {
    builtins.range: "range", builtins.len: "len", builtins.enumerate: "enumerate", builtins.zip: "zip",
    builtins.reversed: "reversed",
}  # fmt: skip
_BUILTIN_TYPES: Final = {builtins.float: FLOAT, builtins.int: INT, builtins.bool: BOOL}


@lru_cache(maxsize=1)
def _known() -> dict[int, Entity]:
    from slangad.compiler.lang import public

    known: dict[int, Entity] = {id(o): IntrinsicEntity(INTRINSICS[name]) for o, name in python_equivalents.items()}
    known.update({id(o): FormEntity(name) for o, name in _BUILTIN_FORMS.items()})
    known.update({id(o): TypeEntity(t) for o, t in _BUILTIN_TYPES.items()})
    for name in public.__all__:
        entity = _public_entity(name, getattr(public, name))
        if entity is not None:
            known[id(getattr(public, name))] = entity
    return known


def _public_entity(name: str, value: object) -> Entity | None:
    if name in INTRINSICS:
        return IntrinsicEntity(INTRINSICS[name])
    if name in _SA_FORMS:
        return FormEntity(name)
    if name == "range":
        return FormEntity("sa_range")
    if name == "Array":
        return ArrayEntity()
    if name == "bin":
        return RefusedEntity(
            "'sa.bin' is a stage of a pipeline", "call it in a @sa.pipeline, and pass its lists to a kernel"
        )
    try:
        return TypeEntity(ir_type(value))
    except AnnotationError:
        return None


def meaning_of(value: object) -> Entity | None:
    """Return the meaning of an object of slangad or Python; None for the user's objects."""
    return _known().get(id(value))


def builtin_names() -> list[str]:
    """Return the builtin names that described functions may use."""
    return [n for n in dir(builtins) if id(getattr(builtins, n)) in _known()]


def public_words() -> dict[str, Entity]:
    """Return every word of ``sa`` by name."""
    from slangad.compiler.lang import public

    words = {name: meaning_of(getattr(public, name)) for name in public.__all__}
    return {name: entity for name, entity in words.items() if entity is not None}


def public_name(name: str) -> str:
    """Return the help for a name without ``sa.`` that ``sa`` has, or that is known elsewhere; empty for others."""
    from slangad.compiler.lang import public

    return f"write sa.{name}" if name in public.__all__ else other_name(name)


def refusal(value: object) -> RefusedEntity | None:
    """Return a specific reason why an object of Python or a library can't be used, None if there is none."""
    module = getattr(value, "__module__", "") or ""
    name = getattr(value, "__name__", type(value).__name__)
    if isinstance(value, ModuleType):
        return None
    if module.partition(".")[0] == "numpy" and callable(value):
        near = f"sa.{name}" if name in INTRINSICS else _NUMPY.get(name, "an intrinsic of slangad")
        return RefusedEntity(f"numpy's {name} can't be used in a described function", f"write {near}")
    if any(getattr(module, name, module) is value for module in (builtins, math)):
        return RefusedEntity(f"'{name}' can't be used in a described function", _instead(name))
    if isinstance(value, type):
        if module.partition(".")[0] == "slangad":
            return RefusedEntity(f"'{name}' is for annotations")
        return RefusedEntity(f"class {name} is not described", "decorate it with @sa.struct, or use a module constant")
    return None


_NUMPY: Final = {
    "array": "float3(…) or Array[float, 4](…)",
    "linalg.norm": "sa.length",
    "norm": "sa.length",
    "float32": "float(…)",
    "float64": "sa.double(…)",
    "float16": "sa.half(…)",
    "int32": "int(…)",
    "uint32": "sa.uint(…)",
    "clip": "sa.clamp",
    "maximum": "max",
    "minimum": "min",
    "where": "sa.select, or … if … else …",
    "matmul": "sa.mul",
    "arctan2": "sa.atan2",
    "zeros": "sa.zeros(T)",
}


def _instead(name: str) -> str:
    return {
        "print": "call the function in Python and print its result",
        "isinstance": "types are known when the file is loaded",
        "list": "write Array[float, 4](…)",
        "tuple": "write the values with commas",
        "sorted": "write the comparisons out",
        "divmod": "write // and %",
        "map": "write a loop",
        "filter": "write a loop",
        "str": "values are numbers, vectors, arrays and structs",
    }.get(name, "")


def constant_text(value: object) -> str:
    """Return a constant's value for the manifest."""
    text = repr(value)
    return text if len(text) <= 200 else text[:197] + "..."
