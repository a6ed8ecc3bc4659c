"""Read types of the text form of the IR."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from slangad.compiler.ir import types
from slangad.compiler.ir.text_form.tokens import ReadError

if TYPE_CHECKING:
    from slangad.compiler.ir.text_form.tokens import Tokens


class TypeReader:
    """Reads types; it has the structs so far, by key."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self.structs: dict[str, types.Struct] = {}

    def read(self) -> types.Type:
        """Return the next type."""
        if self._tokens.kind() == "string":
            return self._struct(self._tokens.string())
        word = self._tokens.word()
        match word:
            case "void":
                return types.VOID
            case "Array" | "tuple" | "DiffPair" | "weak":
                return self._composed(word)
            case "Tensor" | "OutTensor" | "InOutTensor":
                return self._tensor(word)
            case "Texture2D":
                return self._texture()
            case "Shared":
                return self._shared()
            case _:
                return _shaped(word) or self._struct(word)

    def _struct(self, key: str) -> types.Struct:
        if key not in self.structs:
            raise ReadError(f"no type {key!r}")
        return self.structs[key]

    def _composed(self, word: str) -> types.Type:
        tokens = self._tokens
        tokens.expect("[")
        made: types.Type
        match word:
            case "Array":
                element = self.read()
                tokens.expect(",")
                made = types.Array(element, tokens.integer())
            case "tuple":
                elements = []
                while not tokens.peek("]"):
                    elements.append(self.read())
                    tokens.accept(",")
                made = types.Tuple(tuple(elements))
            case "DiffPair":
                made = types.DiffPair(self.read())
            case _:
                made = types.Weak(tokens.word())
        tokens.expect("]")
        return made

    def _tensor(self, word: str) -> types.Tensor:
        self._tokens.expect("[")
        element = self.read()
        self._tokens.expect(",")
        rank = self._tokens.integer()
        self._tokens.expect("]")
        return types.Tensor(element, rank, word != "OutTensor", word != "Tensor")

    def _shared(self) -> types.Tensor:
        self._tokens.expect("[")
        element = self.read()
        extents: list[int] = []
        while self._tokens.accept(","):
            extents.append(self._tokens.integer())
        self._tokens.expect("]")
        return types.Tensor(element, len(extents), reads=True, writes=True, extents=tuple(extents))

    def _texture(self) -> types.Texture:
        self._tokens.expect("[")
        element = self.read()
        words = []
        while self._tokens.accept(","):
            words.append(self._tokens.word())
        self._tokens.expect("]")
        address = next((word for word in words if word in ("repeat", "mirror")), "clamp")
        return types.Texture(element, address, "nearest" if "nearest" in words else "bilinear")


def _shaped(word: str) -> types.Type | None:
    match = re.fullmatch(rf"({'|'.join(types.SCALAR_NAMES)})(?:(\d)(?:x(\d))?)?", word)
    if match is None:
        return None
    name, rows, columns = match.groups()
    if columns:
        return types.Matrix(types.Scalar(name), int(rows), int(columns))
    return types.Vector(types.Scalar(name), int(rows)) if rows else types.Scalar(name)
