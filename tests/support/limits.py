"""Limits of the operating system's that stand for a full disk: a test sets one for as long as it needs it."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def small_files(size: int) -> Iterator[None]:
    """No file, in memory or not, may become larger; of processes that are started meanwhile neither.

    Bytecode is not written meanwhile: Python 3.11 does not notice that a file of it is cut off, and fails later.
    """
    resource = pytest.importorskip("resource", reason="limits are of POSIX")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    before_bytecode = sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        sys.dont_write_bytecode = before_bytecode
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
