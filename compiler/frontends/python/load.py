"""Execute a description: read, parse, fence, import. Every error becomes a diagnostic."""

from __future__ import annotations
import __future__

import ast
import builtins
import contextlib
import importlib
import importlib.util
import inspect
import io
import itertools
import linecache
import re
import sys
import sysconfig
import tokenize
import traceback
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import TYPE_CHECKING, Final

from slangad.compiler.errors.diagnostics import CompileError, Diagnostic, nearest_of
from slangad.compiler.errors.spans import Span
from slangad.compiler.frontends.python.arguments import location_of_argument
from slangad.compiler.frontends.python.imports import fresh_imports
from slangad.compiler.frontends.python.refused import Definition, RefusedDefinitions, fence, lines_of
from slangad.compiler.frontends.reading.encoding import decode, read_bytes
from slangad.compiler.frontends.reading.locations import SourceLocations
from slangad.compiler.frontends.reading.paths import shown_path
from slangad.compiler.frontends.reading.problems import did_you_mean
from slangad.compiler.lang.decorators.source import remember_source
from slangad.compiler.lang.errors import AnnotationError, ArgumentError, DescriptionError
from slangad.compiler.lang.other_names import NAMES, module_name, other_name

if TYPE_CHECKING:
    from collections.abc import Iterator

_EXECUTING: Final[ContextVar[tuple[Path, ...]]] = ContextVar("slangad_executing", default=())
"""The files that this thread executes, outermost first."""
_CODING = re.compile(r"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ExecutedFile:
    """An executed description: its module, its text, the files it imported, and the definitions that are refused."""

    path: str
    text: str = field(repr=False)
    module: ModuleType
    imported: tuple[str, ...]
    refused: RefusedDefinitions


def load_file(path: Path) -> ExecutedFile:
    """Execute a description.

    Raises:
        CompileError: when it can't be read, parsed or executed.
    """
    running = _running(path)
    text = read_text(path)
    tree = parse(text, str(path))
    refused = fence(tree, SourceLocations(str(path), text))
    if running is not None:
        return ExecutedFile(str(running.__file__), text, running, (), refused)
    remember_source(str(path), text)
    with (
        _not_inside_itself(path),
        _search_path(path),
        fresh_imports(is_library),
        contextlib.redirect_stdout(sys.stderr),
        _own_modules(path) as before,
    ):
        module, refused = _execute(path, text, tree, refused)
        imported = _imported_files(before, path)
    return ExecutedFile(str(path), text, module, imported, refused)


def _running(path: Path) -> ModuleType | None:
    """Return the module of a script that loads its own file: what it has described by now is what there is."""
    main = sys.modules.get("__main__")
    file = getattr(main, "__file__", None)
    return main if isinstance(file, str) and Path(file).resolve() == path.resolve() else None


@contextlib.contextmanager
def _not_inside_itself(path: Path) -> Iterator[None]:
    """Refuse a file that loads itself while it is executed here, inside the block.

    Raises:
        DescriptionError: at the line of the file that loads it.
    """
    real = path.resolve()
    if real in _EXECUTING.get():
        help_ = "put the lines that run kernels under if __name__ == '__main__':"
        raise DescriptionError(f"{path.name} loads itself while it is loaded", help_)
    token = _EXECUTING.set((*_EXECUTING.get(), real))
    try:
        yield
    finally:
        _EXECUTING.reset(token)


def read_text(path: Path) -> str:
    """Return the text of a Python file, in the encoding it declares.

    Raises:
        CompileError: when it can't be read.
    """
    data = read_bytes(path)
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except SyntaxError as error:
        raise CompileError([_wrong_declaration(decode(data, "utf-8", path), str(error), path)]) from None
    return io.StringIO(decode(data, encoding.removesuffix("-sig"), path), newline=None).read()


def _wrong_declaration(text: str, message: str, path: Path) -> Diagnostic:
    """Return the diagnostic of an encoding that does not exist or contradicts the byte order mark."""
    match = _CODING.search(text)
    start = match.start(1) if match else 0
    line, column = text.count("\n", 0, start) + 1, start - (text.rfind("\n", 0, start) + 1) + 1
    span = Span(str(path), line, column, line, column + (len(match[1]) if match else 1))
    return Diagnostic("SA002", f"can't read {path}: {message}", span, help="save it as UTF-8")


def parse(text: str, file: str) -> ast.Module:
    """Return the syntax tree.

    Raises:
        CompileError: for a syntax error, at its location.
    """
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise CompileError([Diagnostic("SA001", "the file contains a null byte", Span(file, line, 1, line, 2))])
    try:
        return ast.parse(text, file)
    except SyntaxError as error:
        raise CompileError([syntax_diagnostic(error, file)]) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise CompileError([Diagnostic("SA001", f"can't parse: {error}", Span(file, 1, 1, 1, 1))]) from None


def syntax_diagnostic(error: SyntaxError, file: str) -> Diagnostic:
    """Return Python's syntax error as a diagnostic."""
    line, column = error.lineno or 1, max(error.offset or 1, 1)
    end_line = error.end_lineno or line
    end = error.end_offset or column + 1
    if (end_line, end) <= (line, column):
        end_line, end = line, column + 1
    return Diagnostic("SA001", f"syntax error: {error.msg}", Span(error.filename or file, line, column, end_line, end))


@contextlib.contextmanager
def _search_path(path: Path) -> Iterator[None]:
    """Put the describing file's folder and its package's parent on the path, inside the block."""
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
    """Return the dotted name and package of a file; outside a package its stem."""
    resolved = path.resolve()
    parts = [resolved.stem]
    folder = resolved.parent
    while (folder / "__init__.py").exists():
        parts.insert(0, folder.name)
        folder = folder.parent
    return ".".join(parts), ".".join(parts[:-1])


@contextlib.contextmanager
def _own_modules(path: Path) -> Iterator[set[str]]:
    """Let a description import the modules of its own folders inside the block; yield the names loaded before.

    Other descriptions may use the same names. So modules that would shadow those of the folders are hidden inside the
    block, and those of the folders are forgotten after it.
    """
    folder = path.resolve().parent
    root = _package_root(folder)
    names = _module_names(folder) | _module_names(root)
    known = {name: module for name, module in sys.modules.items() if name.partition(".")[0] in names}
    users = {name: paths for name, module in known.items() if (paths := _users_paths(module))}
    shadows = {name: sys.modules[name] for name, paths in users.items() if not _below(paths, folder, root)}
    for name in shadows:
        del sys.modules[name]
    before = set(sys.modules)
    try:
        yield before
    finally:
        for name in set(sys.modules) - before:
            if _below(_users_paths(sys.modules[name]), root):
                del sys.modules[name]
        sys.modules.update(shadows)


def _module_names(folder: Path) -> set[str]:
    """Return the names of modules and packages that a folder may hold; none if it can't be read."""
    with contextlib.suppress(OSError):
        return {one.stem for one in folder.iterdir() if one.suffix == ".py" or one.is_dir()} - {"__main__"}
    return set()


def _users_paths(module: ModuleType) -> list[str]:
    """Return the file of a module, or the folders of a package without a file; none for modules of libraries."""
    known = getattr(module, "__dict__", {})
    file = known.get("__file__")
    paths = [file] if isinstance(file, str) else list(known.get("__path__", ()))
    return [path for path in paths if not is_library(path)]


def _below(paths: list[str], *folders: Path) -> bool:
    """Return True if one of the paths lies in one of the folders."""
    return any(Path(path).resolve().is_relative_to(folder) for path in paths for folder in folders)


def _execute(
    path: Path, text: str, tree: ast.Module, refused: RefusedDefinitions
) -> tuple[ModuleType, RefusedDefinitions]:
    """Execute a parsed file; a definition that raises an error is left out, and the statements after it are executed.

    Raises:
        CompileError: for an error outside definitions, with those of the definitions before it.
    """
    name, package = _module_name(path)
    if package:
        _guarded(path, text, lambda: importlib.import_module(package))
    module = ModuleType(name)
    module.__file__ = str(path)
    module.__package__ = package
    if not _is_library_module(name):
        sys.modules[name] = module
    rest = tree.body
    while (error := _error_of(path, text, ast.Module(rest, tree.type_ignores), module)) is not None:
        failed = _failed(rest, path, error)
        if not isinstance(failed, Definition):
            raise refused.before(failed, error.diagnostics) from error
        refused = refused.without(tree, failed, error.diagnostics)
        rest = rest[rest.index(failed) + 1 :]
    return module, refused


def _error_of(path: Path, text: str, tree: ast.Module, module: ModuleType) -> CompileError | None:
    """Execute statements, up to the first that raises an error; return it."""
    annotations = __future__.annotations  # the first statements may have imported it
    future = annotations.compiler_flag if vars(module).get("annotations") is annotations else 0
    try:
        code = _compiled(tree, str(path), future)
        _guarded(path, text, partial(exec, code, module.__dict__))  # the description is the user's program
    except CompileError as error:
        return error
    return None


def _failed(statements: list[ast.stmt], path: Path, error: CompileError) -> ast.stmt | None:
    """Return the statement of a file that raised an error; None if it is not known."""
    trace = error.__cause__.__traceback__ if error.__cause__ else None
    places = ((frame.f_code, line) for frame, line in traceback.walk_tb(trace))
    line = next((line for code, line in places if (code.co_filename, code.co_name) == (str(path), "<module>")), 0)
    return next((one for one in statements if line in lines_of(one)), None)


def _compiled(tree: ast.Module, file: str, future: int) -> CodeType:
    """Return the code of a parsed file; some syntax errors show only here (a ``break`` outside of loops)."""
    try:
        code: CodeType = compile(tree, file, "exec", future, dont_inherit=True)
    except SyntaxError as error:
        raise CompileError([syntax_diagnostic(error, file)]) from None
    return code


def _is_library_module(name: str) -> bool:
    """Return True if a loaded module of Python or a package has this name; a description must not replace it."""
    loaded = sys.modules.get(name)
    file = getattr(loaded, "__file__", None)
    return loaded is not None and (not isinstance(file, str) or is_library(file))


def _guarded(path: Path, text: str, run: object) -> None:
    assert callable(run)  # noqa: S101  (both callers pass a function)
    try:
        run()
    except DescriptionError as error:
        span = raised_at(error.__traceback__, path, text)
        if isinstance(error, ArgumentError):
            span = location_of_argument(error.argument, span)
        code = "SA017" if isinstance(error, AnnotationError) else "SA005"
        raise CompileError([Diagnostic(code, error.message, span, help=error.help)]) from error
    except NameError as error:
        raise CompileError([_unknown_name(error, path, text)]) from error
    except AttributeError as error:
        raise CompileError([_unknown_attribute(error, path, text)]) from error
    except SyntaxError as error:
        raise CompileError([syntax_diagnostic(error, str(path))]) from None
    except CompileError:
        raise
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise CompileError([_raised(error, path, text)]) from error


def _raised(error: BaseException, path: Path, text: str) -> Diagnostic:
    span = raised_at(error.__traceback__, path, text)
    what = "".join(traceback.format_exception_only(type(error), error)).strip().split("\n")[-1]
    help_ = _usage(error) or "run it with python to see the whole traceback"
    missing = re.match(r"cannot import name .(\w+). from .slangad.", str(error))
    if missing and isinstance(error, ImportError):
        import slangad

        help_ = did_you_mean(missing[1], dir(slangad)) or help_
    if isinstance(error, SystemExit):
        help_ = "a description is only loaded: put code that ends the program under if __name__ == '__main__'"
    return Diagnostic("SA003", f"the file raised {what}", span, "raised here", help_)


def _usage(error: BaseException) -> str:
    """Return how a name of ``sa`` or ``sa.nn`` is called, if a call of it has wrong arguments; nothing otherwise."""
    import slangad

    call = re.match(r"(\w+)(?:\.__init__)?\(\) (?:got|missing|takes) ", str(error))
    callee = getattr(slangad, call[1], getattr(slangad.nn, call[1], None)) if call else None
    if call is None or not isinstance(error, TypeError) or not callable(callee):
        return ""
    signature = inspect.signature(callee)
    unknown = re.search(r"unexpected keyword argument '(\w+)'", str(error))
    if unknown:
        return nearest_of(unknown[1], signature.parameters)
    plain = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    return f"write {call[1]}{signature.replace(parameters=plain, return_annotation=signature.empty)}"


def _unknown_name(error: NameError, path: Path, text: str) -> Diagnostic:
    """Return the diagnostic of an unknown name outside of described bodies."""
    span = _of_word(raised_at(error.__traceback__, path, text), error.name or "", path, text)
    known = [
        name for frame, _ in traceback.walk_tb(error.__traceback__) for name in (*frame.f_locals, *frame.f_globals)
    ]
    help_ = did_you_mean(error.name or "", [*known, *dir(builtins)]) or "define or import it above"
    return Diagnostic("SA010", f"unknown name '{error.name}'", span, "not defined", help_)


def _unknown_attribute(error: AttributeError, path: Path, text: str) -> Diagnostic:
    """Return the diagnostic of a name that a module does not have, or of another attribute error."""
    if not isinstance(error.obj, ModuleType):
        return _raised(error, path, text)
    name = error.name or ""
    span = _of_word(raised_at(error.__traceback__, path, text), name, path, text)
    module = module_name(error.obj.__name__)
    known = getattr(error.obj, "__all__", None) or dir(error.obj)
    help_ = other_name(name, module) or did_you_mean(name, known) or NAMES.get(module, "")
    return Diagnostic("SA010", f"'{module}' has no '{name}'", span, "not defined", help_)


def _of_word(span: Span, word: str, path: Path, text: str) -> Span:
    """Return the location of a word inside a span of one line of the description."""
    line = text.split("\n")[span.line - 1] if span.file == str(path) and word else ""
    match = re.search(rf"\b{re.escape(word)}\b", line[span.column - 1 : span.end_column - 1])
    if match is None:
        return span
    start = span.column + match.start()
    return Span(span.file, span.line, start, span.line, start + len(word))


def raised_at(trace: TracebackType | None, path: Path, text: str) -> Span:
    """Return the innermost location of the user's code in a traceback, outside slangad and the standard library.

    From Python 3.11 on it is the expression, before it is the line.
    """
    span = Span(str(path), 1, 1, 1, 1)
    while trace is not None:
        code = trace.tb_frame.f_code
        if not code.co_filename.startswith("<") and not is_library(code.co_filename):
            lines = text.split("\n") if code.co_filename == str(path) else linecache.getlines(code.co_filename)
            span = _position(code, trace.tb_lasti, trace.tb_lineno, lines)
        trace = trace.tb_next
    return span


def _position(code: CodeType, instruction: int, line: int, lines: list[str]) -> Span:
    content = lines[line - 1] if line <= len(lines) else ""
    start = len(content) - len(content.lstrip()) + 1
    positions = getattr(code, "co_positions", None)
    if positions is not None and content:
        first, last, begin, end = next(itertools.islice(positions(), instruction // 2, None))
        if first == last == line and begin is not None and end is not None:
            begin, end = (len(content.encode()[:n].decode(errors="ignore")) for n in (begin, end))
            return Span(code.co_filename, line, begin + 1, line, end + 1)
    return Span(code.co_filename, line, start, line, max(len(content.rstrip()) + 1, start + 1))


def is_library(file: str) -> bool:
    """Return True if a module belongs to Python or an installed package, slangad included, not to the description."""
    resolved = str(Path(file).resolve())
    return resolved.startswith(_library_roots())


@lru_cache(maxsize=1)
def _library_roots() -> tuple[str, ...]:
    compiler = Path(__file__).resolve().parents[2]
    folders = (str(compiler), *(str(Path(p).resolve()) for p in sys.modules["slangad"].__path__))
    roots = (sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    return (*folders, *{str(Path(root).resolve()) for root in roots if root})


def _imported_files(before: set[str], path: Path) -> tuple[str, ...]:
    """Return the files of modules imported while the description ran, relative if they are in the working folder."""
    start = path.resolve()
    result: set[str] = set()
    for name in set(sys.modules) - before:
        file = getattr(sys.modules[name], "__file__", None)
        if isinstance(file, str) and not is_library(file) and Path(file).resolve() != start:
            result.add(shown_path(Path(file)))
    return tuple(sorted(result))
