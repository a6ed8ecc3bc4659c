"""Write the intrinsics for type checkers: one typed function per row of the table.

``pytest tests/test_tables.py --update`` writes the text into ``compiler/lang/types/intrinsic_functions.py``, and the
names into ``compiler/lang/public.py``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from slangad.compiler.lang.intrinsics import INTRINSICS
from slangad.compiler.lang.intrinsics.rules import floating, number

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slangad.compiler.lang.intrinsics.model import IntrinsicRow, Rule

BEGIN: Final = "    # typed functions: generated from the table of intrinsics\n"
"""The line before the generated functions."""
END: Final = "else:\n"
"""The line after them."""

_ONE_TYPE: Final[dict[Rule, str]] = {floating: "_F", number: "_N"}
"""Rules by which all arguments and the result have one type, and the type variable of that type."""


def public_rows() -> dict[str, IntrinsicRow]:
    """Return the rows that users call as ``sa.name``, in the order of the table."""
    return {name: row for name, row in INTRINSICS.items() if not row.cast_of}


def typed_functions() -> str:
    """Return a function with types and without a body for each row, indented."""
    return "".join(f"    def {name}{_signature(row)}: ...\n" for name, row in public_rows().items())


def typed_names(names: Iterable[str]) -> str:
    """Return the assignment of ``__all__``, which type checkers read, in a stable order."""
    lines = "".join(f'    "{name}",\n' for name in sorted(names, key=_natural))
    return f"__all__ = [\n{lines}]\n"


def _signature(row: IntrinsicRow) -> str:
    """Return parameters and result. A number may replace every argument except the first, which gives the type."""
    type_ = _ONE_TYPE.get(row.types)
    if row.typed or type_ is None:
        return row.typed or f"({', '.join(f'{name}: object' for name in row.params)}) -> Any"
    first, *others = row.params
    more = [f"*more: {type_} | float"] if row.variadic else []
    return f"({', '.join([f'{first}: {type_}', *(f'{n}: {type_} | float' for n in others), *more])}) -> {type_}"


def _natural(name: str) -> tuple[int, list[tuple[str, int]]]:
    """Return a key that sorts constants, classes, then functions, and ``log2`` before ``log10``."""
    kind = 0 if name.isupper() else 1 if name[0].isupper() else 2
    return kind, [(word, int(digits or 0)) for word, digits in re.findall(r"(\D+)(\d*)", name)]
