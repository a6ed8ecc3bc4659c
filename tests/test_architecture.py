"""The shape of the code: who may import whom, how long files and functions may be, what must not be written down."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
LAYERS = (
    "errors",
    "ir",
    "lang",
    "slang_text",
    "passes",
    "emit",
    "frontends",
    "toolchain",
    "runtime",
    "report",
    "driver",
    "api",
    "check",
)
"""Parts of ``slangad.compiler``, lowest first; each may import itself and those before it."""

ONLY_IN = {
    "slangpy": ("compiler/runtime/",),
    "ctypes": ("compiler/toolchain/", "compiler/runtime/"),
    "rich": ("cli/", "compiler/report/terminal.py"),
    "click": ("cli/",),
    "yaml": ("compiler/frontends/", "cli/"),
}
MAX_FILE, MAX_FUNCTION = 500, 60
MACHINE_PATH = re.compile(r"/(?:work|farm|opt/sa|home/\w+|tmp/brief)/|/root/[.]|deb[.]debian|pypi[.]org/simple")


def _sources() -> list[Path]:
    return sorted(path for folder in ("cli", "compiler") for path in (ROOT / folder).rglob("*.py"))


def _texts() -> Iterator[Path]:
    """Every text file of the repository that people wrote."""
    kept = (".py", ".md", ".toml", ".slang", ".yaml", ".yml", ".html", ".txt", "")
    for name in ("cli", "compiler", "templates", "tests", "samples", "docs", "benchmarks", ".ci"):
        for path in (ROOT / name).rglob("*"):
            if path.is_file() and path.suffix in kept and "__pycache__" not in path.parts and path != Path(__file__):
                yield path
    yield from (path for path in ROOT.iterdir() if path.is_file() and path.suffix in {".md", ".toml"})


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{_name(path)}:{node.lineno}: import slangad.… in full"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _layer(module: str) -> int | None:
    """The layer of a dotted name below ``slangad.compiler``, None for others."""
    parts = module.split(".")
    if parts[:2] != ["slangad", "compiler"] or len(parts) < 3:
        return None
    return next((index for index, name in enumerate(LAYERS) if parts[2] == name), None)


@pytest.mark.parametrize("path", _sources(), ids=_name)
def test_imports__of_a_module__point_downwards(path: Path) -> None:
    name = _name(path)
    if not name.startswith("compiler/"):
        return
    own = _layer("slangad." + name.removesuffix(".py").replace("/", "."))
    assert own is not None or name == "compiler/__init__.py", f"{name} is in no layer"
    for module in _imports(path):
        assert not module.startswith("slangad.cli"), f"{name} imports {module}"
        other = _layer(module)
        assert other is None or own is None or other <= own, f"{name} imports {module}, which lies above it"


@pytest.mark.parametrize("path", _sources(), ids=_name)
def test_imports__of_outside_packages__stay_where_they_belong(path: Path) -> None:
    name = _name(path)
    for module in _imports(path):
        assert module.split(".")[0] not in {"cli", "compiler"}, f"{name}: import slangad.{module}"
        allowed = ONLY_IN.get(module.split(".")[0])
        assert allowed is None or name.startswith(allowed), f"{name} imports {module}"


@pytest.mark.parametrize("path", _sources(), ids=_name)
def test_size__of_files_and_functions__is_bounded(path: Path) -> None:
    name = _name(path)
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_FILE, f"{name} is too long"
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            assert length <= MAX_FUNCTION, f"{name}:{node.lineno}: {node.name} has {length} lines"


@pytest.mark.parametrize("path", _sources(), ids=_name)
def test_modules__each_one__says_what_it_is_for(path: Path) -> None:
    assert ast.get_docstring(_tree(path)), f"{_name(path)} has no docstring"
    assert path.stem not in {"utils", "helpers", "base", "common", "misc"}, f"{_name(path)} needs a better name"


def test_repository__no_file__names_a_machine() -> None:
    found = [
        f"{_name(path)}:{number}: {line.strip()[:80]}"
        for path in _texts()
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if MACHINE_PATH.search(line)
    ]
    assert not found, "\n".join(found)


def test_packages__links_of_the_tiny_package__point_at_the_code() -> None:
    for name in ("cli", "compiler", "templates"):
        assert (ROOT / "slangad" / name).resolve() == ROOT / name
