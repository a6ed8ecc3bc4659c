"""Messages over a pipe between slangad and its worker processes: a length, then a pickle.

Both ends are the same installation of slangad, so the pickles are trusted.
"""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import BinaryIO

_LENGTH_BYTES = 8


def send(pipe: BinaryIO, message: object) -> None:
    """Write one message and flush it."""
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
