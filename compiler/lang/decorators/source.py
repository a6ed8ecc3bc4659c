"""The syntax trees of functions and classes, with the positions in their file.

A text is read and parsed once per state of its file. Loaders may provide texts with ``remember_source``. Programs that
are no files (a cell of a notebook, ``python -c``, standard input) have a text too: ``linecache`` has or gets it.
"""

from __future__ import annotations
import __future__

import ast
import linecache
import os
import stat
import sys
import tokenize
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from slangad.compiler.lang.errors import DescriptionError

if TYPE_CHECKING:
    from types import CodeType, FunctionType


@dataclass(frozen=True, slots=True)
class Definition:
    """A function's tree, not to be changed, and the file it was parsed from."""

    tree: ast.FunctionDef
    path: str
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class ClassDefinition:
    """A class' tree, not to be changed, and the file it was parsed from."""

    tree: ast.ClassDef
    path: str
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class _IndexedFile:
    text: str
    stamp: tuple[int, int] | None
    functions: dict[tuple[int, str], ast.AST]
    classes: tuple[ast.ClassDef, ...]


_SOURCES: Final[dict[str, _IndexedFile]] = {}
_COMMAND: Final = "<string>"
_STDIN: Final = "<stdin>"
_FUTURE: Final = __future__.annotations.compiler_flag
"""The flag of code that ``from __future__ import annotations`` sets."""


def remember_source(path: str, text: str) -> None:
    """Make ``text`` the source of ``path``, the file name of its code objects, until the next call."""
    _SOURCES[path] = _index(path, text, None)


def definition_of(function: FunctionType) -> Definition:
    """Return the definition of a function.

    Raises:
        DescriptionError: when its source can't be read or it is not written with ``def``.
    """
    return definition_of_code(function.__code__)


def definition_of_code(code: CodeType) -> Definition:
    """Return the definition of a code object's function."""
    if code.co_name == "<lambda>":
        raise DescriptionError("a lambda can't be described", "write a def with annotations")
    source = _source(code.co_filename, code.co_name)
    tree = source.functions.get((code.co_firstlineno, code.co_name))
    if isinstance(tree, ast.AsyncFunctionDef):
        raise DescriptionError(f"{code.co_name} is an async function", "write a plain def")
    if code.co_filename in (_COMMAND, _STDIN) and not _is_of(code, source.text):
        raise _unreadable(code.co_name, code.co_filename)
    if not isinstance(tree, ast.FunctionDef):
        raise DescriptionError(f"the source of {code.co_name} is not in {code.co_filename}", "reload the file")
    return Definition(tree, code.co_filename, source.text)


def _is_of(code: CodeType, text: str) -> bool:
    """Return True if a text is the source of some code. ``exec`` of a text has the same file name as ``python -c``."""
    waiting = [compile(text, code.co_filename, "exec", code.co_flags & _FUTURE, dont_inherit=True)]
    while waiting:
        one = waiting.pop()
        if (one.co_name, one.co_firstlineno, one.co_code) == (code.co_name, code.co_firstlineno, code.co_code):
            return True
        waiting += [inner for inner in one.co_consts if isinstance(inner, type(code))]
    return False


def class_definition_of(name: str, path: str, line: int) -> ClassDefinition:
    """Return the definition of the class ``name`` around a line, the innermost where several nest.

    Raises:
        DescriptionError: when the source can't be read or holds no such class.
    """
    source = _source(path, name)
    around = [c for c in source.classes if c.name == name and first_line(c) <= line <= (c.end_lineno or c.lineno)]
    if not around:
        raise DescriptionError(f"the source of class {name} is not in {path}", "reload the file")
    return ClassDefinition(max(around, key=first_line), path, source.text)


def first_line(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> int:
    """Return the first line of a definition, decorators included, as in its code object."""
    return min([node.lineno, *(d.lineno for d in node.decorator_list)])


def _source(path: str, name: str) -> _IndexedFile:
    known = _SOURCES.get(path)
    if known is not None and known.stamp is None:
        return known
    stamp = _stamp(path)
    if known is None or known.stamp != stamp:
        known = _index(path, _read(path, name), stamp)
        _SOURCES[path] = known
    return known


def _stamp(path: str) -> tuple[int, int]:
    try:
        status = Path(path).stat()
    except OSError:
        text = text_without_file(path)
        return (hash(text), len(text))
    return (status.st_mtime_ns, status.st_size)


def _read(path: str, name: str) -> str:
    try:
        with tokenize.open(path) as file:
            return file.read()
    except (OSError, SyntaxError, UnicodeDecodeError):
        text = text_without_file(path)
    if not text:
        raise _unreadable(name, path)
    return text


def _unreadable(name: str, path: str) -> DescriptionError:
    return DescriptionError(f"the source of {name} can't be read from {path}", _remedy(path))


def text_without_file(path: str) -> str:
    """Return the text of a cell, of ``python -c`` or of standard input by its file name; empty if nothing has it."""
    lines = linecache.getlines(path)
    if not lines:
        text = {_COMMAND: _command_text, _STDIN: _stdin_text}.get(path, str)()
        lines = text.splitlines(keepends=True)
        if lines:  # tracebacks show the lines then
            linecache.cache[path] = (len(text), None, lines, path)
    return "".join(lines)


def _command_text() -> str:
    """Return the program of ``python -c``; empty if Python was started in another way."""
    words = iter(sys.orig_argv[1:])
    for word in words:
        letters = word[1:] if word.startswith("-") and not word.startswith("--") else ""
        option = next((letter for letter in letters if letter in "cmWX"), "")
        value = letters.partition(option)[2] if option else ""
        if option and not value:
            value = next(words, "")
        if option == "c":
            return value
        if option == "m" or not letters:
            break
    return ""


def _stdin_text() -> str:
    """Return the program that Python read from standard input; empty if that is no file: a pipe has no second look."""
    try:
        status = os.fstat(0)
        data = os.pread(0, status.st_size, 0) if stat.S_ISREG(status.st_mode) else b""
        return data.decode()
    except (AttributeError, OSError, UnicodeDecodeError):  # Windows has no pread
        return ""


def _remedy(path: str) -> str:
    if path != _STDIN:
        return "put the definition into a file"
    if getattr(sys.stdin, "isatty", bool)():
        return "put the definition into a file, or use IPython or Python 3.13: they keep what was typed"
    return "a pipe can't be read twice: write a file, or python -c, or python - < FILE"


def _index(path: str, text: str, stamp: tuple[int, int] | None) -> _IndexedFile:
    functions: dict[tuple[int, str], ast.AST] = {}
    classes: list[ast.ClassDef] = []
    for node in ast.walk(ast.parse(text, path)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            functions[first_line(node), node.name] = node
        elif isinstance(node, ast.ClassDef):
            classes.append(node)
    return _IndexedFile(text, stamp, functions, tuple(classes))
