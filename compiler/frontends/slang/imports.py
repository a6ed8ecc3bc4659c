"""Find the imports of a Slang file that its kernels must repeat.

An import in Slang is visible in its own file only. Kernels need those imports that declare structs of their signatures.
Conditions are not evaluated: a file that Slang did not read is not imported.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

from slangad.compiler.slang_text.bodies import SlangFunction
from slangad.compiler.slang_text.brackets import until
from slangad.compiler.slang_text.parts import names_of, read_parts
from slangad.compiler.slang_text.tokens import read_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from slangad.compiler.slang_text.tokens import Token

_WORD: Final = re.compile(r"[^\W\d]\w*")
_DECLARING: Final = frozenset({"struct", "class", "enum", "namespace", "typealias"})
_BEFORE_IMPORTS: Final = frozenset({";", "}", "__exported", "public"})


@dataclass(frozen=True, slots=True)
class SourceText:
    """A file and its text."""

    path: Path
    text: str


@dataclass(frozen=True, slots=True)
class _Import:
    """A module that some file imports, with its path from the main file."""

    path: str
    module: SourceText
    by_main: bool

    @property
    def declared(self) -> frozenset[str]:
        """The types and namespaces that it declares."""
        tokens = read_text(self.module.text).tokens
        return frozenset(token.text for before, token in pairwise(tokens) if before.text in _DECLARING)


@dataclass(frozen=True, slots=True)
class Repeated:
    """The paths to import, relative to the folder of the main file, and the names that they bring in."""

    paths: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()


def repeated_imports(
    structs: Collection[str], modules: Collection[str], main: SourceText, others: Sequence[SourceText]
) -> Repeated:
    """Return the imports that kernels need to name structs.

    Args:
        structs: The full names of the structs.
        modules: The names that the main file declares at its top.
        main: The main file.
        others: The other files that Slang read for it.
    """
    foreign = {word for struct in structs for word in _WORD.findall(struct)}.difference(modules)
    roots = {_WORD.findall(struct)[0] for struct in structs} & foreign
    if not foreign:
        return Repeated()
    imports = {one.module.path: one for one in reversed([*_imports(main, others)])}
    declared = {path: one.declared & foreign for path, one in imports.items()}
    every = not roots <= frozenset[str]().union(*declared.values())
    kept = [one for path, one in reversed(imports.items()) if declared[path] or (every and one.by_main)]
    return Repeated(
        tuple(dict.fromkeys(one.path for one in kept)),
        frozenset(name for one in kept for name in _names(one.module)),
    )


def _imports(main: SourceText, others: Sequence[SourceText]) -> Iterator[_Import]:
    """Yield every import that Slang followed, those of the main file first, duplicates included."""
    for importer in (main, *others):
        for written in _written(read_text(importer.text).tokens):
            module = _meant(written, importer, others)
            if module is not None:
                by_main = importer is main
                path = _as_written(written, module) if by_main else _from(main.path.parent, module.path)
                yield _Import(path, module, by_main)


def _written(tokens: Sequence[Token]) -> Iterator[str]:
    """Yield the imports of a text as paths: ``a/b`` for ``import a.b;``."""
    for k, token in enumerate(tokens):
        if token.text == "import" and (not k or tokens[k - 1].text in _BEFORE_IMPORTS):
            path = until(tokens[k + 1 :], ";")
            if path and path[0].kind == "string":
                yield path[0].text.strip('"')
            else:
                yield "".join(one.text for one in path).replace(".", "/")


def _meant(written: str, importer: SourceText, others: Sequence[SourceText]) -> SourceText | None:
    """Return the file that Slang read for an import: one beside the importer, else one with the same ending."""
    near = _alike(os.path.normpath(importer.path.parent / written))
    behind = "/" + _alike(re.sub(r"^(?:\.{1,2}/)+", "", written))
    beside = (one for one in others if _alike(str(one.path)) == near)
    ending = (one for one in others if _alike(str(one.path)).endswith(behind))
    return next(beside, None) or next(ending, None)


def _alike(path: str) -> str:
    """Return a path in the form in which Slang compares names of modules and files."""
    return path.replace("\\", "/").removesuffix(".slang").replace("_", "-")


def _as_written(written: str, module: SourceText) -> str:
    """Return the path of an import with the real name of the file."""
    folder, _, _ = written.rpartition("/")
    return f"{folder}/{module.path.name}" if folder else module.path.name


def _from(folder: Path, file: Path) -> str:
    try:
        return Path(os.path.relpath(file, folder.resolve())).as_posix()
    except ValueError:  # on another drive
        return file.as_posix()


def _names(module: SourceText) -> Iterator[str]:
    """Yield the names that a module declares at its top, without generic functions, which no kernel name resembles."""
    for part in read_parts(module.text, str(module.path)).every:
        if not (isinstance(part, SlangFunction) and (part.header.path or part.header.generic)):
            yield from names_of(part)
