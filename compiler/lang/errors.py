"""What the words users import raise: a wrong description, a wrong annotation, a loop past its bound.

``DescriptionError`` is turned into a diagnostic at the user's line by whoever loads the file. ``TypeRuleError`` is how
a row of the intrinsics table refuses argument types; front ends report it at the argument.
"""

from __future__ import annotations

from dataclasses import dataclass


class DescriptionError(Exception):
    """A decorator, policy or type was used wrongly; ``help`` says what to write instead."""

    def __init__(self, message: str, help: str = "") -> None:  # noqa: A002  (named as in Diagnostic)
        self.message = message
        self.help = help
        super().__init__(f"{message} ({help})" if help else message)


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument in a call of what users import.

    Attributes:
        name: Its keyword.
        unknown: Whether there is no such keyword: then that is at fault, not the value.
        callee: Whose argument it is, where it may come without its keyword.
        position: The place it has there.
    """

    name: str
    unknown: bool = False
    callee: str = ""
    position: int | None = None


class ArgumentError(DescriptionError):
    """An argument makes no sense."""

    def __init__(self, argument: Argument, message: str, help: str = "") -> None:  # noqa: A002  (as above)
        super().__init__(message, help)
        self.argument = argument


class AnnotationError(DescriptionError):
    """An annotation names no type slangad knows; ``parameter`` is whose it is, ``return`` for the result."""

    def __init__(self, message: str, help: str = "", parameter: str = "") -> None:  # noqa: A002  (as above)
        super().__init__(message, help)
        self.parameter = parameter


class UnknownNameError(AnnotationError):
    """An annotation uses a ``name`` that is not defined."""

    def __init__(self, name: str, message: str, help: str = "", parameter: str = "") -> None:  # noqa: A002  (as above)
        super().__init__(message, help, parameter)
        self.name = name


class FieldError(AnnotationError):
    """A field of a struct has an annotation that names no type.

    Attributes:
        struct: The record of the struct.
        error: What is wrong with the annotation.
    """

    def __init__(self, struct: object, field: str, error: AnnotationError) -> None:
        super().__init__(error.message, error.help, field)
        self.struct = struct
        self.error = error


class TypeRuleError(Exception):
    """Argument types an intrinsic refuses; ``argument`` is the index of the one at fault, None for their number."""

    def __init__(self, argument: int | None, message: str, help: str = "") -> None:  # noqa: A002  (as above)
        self.argument = argument
        self.message = message
        self.help = help
        super().__init__(f"{message} ({help})" if help else message)


class LoopBoundExceeded(RuntimeError):  # noqa: N818  (reads as what happened: sa.LoopBoundExceeded)
    """A loop ran past the bound given by ``sa.range(…, max_iters=)`` or ``sa.max_iters``, in Python execution."""
