"""Find by which words text uses the parts of Slang files, and which parts it uses without a name.

A word is enough: a name that a text mentions counts as used, also where it means something else.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from slangad.compiler.slang_text.bodies import SlangFunction
from slangad.compiler.slang_text.brackets import until
from slangad.compiler.slang_text.declarations import Declaration
from slangad.compiler.slang_text.headers import DERIVATIVE_OF
from slangad.compiler.slang_text.macros import HIDDEN, Expander
from slangad.compiler.slang_text.parts import contains, names_of
from slangad.compiler.slang_text.tokens import words_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence, Set

    from slangad.compiler.slang_text.parts import Part, Parts
    from slangad.compiler.slang_text.tokens import Token

BRINGING: Final = frozenset({"import", "#include", "__include"})
"""Kinds of declarations that bring in another file."""
_TYPES: Final = frozenset({"struct", "class", "interface", "enum", "typedef", "typealias"})
_MEMBERS: Final = frozenset({"property", "associatedtype", "typealias", "struct", "enum"})
"""Words before the names of members that are no functions."""
_OF_DIFFERENTIALS: Final = frozenset({"dzero", "dadd", "dmul"})
_DYNAMIC: Final = frozenset({"createDynamicObject", "anyValueSize"})
"""Words of a text that may use every type with a mentioned interface."""
_FOREIGN: Final = ""
"""The key of an interface of Slang itself. Its methods are not known."""


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A part of a file and the words that lead to it and on from it.

    Attributes:
        part: The part.
        owner: The node of the declaration that contains it.
        names: The words by which text uses it.
        words: The words in it, outside of the functions in it.
        needed: Types of the files. An extension is used only with all of them, an operator with one of them.
        constraints: Types in generic parameters of an extension. It is used without a name only with all of them.
        interfaces: The interfaces of a struct or an extension.
        unnamed: True if text may use it without its name.
    """

    part: Part
    owner: Node | None
    names: frozenset[str]
    words: frozenset[str]
    needed: frozenset[str] = frozenset()
    constraints: frozenset[str] = frozenset()
    interfaces: frozenset[str] = frozenset()
    unnamed: bool = False

    def is_used(self, words: Set[str]) -> bool:
        """Return True if a text with these words may use the part, provided that it uses the owner."""
        named = not self.names.isdisjoint(words)
        if kind_of(self.part) == "extension":
            unnamed = self.unnamed and self.constraints <= words and self._conforms(words)
            return self.needed <= words and (named or unnamed)
        if self.unnamed:
            return not self.needed or not self.needed.isdisjoint(words)
        return named or (not words.isdisjoint(_DYNAMIC) and not self.interfaces.isdisjoint(words))

    def _conforms(self, words: Set[str]) -> bool:
        """Return True if one of its interfaces is mentioned or foreign, or it has none."""
        return not self.interfaces or not self.interfaces.isdisjoint(words | {_FOREIGN})


def kind_of(part: Part) -> str:
    """Return the kind of a declaration, or ``function``."""
    return part.kind if isinstance(part, Declaration) else "function"


def nodes_of(files: Sequence[Parts], macros: Mapping[str, frozenset[str]]) -> Iterator[tuple[Parts, list[Node]]]:
    """Yield some files, each with all its parts. A declaration comes before the parts in it.

    Args:
        files: The files.
        macros: The words of each macro's text.
    """
    reader = _Reader(files, macros)
    for file in files:
        nodes, around = list[Node](), list[Node]()
        for part in file.every:
            while around and not contains(around[-1].part, part):
                around.pop()
            nodes.append(reader.node(file, part, around[-1] if around else None))
            around += nodes[-1:] if isinstance(part, Declaration) else ()
        yield file, nodes


class _Reader:
    """The declarations of all files."""

    def __init__(self, files: Sequence[Parts], macros: Mapping[str, frozenset[str]]) -> None:
        self._macros = macros
        self._pasting = frozenset(pasting_macros(files))
        self._expander = Expander(file.source.scan for file in files)
        every = [part for file in files for part in file.every]
        self._types = frozenset(name for part in every if kind_of(part) in _TYPES for name in names_of(part))
        interfaces = frozenset(name for part in every if kind_of(part) == "interface" for name in names_of(part))
        self._interfaces_of_files = interfaces
        headers = (header for file in files for header in file.source.scan.headers)
        self._asked = frozenset(header.name for header in headers if interfaces & {*header.path[-1:]})
        self._spaces: dict[str, frozenset[str]] = {}
        for part in every:
            for space in part.header.path if isinstance(part, SlangFunction) else part.name.split(".")[:-1]:
                self._spaces[space] = self._spaces.get(space, frozenset()) | names_of(part)

    def node(self, file: Parts, part: Part, owner: Node | None) -> Node:
        """Return the node of a part."""
        tokens = until(_tokens(file, part), "{")
        head = words_of(tokens)
        node = self._function(part, head, owner) if isinstance(part, SlangFunction) else self._declaration(part, tokens)
        if kind_of(part) == "extension":
            node = self._extension(node, file, tokens)
        expanded = head & self._macros.keys()
        if not expanded:
            return replace(node, owner=owner)
        if read := self._expander.read(tokens):
            interfaces = node.interfaces | (read.words & self._interfaces_of_files)
            return replace(node, owner=owner, names=node.names | read.names, interfaces=interfaces)
        names = node.names.union(head, *(self._macros[name] for name in expanded))
        return replace(node, owner=owner, names=names, unnamed=node.unnamed or not expanded.isdisjoint(self._pasting))

    def _function(self, part: SlangFunction, head: frozenset[str], owner: Node | None) -> Node:
        name, hidden = part.header.name, part.header.name.startswith(HIDDEN)
        derived = part.header.attributes if DERIVATIVE_OF.intersection(part.header.attributes) else ()
        names = frozenset({name, *derived})
        if owner is None:
            types = head & self._types if hidden else frozenset[str]()
            return Node(part, None, names, part.words, needed=types, unnamed=hidden)
        asked = name in self._asked or name in _OF_DIFFERENTIALS or kind_of(owner.part) == "interface"
        return Node(part, owner, names, part.words, unnamed=hidden or asked or _FOREIGN in owner.interfaces)

    def _declaration(self, part: Declaration, tokens: Sequence[Token]) -> Node:
        if part.kind in BRINGING:
            return Node(part, None, frozenset(), frozenset(), unnamed=True)
        if part.kind == "using":
            inside = self._spaces.get(part.name.rpartition(".")[2], frozenset())
            return Node(part, None, inside, part.words, unnamed=not inside)
        names = part.names.union(name.removesuffix("Attribute") for name in part.names)
        names |= part.words if part.kind == "enum" else frozenset()
        return Node(part, None, names, part.words, interfaces=self._interfaces(tokens), unnamed=not names)

    def _extension(self, node: Node, file: Parts, tokens: Sequence[Token]) -> Node:
        """Return an extension with the names of its members and the types that it extends."""
        word = next((k for k, token in enumerate(tokens) if token.text == "extension"), 0)
        start = _behind_angles(tokens, word + 1)
        target = until(tokens[start:], ":", "where")
        inner = [one.header.name for one in file.every if isinstance(one, SlangFunction) and contains(node.part, one)]
        words = [token.text for token in _tokens(file, node.part)]
        others = [after for before, after in pairwise(words) if before in _MEMBERS]
        names = frozenset(name for name in (*inner, *others) if not name.startswith(HIDDEN))
        plain = names and not any(word.startswith(HIDDEN) for word in words)
        return replace(
            node,
            names=names,
            needed=words_of(target) & self._types,
            constraints=words_of(tokens[word + 1 : start]) & self._types,
            unnamed=bool(node.interfaces) or not plain,
        )

    def _interfaces(self, tokens: Sequence[Token]) -> frozenset[str]:
        """Return the interfaces in the head of a type."""
        listed = words_of(until(tokens[_colon(tokens) :], "where"))
        foreign = any(word.startswith(("I", "__")) for word in listed - self._types - {"IDifferentiable"})
        return (listed & self._types) | ({_FOREIGN} if foreign else set())


def _tokens(file: Parts, part: Part) -> Sequence[Token]:
    offsets = file.source.offsets
    return file.source.tokens[bisect_left(offsets, part.start) : bisect_right(offsets, part.end)]


def _colon(tokens: Sequence[Token]) -> int:
    """Return the colon in the head of a type, outside of generic parameters; the end if there is none."""
    depth = 0
    for k, token in enumerate(tokens):
        depth += (token.text == "<") - (token.text == ">")
        if token.text == ":" and not depth:
            return k
    return len(tokens)


def _behind_angles(tokens: Sequence[Token], index: int) -> int:
    """Return the token behind generic parameters."""
    depth = 0
    for k in range(index, len(tokens)):
        depth += (tokens[k].text == "<") - (tokens[k].text == ">")
        if not depth:
            return k + (tokens[k].text == ">")
    return len(tokens)


def pasting_macros(files: Sequence[Parts]) -> Iterator[str]:
    """Yield the macros that make words from pieces, directly."""
    for file in files:
        for name, tokens in file.source.scan.defines:
            if any(one.text == other.text == "#" for one, other in pairwise(tokens)):
                yield name
