"""Convert results to bytes and back, for the cache: a JSON head, then the code of each artefact."""

from __future__ import annotations

import json
from dataclasses import astuple, replace
from typing import Any

from slangad.compiler.toolchain.jobs.request import Artefact, CompileResult
from slangad.compiler.toolchain.messages.messages import SlangMessage

_LENGTH_BYTES = 8


def pack_result(result: CompileResult) -> bytes:
    """Return a successful result as bytes; it has no diagnostics to keep."""
    head = json.dumps(
        {
            "artefacts": [(a.target, a.entry, len(a.data)) for a in result.artefacts],
            "reflection": result.reflection,
            "messages": [astuple(message) for message in result.messages],
            "dependencies": result.dependencies,
        }
    ).encode()
    return b"".join((len(head).to_bytes(_LENGTH_BYTES, "little"), head, *(a.data for a in result.artefacts)))


def unpack_result(data: bytes) -> CompileResult:
    """Return the result that ``pack_result`` was given, marked as cached."""
    start = _LENGTH_BYTES + int.from_bytes(data[:_LENGTH_BYTES], "little")
    head = json.loads(data[_LENGTH_BYTES:start])
    artefacts = []
    for target, entry, length in head["artefacts"]:
        artefacts.append(Artefact(target, entry, data[start : start + length]))
        start += length
    return CompileResult(
        artefacts=tuple(artefacts),
        reflection=tuple((target, entry, text) for target, entry, text in head["reflection"]),
        messages=tuple(_message(fields) for fields in head["messages"]),
        dependencies=tuple(head["dependencies"]),
        cached=True,
    )


def _message(fields: list[Any]) -> SlangMessage:
    *plain, notes, targets = fields
    return replace(SlangMessage(*plain), notes=tuple(_message(note) for note in notes), targets=tuple(targets))
