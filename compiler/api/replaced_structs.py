"""Refuse structs whose class was defined again after the kernel, as by a notebook's cell that ran again."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from slangad.compiler.errors.diagnostics import CompileError, Diagnostic
from slangad.compiler.lang.decorators.struct import described_struct
from slangad.compiler.runtime.arrays.prepare import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slangad.compiler.lang.decorators.struct import DescribedStruct


def refuse_replaced_structs(name: str, structs: Mapping[str, type], arguments: Mapping[str, object]) -> None:
    """Refuse objects of another class than the kernel's of that name, unless both have the same text.

    Args:
        name: The kernel's name.
        structs: The struct classes by parameter.
        arguments: The arguments by parameter.

    Raises:
        InputError: With all of them.
    """
    problems = [
        Diagnostic(
            "SA413",
            f"{parameter} is of a class {cls.__name__} that was defined after {name}",
            help=f"define {name} again too, by its cell in a notebook: it has the earlier {cls.__name__}",
        )
        for parameter, cls in structs.items()
        if _is_replaced(cls, type(arguments.get(parameter)))
    ]
    if problems:
        raise InputError(problems)


def _is_replaced(cls: type, given: type) -> bool:
    """Return True for another struct class of the same name and place with another text."""
    if given is cls or (given.__module__, given.__qualname__) != (cls.__module__, cls.__qualname__):
        return False
    earlier, later = described_struct(cls), described_struct(given)
    return earlier is not None and later is not None and _text(earlier) != _text(later)


def _text(struct: DescribedStruct) -> str:
    """Return the syntax of a class; nothing if its text is not known."""
    try:
        return ast.dump(struct.definition.tree)
    except CompileError:
        return ""
