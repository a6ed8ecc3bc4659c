"""Builds as build systems make them: ninja plans, workers, no home, two at once, folders that can't be written."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import ZipFile

import pytest
from click import ClickException

from slangad.cli.worker import requests_of
from tests.cli.conftest import Project

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.toolchain

FORWARD = ("--mode", "forward")


def _run(project: Project, *command: str, **more: str) -> str:
    environment = project.environment | more
    ended = subprocess.run(
        command, cwd=project.folder, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-2000:]
    return ended.stdout


@pytest.mark.skipif(shutil.which("ninja") is None, reason="needs ninja")
def test_plan__ninja__makes_each_kernel_and_target_when_it_must(tmp_path: Path) -> None:
    project = Project(tmp_path / "a ü $folder")
    project.kernel("fi t")
    added = "\n\n@sa.kernel\ndef more(x: Each[float]) -> Each[float]:\n    return x * x\n"
    text = (project.folder / "fi t.py").read_text().replace("def fi t", "def fit")
    project.write("fi t.py", text + added)
    words = ("fi t.py", "-t", "wgsl", "-t", "glsl", "-o", "made of it", *FORWARD, "--plan", "ninja")
    assert "4 edges" in project.run("compile", *words).stderr

    def ninja() -> str:
        return _run(project, "ninja", "-f", "made of it/build.ninja")

    assert ninja().count("slangad") == 4
    folder = project.folder / "made of it"
    made = {path.relative_to(folder).as_posix() for path in folder.rglob("*.[wg][gl]sl")}
    kernels = ("fi t.fit", "fi t.more")
    assert made == {f"{t}/{k}/{k}.forward.{t}" for k in kernels for t in ("wgsl", "glsl")}
    assert "no work" in ninja()
    (project.folder / "lib.py").touch()
    ninja()
    assert "no work" in ninja()
    project.write("lib.py", (project.folder / "lib.py").read_text().replace("2.0", "3.0"))
    ninja()
    assert "3.0" in (folder / "wgsl/fi t.fit/fi t.fit.forward.wgsl").read_text()
    project.write("fi t.py", text + added + added.replace("more", "third"))
    ninja()
    assert (folder / "glsl/fi t.third/fi t.third.forward.glsl").is_file()
    assert "no work" in ninja()


def test_worker__requests__are_answered_in_order_and_see_changed_imports(project: Project) -> None:
    project.kernel("fit")
    command = [sys.executable, "-m", "slangad.cli", "worker", "--persistent_worker"]
    arguments = ["compile", "fit.py", "--emit", "slang"]
    with subprocess.Popen(
        command, cwd=project.folder, env=project.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as worker:
        assert worker.stdin is not None
        assert worker.stdout is not None

        def ask(number: int, *words: str) -> dict[str, object]:
            end = "\n" if number % 2 else ""  # Bazel 4 writes none
            worker.stdin.write(json.dumps({"arguments": words, "inputs": [], "requestId": number}) + end)
            worker.stdin.flush()
            answer: dict[str, object] = json.loads(worker.stdout.readline())
            assert answer["requestId"] == number
            return answer

        assert ask(1, *arguments)["exitCode"] == 0
        before = project.files()["fit.slang"]
        project.write("lib.py", (project.folder / "lib.py").read_text().replace("2.0", "5.0"))
        project.write("params", "\n".join(arguments))
        assert ask(2, "@params") == {"exitCode": 0, "output": "1 kernel in build\n", "requestId": 2}
        assert project.files()["fit.slang"] != before
        failed = ask(3, "compile", "absent.py")
        assert failed["exitCode"] == 1
        assert "absent.py" in str(failed["output"])
        worker.stdin.close()
        assert worker.wait(60) == 0


@pytest.mark.parametrize(
    ("pieces", "requests", "refused"),
    [
        (['{"arguments": ["a} ', 'b"]}{"requestId": 2}', "\n"], [{"arguments": ["a} b"]}, {"requestId": 2}], ""),
        (['{"requestId": 1}\nslangad'], [{"requestId": 1}], "slangad"),
        (["[1]"], [], "[1]"),
        (["{no object}"], [], "{no object}"),
        (['{"requestId": 1', None], [], '{"requestId": 1'),
    ],
)
def test_worker__pieces_of_a_stream__are_requests_or_refused_before_it_ends(
    pieces: list[str | None], requests: list[dict[str, object]], refused: str
) -> None:
    reading, writing = os.pipe()
    stream, read = requests_of(reading), []
    try:
        for piece in pieces:
            os.close(writing) if piece is None else os.write(writing, piece.encode())
        read = [next(stream) for _ in requests]
        if refused:
            with pytest.raises(ClickException, match=f"no complete JSON object: {re.escape(refused)}$"):
                next(stream)
    finally:
        os.close(reading)
        with suppress(OSError):
            os.close(writing)
    assert read == requests


def test_worker__one_command__has_its_exit_code(project: Project) -> None:
    project.kernel("fit")
    assert "1 kernel" in project.run("worker", "compile", "fit.py", "--emit", "slang").stderr
    project.run("worker", "compile", "absent.py", code=1)


def test_compile__without_a_home__gives_the_same_bytes_everywhere(tmp_path: Path) -> None:
    files = []
    for name in ("one", "other/place"):
        project = Project(tmp_path / name)
        project.kernel("fit")
        project.write("gain/gain.slang", "module gain;\npublic float gain(float x) { return x * 2.0; }\n")
        kept = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        words = ("compile", "fit.py", "-I", "gain", "-t", "wgsl", "-t", "spirv", *FORWARD, "--no-cache")
        command = [sys.executable, "-m", "slangad.cli", *words]
        subprocess.run(command, cwd=project.folder, env=kept, capture_output=True, check=True)
        left = {path.name for path in project.folder.iterdir()}
        assert left - {"__pycache__"} == {"fit.py", "lib.py", "gain", "build"}
        files.append(project.files())
    assert files[0] == files[1]


def test_compile__links_to_sources__gives_the_bytes_of_the_sources(tmp_path: Path) -> None:
    """Bazel and others lay a link to each source into a folder of their own."""
    sources, linked = Project(tmp_path / "sources"), Project(tmp_path / "deeper/linked")
    linked.folder.mkdir(parents=True, exist_ok=True)
    sources.kernel("fit")
    for source in ("fit.py", "lib.py"):
        (linked.folder / source).symlink_to(sources.folder / source)
    files = []
    for project in (sources, linked):
        words = ("compile", "fit.py", "-t", "wgsl", *FORWARD)
        project.run(*words)
        files.append(project.files())
        assert "1 of 1 up to date" in project.run(*words).stderr
    assert files[0] == files[1]


def test_bazel__workers_and_sandbox__give_the_same_bytes_and_the_check_passes(
    tmp_path: Path, tool: Callable[[str], str]
) -> None:
    bazel = tool("bazel")
    root = ("--output_user_root", str(tmp_path / "root"), "--max_idle_secs=60")
    programs = tmp_path / "programs/slangad"
    programs.parent.mkdir()
    programs.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m slangad.cli "$@"\n')
    programs.chmod(0o755)
    environment = {
        "HOME": str(tmp_path),
        "PATH": f"{programs.parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    coverage = tmp_path / "coverage"  # Bazel downloads this for every test
    coverage.mkdir()
    (coverage / "WORKSPACE").touch()
    (coverage / "BUILD").write_text(
        'filegroup(name = "coverage_report_generator", visibility = ["//visibility:public"])'
    )
    passed = [f"--{kind}_env={name}" for kind in ("action", "test") for name in ("PATH", "PYTHONPATH")]
    flags = (
        *passed,
        "--experimental_worker_allow_json_protocol",
        f"--override_repository=remote_coverage_tools={coverage}",
    )

    def run(folder: Path, command: str, target: str, *words: str) -> str:
        ended = subprocess.run(
            [bazel, *root, command, target, *flags, *words],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-4000:]
        return ended.stderr + ended.stdout

    def outputs(folder: Path) -> dict[str, bytes]:
        made = (folder / "bazel-bin/kernels").resolve()
        return {path.relative_to(made).as_posix(): path.read_bytes() for path in made.rglob("*") if path.is_file()}

    one, two = tmp_path / "one", tmp_path / "other/place"
    workers = ("--strategy=Slangad=worker", "--worker_verbose")
    for folder in (one, two):
        shutil.copytree(Path(__file__).parents[2] / "samples/bazel", folder)
    try:
        assert "Created new non-sandboxed Slangad worker" in run(one, "build", ":kernels", *workers)
        first = outputs(one)
        assert {"spirv/fit.fit.backward.spv", "wgsl/fit.fit.backward.wgsl", "wgsl/manifest.json"} <= first.keys()
        (one / "fit.py").touch()
        assert "1 process: 1 internal" in run(one, "build", ":kernels", *workers)
        text = (one / "fit.py").read_text()
        (one / "fit.py").write_text(text.replace("error * error", "error * error * 3.0"))
        again = run(one, "build", ":kernels", *workers)
        assert "2 worker" in again
        assert "Created new" not in again
        assert b"3.0" in outputs(one)["wgsl/fit.slang"]
        assert "PASSED" in run(one, "test", ":check")
        with ZipFile(one / "bazel-testlogs/check/test.outputs/outputs.zip") as left:
            assert b"fit" in left.read("check.svg")
        run(two, "build", ":kernels", "--strategy=Slangad=local")
        assert outputs(two) == first
    finally:
        for folder in (one, two):
            subprocess.run([bazel, *root, "shutdown"], cwd=folder, env=environment, capture_output=True, check=False)


def test_compile__sources_in_a_folder_that_is_only_read__writes_nothing_there(tmp_path: Path) -> None:
    sources = Project(tmp_path / "só urces")
    sources.kernel("fit")
    before = sources.files(".")
    sources.folder.chmod(0o555)
    try:
        project = Project(tmp_path)
        for _ in range(2):
            ended = project.run("compile", str(sources.folder / "fit.py"), "-t", "wgsl", *FORWARD, "-o", "öut put")
        assert "1 of 1 up to date" in ended.stderr
        assert sources.files(".") == before
    finally:
        sources.folder.chmod(0o755)


def test_compile__two_builds_at_once_into_one_folder__leave_whole_files(project: Project) -> None:
    names = [f"kernel_{index}" for index in range(3)]
    for name in names:
        project.kernel(name)
    words = ("compile", *(f"{name}.py" for name in names), "-t", "wgsl", "-t", "glsl", *FORWARD)
    with ThreadPoolExecutor(2) as both:
        runs = [both.submit(project.run_apart, *words, "--no-cache") for _ in range(2)]
        assert all(run.result().returncode == 0 for run in runs)
    files = project.files()
    for record in project.manifest()["inputs"]:
        for artefact in (a for k in record["kernels"] for e in k["entry_points"] for a in e["artefacts"]):
            assert hashlib.sha256(files[artefact["file"]]).hexdigest() == artefact["sha256"]
    assert not [name for name in files if name.endswith(".tmp")]
    assert "3 of 3 up to date" in project.run(*words).stderr


@pytest.mark.parametrize("generator", ["Ninja", "Unix Makefiles"])
def test_cmake__both_generators__touch_depfile_check(
    project: Project, tool: Callable[[str], str], generator: str
) -> None:
    tool("ninja" if generator == "Ninja" else "make")
    project.kernel("fit")
    project.write("programs/slangad", f'#!/bin/sh\nexec "{sys.executable}" -m slangad.cli "$@"\n').chmod(0o755)
    project.write(
        "CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.20)\nproject(p LANGUAGES NONE)\nenable_testing()\n"
        "execute_process(COMMAND slangad cmake-dir OUTPUT_VARIABLE Slangad_DIR OUTPUT_STRIP_TRAILING_WHITESPACE)\n"
        "find_package(Slangad REQUIRED)\n"
        "slangad_add_shaders(shaders INPUTS fit.py TARGETS wgsl OPTIONS --mode forward CHECK)\n",
    )
    path = {"PATH": f"{project.folder / 'programs'}{os.pathsep}{os.environ['PATH']}"}
    _run(project, tool("cmake"), "-S", ".", "-B", "b", "-G", generator, **path)

    def build() -> int:
        return _run(project, "cmake", "--build", "b", **path).count("slangad fit.py")

    code = project.folder / "b/shaders/fit.fit.forward.wgsl"
    assert (build(), build()) == (1, 0)
    written = code.stat().st_mtime_ns
    (project.folder / "lib.py").touch()  # found by the depfile
    assert (build(), build()) == (1, 0)
    assert code.stat().st_mtime_ns == written
    project.write("lib.py", (project.folder / "lib.py").read_text().replace("2.0", "7.0"))
    assert (build(), build()) == (1, 0)
    assert "7.0" in code.read_text()
    assert "shaders.check" in _run(project, "ctest", "--test-dir", "b", **path)


def test_cmake__package_in_small_letters__builds_an_input_with_dots_in_its_name(
    project: Project, tool: Callable[[str], str]
) -> None:
    tool("ninja")
    project.write("tone.v2.slang", "[Differentiable]\nfloat tone(float x)\n{\n    return x / (x + 1.0);\n}\n")
    project.write("programs/slangad", f'#!/bin/sh\nexec "{sys.executable}" -m slangad.cli "$@"\n').chmod(0o755)
    project.write(
        "CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.20)\nproject(p LANGUAGES NONE)\n"
        "execute_process(COMMAND slangad cmake-dir OUTPUT_VARIABLE slangad_DIR OUTPUT_STRIP_TRAILING_WHITESPACE)\n"
        "find_package(slangad REQUIRED)\n"
        "slangad_add_shaders(shaders INPUTS tone.v2.slang TARGETS wgsl OPTIONS --mode forward)\n",
    )
    path = {"PATH": f"{project.folder / 'programs'}{os.pathsep}{os.environ['PATH']}"}
    _run(project, tool("cmake"), "-S", ".", "-B", "b", "-G", "Ninja", **path)
    assert "slangad tone.v2.slang" in _run(project, "cmake", "--build", "b", **path)
    files = {file.name for file in (project.folder / "b/shaders").iterdir()}
    assert {"tone.v2.tone.forward.wgsl", "tone.v2.manifest.json", "tone.v2.d"} <= files
    assert "no work to do" in _run(project, "cmake", "--build", "b", **path)
