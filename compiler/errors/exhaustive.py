"""``assert_never`` for every supported Python: ``typing`` has it from 3.11 on."""

from __future__ import annotations

import sys

if sys.version_info >= (3, 11):
    from typing import assert_never
else:
    from typing import NoReturn

    def assert_never(value: NoReturn, /) -> NoReturn:
        """Make the type checker prove that a ``match`` is exhaustive. Only a defect of slangad calls this."""
        raise AssertionError(f"not handled: {value!r}")


__all__ = ["assert_never"]
