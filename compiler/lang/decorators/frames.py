"""The location of a decorator: the file, the line, and the names local to the surrounding function or class.

Postponed annotations inside factories need those names. The names also distinguish the types of one factory.
"""

from __future__ import annotations

import inspect
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import CodeType, FrameType


@dataclass(frozen=True, slots=True)
class DecoratorLocation:
    """The surroundings of a definition.

    Attributes:
        file: Path of the file, as its code objects have it.
        line: The line running when the decorator was applied.
        locals: Names of the enclosing function and class bodies at that moment; empty at module level.
        factory: The code of the enclosing function, None at module level.
        globals: The module's names, live.
        in_class: True if the definition is in a class body.
    """

    file: str
    line: int
    locals: Mapping[str, object] = field(default_factory=dict, repr=False)
    factory: CodeType | None = field(default=None, repr=False)
    globals: dict[str, object] = field(default_factory=dict, repr=False)
    in_class: bool = False


def caller(depth: int) -> DecoratorLocation:
    """Return the location in the frame ``depth`` calls above the caller's."""
    frame: FrameType | None = sys._getframe(depth + 1)
    assert frame is not None  # noqa: S101  (there is a caller)
    file, line, module = frame.f_code.co_filename, frame.f_lineno, frame.f_globals
    names: dict[str, object] = {}
    in_class = _is_class_body(frame)
    while frame is not None and _is_class_body(frame):
        names = {**frame.f_locals, **names}
        frame = frame.f_back
    if frame is None or not _is_function(frame):
        return DecoratorLocation(file, line, names, None, module, in_class)
    return DecoratorLocation(file, line, {**frame.f_locals, **names}, frame.f_code, module, in_class)


def _is_function(frame: FrameType) -> bool:
    return bool(frame.f_code.co_flags & inspect.CO_OPTIMIZED)


def _is_class_body(frame: FrameType) -> bool:
    return not _is_function(frame) and frame.f_locals is not frame.f_globals and "__qualname__" in frame.f_locals
