"""What goes wrong in Slang costs the unit that caused it, and nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import slangad
from slangad.compiler.errors.diagnostics import ToolchainError
from slangad.compiler.toolchain.jobs.request import CompileJob
from slangad.compiler.toolchain.locate import LIBRARY_VARIABLE
from slangad.compiler.toolchain.session import Toolchain, compile_jobs

if TYPE_CHECKING:
    from collections.abc import Callable

    from slangad.compiler.toolchain.jobs.request import CompileResult

pytestmark = pytest.mark.toolchain

POSIX = pytest.mark.skipif(os.name != "posix", reason="signals and process groups of POSIX")


@POSIX
def test_crash__one_entry_point__is_named_and_the_rest_compiled(
    compile_slang: Callable[..., CompileResult], crashing: str
) -> None:
    result = compile_slang(crashing, ("bad", "fine"), ("spirv", "glsl", "cpp"))
    assert [(a.target, a.entry) for a in result.artefacts] == [("spirv", "fine"), ("glsl", "fine"), ("cpp", "fine")]
    (problem,) = result.diagnostics
    assert problem.code == "SA240"
    assert "crashed (SIGSEGV) on test.slang while generating code for bad (spirv, glsl, cpp)" in problem.message
    assert problem.span.file == "test.slang"


def test_crash__among_other_jobs__leaves_them_alone(toolchain: Toolchain, crashing: str, entry: str) -> None:
    fine = [CompileJob(f"{n}.slang", entry.format(name="k", body=f"r[i] = {n};"), ("k",), ("hlsl",)) for n in range(6)]
    bad = CompileJob("bad.slang", crashing, ("bad",), ("hlsl",))
    results = toolchain.compile([*fine[:3], bad, *fine[3:]])
    assert [result.ok for result in results] == [True, True, True, False, True, True, True]


def test_hang__one_entry_point__is_ended_and_the_rest_compiled(
    compile_slang: Callable[..., CompileResult], hanging: str
) -> None:
    start = time.monotonic()
    result = compile_slang(hanging, ("bad", "fine"), ("spirv", "hlsl", "glsl", "cuda"), time_limit=3.0)
    assert time.monotonic() - start < 12.0
    assert {(a.target, a.entry) for a in result.artefacts} == {(t, "fine") for t in ("spirv", "hlsl", "glsl", "cuda")}
    (problem,) = result.diagnostics
    assert problem.code == "SA241"
    assert "generating code for bad of test.slang (spirv, hlsl, glsl, cuda) after 3 s" in problem.message


def test_rejection__on_one_target__names_it_and_makes_the_others(
    compile_slang: Callable[..., CompileResult], entry: str
) -> None:
    text = entry.format(name="waves", body="r[i] = WaveActiveSum(r[i]);") + entry.format(name="plain", body="r[i] = 1;")
    result = compile_slang(text, ("waves", "plain"), ("spirv", "cpp", "hlsl"))
    made = {(a.target, a.entry) for a in result.artefacts}
    assert made == {(t, e) for t in ("spirv", "cpp", "hlsl") for e in ("waves", "plain")} - {("cpp", "waves")}
    assert [message.code for message in result.messages] == [36107]


def test_rejection__with_code__gives_no_artefact(compile_slang: Callable[..., CompileResult], entry: str) -> None:
    text = entry.format(name="atomics", body="InterlockedAdd(r[0], 1.0);")
    result = compile_slang(text, ("atomics",), ("hlsl", "glsl"))
    assert [a.target for a in result.artefacts] == ["glsl"]
    assert [(m.code, m.targets) for m in result.messages] == [(55204, ("hlsl",))]


def test_library__not_one__is_a_toolchain_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: str) -> None:
    fake = tmp_path / "libslang-compiler.so"
    fake.write_bytes(b"not a library")
    monkeypatch.setenv(LIBRARY_VARIABLE, str(fake))
    with pytest.raises(ToolchainError, match="SA244"):
        compile_jobs([CompileJob("k.slang", entry.format(name="k", body=""), ("k",), ("hlsl",))])


def test_library__named_but_absent__is_a_toolchain_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIBRARY_VARIABLE, "/nowhere/libslang.so")
    with pytest.raises(ToolchainError, match="which is not a file"):
        Toolchain()


SCRIPT = """
import sys
from slangad.compiler.toolchain.jobs.request import CompileJob
from slangad.compiler.toolchain.session import compile_jobs
try:
    compile_jobs([CompileJob("k.slang", sys.argv[1], ("bad",), ("hlsl",), time_limit=60.0)])
except KeyboardInterrupt:
    print("interrupted")
"""


@POSIX
@pytest.mark.parametrize("how", ["interrupt", "kill"])
def test_workers__parent_ends__end_too(hanging: str, how: str) -> None:
    root = str(Path(slangad.__file__).parent.parent)
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT, hanging],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": root},
    ) as parent:
        time.sleep(1.0)
        children = _children(parent.pid)
        assert children
        parent.send_signal(signal.SIGINT if how == "interrupt" else signal.SIGKILL)
        output, _ = parent.communicate(timeout=20)
    assert output == ("interrupted\n" if how == "interrupt" else "")
    deadline = time.monotonic() + 5.0
    while any(_alive(child) for child in children) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not [child for child in children if _alive(child)]


def _children(parent: int) -> list[int]:
    if not Path("/proc/self/status").exists():
        pytest.skip("needs /proc")
    found = []
    for place in Path("/proc").glob("[0-9]*/status"):
        try:
            fields = dict(line.split(":\t", 1) for line in place.read_text().splitlines() if ":\t" in line)
        except OSError:
            continue
        if int(fields["PPid"]) == parent:
            found.append(int(fields["Pid"]))
    return found


def _alive(process: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False
