"""Messages over a pipe between slangad and its worker processes: a length, then a pickle.

Both ends are the same installation of slangad, so the pickles are trusted.
"""

from __future__ import annotations

import os
import pickle
import queue
import sys
import threading
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_LENGTH_BYTES = 8


class Move(NamedTuple):
    """Tells a child the working folder of its next requests; it has no answer."""

    folder: str


def send(pipe: BinaryIO, message: object) -> None:
    """Write one message, anything but ``None``, and flush it."""
    data = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    pipe.write(len(data).to_bytes(_LENGTH_BYTES, "little"))
    pipe.write(data)
    pipe.flush()


def receive(pipe: BinaryIO) -> object | None:
    """Read one message; ``None`` when the other end is gone."""
    header = pipe.read(_LENGTH_BYTES)
    if len(header) < _LENGTH_BYTES:
        return None
    length = int.from_bytes(header, "little")
    data = pipe.read(length)
    return pickle.loads(data) if len(data) == length else None  # noqa: S301  (from our own process)


def private_stdout() -> BinaryIO:
    """Return a pipe for the answers of a child. Redirect stdout to stderr, so that no print disturbs the pipe."""
    private = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(private, "wb")


def requests() -> Iterator[object]:
    """Yield the requests that a child reads from stdin, without end.

    When the other end is gone, the process ends at once, even in the middle of a compile or a kernel.
    """
    incoming: queue.Queue[object] = queue.Queue()

    def read() -> None:
        while (message := receive(sys.stdin.buffer)) is not None:
            incoming.put(message)
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    while True:
        request = incoming.get()
        if isinstance(request, Move):
            os.chdir(request.folder)
        else:
            yield request
