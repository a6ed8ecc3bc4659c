"""Print additions of a value, scalar by scalar, to a thread's array of sums."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from slangad.compiler.emit.memory.buffers import components_of
from slangad.compiler.ir import types

if TYPE_CHECKING:
    from collections.abc import Callable

    from slangad.compiler.emit.text.writer import Writer

_WIDENED: Final = {"half": "float({})", "int": "uint({})"}
"""The conversion of a scalar to the type of its sum, if that differs."""


def print_addition(
    writer: Writer, target: tuple[str, str], place: str, type_: types.Type, value: str, local: Callable[[str], str]
) -> None:
    """Print the addition of a value to an array of sums.

    Args:
        writer: Takes the text.
        target: The array of sums, and the text after the index in it.
        place: The number of the first sum, as terms with ``+`` between them.
        type_: The value's type.
        value: The value.
        local: Gives a loop counter its name.
    """
    match type_:
        case types.Scalar(name):
            sums, rest = target
            writer.line(f"{sums}[{_folded(place)}]{rest} += {_WIDENED.get(name, '{}').format(value)};")
        case types.Vector(element, size):
            for k in range(size):
                print_addition(writer, target, f"{place} + {k}", element, f"{value}.{'xyzw'[k]}", local)
        case types.Matrix(element, rows, columns):
            for row in range(rows):
                for column in range(columns):
                    offset = f"{place} + {row * columns + column}"
                    print_addition(writer, target, offset, element, f"{value}[{row}][{column}]", local)
        case types.Array(element, size):
            counter = local(f"n{value.count('[')}")
            step = components_of(element)
            inner = f"{place} + {step} * {counter}" if step > 1 else f"{place} + {counter}"
            writer.line("[ForceUnroll]")
            writer.line(f"for (uint {counter} = 0; {counter} < {size}; ++{counter})")
            with writer.block():
                print_addition(writer, target, inner, element, f"{value}[{counter}]", local)
        case _:
            raise TypeError(f"{types.show(type_)} has no scalars in one buffer")


def _folded(place: str) -> str:
    """Return ``4 + 2`` as ``6``, ``4 + 3 * n + 2`` as ``6 + 3 * n``, without zeros."""
    words = place.split(" + ")
    constant = sum(int(word) for word in words if word.isdecimal())
    rest = [word for word in words if not word.isdecimal()]
    return " + ".join([*([str(constant)] if constant or not rest else []), *rest])
