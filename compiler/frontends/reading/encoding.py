"""Decode the bytes of a description; errors are reported at their byte."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from slangad.compiler.errors.diagnostics import CompileError, Diagnostic, similar_file
from slangad.compiler.errors.spans import Span

if TYPE_CHECKING:
    from pathlib import Path

_LINE_END = re.compile(r"\r\n|\r|\n")


def read_bytes(path: Path) -> bytes:
    """Return the bytes of a description.

    Raises:
        CompileError: when it can't be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        message, place = f"can't read {path}: {error.strerror or error}", Span(str(path), 1, 1, 1, 1)
        raise CompileError([Diagnostic("SA002", message, place, help=similar_file(path))]) from None


def decode(data: bytes, encoding: str, path: Path) -> str:
    """Return the text of a description without a byte order mark.

    Raises:
        CompileError: at the first byte that does not decode.
    """
    codec = "utf-8-sig" if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding
    try:
        return data.decode(codec)
    except UnicodeDecodeError as error:
        raise CompileError([_undecodable(error, codec.removesuffix("-sig").upper(), path)]) from None


def _undecodable(error: UnicodeDecodeError, encoding: str, path: Path) -> Diagnostic:
    before = _LINE_END.split(error.object[: error.start].decode(error.encoding, "replace"))
    line, column = len(before), len(before[-1]) + 1
    byte = error.object[error.start]
    return Diagnostic(
        "SA002",
        f"can't read {path}: it is not {encoding}",
        Span(str(path), line, column, line, column + 1),
        label=f"byte 0x{byte:02x}",
        help="save it as UTF-8",
    )
