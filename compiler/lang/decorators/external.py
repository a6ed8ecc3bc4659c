"""``sa.extern``: a function in a Slang file, declared with a signature as text.

``sa.extern("f", "f.slang", "(x: float, k: no_diff float) -> float")`` is an ``ExternalFunction``. Its types resolve in
the describing file. In Python execution ``python=`` runs in its place.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from slangad.compiler.lang.decorators.frames import DecoratorLocation, caller
from slangad.compiler.lang.decorators.resolve import resolve
from slangad.compiler.lang.errors import AnnotationError, Argument, ArgumentError, DescriptionError
from slangad.compiler.lang.types.annotations import ir_type, memory_annotation

if TYPE_CHECKING:
    from collections.abc import Callable

    from slangad.compiler.ir.types import Type

NAME: Final = Argument("name", callee="extern", position=0)
FILE: Final = Argument("file", callee="extern", position=1)
SIGNATURE: Final = Argument("signature", callee="extern", position=2)


@dataclass(frozen=True, slots=True)
class ExternalParameter:
    """A parameter of a function in Slang."""

    name: str
    type: Type
    no_diff: bool


@dataclass(frozen=True, slots=True)
class ExternalFunction:
    """A function in a Slang file.

    Attributes:
        name: Its name there.
        file: The path as written, relative to the describing file.
        signature: The signature as written.
        differentiable: True if Slang can differentiate it.
        python: Its replacement in Python execution, if any.
        location: The location of the declaration.
    """

    name: str
    file: str
    signature: str
    differentiable: bool
    python: Callable[..., object] | None
    location: DecoratorLocation = field(repr=False)

    @property
    def path(self) -> Path:
        """The Slang file."""
        return Path(self.location.file).parent / self.file

    def parameters(self) -> tuple[ExternalParameter, ...]:
        """Return the parameters in order.

        Raises:
            AnnotationError: when one names no type.
        """
        return tuple(self._parameter(name, text) for name, text in _parse(self)[0])

    def result(self) -> Type:
        """Return the type of the result.

        Raises:
            AnnotationError: when it names no type.
        """
        return ir_type(resolve(_parse(self)[1], self.location.globals, self.location.locals, "return"))

    def _parameter(self, name: str, text: str) -> ExternalParameter:
        words = text.split(maxsplit=1)
        no_diff = words[0] == "no_diff"
        annotation = resolve(words[1] if no_diff else text, _names(self.location), self.location.locals, name)
        memory = memory_annotation(annotation)
        try:
            return ExternalParameter(name, ir_type(memory.value), no_diff or memory.no_diff)
        except AnnotationError as error:
            raise AnnotationError(error.message, error.help, name) from None

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Run the replacement.

        Raises:
            DescriptionError: when there is none.
        """
        if self.python is None:
            raise DescriptionError(f"{self.name} is written in Slang", "give sa.extern(…, python=f) to run it")
        return self.python(*args, **kwargs)


def _names(location: DecoratorLocation) -> dict[str, object]:
    from slangad.compiler.lang.types import matrices, scalars, vectors

    known = {name: getattr(module, name) for module in (scalars, vectors, matrices) for name in module.__all__}
    return {**known, **location.globals}


def _parse(extern: ExternalFunction) -> tuple[list[tuple[str, str]], str]:
    """Return the names and type texts of a signature and the text of its result."""
    text = extern.signature.strip()
    head, arrow, result = text.rpartition("->")
    head = head.strip() if arrow else text
    if not (head.startswith("(") and head.endswith(")")):
        message = f"the signature of {extern.name} is {text!r}"
        raise ArgumentError(SIGNATURE, message, 'write "(x: float) -> float"')
    parameters = []
    for part in _split(head[1:-1]):
        name, colon, type_text = part.partition(":")
        if not colon or not name.strip().isidentifier() or not type_text.strip():
            message = f"{part.strip()!r} in the signature of {extern.name} is no parameter"
            raise ArgumentError(SIGNATURE, message, "x: float")
        parameters.append((name.strip(), type_text.strip()))
    return parameters, result.strip() if arrow else "None"


def _split(text: str) -> list[str]:
    parts, depth = [""], 0
    for character in text:
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [p for p in parts if p.strip()]


def extern(
    name: str,
    file: str,
    signature: str,
    *,
    differentiable: bool = False,
    python: Callable[..., object] | None = None,
) -> ExternalFunction:
    """Declare a function of a Slang file.

    Args:
        name: Its name there.
        file: The Slang file, relative to the describing file.
        signature: ``"(x: float, k: no_diff float) -> float"``.
        differentiable: True if it is ``[Differentiable]`` or has custom derivatives.
        python: Its replacement in Python execution.

    Raises:
        DescriptionError: when the signature can't be read.
    """
    if not name.isidentifier() or not file.endswith(".slang"):
        message, help_ = "sa.extern needs a name and a .slang file", 'sa.extern("ggx", "bsdf.slang", "(…) -> …")'
        raise ArgumentError(FILE if name.isidentifier() else NAME, message, help_)
    made = ExternalFunction(name, file, signature, differentiable, python, caller(1))
    for _, text in _parse(made)[0]:
        _check_type_text(name, text)
    return made


def _check_type_text(name: str, text: str) -> None:
    try:
        ast.parse(text.removeprefix("no_diff").strip(), mode="eval")
    except SyntaxError:
        message = f"{text!r} in the signature of {name} is no type"
        raise ArgumentError(SIGNATURE, message, "x: float") from None


__all__ = ["ExternalFunction", "extern"]
