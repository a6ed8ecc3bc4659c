"""The README and every page of docs/ begin with an example; every command that a page shows prints what the page shows.

The example stands between the page's title and its first ``##`` heading. Later sections with a ``console`` block run
after it. They may use its files. Blocks without a name are fragments. They are not written; fragments in Python are
part of a file in ``samples`` or ``tests``, which the line above them names.
A file is a fenced block below a line that begins with its name and ends with a colon. It is written when the example
reaches it. ``samples`` and ``benchmarks`` are those of the repository. A ``console`` block holds
commands and their output:

    `fit.py`:
    ```python
    import slangad as sa
    ```
    ```console
    $ slangad check fit.py
    fit.py
      PASS …
    $ echo $?
    0
    ```

Standard output and standard error are shown together, without colour. ``…`` stands for text that varies: inside a line
for any part of it, alone on a line for any number of lines. All commands run in one folder that holds the page's files.
A block of ``sh`` installs slangad; `.ci/run` does that, and it is not run here.
``pytest --update`` replaces output that differs; it keeps the lines with ``…`` that still match.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from support.notebooks import Notebook

from slangad.cli.main import cli

if TYPE_CHECKING:
    from collections.abc import Iterator

DOCS = Path(__file__).resolve().parents[1] / "docs"
WITHOUT_EXAMPLE = {
    "architecture.md": "a map of the source, held by test_architecture.py",
    "errors.md": "an example for every code, run by the tests of `slangad explain`",
}
"""Pages that need no example, with the reason."""
TUTORIALS = {"tutorial.md"}
"""Pages that are one example: their files and commands stand under the headings."""

ROOT = DOCS.parent
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")
LANGUAGES = {
    ".py": "python",
    ".cpp": "cpp",
    ".yaml": "yaml",
    ".slang": "slang",
    ".toml": "toml",
    ".ninja": "ninja",
    ".mk": "make",
}
BLOCK = re.compile(
    r"(?:^`(?P<file>[^`\n]+)`[^`\n]*:\n\n?)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
DURATION = re.compile(r"\b[0-9.]+ m?s\b")
OPTIONAL = re.compile(r"^(?:import|from) (torch|jax|joblib|dask|ray)\b", re.MULTILINE)
FRAGMENT = re.compile(r"^(?P<above>[^\n]*)\n\n```(?:py|python)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
OWN_TESTS = {"errors.md", "language.md"}
"""Pages whose fragments in Python other tests compile."""
END = "end of the output"
ANY_LINES = r"(?:[^\n]*\n)*"


@dataclass(frozen=True, slots=True)
class Command:
    """One command of a console block and the output below it."""

    line: str
    output: str


def _pages() -> list[str]:
    return ["../README.md", *sorted(page.name for page in DOCS.glob("*.md"))]


def _sections(text: str) -> list[str]:
    """Return the example of a page, before its first heading of the second level, and sections that show commands."""
    example, *sections = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    return [example, *(section for section in sections if "```console\n" in section)]


def _missing_modules(program: str) -> list[str]:
    """Return the optional modules that a program imports and this machine does not have."""
    return [module for module in OPTIONAL.findall(program) if find_spec(module) is None]


def _commands(console: str) -> Iterator[Command]:
    for part in re.split(r"^\$ ", console, flags=re.MULTILINE)[1:]:
        line, _, output = part.partition("\n")
        yield Command(line, output)


def _as_pattern(line: str) -> str:
    """Return a regular expression for one line of output, its end included."""
    if line.rstrip("\n") == "…":
        return ANY_LINES
    return ".*".join(map(re.escape, line.split("…")))


def _matches(shown: str, printed: str) -> bool:
    return re.fullmatch("".join(map(_as_pattern, shown.splitlines(keepends=True))), printed) is not None


def _updated(shown: str, printed: str) -> str:
    """Return the new output, with the shown lines that contain ``…`` where they still match, and without durations."""
    varying = [line for line in shown.splitlines(keepends=True) if "…" in line and line != "…\n"]
    return "".join(
        next((old for old in varying if re.fullmatch(_as_pattern(old), line)), DURATION.sub("…", line))
        for line in printed.splitlines(keepends=True)
    )


PROGRAMS = {"slangad": "-m slangad.cli", "python": "", "pytest": "-m pytest", "torchrun": "-m torch.distributed.run"}
"""The programs of this test run, by name, with Python's arguments."""


@pytest.fixture
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment whose ``slangad`` and ``python`` are those of this test run."""
    folder = tmp_path_factory.mktemp("programs")
    for name, arguments in PROGRAMS.items():
        (folder / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n', encoding="utf-8")
        (folder / name).chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "FORCE_COLOR"))}
    return {**kept, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "NO_COLOR": "1", "COLUMNS": "120"}


def _run(commands: list[Command], folder: Path, environment: dict[str, str]) -> list[str]:
    """Run the commands in one shell and return the output of each."""
    script = "\n".join(f"{command.line}\ncode=$?; echo '{END}'; (exit $code)" for command in commands)
    ended = subprocess.run(
        ["sh", "-c", script],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    return ended.stdout.split(f"{END}\n")[:-1]


@pytest.mark.toolchain
@pytest.mark.parametrize("name", [name for name in _pages() if name not in WITHOUT_EXAMPLE])
def test_page__its_example__prints_what_it_shows(
    name: str, tmp_path: Path, environment: dict[str, str], request: pytest.FixtureRequest
) -> None:
    page = (DOCS / name).read_text(encoding="utf-8")
    example, *sections = _sections(page)
    blocks = [block for block in BLOCK.finditer(example) if block["language"] != "sh"]
    assert name in TUTORIALS or blocks, "the example stands before the first ## heading"
    assert name in TUTORIALS or any(block["language"] == "console" for block in blocks), "a console block shows output"
    for block in blocks:
        assert block["file"] or block["language"] == "console", "a line before each file of the example names it"
    blocks += [b for section in sections for b in BLOCK.finditer(section) if b["file"] or b["language"] == "console"]
    for folder in ("samples", "benchmarks"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    not_run: dict[str, list[str]] = {}
    for block in blocks:
        if block["language"] != "console":
            if block["language"] != LANGUAGES.get(Path(block["file"]).suffix):
                continue  # a line of prose that begins with a name in code
            path = tmp_path / block["file"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block["text"], encoding="utf-8")
            if missing := _missing_modules(block["text"]):
                not_run[block["file"]] = missing
            continue
        commands = list(_commands(block["text"]))
        assert commands, "a console block has a line that begins with `$ `"
        commands = [command for command in commands if not any(file in command.line for file in not_run)]
        for command, printed in zip(commands, _run(commands, tmp_path, environment), strict=True):
            if request.config.getoption("--update") and not _matches(command.output, printed):
                shown, new = (
                    f"$ {command.line}\n{text}" for text in (command.output, _updated(command.output, printed))
                )
                page = page.replace(shown, new, 1)
                (DOCS / name).write_text(page, encoding="utf-8")
            else:
                assert _matches(command.output, printed), f"$ {command.line}\n{printed}"
    if not_run:
        pytest.skip(f"all but these ran, for lack of a module: {not_run}")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_page__its_python_fragments__are_part_of_a_program(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    fragments = [] if page.name in OWN_TESTS else FRAGMENT.finditer(text)
    for fragment in fragments:
        above = fragment["above"]
        if re.match(r"`[^`]+\.py`.*:$", above):
            continue  # a file, which the page's commands run
        whole = re.search(r"\((\.\./(?:samples|tests)/[^)]*\.py)\)", above)
        assert whole, f"name the block's file, or the one that it is a part of:\n{fragment[0]}"
        lines = [line.strip() for line in (page.parent / whole[1]).read_text(encoding="utf-8").splitlines()]
        shown = "\n".join(line.strip() for line in fragment["text"].splitlines())
        assert shown in "\n".join(lines)


def test_language__its_fragments__compile(tmp_path: Path) -> None:
    page, pipelines = ((DOCS / name).read_text(encoding="utf-8") for name in ("language.md", "pipelines.md"))
    files = {block["file"]: block["text"] for block in BLOCK.finditer(pipelines)}
    fragments = [b["text"] for b in BLOCK.finditer(page) if b["language"] == "python" and not b["file"]]
    assert len(fragments) == 8
    program = tmp_path / "fragments.py"
    call = "\n@sa.differentiable\ndef use(x: float3) -> float:\n    return mean_square(x)\n"
    for text in fragments:
        before = files["sharpen.py"] if text.startswith("@sa.pipeline") else ""
        after = call if text.startswith("@sa.generic") else ""
        imports = "import slangad as sa\nfrom slangad import Array, float3\n"
        program.write_text(f"{imports}{before}\n\n{text}{after}", encoding="utf-8")
        ended = CliRunner().invoke(cli, ["compile", str(program), "--emit", "slang", "-o", "-"])
        assert ended.exit_code == 0, text + ended.output


def _anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub gives the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize(
    "page", [*ROOT.glob("*.md"), *DOCS.rglob("*.md")], ids=lambda page: str(page.relative_to(ROOT))
)
def test_page__its_links__lead_somewhere(page: Path) -> None:
    broken = []
    for file, anchor in LINK.findall(page.read_text(encoding="utf-8")):
        target = (page.parent / file).resolve() if file else page
        if not target.exists() or (anchor and anchor not in _anchors(target)):
            broken.append(f"{file}#{anchor}")
    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_page__source_files_that_it_names__exist(page: Path) -> None:
    folders = (ROOT, ROOT / "compiler")
    missing = [
        name
        for name in re.findall(r"`((?:\w+/)+\w+\.py)`", page.read_text(encoding="utf-8"))
        if any((folder / name.split("/")[0]).is_dir() for folder in folders)
        and not any((folder / name).is_file() for folder in folders)
    ]
    assert missing == []


def test_source__pages_that_it_names__exist() -> None:
    sources = [path for folder in ("cli", "compiler", "templates", "tests") for path in (ROOT / folder).rglob("*.*")]
    named = {
        name
        for path in sources
        if path.suffix in {".py", ".slang"}
        for name in re.findall(r"\bdocs/[\w/-]+\.md", path.read_text(encoding="utf-8", errors="replace"))
    }
    assert sorted(name for name in named if not (ROOT / name).is_file()) == []


def test_page__without_example__has_none() -> None:
    assert [
        name
        for name in _pages()
        if name in WITHOUT_EXAMPLE and "```console" in _sections((DOCS / name).read_text("utf-8"))[0]
    ] == []


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("a 1.2 s\n", "a 1.2 s\n", True),
        ("a … s\n", "a 1.2 s\n", True),
        ("a … s\n", "a 1.2 s\nb\n", False),
        ("a\n…\nz\n", "a\nb\nc\nz\n", True),
        ("a\n…\nz\n", "a\nz\n", True),
        ("a\n", "b\n", False),
        ("", "b\n", False),
    ],
)
def test_output__with_an_ellipsis__matches_what_varies(shown: str, printed: str, same: bool) -> None:
    assert _matches(shown, printed) is same


@pytest.mark.toolchain
def test_notebook__its_cells__give_what_it_shows(request: pytest.FixtureRequest) -> None:
    path = DOCS / "notebook.ipynb"
    document = json.loads(path.read_text(encoding="utf-8"))
    assert len({cell["id"] for cell in document["cells"]}) == len(document["cells"]), "the notebook format needs ids"
    running = Notebook()
    for cell in (cell for cell in document["cells"] if cell["cell_type"] == "code"):
        value = running.run("".join(cell["source"]))
        printed = "" if value is None else repr(value)
        shown = "".join(line for output in cell["outputs"] for line in output["data"]["text/plain"])
        if request.config.getoption("--update") and not _matches(shown, printed):
            cell["outputs"] = [_output(value, printed)] if printed else []
            path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        else:
            assert _matches(shown, printed), f"{''.join(cell['source'])}\n{printed}"


def _output(value: object, printed: str) -> dict[str, object]:
    """Return the output of a cell: the text, and the readable form of notebooks."""
    data = {"text/plain": DURATION.sub("…", printed).splitlines(keepends=True)}
    if hasattr(value, "_repr_html_"):
        data["text/html"] = DURATION.sub("…", value._repr_html_()).splitlines(keepends=True)
    return {"output_type": "execute_result", "execution_count": None, "metadata": {}, "data": data}
