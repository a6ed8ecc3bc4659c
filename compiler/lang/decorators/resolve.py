"""The objects that annotations of functions and classes name, postponed ones included."""

from __future__ import annotations

from collections import ChainMap
from contextlib import suppress
from typing import TYPE_CHECKING

from slangad.compiler.lang.errors import AnnotationError, UndefinedNameError
from slangad.compiler.lang.other_names import other_name

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import FunctionType


def closure_of(function: FunctionType) -> dict[str, object]:
    """Return the free variables of a function that have a value."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    result: dict[str, object] = {}
    for name, cell in cells:
        with suppress(ValueError):
            result[name] = cell.cell_contents
    return result


def scope_of(function: FunctionType, surroundings: Mapping[str, object], owner: type | None) -> Mapping[str, object]:
    """Return the names that a function's annotations can use besides its globals."""
    scope: dict[str, object] = {owner.__name__: owner} if owner is not None else {}
    return ChainMap(closure_of(function), scope, dict(surroundings))


def resolve(annotation: object, module: dict[str, object], names: Mapping[str, object], parameter: str = "") -> object:
    """Return the object that an annotation names; only postponed ones (strings) are evaluated.

    Raises:
        AnnotationError: if it can't be evaluated, with ``parameter``.
    """
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, module, names)  # noqa: S307  (the user's own annotation)
    except NameError as error:
        name = error.name or annotation
        known = [*names, *module, "float", "int", "bool", "tuple"]
        raise UndefinedNameError(
            name, f"unknown name '{name}'", _like(name, known) or other_name(name), parameter
        ) from None
    except AttributeError as error:
        owner = getattr(error.obj, "__name__", annotation)
        name = error.name or annotation
        near = other_name(name) if owner == "slangad" else ""
        near = near or _like(name, dir(error.obj))
        raise UndefinedNameError(name, f"'{owner}' has no '{name}'", near, parameter) from None
    except AnnotationError as error:
        raise AnnotationError(error.message, error.help, parameter) from None
    except Exception as error:  # whatever the user's annotation raises
        raise AnnotationError(f"the annotation {annotation!r} can't be evaluated: {error}", "", parameter) from error


def _like(name: str, known: list[str]) -> str:
    import difflib

    close = difflib.get_close_matches(name, known, n=1, cutoff=0.72)
    return f"did you mean '{close[0]}'?" if close else ""


def annotations_of(
    function: FunctionType, surroundings: Mapping[str, object], owner: type | None = None
) -> dict[str, object]:
    """Return every annotation of a function, ``return`` included, as objects.

    Raises:
        AnnotationError: for the first one that can't be evaluated, with its parameter.
    """
    names = scope_of(function, surroundings, owner)
    raw = function.__annotations__
    return {parameter: resolve(a, function.__globals__, names, parameter) for parameter, a in raw.items()}
