"""Cut Slang files down to what some words reach: functions, types, globals, extensions and imports.

A part stays if a part that stays mentions it, if only by a word that means something else. Lines and preprocessor lines
stay where they are.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from slangad.compiler.ir.calls import closure
from slangad.compiler.slang_text.tokens import words_of
from slangad.compiler.slang_text.uses import BRINGING, kind_of, nodes_of, pasting_macros

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from slangad.compiler.slang_text.parts import Part, Parts
    from slangad.compiler.slang_text.uses import Node

_WORD: Final = re.compile(r"[^\W\d]\w*")
_UP: Final = re.compile(r"^(?:\.{1,2}/)+")


class Reach:
    """Some Slang files. The first one imports or includes the others. A file with open brackets is never cut."""

    def __init__(self, files: Sequence[Parts], defines: Iterable[tuple[str, str]] = ()) -> None:
        """Collect the words in the parts of files. ``defines`` are macros that are defined outside of them."""
        self.files = {file.source.file: file for file in files}
        plain = {name: frozenset(_WORD.findall(text)) for name, text in defines}
        for name, tokens in (one for file in files for one in file.source.scan.defines):
            plain[name] = plain.get(name, frozenset()) | words_of(tokens)  # a macro may be defined again
        self._macros = {name: frozenset(closure(words, lambda w: plain.get(w, ()))) for name, words in plain.items()}
        self._pasting = frozenset(pasting_macros(files))
        self._nodes = {file.source.file: tuple(nodes) for file, nodes in nodes_of(files, self._macros)}
        bringing = [node for nodes in self._nodes.values() for node in nodes if kind_of(node.part) in BRINGING]
        self._open = frozenset(file for file, parts in self.files.items() if not parts.source.is_closed)
        self._targets = {node: [*self._meant(node.part.name)] for node in bringing}

    def slices(self, words: Iterable[str], without: Collection[Part] = ()) -> dict[str, str]:
        """Return the text of each file that is still read, with blanks for the parts that some words do not use.

        Args:
            words: Words of a text that imports or includes the first file.
            without: Parts to leave out in any case.
        """
        kept = self._kept(words, without)
        used = {file: kept.intersection(nodes) - self._targets.keys() for file, nodes in self._nodes.items()}
        alive = self._open.union(file for file, nodes in used.items() if nodes)
        read = closure([*self.files][:1], lambda file: self._read_by(file, alive))

        def is_blank(node: Node) -> bool:
            return node not in kept or (node in self._targets and not self._leads(node, alive))

        return {
            name: file.blanked([node.part for node in self._nodes[name] if is_blank(node)])
            for name, file in self.files.items()
            if name in read
        }

    def _kept(self, start: Iterable[str], without: Collection[Part]) -> set[Node | None]:
        """Return the parts that some words use, and None, the owner of parts that are in no other."""
        whole = (token.text for file in self._open for token in self.files[file].source.tokens)
        words = self._expanded({*start, *whole})
        kept: set[Node | None] = {None}
        waiting = [node for nodes in self._nodes.values() for node in nodes if node.part not in without]
        while used := [node for node in waiting if node.owner in kept and node.is_used(words)]:
            kept.update(used)
            words |= self._expanded(word for node in used for word in node.words)
            waiting = [node for node in waiting if node not in kept]
        return kept

    def _expanded(self, words: Iterable[str]) -> set[str]:
        """Return words with those of the macros among them, and the names that macros may make from two pieces."""
        expanded = {*words}
        macros = expanded & self._macros.keys()
        expanded = expanded.union(*(self._macros[name] for name in macros))
        if macros.isdisjoint(self._pasting):
            return expanded
        names = (name for nodes in self._nodes.values() for node in nodes for name in node.names)
        return expanded.union(n for n in names if any(_joins(n[:k], n[k:], expanded) for k in range(1, len(n))))

    def _leads(self, node: Node, alive: Collection[str]) -> bool:
        """Return True if an import is needed: a file behind it is in use, or it cannot be followed."""
        targets = self._targets[node]
        return kind_of(node.part) != "import" or not targets or not closure(targets, self._behind).isdisjoint(alive)

    def _behind(self, file: str) -> Iterator[str]:
        return (target for node in self._nodes[file] for target in self._targets.get(node, ()))

    def _read_by(self, file: str, alive: Collection[str]) -> Iterator[str]:
        """Yield the files that the rest of a file still brings in."""
        needed = (node for node in self._nodes[file] if node in self._targets and self._leads(node, alive))
        return (target for node in needed for target in self._targets[node])

    def _meant(self, written: str) -> Iterator[str]:
        """Yield the files that an import or inclusion may mean."""
        path = _UP.sub("", written)
        endings = tuple(f"/{_alike(one)}" for one in (path, path.replace(".", "/")))
        return (file for file in self.files if f"/{_alike(file)}".endswith(endings))


def _joins(first: str, last: str, words: Collection[str]) -> bool:
    """Return True if a macro may paste two pieces: words, or a word and a number."""
    return first in words and (last in words or last.isdigit())


def _alike(path: str) -> str:
    """Return a path in the form in which Slang compares names of modules and files."""
    return path.replace("\\", "/").removesuffix(".slang").replace("_", "-")
