"""Limits of the operating system's that stand for a full disk: a test sets one for as long as it needs it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def small_files(size: int) -> Iterator[None]:
    """No file, in memory or not, may become larger; of processes that are started meanwhile neither."""
    resource = pytest.importorskip("resource", reason="limits are of POSIX")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
