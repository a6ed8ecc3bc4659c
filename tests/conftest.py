"""For all tests: a cache of their own, a warm Slang compiler, and validators for what it emits.

A tool that is absent skips the test; with ``SLANGAD_REQUIRE_TOOLCHAIN=1`` it fails it.
"""

from __future__ import annotations

import gc
import os
import shutil
import signal
import struct
import subprocess
import tempfile
from functools import cache
from typing import TYPE_CHECKING, NoReturn

import pytest
from support.mesa import QUICK_TO_COMPILE
from support.shared_builds import share_builds

from slangad.compiler.runtime.device.cxx import find_cxx
from slangad.compiler.toolchain.jobs.cpp_prelude import split_prelude
from slangad.compiler.toolchain.jobs.request import Artefact, CompileJob, CompileResult
from slangad.compiler.toolchain.session import Toolchain
from slangad.compiler.toolchain.temporary import TemporaryFolder
from slangad.compiler.toolchain.tools import find_nvrtc
from slangad.compiler.toolchain.workers.kept_children import kept_children

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import wgpu

    from slangad.compiler.runtime.device.cxx import CxxCompiler


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--update`` rewrites golden files."""
    parser.addoption("--update", action="store_true", help="rewrite golden files instead of comparing with them")


def pytest_xdist_auto_num_workers() -> int:
    """Return one process more than there are cores: tests wait for compilers and devices a fifth of the time."""
    return (os.cpu_count() or 1) + 1


_FOLDER = pytest.StashKey[TemporaryFolder]()


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Refuse some uses of ``--update``, let tests interrupt what they start, and give the run a folder.

    Shells start background jobs with SIGINT ignored, and whatever those start would ignore it too.
    """
    if config.getoption("--update") and os.environ.get("CI"):
        raise pytest.UsageError("--update rewrites golden files and is refused where CI is set")
    if config.getoption("--update") and getattr(config.option, "numprocesses", None):
        raise pytest.UsageError("--update rewrites golden files, and processes of -n would write one file at once")
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if not hasattr(config, "workerinput"):
        _use_folder(config, TemporaryFolder("slangad-tests-"))


MALLOC = {
    "MALLOC_TOP_PAD_": f"{16 << 20}",
    "MALLOC_TRIM_THRESHOLD_": f"{512 << 20}",
    "MALLOC_MMAP_THRESHOLD_": f"{128 << 20}",
}
"""Settings of glibc: compilers allocate and free all the time, and to ask the system for pages each time took a
thirteenth of the time of the check's tests and those of targets (95 s and 95 s, with this 88 s and 87 s)."""


def _use_folder(config: pytest.Config, folder: TemporaryFolder) -> None:
    """Let the run and the processes that it starts keep all temporary files in one folder.

    The next run removes it if this one is killed or fails; until then, what a failed test left can be looked at.
    Processes that may not write bytecode beside the code write it there: compiling all modules in each takes minutes.
    """
    config.stash[_FOLDER] = folder
    (folder.path / "tmp").mkdir()
    (folder.path / "mesa").mkdir()
    # a cache of its own: with code of another width from the user's, kernels with textures end the process
    os.environ["MESA_SHADER_CACHE_DIR"] = str(folder.path / "mesa")
    settings = {**QUICK_TO_COMPILE, **MALLOC}
    os.environ.update({name: value for name, value in settings.items() if name not in os.environ})
    os.environ["TMPDIR"] = str(folder.path / "tmp")
    tempfile.tempdir = None
    if config.option.basetemp is None:
        config.option.basetemp = str(folder.path / "pytest")
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
        os.environ["PYTHONPYCACHEPREFIX"] = str(folder.path / "bytecode")


def pytest_collection_finish() -> None:
    """Let the garbage collector ignore what stays: it took a tenth of the processor time of tests in this process."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Remove the run's folder if all tests passed."""
    folder = session.config.stash.get(_FOLDER, None)
    if folder is not None and exitstatus == pytest.ExitCode.OK:
        session.config.add_cleanup(folder.close)


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cache, builds and idle children for each session; processes that share a session's tests share its folders."""
    base = tmp_path_factory.getbasetemp()
    session = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base
    with pytest.MonkeyPatch.context() as patch, kept_children():
        patch.setenv("SLANGAD_CACHE_DIR", str(session / "cache"))
        patch.setenv("SLANGAD_VERIFY", "1")
        share_builds(patch, session / "builds")
        yield


OPTIONAL = ("NVRTC", "bazel", "nvcc", "xcrun")
"""Tools that machines for tests needn't have."""


def absent(what: str) -> NoReturn:
    """Skip the test, or fail it where everything has to be there."""
    if os.environ.get("SLANGAD_REQUIRE_TOOLCHAIN") == "1" and what not in OPTIONAL:
        pytest.fail(f"{what} is missing, and SLANGAD_REQUIRE_TOOLCHAIN=1")
    pytest.skip(f"{what} is missing")


@pytest.fixture(scope="session")
def tool() -> Callable[[str], str]:
    """Finds a program by name."""
    return lambda name: shutil.which(name) or absent(name)


@pytest.fixture(scope="session")
def nvrtc() -> Path:
    """NVIDIA's library that compiles at run time."""
    return find_nvrtc() or absent("NVRTC")


@pytest.fixture(scope="session")
def cxx() -> CxxCompiler:
    """The C++ compiler."""
    return find_cxx() or absent("a C++ compiler")


@pytest.fixture(scope="session")
def toolchain() -> Iterator[Toolchain]:
    """The Slang library in a warm worker, without a cache. A second one would parse each large job once more."""
    with Toolchain(workers=1) as shared:
        yield shared


@pytest.fixture
def compile_slang(toolchain: Toolchain) -> Callable[..., CompileResult]:
    """Compiles one Slang text: ``compile_slang(source, entry_points, targets, **fields_of_the_job)``."""

    def compile_one(source: str, entries: tuple[str, ...], targets: tuple[str, ...], **more: object) -> CompileResult:
        (result,) = toolchain.compile([CompileJob("test.slang", source, entries, targets, **more)])  # type: ignore[arg-type]  # checked at run time
        return result

    return compile_one


@pytest.fixture(scope="session")
def wgpu_device() -> wgpu.GPUDevice:
    """A WebGPU implementation, in software where there is no GPU."""
    try:
        import wgpu

        adapter = wgpu.gpu.request_adapter_sync()
        return adapter.request_device_sync(required_features=["shader-f16"] if "shader-f16" in adapter.features else [])
    except (ImportError, RuntimeError, OSError) as error:
        absent(f"a WebGPU adapter ({error})")


@pytest.fixture(scope="session")
def check_cpp(cxx: CxxCompiler, tmp_path_factory: pytest.TempPathFactory) -> Callable[[bytes, Path], list[str]]:
    """Gives the command that checks C++ text; the prelude of Slang, 4,000 lines, is precompiled once.

    GCC reads the prelude itself where it can't use the precompiled one.
    """
    command = [*cxx.command, "-w", "-std=c++17"]

    @cache
    def header(prelude: bytes) -> Path:
        path = tmp_path_factory.mktemp("prelude") / "prelude.h"
        path.write_bytes(prelude)
        if not cxx.msvc:
            subprocess.run([*command, "-x", "c++-header", path, "-o", f"{path}.gch"], check=False)
        return path

    def check(text: bytes, file: Path) -> list[str]:
        prelude, code = split_prelude(text)
        file.write_bytes(code)
        return [*command, "-fsyntax-only", "-x", "c++", "-include", str(header(prelude)), str(file)]

    return check


@pytest.fixture
def validate(tool: Callable[[str], str], request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Artefact], None]:
    """Puts an artefact through the validator of its target; skips the test where there is none."""

    def run(name: str, *arguments: str) -> None:
        ended = subprocess.run([tool(name), *arguments], capture_output=True, text=True, check=False, cwd=tmp_path)
        assert ended.returncode == 0, f"{name} says:\n{ended.stdout}{ended.stderr}"

    def validate_one(artefact: Artefact) -> None:
        data = without_source_language(artefact.data) if artefact.target == "spirv" else artefact.data
        file = tmp_path / {"glsl": "k.comp", "spirv": "k.spv", "spirv-asm": "k.spvasm"}.get(artefact.target, "k.txt")
        file.write_bytes(data)
        match artefact.target:
            case "spirv":
                run("spirv-val", "--target-env", "vulkan1.3", "--scalar-block-layout", str(file))
            case "spirv-asm":
                assert artefact.text.startswith("; SPIR-V")
            case "glsl":
                run("glslangValidator", "-V", "--target-env", "vulkan1.3", str(file), "-o", "k.spv")
            case "hlsl":
                entry = ("-e", artefact.entry, "-S", "comp")
                run("glslangValidator", "-D", "-V", "--target-env", "vulkan1.3", *entry, str(file), "-o", "k.spv")
            case "wgsl":
                device = request.getfixturevalue("wgpu_device")
                if "enable f16" in artefact.text and "shader-f16" not in device.features:
                    absent("shader-f16 of the WebGPU adapter")
                device.create_shader_module(code=artefact.text)
            case "cuda":
                run("nvcc", "-w", "-arch=sm_80", "-Xcicc", "-O0", "-x", "cu", "-ptx", str(file), "-o", "k.ptx")
            case "cpp":
                run(*request.getfixturevalue("check_cpp")(data, file))
            case "metal":
                run("xcrun", "metal", "-x", "metal", "-c", str(file), "-o", "k.air")

    return validate_one


def without_source_language(spirv: bytes) -> bytes:
    """SPIR-V with OpSource's language (word 1 of opcode 3) as 'unknown': older spirv-val knows no Slang."""
    words = list(struct.unpack(f"<{len(spirv) // 4}I", spirv))
    at = 5
    while at < len(words):
        length, opcode = words[at] >> 16, words[at] & 0xFFFF
        if opcode == 3:
            words[at + 1] = 0
        at += length
    return struct.pack(f"<{len(words)}I", *words)
