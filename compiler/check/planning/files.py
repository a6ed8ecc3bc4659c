"""Decide through which file of a run each Slang file is checked, so that every function is checked once.

A part of a module (``implementing m;``) is checked through the main file of the module. An included file is checked by
itself if it compiles by itself, else through a file that includes it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from slangad.compiler.driver.inputs import Input
from slangad.compiler.report.model import Result
from slangad.compiler.slang_text.endings import is_slang
from slangad.compiler.slang_text.files import source_of
from slangad.compiler.slang_text.search import folders_above, search, shown_path

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from slangad.compiler.check.planning.description import FileDescription

Described = tuple[Input, "FileDescription | Result"]


class Describe(Protocol):
    """Describe one input. Without ``repair``, a file with a part that does not compile is a result."""

    def __call__(self, item: Input, *, repair: bool = True) -> FileDescription | Result:
        """Return the description of a file, or the result of a file that can't be read."""


def with_main_files(inputs: Iterable[Input], include_dirs: Sequence[str]) -> tuple[Input, ...]:
    """Return the inputs with the main file of the module in place of parts. Each file stays once."""
    result: dict[Path, Input] = {}
    for item in inputs:
        main = next(_includers(item.path, include_dirs), None) if _is_part(item.path) else None
        one = replace(item, path=main, files=(_real(item.path),)) if main else item
        known = result.get(_real(one.path))
        result[_real(one.path)] = _both(known, one) if known else one
    return tuple(result.values())


def groups_of(inputs: Sequence[Input], include_dirs: Sequence[str]) -> dict[Path, tuple[Input, ...]]:
    """Return for the path of each input those inputs, itself among them, that may decide through which it is checked.

    These are the inputs that have a file of their text in common, also through others.
    """
    groups: list[tuple[frozenset[Path], tuple[Input, ...]]] = []
    for item in inputs:
        files = {_real(item.path), *_textual(item.path, include_dirs)}
        near = [group for group in groups if not group[0].isdisjoint(files)]
        groups = [group for group in groups if group not in near]
        members = (*(one for _, those in near for one in those), item)
        groups.append((frozenset(files).union(*(those for those, _ in near)), members))
    return {item.path: members for _, members in groups for item in members}


def describe_all(inputs: Sequence[Input], describe: Describe, include_dirs: Sequence[str]) -> dict[Path, Described]:
    """Describe all inputs by path, each limited to the files whose functions are checked through it.

    An input all of whose functions are checked through others is left out.
    """
    textual = {item.path: _textual(item.path, include_dirs) for item in inputs}
    included = frozenset[Path]().union(*textual.values())
    result: dict[Path, Described] = {}
    for item in inputs:
        result[item.path] = (item, describe(item, repair=_real(item.path) not in included))
    for item, one in [*result.values()]:
        if not is_slang(item.path) or not _is_broken(one):
            continue
        known = [path for path, files in textual.items() if _real(item.path) in files]
        if any(_has_functions_of(item, result.get(path)) for path in known):
            del result[item.path]
        elif other := _through_includer(item, describe, include_dirs, result):
            result[item.path] = other
        elif known:
            result[item.path] = (item, describe(item))
    return dict(zip(result, _limited(list(result.values())), strict=True))


def _textual(path: Path, include_dirs: Sequence[str]) -> frozenset[Path]:
    return search(path, include_dirs).textual if is_slang(path) else frozenset()


def _is_broken(description: FileDescription | Result) -> bool:
    """Return True if a file does not compile by itself, or only in parts."""
    return isinstance(description, Result) or any(subject.failure for subject in description.subjects)


def _through_includer(
    item: Input, describe: Describe, include_dirs: Sequence[str], known: Collection[Path]
) -> Described | None:
    """Return the description of a file through the first file of its folder or a parent folder that includes it."""
    for path in _includers(item.path, include_dirs):
        if path not in known:
            other = Input(path, item.kernels, (_real(item.path),))
            described = other, describe(other, repair=False)
            if _has_functions_of(item, described):
                return described
    return None


def _has_functions_of(item: Input, described: Described | None) -> bool:
    """Return True if a description has functions of an included file."""
    if described is None or isinstance(described[1], Result):
        return False
    return any(_file_of(subject.span.file) == _real(item.path) for subject in described[1].subjects)


def _limited(described: Sequence[Described]) -> list[Described]:
    """Return the descriptions, each with the files that no earlier one checks. A file checks itself."""
    owners = {_real(item.path): item for item, one in described if not item.files and not isinstance(one, Result)}
    for item, one in described:
        for path in item.files:
            owners.setdefault(path, item)
        for subject in () if item.files or isinstance(one, Result) else one.subjects:
            owners.setdefault(_file_of(subject.span.file), item)
    limited: list[Described] = []
    for item, one in described:
        files = item.files or tuple(path for path, owner in owners.items() if owner is item)
        limited.append((replace(item, files=files) if is_slang(item.path) else item, one))
    return limited


def _is_part(path: Path) -> bool:
    return is_slang(path) and source_of(str(path)).scan.is_part


def _includers(path: Path, include_dirs: Sequence[str]) -> Iterator[Path]:
    """Yield the files whose text contains a file, from its folder and the parent folders; no parts of modules."""
    above = (Path(shown_path(str(folder))) for folder in folders_above(path.absolute().parent))
    for folder in (path.parent, *above):
        for other in sorted(folder.glob("*")):
            if is_slang(other) and _real(path) in search(other, include_dirs).textual and not _is_part(other):
                yield other


def _both(known: Input, other: Input) -> Input:
    """Return one input for two of one path. All files win over some."""
    files = (*known.files, *other.files) if known.files and other.files else ()
    kernels = (*known.kernels, *other.kernels) if known.kernels and other.kernels else ()
    return replace(known, files=files, kernels=kernels)


def _file_of(name: str) -> Path:
    return _real(Path(name)) if name else Path()


def _real(path: Path) -> Path:
    return path.resolve()
