"""Temporary files that can't be written: one error that says where, why and what to do, whoever wanted them."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.limits import small_files

from slangad.compiler.emit.model import EmittedModule, EntryPoint, Mode
from slangad.compiler.errors.diagnostics import ToolchainError
from slangad.compiler.runtime.device.cpu_device import CpuDevice
from slangad.compiler.runtime.device.cxx import CxxCompiler, build_shared_library
from slangad.compiler.runtime.device.model import BuildOptions, KernelLaunch
from slangad.compiler.toolchain.jobs.request import CompileJob
from slangad.compiler.toolchain.jobs.staging import Staging
from slangad.compiler.toolchain.messages.failures import not_written

if TYPE_CHECKING:
    from pathlib import Path

F4 = np.dtype("f4")
REFUSED = r"SA255.*can't write temporary files in .*: File too large.*"
TEXT = """
[shader("compute")] [numthreads(64, 1, 1)]
void one(uint3 t : SV_DispatchThreadID, uniform RWStructuredBuffer<float> x) { x[t.x] = 1.0; }
"""


def test_staging__full_disk__is_told_with_the_place_and_a_remedy() -> None:
    job = CompileJob("k.slang", "// " + 500 * "x", ("one",), ("spirv",), modules=(("lib.slang", 500 * "/"),))
    with Staging() as staging:
        for write in (lambda: staging.write(job), lambda: staging.write_text("lib.slang", job.source)):
            with small_files(200), pytest.raises(ToolchainError, match=REFUSED) as caught:
                write()
            (said,) = caught.value.diagnostics
            assert said.help == "raise the limit on the size of files (ulimit -f)"
            assert said.message.startswith(f"can't write temporary files in {tempfile.gettempdir()}: ")


def test_staging__no_folder_for_temporary_files__is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(ToolchainError, match=r"SA255.*gone: No such file or directory") as caught, Staging():
        pass
    assert caught.value.diagnostics[0].help == "make room there, or set TMPDIR to another folder"


def test_cxx__disk_full_while_it_works__does_not_count_as_rejection(cxx: CxxCompiler) -> None:
    with small_files(200), pytest.raises(ToolchainError, match=REFUSED):
        build_shared_library(b'extern "C" int twice(int x) { return 2 * x; }')
    assert not_written("kernel.cpp:1:1: fatal error: error closing /t/x.s: No space left on device") is not None
    assert not_written("kernel.cpp:1:1: error: nonsense") is None


def test_cxx__full_folder_named_by_tmpdir__is_not_used_for_its_own_files(
    cxx: CxxCompiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "gone"))
    assert build_shared_library(b'extern "C" int twice(int x) { return 2 * x; }')


@pytest.mark.toolchain
def test_cpu_device__limit_on_files__is_not_called_too_little_memory(cxx: CxxCompiler) -> None:
    def prepared(device: CpuDevice) -> KernelLaunch:
        point = EntryPoint("one", "one", Mode.FORWARD, (64, 1, 1), 1, ())
        program = device.load(EmittedModule("test.slang", TEXT, {}, (point,), {}, ()), BuildOptions(), ("one",))
        return KernelLaunch(program, "one", (64, 1, 1), {"x": device.buffer(F4, 64)})

    with CpuDevice() as first:
        first.submit([prepared(first)])  # its worker writes the bytecode, which that of the next must not cut off
    with CpuDevice() as device:
        launch = prepared(device)
        with small_files(1000):
            with pytest.raises(ToolchainError, match=REFUSED):
                device.buffer(F4, 1000)
            with pytest.raises(ToolchainError, match=REFUSED):
                device.submit([launch])
