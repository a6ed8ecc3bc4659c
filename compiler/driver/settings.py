"""Read the project's settings: the table ``[tool.slangad]`` of the nearest pyproject.toml.

With it, plain ``slangad compile`` builds a project. Paths and patterns are relative to the folder of that file, from
wherever the command is run. Whatever the table of keys below does not have is an error.
"""

from __future__ import annotations

import math
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from slangad.compiler.driver.inputs import has_sign
from slangad.compiler.errors.diagnostics import CompileError, Diagnostic
from slangad.compiler.errors.spans import NOWHERE, Span
from slangad.compiler.frontends.reading.directives import DIRECTIVES, Directives, read_directives
from slangad.compiler.frontends.reading.problems import Problems
from slangad.compiler.frontends.yaml.nodes import MappingEntry, MappingNode, Node, ScalarNode, SequenceNode
from slangad.compiler.frontends.yaml.shape import (
    NAME,
    PATH,
    Choice,
    Either,
    Flag,
    Integer,
    Key,
    ListOf,
    MapOf,
    Number,
    Record,
    ShapeTable,
    Text,
)
from slangad.compiler.frontends.yaml.validate import validate
from slangad.compiler.ir.targets import TARGETS
from slangad.compiler.report.model import FAIL_ON
from slangad.compiler.runtime.device.table import DEVICE_NAMES
from slangad.compiler.slang_text.directives import DirectiveLine
from slangad.compiler.slang_text.endings import SLANG, SLANG_ENDINGS
from slangad.compiler.toolchain.jobs.arguments import refused_flag

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FILE_NAME: Final = "pyproject.toml"
INPUT_ENDINGS: Final = (".py", ".yaml", ".yml", *SLANG_ENDINGS)
MODES: Final = ("forward", "backward", "jvp", "hvp")

_LINES: Final = Either((Text("a text", or_number=True), ListOf(Text("a text"))))
_ANY: Final = ".+"
SLANG_KEYS: Final = (
    Key("include", ListOf(Text("a folder")), "Further folders with Slang imports."),
    Key("defines", MapOf(Text("a text", or_number=True), NAME), "Macros for Slang files."),
    Key("flags", ListOf(Text("an argument of Slang")), "Arguments for the Slang compiler."),
    Key("specialize", ListOf(Text("FUNCTION<ARGS>")), "Generic functions of Slang files, with arguments."),
    Key("slangc", Text("a program"), "The Slang compiler to use in place of the built-in one."),
)
"""Keys for the Slang compiler. `[tool.slangad.check]` adds to `[tool.slangad]`."""
CHECK: Final = Record(
    "[tool.slangad.check]",
    (
        Key("device", Choice(DEVICE_NAMES), "The device for float32 gradients."),
        Key("samples", Integer(1, 1_000_000), "Samples per function."),
        Key("seed", Integer(0), "The seed of the random samples."),
        Key("strict", Flag(), "True if a subject that could not be tested fails."),
        Key("fail-on", ListOf(Choice(tuple(FAIL_ON))), "Further verdicts that make the check fail."),
        Key("min-checked", Number(), "The least share of the functions that must be checked, from 0 to 1."),
        Key("mode", Choice(("forward", "backward")), "The only mode to check."),
        *SLANG_KEYS,
        Key("ranges", MapOf(ListOf(Number(), 2, 2), PATH, "function.parameter"), "The ranges of the samples."),
        Key(
            "functions",
            MapOf(
                Record("a function", tuple(Key(name, _LINES, kind.purpose) for name, kind in DIRECTIVES.items())),
                _ANY,
                "a pattern",
            ),
            "Settings of `// check:` lines, by patterns of names: shade*, lib/*.slang:f.",
        ),
    ),
)
SETTINGS: Final = Record(
    "[tool.slangad]",
    (
        Key("inputs", ListOf(Text("a file, FILE:KERNEL or a pattern")), "The files to compile; ** matches folders."),
        Key("exclude", ListOf(Text("a pattern")), "The files to omit from patterns of inputs."),
        Key("targets", ListOf(Choice(tuple(TARGETS)), 1), "The targets to compile for."),
        Key("modes", ListOf(Choice(MODES), 1), "The modes to compile."),
        Key("output", Text("a folder"), "The folder to write to."),
        *SLANG_KEYS,
        Key("optimization", Integer(0, 3), "The optimisation level."),
        Key("deterministic", Flag(), "True if gradients have the same bits on every run."),
        Key("check", CHECK, "Settings of `slangad check`."),
    ),
)


@dataclass(frozen=True, slots=True)
class SlangSettings:
    """Settings of the Slang compiler. Folders and programs are paths as seen from the working folder."""

    include: tuple[str, ...] = ()
    defines: tuple[tuple[str, str], ...] = ()
    flags: tuple[str, ...] = ()
    specialize: tuple[str, ...] = ()
    slangc: str | None = None


@dataclass(frozen=True, slots=True)
class CheckSettings:
    """The settings of ``[tool.slangad.check]``; None for a key that is not there."""

    device: str | None = None
    samples: int | None = None
    seed: int | None = None
    strict: bool | None = None
    ranges: tuple[tuple[str, float, float], ...] = ()
    mode: str | None = None
    slang: SlangSettings = SlangSettings()
    directives: tuple[tuple[str, Directives], ...] = ()
    fail_on: tuple[str, ...] = ()
    min_checked: float | None = None


@dataclass(frozen=True, slots=True)
class Project:
    """The settings of ``[tool.slangad]`` of one file; None without a key. Paths are seen from the working folder."""

    file: Path
    inputs: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    targets: tuple[str, ...] | None = None
    modes: tuple[str, ...] | None = None
    output: str | None = None
    slang: SlangSettings = SlangSettings()
    optimization: int | None = None
    deterministic: bool | None = None
    check: CheckSettings = CheckSettings()
    inputs_span: Span = NOWHERE

    @property
    def root(self) -> Path:
        """The folder that paths are relative to."""
        return self.file.parent


def find_project(start: Path) -> Project | None:
    """Return the settings that hold in a folder: of the nearest pyproject.toml upwards that has any.

    Raises:
        CompileError: That file can't be read, or its settings are wrong.
    """
    for folder in (start, *start.parents):
        file = folder / FILE_NAME
        if file.is_file():
            project = read_project(file)
            if project is not None:
                return project
        if (folder / ".git").exists():
            break
    return None


def read_project(file: Path) -> Project | None:
    """Return the settings in a pyproject.toml; None when it has none.

    Raises:
        CompileError: It can't be read, or its settings are wrong.
    """
    shown = _seen_from_here(file)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _refusal(f"can't read {shown}: {error}", Span(shown, 1, 1, 1, 1)) from None
    try:
        data: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _refusal(f"not valid TOML: {error}", _toml_place(shown, text, str(error))) from None
    settings = data.get("tool", {}).get("slangad") if isinstance(data.get("tool", {}), dict) else None
    if settings is None:
        return None
    problems = Problems()
    finder = _KeyFinder(shown, text)
    validate(_node(settings, finder, ("tool", "slangad")), ShapeTable(SETTINGS), problems)
    problems.raise_if_any()
    for name, (low, high) in settings.get("check", {}).get("ranges", {}).items():
        if not low <= high or not math.isfinite(high - low):
            place = finder.find(("tool", "slangad", "check", "ranges", name))
            problems.error("SA061", place, "a range goes from a lower to a higher finite number", help="[-1.0, 1.0]")
    if not 0.0 <= settings.get("check", {}).get("min-checked", 0.0) <= 1.0:
        place = finder.find(("tool", "slangad", "check", "min-checked"))
        problems.error("SA061", place, "the least share of the functions is a number from 0 to 1", help="0.9")
    directives = tuple(_directives(settings, finder, problems))
    for table, path in ((settings, ()), (settings.get("check", {}), ("check",))):
        for flag in table.get("flags", ()):
            if refused_flag(flag):
                at = finder.find(("tool", "slangad", *path, "flags"))
                problems.error("SA061", at, f"{flag}: {refused_flag(flag)}", help="remove it")
    problems.raise_if_any()
    return _project(file, settings, directives, finder.find(("tool", "slangad", "inputs")))


def _refusal(message: str, span: Span) -> CompileError:
    return CompileError([Diagnostic("SA306", message, span)])


def _toml_place(file: str, text: str, message: str) -> Span:
    match = re.search(r"at line (\d+), column (\d+)", message)
    line, column = (int(match[1]), int(match[2])) if match else (text.count("\n") + 1, 1)
    return Span(file, line, column, line, column + 1)


def _seen_from_here(path: Path) -> str:
    """Return a path as seen from the working folder; absolute on another drive."""
    try:
        return os.path.relpath(path)
    except ValueError:
        return str(path)


@dataclass(frozen=True, slots=True)
class _KeyFinder:
    """Where keys stand in the text of a TOML file, which its parser doesn't tell."""

    file: str
    text: str

    def find(self, path: tuple[str, ...]) -> Span:
        """Return the place of a key, or of the nearest of the tables it is in."""
        table: tuple[str, ...] = ()
        best: tuple[int, Span] = (-1, Span(self.file, 1, 1, 1, 2))
        for number, line in enumerate(self.text.splitlines(), 1):
            header = re.match(r"\s*\[+\s*([^\]]+?)\s*\]", line)
            if header:
                table = _dotted(header[1])
            occurrence = header or re.match(r"""\s*((?:[\w.-]|"[^"]*"|'[^']*')+)\s*=""", line)
            named = table if header else (*table, *_dotted(occurrence[1])) if occurrence else ()
            if occurrence and path[: len(named)] == named and len(named) > best[0]:
                span = Span(self.file, number, occurrence.start(1) + 1, number, occurrence.end(1) + 1)
                best = (len(named), span)
        return best[1]


def _dotted(text: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in re.findall(r'"[^"]*"|\'[^\']*\'|[^.]+', text))


def _node(value: object, finder: _KeyFinder, path: tuple[str, ...]) -> Node:
    """Return TOML's data as nodes with the locations of their keys."""
    span = finder.find(path)
    if isinstance(value, dict):
        entries = ((str(key), inner) for key, inner in value.items())
        return MappingNode(
            tuple(MappingEntry(_scalar(k, finder.find((*path, k))), _node(v, finder, (*path, k))) for k, v in entries),
            span,
        )
    if isinstance(value, list):
        return SequenceNode(tuple(_node(item, finder, path) for item in value), span)
    return _scalar(value if isinstance(value, (str, int, float, bool)) else str(value), span)


def _scalar(value: str | float | bool, span: Span) -> ScalarNode:  # noqa: FBT001  (a bool is a value here)
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return ScalarNode(text, value, span, 0, 0, "plain")


def _directives(
    settings: Mapping[str, Any], finder: _KeyFinder, problems: Problems
) -> Iterator[tuple[str, Directives]]:
    """Yield the project's declarations about the check of functions, by pattern."""
    for pattern, keys in settings.get("check", {}).get("functions", {}).items():
        lines = []
        for key, value in keys.items():
            place = finder.find(("tool", "slangad", "check", "functions", pattern, key))
            for text in value if isinstance(value, list) else [value]:
                words = (key, *str(text).split())
                lines.append(DirectiveLine(place, tuple((word, place) for word in words)))
        yield pattern, read_directives(lines, problems)


def _project(
    file: Path, settings: Mapping[str, Any], directives: tuple[tuple[str, Directives], ...], inputs: Span
) -> Project:
    check = settings.get("check", {})
    ranges = tuple((path, float(low), float(high)) for path, (low, high) in check.get("ranges", {}).items())
    return Project(
        file,
        tuple(settings.get("inputs", ())),
        tuple(settings.get("exclude", ())),
        _names(settings, "targets"),
        _names(settings, "modes"),
        _below(file, settings["output"]) if "output" in settings else None,
        _slang(file, settings),
        settings.get("optimization"),
        settings.get("deterministic"),
        CheckSettings(
            check.get("device"),
            check.get("samples"),
            check.get("seed"),
            check.get("strict"),
            ranges,
            check.get("mode"),
            _slang(file, check),
            directives,
            tuple(check.get("fail-on", ())),
            check.get("min-checked"),
        ),
        inputs,
    )


def _slang(file: Path, settings: Mapping[str, Any]) -> SlangSettings:
    """Return the Slang settings of one table. A program without a folder is searched on PATH."""
    slangc = settings.get("slangc")
    return SlangSettings(
        tuple(_below(file, folder) for folder in settings.get("include", ())),
        tuple((name, str(value)) for name, value in settings.get("defines", {}).items()),
        tuple(settings.get("flags", ())),
        tuple(settings.get("specialize", ())),
        slangc if slangc is None or Path(slangc).name == slangc else _below(file, slangc),
    )


def _names(settings: Mapping[str, Any], key: str) -> tuple[str, ...] | None:
    return tuple(dict.fromkeys(settings[key])) if key in settings else None


def _below(file: Path, path: str) -> str:
    return _seen_from_here(file.parent / path)


def inputs_of(project: Project) -> tuple[str, ...]:
    """Return the inputs that the settings name, as the command line would: every pattern's files in order, each once.

    Raises:
        CompileError: A pattern has no files.
    """
    problems = Problems()
    result: dict[str, None] = {}
    for word in project.inputs:
        files = [word] if not _is_pattern(word) else list(_matching(project, word))
        if not files:
            problems.error(
                "SA307",
                project.inputs_span,
                f"no input matches {word}",
                help=f"patterns are relative to {_seen_from_here(project.root)} and match files that end in "
                f"{', '.join(INPUT_ENDINGS)}",
            )
        result.update(dict.fromkeys(_seen_from_here(project.root / file) for file in files))
    problems.raise_if_any()
    return tuple(result)


def _is_pattern(word: str) -> bool:
    return any(character in word for character in "*?[")


def _matching(project: Project, pattern: str) -> Iterator[str]:
    """Return the files below the root that a pattern matches and no other setting excludes."""
    left_out = {path.resolve() for word in project.exclude for path in _glob(project.root, word)}
    output = Path(project.output).resolve() if project.output is not None else None
    for path in sorted(_glob(project.root, pattern)):
        resolved = path.resolve()
        produced = output is not None and (output == resolved or output in resolved.parents)
        if _is_input(path) and resolved not in left_out and not produced:
            yield str(path.relative_to(project.root))


def _is_input(path: Path) -> bool:
    """Return True for an input by its name. Of other shader files than ``.slang``, only what may be differentiable."""
    known = path.suffix in INPUT_ENDINGS and path.is_file()
    return known and (path.suffix not in SLANG_ENDINGS or path.suffix == SLANG or has_sign(path))


def _glob(root: Path, pattern: str) -> Iterator[Path]:
    try:
        yield from root.glob(pattern)
    except (NotImplementedError, ValueError):  # absolute patterns, and ** beside other characters before Python 3.13
        return
