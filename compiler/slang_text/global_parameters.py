"""Find the global parameters of a Slang text: buffers, and values that the host sets."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple

from slangad.compiler.slang_text.brackets import closing, until
from slangad.compiler.slang_text.declarations import declarations_of
from slangad.compiler.slang_text.headers import declared_names, types_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from slangad.compiler.slang_text.bodies import SlangSource
    from slangad.compiler.slang_text.declarations import Declaration
    from slangad.compiler.slang_text.tokens import Token


@dataclass(frozen=True, slots=True)
class MemoryKind:
    """A type of memory.

    Attributes:
        element: The type of its elements if none is written; empty if one must be.
        writable: True if functions may store to it.
        is_pair: True if it holds the gradient, too.
        library: The module that declares it; empty if the language does.
    """

    element: str = ""
    writable: bool = False
    is_pair: bool = False
    library: str = ""


class MemoryType(NamedTuple):
    """A type of memory: its kind, the type of its elements, and its further arguments."""

    kind: str
    element: str
    further: str = ""


TEXTURES: Final = ("Texture1D", "Texture2D", "Texture3D", "TextureCube", "Texture2DArray")
SAMPLERS: Final = ("SamplerState", "SamplerComparisonState")
POINTER: Final = "Ptr"
BYTES: Final = {"ByteAddressBuffer": False, "RWByteAddressBuffer": True, "RasterizerOrderedByteAddressBuffer": True}
"""The buffers that are addressed in bytes: True if functions may store to them."""
SLANGPY: Final = "slangpy"
READ_TENSORS: Final = ("Tensor", "ITensor", "PrimalTensor")
WRITTEN_TENSORS: Final = ("RWTensor", "IRWTensor", "WTensor", "IWTensor", "AtomicTensor")
DIFF_TENSORS: Final = ("DiffTensor", "IDiffTensor", "WDiffTensor", "IWDiffTensor", "RWDiffTensor", "IRWDiffTensor")
MEMORY: Final = {
    "StructuredBuffer": MemoryKind(),
    "Buffer": MemoryKind(),
    "RWStructuredBuffer": MemoryKind(writable=True),
    "RWBuffer": MemoryKind(writable=True),
    "RasterizerOrderedStructuredBuffer": MemoryKind(writable=True),
    "TensorView": MemoryKind("float", writable=True),
    "DiffTensorView": MemoryKind("float", writable=True, is_pair=True),
    POINTER: MemoryKind(writable=True),
    **{name: MemoryKind("float", writable=writable) for name, writable in BYTES.items()},
    **dict.fromkeys(READ_TENSORS, MemoryKind(library=SLANGPY)),
    **dict.fromkeys(WRITTEN_TENSORS, MemoryKind(writable=True, library=SLANGPY)),
    **dict.fromkeys(DIFF_TENSORS, MemoryKind(writable=True, is_pair=True, library=SLANGPY)),
    **dict.fromkeys(TEXTURES, MemoryKind("float4")),
    **dict.fromkeys(SAMPLERS, MemoryKind("float")),
}
"""The types of memory by name."""
BUFFERS: Final = frozenset(name for name, kind in MEMORY.items() if not (kind.element or kind.library))
"""Those with one axis."""
_BLOCKS: Final = frozenset({"cbuffer", "tbuffer"})
_OF_VALUES: Final = frozenset({"ConstantBuffer", "ParameterBlock"})
_MODIFIERS: Final = frozenset(
    {"uniform", "public", "internal", "private", "globallycoherent", "const", "row_major", "column_major", "extern"}
)
_FIXED: Final = frozenset({"static", "groupshared", "typedef", "let"})
"""Words of globals that no host sets."""
_OPAQUE: Final = re.compile(
    r"(?:RW|RasterizerOrdered|Feedback|Diff)?"
    r"(?:Texture|Sampler|ByteAddress|Structured|Buffer|Append|Consume|Raytracing|Subpass|Constant|Parameter|Tensor)"
)
"""Begins the types of globals that are neither values nor known memory."""
_ATOMIC: Final = "Atomic<"


@dataclass(frozen=True, slots=True)
class GlobalParameter:
    """A global that the host sets.

    Attributes:
        scopes: Its namespaces.
        type: Its type as written; that of an element if it is memory.
        start: The offset of its declaration. ``end`` is that of its last character.
        kind: The name of its type of memory; empty if it is a value.
        place: Its field in an object that a function takes: ``.layer.weights``. Empty if it is no field.
        further: The further arguments of its type, if it is memory of a library: the number of axes.
    """

    name: str
    scopes: tuple[str, ...]
    type: str
    start: int
    end: int
    kind: str = ""
    place: str = ""
    further: str = ""

    @property
    def words(self) -> frozenset[str]:
        """The words by which functions use it. Those of fields may begin with a dot."""
        field = self.place.rpartition(".")[2].partition("[")[0]
        return frozenset({field, f".{field}"} if field else {self.name})

    @property
    def memory(self) -> bool:
        """True if it is memory."""
        return bool(self.kind)

    @property
    def writable(self) -> bool:
        """True if functions may store to it."""
        return self.memory and MEMORY[self.kind].writable

    @property
    def is_pair(self) -> bool:
        """True if it holds its gradient, too."""
        return self.memory and MEMORY[self.kind].is_pair

    @property
    def is_atomic(self) -> bool:
        """True if its elements are atomic."""
        return self.type.startswith(_ATOMIC)

    @property
    def element(self) -> str:
        """The type of the values that it holds."""
        return self.type.removeprefix(_ATOMIC).removesuffix(">") if self.is_atomic else self.type


def global_parameters(source: SlangSource) -> Iterator[GlobalParameter]:
    """Yield the global parameters of a text that a check can set."""
    for declaration in declarations_of(source):
        if declaration.kind in _BLOCKS:
            yield from _members(source, declaration)
        elif declaration.kind == "global":
            yield from _global(source, declaration)


def _global(source: SlangSource, declaration: Declaration) -> Iterator[GlobalParameter]:
    tokens = _tokens(source, declaration.start, declaration.end)
    words = {token.text for token in until(tokens, "=", ":")}
    if words & _FIXED or tokens[0].text == "#" or not declaration.names:
        return
    scopes = tuple(declaration.name.split(".")[:-1])
    for name, type_ in _declared(tokens):
        at = (declaration.start, declaration.end)
        memory = memory_of(type_)
        kind, _, inside = type_.partition("<")
        if memory:
            yield GlobalParameter(name, scopes, memory.element, *at, memory.kind, further=memory.further)
        elif kind in _OF_VALUES and inside:
            yield GlobalParameter(name, scopes, inside.removesuffix(">"), *at)
        elif not _OPAQUE.match(type_):
            yield GlobalParameter(name, scopes, type_, *at)


def memory_of(type_: str) -> MemoryType | None:
    """Return the memory of a type as written; None for types without memory."""
    if type_.endswith("*"):
        return MemoryType(POINTER, type_[:-1]) if not type_.startswith("void") else None
    kind, _, inside = type_.partition("<")
    if kind not in MEMORY or inside.endswith("]"):
        return None
    element, further = _first(inside.removesuffix(">"))
    if MEMORY[kind].library and not further:
        return None
    element = element or MEMORY[kind].element
    return MemoryType(kind, element, further if MEMORY[kind].library else "") if element else None


def _first(arguments: str) -> tuple[str, str]:
    """Return the first of some generic arguments, and the others."""
    depths = accumulate((mark == "<") - (mark == ">") for mark in arguments)
    comma = next((k for k, depth in enumerate(depths) if not depth and arguments[k] == ","), len(arguments))
    return arguments[:comma], arguments[comma + 1 :].strip()


def _members(source: SlangSource, declaration: Declaration) -> Iterator[GlobalParameter]:
    """Yield the members of a block of parameters."""
    tokens = _tokens(source, declaration.start, declaration.end)
    opening = next((k for k, token in enumerate(tokens) if token.text == "{"), len(tokens))
    inside = tokens[opening + 1 : closing(tokens, opening)]
    scopes = tuple(declaration.name.split(".")[:-1])
    while inside:
        one = until(inside, ";")
        for name, type_ in _declared(one):
            yield GlobalParameter(name, scopes, type_, declaration.start, declaration.end)
        inside = inside[len(one) + 1 :]


def _declared(tokens: Sequence[Token]) -> Iterator[tuple[str, str]]:
    """Yield the names that a statement declares, each with its type."""
    plain: list[Token] = []
    k = 0
    while k < len(tokens):
        if tokens[k].text == "[" and not plain:
            k = closing(tokens, k)
        elif tokens[k].text not in _MODIFIERS and tokens[k].text != ";":
            plain.append(tokens[k])
        k += 1
    types = [*types_of(plain)]
    for name, type_ in zip(declared_names(plain), types, strict=False):
        yield name, types[0] if type_ in (name, "") else type_


def _tokens(source: SlangSource, start: int, end: int) -> Sequence[Token]:
    return [t for t, offset in zip(source.tokens, source.offsets, strict=True) if start <= offset <= end]


def by_name(parameters: Sequence[GlobalParameter]) -> Mapping[str, GlobalParameter]:
    """Return the parameters by name, without those whose name is ambiguous."""
    names = [one.name for one in parameters]
    return {one.name: one for one in parameters if names.count(one.name) == 1}
