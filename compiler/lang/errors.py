"""The exceptions of the words users import: a wrong description, a wrong annotation, a loop past its bound.

A front end turns a ``DescriptionError`` into a diagnostic at the user's line. A row of the intrinsics table raises
``TypeRuleError`` for argument types; front ends report it at the argument.
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
    """An argument in a call of a word of ``sa``.

    Attributes:
        name: Its keyword.
        unknown: True if there is no such keyword; then the keyword is wrong and not the value.
        callee: The called function, if the argument may come without its keyword.
        position: Its index among the arguments.
    """

    name: str
    unknown: bool = False
    callee: str = ""
    position: int | None = None


class ArgumentError(DescriptionError):
    """An argument has a wrong value."""

    def __init__(self, argument: Argument, message: str, help: str = "") -> None:  # noqa: A002  (as above)
        super().__init__(message, help)
        self.argument = argument


class AnnotationError(DescriptionError):
    """An annotation names no known type; ``parameter`` is its parameter, ``return`` for the result."""

    def __init__(self, message: str, help: str = "", parameter: str = "") -> None:  # noqa: A002  (as above)
        super().__init__(message, help)
        self.parameter = parameter


class UndefinedNameError(AnnotationError):
    """An annotation uses a ``name`` that is not defined."""

    def __init__(self, name: str, message: str, help: str = "", parameter: str = "") -> None:  # noqa: A002  (as above)
        super().__init__(message, help, parameter)
        self.name = name


class FieldError(AnnotationError):
    """A field of a struct has an annotation that names no type.

    Attributes:
        struct: The record of the struct.
        error: The error of the annotation.
    """

    def __init__(self, struct: object, field: str, error: AnnotationError) -> None:
        super().__init__(error.message, error.help, field)
        self.struct = struct
        self.error = error


class TypeRuleError(Exception):
    """Wrong argument types of an intrinsic; ``argument`` is the index of the wrong one, None for a wrong number."""

    def __init__(self, argument: int | None, message: str, help: str = "") -> None:  # noqa: A002  (as above)
        self.argument = argument
        self.message = message
        self.help = help
        super().__init__(f"{message} ({help})" if help else message)


class LoopBoundExceeded(RuntimeError):  # noqa: N818  (reads as what happened: sa.LoopBoundExceeded)
    """A loop ran past the bound given by ``sa.range(…, max_iters=)`` or ``sa.max_iters``, in Python execution."""
