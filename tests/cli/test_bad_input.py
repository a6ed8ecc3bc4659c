"""Everything that can be wrong with an input: one diagnostic, the documented exit code, earlier outputs untouched."""

from __future__ import annotations

import os
import re
import resource
import signal
import stat
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Project

pytestmark = pytest.mark.toolchain

HEAD = "import slangad as sa\nfrom slangad import Each\n\n\n"
KERNEL = "@sa.kernel\ndef fit(x: Each[float]) -> Each[float]:\n    return {}\n"

REJECTED = {
    "syntax error": ("def f(:\n    pass\n", "k.py:5:7"),
    "unknown name": (KERNEL.format("x * missing"), "k.py:7:16"),
    "wrong type": (KERNEL.format("sa.dot(x, x)"), "k.py:7"),
    "recursion": (
        "@sa.differentiable\ndef f(x: float) -> float:\n    return f(x)\n\n\n" + KERNEL.format("f(x)"),
        "k.py:7:12",
    ),
    "unbounded loop": (
        "@sa.differentiable\ndef f(x: float) -> float:\n    while x < 10.0:\n        x = x * x\n    return x\n\n\n"
        + KERNEL.format("f(x)"),
        "k.py:7:5",
    ),
    "raises on import": ("1 / 0\n" + KERNEL.format("x"), "k.py:5"),
    "exits on import": ("raise SystemExit(0)\n" + KERNEL.format("x"), "k.py:5"),
    "missing module": ("import not_there_at_all\n" + KERNEL.format("x"), "k.py:5"),
    "kernel twice": (KERNEL.format("x") + "\n\n" + KERNEL.format("x * x"), "k.py:"),
}


@pytest.fixture
def built(project: Project) -> Project:
    """A folder whose outputs are good."""
    project.write("k.py", HEAD + KERNEL.format("x * x"))
    project.run("compile", "k.py")
    return project


def _errors(text: str) -> list[str]:
    return re.findall(r"^(?:\S.*: )?error\[SA\d{3}\]: .+$", text, re.MULTILINE)


@pytest.mark.parametrize("case", sorted(REJECTED))
def test_compile__bad_program__is_one_diagnostic_at_its_place(built: Project, case: str) -> None:
    text, place = REJECTED[case]
    before = built.files()
    built.write("k.py", HEAD + text)
    ended = built.run("compile", "k.py", code=1)
    (error,) = _errors(ended.stderr)
    assert error.startswith(place), error
    assert "^" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert ended.stdout == ""
    assert built.files() == before


def test_compile__several_bad_inputs__are_all_reported(built: Project) -> None:
    before = built.files()
    built.write("a.py", HEAD + REJECTED["unknown name"][0])
    built.write("b.py", HEAD + REJECTED["recursion"][0])
    ended = built.run("compile", "a.py", "k.py", "b.py", code=1)
    assert [error[:4] for error in _errors(ended.stderr)] == ["a.py", "b.py"]
    assert built.files() == before


def test_compile__unreadable_inputs__exit_with_1(built: Project) -> None:
    before = built.files()
    (built.folder / "folder.py").mkdir()
    (built.folder / "bytes.py").write_bytes(b"x = '\xff\xfe'\n")
    (built.folder / "nul.py").write_bytes(b"x = 1\0\n")
    for name in ("gone.py", "folder.py", "bytes.py", "nul.py", "what.txt"):
        ended = built.run("compile", name, code=1)
        (error,) = _errors(ended.stderr)
        assert error.startswith(name), error
    assert built.files() == before


def test_compile__two_inputs_of_one_stem__are_refused(built: Project) -> None:
    before = built.files()
    built.write("sub/k.py", HEAD + KERNEL.format("x").replace("fit", "other"))
    ended = built.run("compile", "k.py", "sub/k.py", code=1)
    (error,) = _errors(ended.stderr)
    assert "SA401" in error
    assert "sub/k.py" in error
    assert "of k.py" in error
    assert built.files() == before


def test_compile__one_file_named_in_two_ways__is_one_input(built: Project) -> None:
    (built.folder / "other dir").mkdir()
    built.run("compile", "k.py", "other dir/../k.py", str(built.folder / "k.py"), "--emit", "slang", "-o", "once")
    assert len(built.manifest("once/manifest.json")["inputs"]) == 1


def test_compile__more_errors_than_are_shown__tells_how_many_more(built: Project) -> None:
    body = "".join(f"    y{i} = x * missing{i}\n" for i in range(25))
    built.write("many.py", HEAD + KERNEL.format("x").replace("    return", body + "    return"))
    ended = built.run("compile", "many.py", code=1)
    assert len(_errors(ended.stderr)) == 20
    assert ended.stderr.rstrip().endswith("note: and 5 more")


@pytest.mark.parametrize("words", [("-t", "cpp"), ("--emit", "header"), ("--emit", "library")])
def test_compile__two_inputs_of_one_name_in_cpp__are_refused_naming_both_kernels(
    built: Project, words: tuple[str, ...]
) -> None:
    before = built.files()
    for name in ("a-b", "a_b"):
        built.write(f"{name}.py", HEAD + KERNEL.format("x"))
    ended = built.run("compile", "a-b.py", "a_b.py", *words, code=1)
    (error,) = _errors(ended.stderr)
    assert error == "a_b.py:6:5: error[SA402]: there are two kernels called fit for C++"
    assert "a-b.py:6:5" in ended.stderr
    assert "rename a_b.py: both inputs are from_a_b in C++" in ended.stderr
    assert built.files() == before


def test_compile__full_disk__changes_nothing(built: Project) -> None:
    before = built.files()
    text = HEAD + KERNEL.format("x * x * x")
    built.write("k.py", text)
    built.run("compile", "k.py", "-o", "elsewhere")
    command = [sys.executable, "-m", "slangad.cli", "compile", "k.py"]
    ended = subprocess.run(
        command,
        cwd=built.folder,
        # Python 3.11 does not notice that a file of bytecode is cut off, and each later start of slangad fails
        env={**built.environment, "PYTHONDONTWRITEBYTECODE": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)),
        capture_output=True,
        text=True,
        check=False,
    )
    (error,) = _errors(ended.stderr)
    assert ended.returncode == 4
    assert "SA405" in error
    assert built.files() == before


@pytest.mark.parametrize("output", ["k.py/out", "k.py"])
def test_compile__output_folder_is_a_file__is_exit_4(built: Project, output: str) -> None:
    ended = built.run("compile", "k.py", "-o", output, code=4)
    assert len(_errors(ended.stderr)) == 1
    assert "SA405" in ended.stderr


def test_compile__crashing_compiler__names_the_input_and_changes_nothing(built: Project) -> None:
    before = built.files()
    slangc = built.write("slangc", "#!/bin/sh\nkill -SEGV $$\n")
    slangc.chmod(slangc.stat().st_mode | stat.S_IXUSR)
    built.write("k.py", HEAD + KERNEL.format("x + x"))
    ended = built.run("compile", "k.py", "--slangc", str(slangc), code=4)
    (error,) = _errors(ended.stderr)
    assert error.startswith("k.py:6:5: error[SA240]: ")
    assert ended.stderr.count("= note: ") == 2
    assert built.files() == before


@pytest.mark.parametrize("words", [[], ["--watch"]])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_compile__ended_by_a_signal__leaves_no_process_and_no_folder(
    built: Project, tmp_path: Path, words: list[str], number: signal.Signals, code: int
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    slangc = built.write("slangc", "#!/bin/sh\necho $$ > pid.part && mv pid.part pid.$$\nsleep 100\n")
    slangc.chmod(0o755)
    built.write("k.py", HEAD + KERNEL.format("x * x * x"))
    command = [sys.executable, "-m", "slangad.cli", "compile", "k.py", "--slangc", "./slangc", "--mode", "forward"]
    environment = {**built.environment, "TMPDIR": str(temporary)}
    with subprocess.Popen([*command, *words], cwd=built.folder, env=environment) as process:
        while not (started := list(built.folder.glob("pid.*[0-9]"))):
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(number)
        assert process.wait(20) == code
    assert not list(temporary.iterdir())
    with pytest.raises(ProcessLookupError):
        os.kill(int(started[0].suffix[1:]), 0)


def test_compile__slang_library_that_crashes__costs_only_that_program(built: Project) -> None:
    before = built.files()
    built.write(
        "crash.slang",
        "[Differentiable]\npublic float crash(float x)\n{\n    float s = x;\n    int i = 0;\n"
        "    [MaxIters(8)]\n    while (i < 4 && s < 100.0)\n    {\n        s = s * s;\n        i = i + 1;\n    }\n"
        "    return s;\n}\n",
    )
    extern = 'crash = sa.extern("crash", "crash.slang", "(x: float) -> float", differentiable=True)\n\n\n'
    built.write("k.py", HEAD.rstrip("\n") + "\n\n" + extern + KERNEL.format("crash(x)"))
    ended = built.run("compile", "k.py", code=4)
    (error,) = _errors(ended.stderr)
    assert error.startswith("k.py:8:5: error[SA240]: ")
    assert built.files() == before


def test_compile__slang_that_does_not_run__is_exit_4(built: Project) -> None:
    ended = built.run("compile", "k.py", "--slangc", "not/there", "--no-cache", code=4)
    assert "SA243" in _errors(ended.stderr)[0]


def test_compile__slang_refuses__is_reported_on_the_users_line(built: Project) -> None:
    before = built.files()
    extern = 'gone = sa.extern("gone", "empty.slang", "(x: float) -> float", differentiable=True)\n\n\n'
    built.write("empty.slang", "// nothing here\n")
    built.write("k.py", HEAD.rstrip("\n") + "\n\n" + extern + KERNEL.format("gone(x)"))
    ended = built.run("compile", "k.py", code=1)
    assert _errors(ended.stderr)[0].startswith("k.py:"), ended.stderr
    assert "gone" in ended.stderr
    assert built.files() == before


def test_compile__mistake_in_a_slang_file_it_uses__is_told_once_where_it_is(built: Project) -> None:
    before = built.files()
    extern = 'ggx = sa.extern("ggx", "bsdf.slang", "(x: float) -> float", differentiable=True)\n\n\n'
    built.write("bsdf.slang", "[Differentiable]\npublic float ggx(float x)\n{\n    return x * missing;\n}\n")
    built.write("k.py", HEAD.rstrip("\n") + "\n\n" + extern + KERNEL.format("ggx(x)"))
    ended = built.run("compile", "k.py", code=1)
    assert _errors(ended.stderr) == ["bsdf.slang:4:16: error[SA200]: undefined identifier 'missing'"]
    assert built.files() == before
