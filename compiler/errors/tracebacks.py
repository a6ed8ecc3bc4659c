"""Show users their own lines of a traceback: leave out slangad's frames."""

from __future__ import annotations

import os
import sys
from types import TracebackType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    Hook = Callable[[type[BaseException], BaseException, TracebackType | None], object]

_INTERNAL: Final = ("slangad.compiler", "IPython")
"""The beginnings of modules whose frames are hidden."""
_INSTALLED: Final[list[Hook]] = []


def users_frames(trace: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the frames of slangad and IPython."""
    kept = []
    while trace is not None:
        if not str(trace.tb_frame.f_globals.get("__name__", "")).startswith(_INTERNAL):
            kept.append(trace)
        trace = trace.tb_next
    shown: TracebackType | None = None
    for one in reversed(kept):
        shown = TracebackType(shown, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return shown


def _trim(error: BaseException | None, kinds: tuple[type[BaseException], ...]) -> None:
    """Let errors of some kinds, and those among the causes of an error, have the user's frames alone."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if isinstance(error, kinds):
            error.__traceback__ = users_frames(error.__traceback__)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def hide_own_frames(*kinds: type[BaseException]) -> None:
    """Let scripts that end by an error of some kinds show the user's frames; all of them under ``SLANGAD_DEBUG``."""
    if _INSTALLED:
        return
    before: Hook = sys.excepthook

    def hook(type_: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if os.environ.get("SLANGAD_DEBUG"):
            before(type_, error, trace)
            return
        _trim(error, kinds)  # Python's own hook prints what the errors have
        before(type_, error, error.__traceback__)

    _INSTALLED.append(hook)
    sys.excepthook = hook
