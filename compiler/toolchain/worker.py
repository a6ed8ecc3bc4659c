"""A worker process: calls of the Slang library come in on stdin, events go out on what was stdout.

Started by ``pool`` with the library's path as its only argument. The library's own prints can't disturb the protocol:
the file descriptor of stdout is moved away first. When the other end of stdin is gone, so is the worker, even in the
middle of a compile.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
from typing import TYPE_CHECKING, BinaryIO

from slangad.compiler.toolchain.events import Broken, End, Work
from slangad.compiler.toolchain.frames import receive, send
from slangad.compiler.toolchain.library import SlangSession

if TYPE_CHECKING:
    from collections.abc import Iterator


def main() -> None:
    """Serve until stdin ends."""
    with os.fdopen(_private_stdout(), "wb") as pipe:
        incoming: queue.Queue[Work] = queue.Queue()
        threading.Thread(target=_read, args=(sys.stdin.buffer, incoming), daemon=True).start()
        try:
            session = SlangSession(sys.argv[1])
        except (OSError, AttributeError) as error:
            send(pipe, Broken(str(error)))
            return
        for work in _forever(incoming):
            for event in session.compile(work):
                send(pipe, event)
            send(pipe, End())


def _private_stdout() -> int:
    """A descriptor for the protocol; whatever prints to descriptor 1 from now on goes to stderr."""
    private = os.dup(1)
    os.dup2(2, 1)
    return private


def _read(pipe: BinaryIO, incoming: queue.Queue[Work]) -> None:
    while isinstance(message := receive(pipe), Work):
        incoming.put(message)
    os._exit(0)


def _forever(incoming: queue.Queue[Work]) -> Iterator[Work]:
    while True:
        yield incoming.get()
