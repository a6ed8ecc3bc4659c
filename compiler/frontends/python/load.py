"""From a path to an executed Python module: read, parse, fence, import. Everything that can go wrong is a diagnostic."""

from __future__ import annotations

import ast
import contextlib
import importlib
import importlib.util
import sys
import sysconfig
import tokenize
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import ModuleType, TracebackType

from slangad.compiler.diagnostics import CompileError, Diagnostic
from slangad.compiler.frontends.fence import fence_function
from slangad.compiler.frontends.places import Places
from slangad.compiler.frontends.problems import Problems
from slangad.compiler.lang.errors import DescriptionError
from slangad.compiler.lang.source import remember_source
from slangad.compiler.spans import Span

_DECORATORS = frozenset({"differentiable", "function", "kernel", "backward", "forward"})


@dataclass(frozen=True, slots=True)
class LoadedFile:
    """An executed description: its module, its text, and the files it imported."""

    path: str
    text: str = field(repr=False)
    module: ModuleType
    imported: tuple[str, ...]


def load_file(path: Path) -> LoadedFile:
    """Executes a description.

    Raises:
        CompileError: when it can't be read, parsed, fenced or executed.
    """
    text = read_text(path)
    tree = parse(text, str(path))
    fence(tree, Places(str(path), text))
    remember_source(str(path), text)
    before = set(sys.modules)
    with _search_path(path), contextlib.redirect_stdout(sys.stderr), _forgetting(path, before):
        module = _execute(path, text, tree)
        imported = _imported_files(before, path)
    return LoadedFile(str(path), text, module, imported)


def read_text(path: Path) -> str:
    """The text of a Python file, in the encoding it declares.

    Raises:
        CompileError: when it can't be read.
    """
    try:
        with tokenize.open(path) as file:
            return file.read()
    except OSError as error:
        raise _failure("SA002", path, f"can't read {path}: {error.strerror or error}") from None
    except (UnicodeDecodeError, SyntaxError) as error:
        raise _failure("SA002", path, f"can't read {path}: {error}", help_="save it as UTF-8") from None


def _failure(code: str, path: Path, message: str, help_: str = "") -> CompileError:
    return CompileError([Diagnostic(code, message, Span(str(path), 1, 1, 1, 1), help=help_)])


def parse(text: str, file: str) -> ast.Module:
    """The syntax tree.

    Raises:
        CompileError: for a syntax error, at its place.
    """
    try:
        return ast.parse(text, file)
    except SyntaxError as error:
        raise CompileError([syntax_diagnostic(error, file)]) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise CompileError([Diagnostic("SA001", f"can't parse: {error}", Span(file, 1, 1, 1, 1))]) from None


def syntax_diagnostic(error: SyntaxError, file: str) -> Diagnostic:
    """Python's syntax error as a diagnostic."""
    line, column = error.lineno or 1, max(error.offset or 1, 1)
    end_line = error.end_lineno or line
    end = error.end_offset or column + 1
    if (end_line, end) <= (line, column):
        end_line, end = line, column + 1
    return Diagnostic("SA001", f"syntax error: {error.msg}", Span(error.filename or file, line, column, end_line, end))


def fence(tree: ast.Module, places: Places) -> None:
    """Refuses unsupported syntax in every function that is visibly described, before the file is executed.

    Raises:
        CompileError: with everything found.
    """
    problems = Problems()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and any(_names_decorator(d, _DECORATORS) for d in node.decorator_list):
            fence_function(node, places, problems)
        elif isinstance(node, ast.AsyncFunctionDef) and any(_names_decorator(d, _DECORATORS) for d in node.decorator_list):
            span = places.span(node)
            problems.error("SA004", span, "an async function can't be described", help="write a plain def")
        elif isinstance(node, ast.ClassDef) and any(_names_decorator(d, frozenset({"struct"})) for d in node.decorator_list):
            for method in node.body:
                if isinstance(method, ast.FunctionDef):
                    fence_function(method, places, problems)
    problems.raise_if_any()


def _names_decorator(node: ast.expr, names: frozenset[str]) -> bool:
    target = node.func if isinstance(node, ast.Call) else node
    if isinstance(target, ast.Attribute):
        return target.attr in names
    return isinstance(target, ast.Name) and target.id in names


@contextlib.contextmanager
def _search_path(path: Path) -> Iterator[None]:
    """The describing file's folder (and its package's parent) are on the path while it is executed."""
    folder = path.resolve().parent
    added = [str(_package_root(folder)), str(folder)]
    sys.path[:0] = added
    importlib.invalidate_caches()
    try:
        yield
    finally:
        for entry in added:
            with contextlib.suppress(ValueError):
                sys.path.remove(entry)


def _package_root(folder: Path) -> Path:
    while (folder / "__init__.py").exists():
        folder = folder.parent
    return folder


def _module_name(path: Path) -> tuple[str, str]:
    """The dotted name and package of a file: its stem alone outside a package."""
    resolved = path.resolve()
    parts = [resolved.stem]
    folder = resolved.parent
    while (folder / "__init__.py").exists():
        parts.insert(0, folder.name)
        folder = folder.parent
    return ".".join(parts), ".".join(parts[:-1])


@contextlib.contextmanager
def _forgetting(path: Path, before: set[str]) -> Iterator[None]:
    """Afterwards modules from the description's own folders are forgotten: the next file may have its own of that name."""
    root = str(_package_root(path.resolve().parent))
    try:
        yield
    finally:
        for name in set(sys.modules) - before:
            file = getattr(sys.modules[name], "__file__", None)
            if name.partition(".")[0] != "slangad" and isinstance(file, str) and file.startswith(root):
                del sys.modules[name]


def _execute(path: Path, text: str, tree: ast.Module) -> ModuleType:
    name, package = _module_name(path)
    if package:
        _guarded(path, text, lambda: importlib.import_module(package))
    module = ModuleType(name)
    module.__file__ = str(path)
    module.__package__ = package
    sys.modules[name] = module
    code = compile(tree, str(path), "exec", dont_inherit=True)
    _guarded(path, text, lambda: exec(code, module.__dict__))  # noqa: S102  (the description is the user's program)
    return module


def _guarded(path: Path, text: str, run: object) -> None:
    assert callable(run)  # noqa: S101  (both callers pass a function)
    try:
        run()
    except DescriptionError as error:
        span = raised_at(error.__traceback__, path, text)
        raise CompileError([Diagnostic("SA005", error.message, span, help=error.help)]) from error
    except SyntaxError as error:
        raise CompileError([syntax_diagnostic(error, str(path))]) from None
    except CompileError:
        raise
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        span = raised_at(error.__traceback__, path, text)
        what = "".join(traceback.format_exception_only(type(error), error)).strip().split("\n")[-1]
        raise CompileError(
            [Diagnostic("SA003", f"the file raised {what}", span, "raised here", "run it with python to see the whole traceback")]
        ) from error


def raised_at(trace: TracebackType | None, path: Path, text: str) -> Span:
    """The innermost line of the user's code in a traceback: slangad's own and the standard library's are left out."""
    found = Span(str(path), 1, 1, 1, 1)
    for frame, line in traceback.walk_tb(trace):
        file = frame.f_code.co_filename
        if file.startswith("<") or is_library(file):
            continue
        source = text if file == str(path) else ""
        content = source.split("\n")[line - 1] if source and line <= len(source.split("\n")) else ""
        start = len(content) - len(content.lstrip()) + 1
        found = Span(file, line, start, line, max(len(content.rstrip()) + 1, start + 1))
    return found


def is_library(file: str) -> bool:
    """Whether a module belongs to Python or an installed package, slangad included, not to the description."""
    resolved = str(Path(file).resolve())
    return resolved.startswith(_library_roots())


@lru_cache(maxsize=1)
def _library_roots() -> tuple[str, ...]:
    own = str(Path(__file__).resolve().parents[2])
    roots = (sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    return (own, *{str(Path(root).resolve()) for root in roots if root})


def _imported_files(before: set[str], path: Path) -> tuple[str, ...]:
    """Files of modules imported while the description ran, relative to the working folder where they lie in it."""
    own = path.resolve()
    found: set[str] = set()
    for name in set(sys.modules) - before:
        file = getattr(sys.modules[name], "__file__", None)
        if isinstance(file, str) and not is_library(file) and Path(file).resolve() != own:
            found.add(shown_path(Path(file)))
    return tuple(sorted(found))


def shown_path(path: Path) -> str:
    """A path as users see it: relative to the working folder where it lies in it."""
    resolved = path.resolve()
    with contextlib.suppress(ValueError):
        return str(resolved.relative_to(Path.cwd()))
    return str(resolved)
