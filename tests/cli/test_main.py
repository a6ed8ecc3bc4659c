"""The command group: what it loads, its exit codes, completion, colour."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest
from click.testing import CliRunner

from slangad import __version__
from slangad.cli.console import Session
from slangad.cli.help import COMMAND_GROUPS, GROUPS
from slangad.cli.main import COMMANDS, cli
from slangad.cli.outcome import outcome
from slangad.compiler.errors.diagnostics import CheckFailed, CompileError, Diagnostic, ToolchainError
from slangad.compiler.errors.spans import Span

if TYPE_CHECKING:
    from collections.abc import Callable

HEAVY = ("numpy", "slangpy", "yaml", "rich", "ctypes", "slangad.compiler.lang", "slangad.compiler.toolchain")


def _run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "slangad.cli", *words]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | environment, check=False)


def _raise(error: BaseException) -> Callable[[], object]:
    def action() -> object:
        raise error

    return action


@pytest.mark.parametrize("words", [["--help"], ["compile", "--help"], ["doctor", "-h"], ["--version"]])
def test_help__of_any_command__loads_nothing_heavy(words: list[str]) -> None:
    program = (
        "import sys\nfrom slangad.cli.main import cli\n"
        f"try: cli.main({words!r})\nexcept SystemExit as end: assert not end.code\n"
        f"loaded = [name for name in {HEAVY!r} if name in sys.modules]\nassert not loaded, loaded\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout


def test_script__installed__answers_help_and_version() -> None:
    assert _run("--version").stdout == f"slangad {__version__}\n"
    ended = _run("-h")
    assert ended.returncode == 0
    for command in ("compile", "doctor", "explain"):
        assert f"  {command} " in ended.stdout


def test_group__unknown_command__suggests_the_nearest() -> None:
    result = CliRunner().invoke(cli, ["complie"])
    assert result.exit_code == 2
    assert "Did you mean 'compile'?" in result.stderr
    assert CliRunner().invoke(cli, ["frobnicate"]).stderr.strip().endswith("No such command 'frobnicate'.")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (CompileError([Diagnostic("SA001", "rejected")]), 1),
        (CheckFailed("wrong gradient"), 3),
        (ToolchainError([Diagnostic("SA240", "crashed")]), 4),
        (MemoryError(), 4),
        (ZeroDivisionError("oops"), 70),
        (KeyboardInterrupt(), 130),
    ],
)
def test_outcome__each_error__has_its_exit_code(
    error: BaseException, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert outcome(Session(), _raise(error)) == code
    said = capsys.readouterr()
    assert said.out == ""
    expected = {
        1: "error[SA001]: rejected\n",
        3: "wrong gradient\n",
        4: "error[SA240]: crashed\n",
        130: "slangad: interrupted\n",
    }
    if isinstance(error, MemoryError):
        expected[4] = "error[SA251]: too little memory on this machine\n  = help: run on fewer elements at a time\n"
    assert code == 70 or said.err == expected[code]


def test_outcome__success_and_usage__are_not_touched() -> None:
    assert outcome(Session(), lambda: None) == 0
    with pytest.raises(click.UsageError):
        outcome(Session(), _raise(click.UsageError("no")))


def test_outcome__our_defect__asks_for_a_report_and_shows_the_traceback_only_under_debug(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert outcome(Session(), _raise(ZeroDivisionError("oops"))) == 70
    said = capsys.readouterr().err
    assert "internal error: ZeroDivisionError: oops" in said
    assert "report" in said
    assert "Traceback" not in said
    outcome(Session(debug=True), _raise(ZeroDivisionError("oops")))
    assert "Traceback" in capsys.readouterr().err


def test_outcome__json__is_one_document_with_the_diagnostics(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    span = Span("k.py", 1, 2, 1, 3)
    code = outcome(Session(document={"files": []}), _raise(CompileError([Diagnostic("SA001", "rejected", span)])))
    said = capfdbinary.readouterr()
    document = json.loads(said.out)
    assert code == 1
    assert said.err == b""
    assert document["schema"] == 1
    assert (document["ok"], document["exit_code"], document["files"]) == (False, 1, [])
    assert [(d["code"], d["file"], d["line"], d["column"]) for d in document["diagnostics"]] == [
        ("SA001", "k.py", 1, 2)
    ]


@pytest.mark.parametrize("words", [("explain", "--list"), ("check", "--help")])
def test_product__reader_gone__ends_quietly(words: tuple[str, ...]) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "slangad.cli", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("words", [["explain", "--list"], ["compile", "no.py", "--format", "json"]])
def test_product__stdout_full__is_exit_4(words: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "slangad.cli", *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert ended.returncode == 4
    assert ended.stderr.startswith("error[SA405]: can't write to stdout: No space left on device")


@pytest.mark.parametrize(
    ("color", "environment", "expected"),
    [
        (None, {}, False),
        (None, {"FORCE_COLOR": "1"}, True),
        (None, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        (True, {"NO_COLOR": "1"}, True),
        (False, {"FORCE_COLOR": "1"}, False),
    ],
)
def test_session__colour__flag_wins_over_environment(
    color: bool | None,
    environment: dict[str, str],
    expected: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    Session(color=color).show([Diagnostic("SA001", "rejected [1, 2]")])
    said = capsys.readouterr().err
    assert ("\x1b[" in said) is expected
    assert "rejected [1, 2]" in said


def test_session__quiet__keeps_errors_only(capsys: pytest.CaptureFixture[str]) -> None:
    from slangad.compiler.errors.diagnostics import Severity

    session = Session(verbosity=-1)
    session.show([Diagnostic("SA001", "bad"), Diagnostic("SA002", "odd", severity=Severity.WARNING)])
    session.say("summary")
    assert capsys.readouterr().err == "error[SA001]: bad\n"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("slangad comp", "plain,compile"),
        ("slangad compile --ta", "plain,--target"),
        ("slangad compile -t spirv-", "plain,spirv-asm"),
        ("slangad explain sa20", "plain,SA201"),
        ("slangad compile br", "file,br"),
    ],
)
def test_completion__of_options_targets_codes_and_files__works_in_bash(words: str, expected: str) -> None:
    count = str(len(words.split()) - 1)
    ended = _run(_SLANGAD_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=count)
    assert expected in ended.stdout.splitlines(), ended.stderr


def test_completion__of_kernels_and_functions__reads_files_without_running_them(tmp_path: Path) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash")
    text = "raise SystemExit\n@sa.differentiable\ndef shade(x): ...\n@sa.kernel(dims=2)\ndef show(x): ...\n"
    text += "def shy(x): ...\n"
    (tmp_path / "fit.py").write_text(text, encoding="utf-8")
    (tmp_path / "fit.yaml").write_text("functions: {shape: {}}\nkernels: {sheet: {}, fit: {}}\n", encoding="utf-8")
    slang = "[Differentiable]\nfloat shape(float x)\n{\n    if (x > 0) { return x; }\n    return 0;\n}\n"
    (tmp_path / "fit.slang").write_text(slang, encoding="utf-8")
    program = tmp_path / "slangad"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m slangad.cli "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    expected = {
        "slangad run fit.py:": "show",
        "slangad check fit.py:sh": "shade show",
        "slangad train fit.yaml:": "sheet fit",
        "slangad check fit.py fit.slang --only sh": "shade show shape",
        "slangad compile -t spirv-": "spirv-asm",
    }
    script = ['eval "$(slangad completion bash)"']
    for line in expected:
        script += [
            f"COMP_LINE='{line}' COMP_POINT={len(line)} COMPREPLY=()",
            "_slangad_completion slangad",
            'echo "${COMPREPLY[*]}"',
        ]
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    ended = subprocess.run(
        [bash, "-c", "\n".join(script)],
        capture_output=True, text=True, check=False, cwd=tmp_path, env={**os.environ, "PATH": path},
    )  # fmt: skip
    assert ended.stdout.splitlines() == list(expected.values()), ended.stderr


def test_environment__option_of_a_command__is_read() -> None:
    ended = _run("compile", "k.py", SLANGAD_COMPILE_TARGETS="spirw")
    assert ended.returncode == 2
    assert "Did you mean spirv?" in ended.stderr


def test_help__groups__name_options_and_commands_that_exist() -> None:
    commands = [cli.get_command(click.Context(cli), name) for name in COMMANDS]
    options = {param.name for command in commands if command for param in command.get_params(click.Context(command))}
    options |= {param.name for param in cli.params}
    assert {name for names in GROUPS.values() for name in names} <= options
    assert {name for names in COMMAND_GROUPS.values() for name in names} <= COMMANDS.keys()


def test_help__a_wide_terminal__is_filled_and_lists_targets() -> None:
    lines = _run("compile", "-h", COLUMNS="140").stdout.splitlines()
    assert 90 < max(map(len, lines)) <= 120
    assert [line for line in lines if line in {"Output:", "Slang:", "Targets:"}] == ["Output:", "Slang:", "Targets:"]
    assert any(line.split()[:1] == ["wgsl"] for line in lines)


def test_help__colour__is_for_those_who_ask() -> None:
    assert "\x1b" not in _run("cache", "-h", FORCE_COLOR="").stdout
    assert "\x1b[36m" in _run("cache", "-h", FORCE_COLOR="1", NO_COLOR="").stdout
    assert "\x1b" not in _run("cache", "-h", FORCE_COLOR="1", NO_COLOR="1").stdout
