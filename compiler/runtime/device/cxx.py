"""Build a shared library from the ``cpp`` target's output with the machine's C++ compiler, once for each content.

The first 4,000 lines of every text are Slang's prelude. GCC reads them once for each set of flags and keeps what it
made of them in the cache: a precompiled header saves a third of a small build's time.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from slangad.compiler.errors.diagnostics import Diagnostic, ToolchainError
from slangad.compiler.toolchain.jobs.cpp_prelude import split_prelude
from slangad.compiler.toolchain.messages.failures import failed, no_temporary_files, not_written, temporary_files
from slangad.compiler.toolchain.temporary import TemporaryFolder
from slangad.compiler.toolchain.workers.processes import run_program

if TYPE_CHECKING:
    from slangad.compiler.toolchain.cache import Cache

Optimization = int | Literal["g"]
"""The level after ``-O``; ``g`` for code that runs seldom."""

TIME_LIMIT = 300.0
"""Time limit of the C++ compiler, in seconds."""
_WORD_LIMIT = 20.0
"""Time limit for the compiler's version output, in seconds."""

_GNU_FLAGS = (
    "-std=c++14", "-shared", "-fPIC", "-w", "-ffp-contract=off", "-fno-math-errno", "-fno-strict-aliasing",
)  # fmt: skip
"""Slang's C++ needs no later standard, and the mathematics header of C++17 takes a fifth of a small build's time.

With strict aliasing, GCC 12 (-O2, -fipa-modref) drops stores that a called function reads: gradients of matrices of 33
columns were 0. Kernels take the same time without.
"""
_FOR_SPEED = ("-fno-semantic-interposition", "-fno-trapping-math", "--param=max-completely-peeled-insns=100")
"""Flags that let loops become vector code and change no result: 1.2 to 1.8 times as fast, with those below.

GCC writes out whole loops up to 200 instructions at -O3, which doubles the time of a network's build and gains nothing.
"""
_FAST_BUILD = ("-Og", "-ftrivial-auto-var-init=pattern")
"""Flags for builds in half the time of -O1. The second one makes a variable that is never stored -5e303 or NaN."""
_NATIVE = {
    **dict.fromkeys(("x86_64", "amd64", "i686"), ("-march=native",)),
    **dict.fromkeys(("aarch64", "arm64"), ("-mcpu=native",)),
}
"""Flags for all instructions of the machine, by its name in ``platform``."""
_OF_GCC = b"gpch"
"""First bytes of GCC's precompiled headers. Clang's headers name their source file, so they can't move."""
_INCLUDED = ("-include", "prelude.h")
_MSVC_FLAGS = ("/nologo", "/std:c++17", "/LD", "/EHsc", "/fp:precise", "/w")
_MAX_LINES = 12


class RejectionError(ToolchainError):
    """A C++ compiler rejects a text; ``output`` is all that it says, in this process."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...], output: str = "") -> None:
        super().__init__(diagnostics)
        self.output = output


@dataclass(frozen=True, slots=True)
class CxxCompiler:
    """A C++ compiler and how to talk to it: ``command`` starts it, ``msvc`` says whose options it takes."""

    command: tuple[str, ...]
    msvc: bool = False

    @property
    def is_there(self) -> bool:
        """Return True if there is a program of its name."""
        return shutil.which(self.command[0]) is not None

    def arguments(self, source: Path, output: Path, optimization: Optimization, *, native: bool = False) -> list[str]:
        """Return the command line that makes a shared library of one source file.

        Contraction into fused multiply-adds stays off, so that results do not depend on the machine. This holds with
        ``native`` too, which uses all instructions of this machine. (``fma`` in the text is fused everywhere.)
        """
        if self.msvc:
            level = "/Od" if optimization == 0 else "/O2"
            return [*self.command, *_MSVC_FLAGS, level, str(source), f"/Fe:{output}", f"/Fo:{output}.obj"]
        return [*self.command, *self.flags(optimization, native=native), str(source), "-o", str(output)]

    def flags(self, optimization: Optimization, *, native: bool) -> list[str]:
        """Return the options of a compiler that is not MSVC; those of -O1 for ``g`` if it is too old for that."""
        own = (*_FOR_SPEED, *_NATIVE.get(platform.machine().lower(), ())) if native else ()
        level = (f"-O{optimization}",) if optimization != "g" else _FAST_BUILD if _knows_fast(self) else ("-O1",)
        return [*_GNU_FLAGS, *own, *level]

    def identity(self) -> str:
        """Tell one compiler from another, for cache keys, without running it."""
        program = Path(shutil.which(self.command[0]) or self.command[0]).resolve()
        status = program.stat()
        return f"{self.command}|{program}|{status.st_size}|{status.st_mtime_ns}"

    def described(self) -> str:
        """Return the command and the first line of the compiler's version output."""
        command = [*self.command, *(() if self.msvc else ("--version",))]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_WORD_LIMIT, check=False)  # noqa: S603  (the user's own compiler)
        except (OSError, subprocess.TimeoutExpired):
            return f"{self.command[0]}, which could not be started"
        first = (done.stdout or done.stderr).strip().partition("\n")[0]
        return f"{' '.join(self.command)}: {first}"


@lru_cache
def _knows_fast(compiler: CxxCompiler) -> bool:
    """Return True if a compiler takes the flags of a fast build. GCC does since 12, Clang since 16."""
    command = [*compiler.command, *_FAST_BUILD, "-fsyntax-only", "-x", "c++", "-"]
    try:
        return run_program(command, _WORD_LIMIT).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def find_cxx() -> CxxCompiler | None:
    """Return the C++ compiler: ``$CXX`` even if it does not exist, else c++, g++, clang++, cl, or ``ziglang``'s."""
    named = _words(os.environ.get("CXX", ""))
    if named:
        return CxxCompiler(tuple(named), msvc=Path(named[0]).stem.lower() in ("cl", "clang-cl"))
    for name in ("c++", "g++", "clang++", "cl"):
        if shutil.which(name):
            return CxxCompiler((name,), msvc=name == "cl")
    return CxxCompiler((sys.executable, "-m", "ziglang", "c++")) if find_spec("ziglang") else None


def _words(command: str) -> list[str]:
    """Return the words of a command; a quotation that does not end makes it one, which no program is called."""
    try:
        return shlex.split(command)
    except ValueError:
        return [command]


def build_shared_library(
    source: bytes,
    *,
    optimization: Optimization = 1,
    native: bool = False,
    cache: Cache | None = None,
    headers: Path | None = None,
    use: str = "the cpu device",
) -> bytes:
    """Compile C++ text to a shared library; ``native`` ones run on machines like this one only.

    Args:
        source: The C++ text.
        optimization: The level; libraries of ``g`` are built in half the time of level 1.
        native: Whether the library may use all instructions of this machine.
        cache: Where libraries are kept by content.
        headers: The folder of the headers of a text in C++17; what they say is no part of the content.
        use: What needs the library, for messages.

    Raises:
        RejectionError: It rejects the text.
        ToolchainError: There is no C++ compiler, or it takes too long.
    """
    compiler = find_cxx()
    if compiler is None:
        raise failed(
            "SA245",
            f"{use} needs a C++ compiler and found none",
            help="install g++ or clang++, set CXX, or `pip install ziglang`",
        )
    if not compiler.is_there:
        message = f"{use} needs a C++ compiler, and there is no {compiler.command[0]}, which CXX names"
        raise failed("SA245", message, help="correct CXX, or unset it")
    key = _key(source, compiler, optimization, native=native)
    stored = cache.get(key) if cache else None
    if stored is not None:
        return stored
    more = () if headers is None else _with_headers(compiler, headers)
    library = _build(compiler, source, optimization, native=native, cache=cache, more=more)
    if cache:
        cache.put(key, library)
    return library


def _with_headers(compiler: CxxCompiler, headers: Path) -> tuple[str, ...]:
    return (f"/I{headers}",) if compiler.msvc else ("-std=c++17", f"-I{headers}")


def _key(source: bytes, compiler: CxxCompiler, optimization: Optimization, *, native: bool) -> str:
    digest = hashlib.sha256(source)
    arguments = compiler.arguments(Path(), Path(), optimization, native=native)
    digest.update(f"|{compiler.identity()}|{arguments}|{_machine() if native else ''}".encode())
    return digest.hexdigest()


def fuses() -> bool:
    """Return True if this machine multiplies and adds in one instruction: most have since 2013."""
    return platform.machine().lower() in ("aarch64", "arm64") or " fma " in _processor()


def _processor() -> str:
    """Return what the system says about the processor's instructions."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    kinds = ("model name", "flags", "Features", "CPU part", "cpu family", "model\t")
    return "\n".join(sorted({line for line in lines if line.startswith(kinds)}))


def _machine() -> str:
    """Return a text that identifies the processor's instructions: machines may share a cache."""
    known = _processor()
    return (
        hashlib.sha256(known.encode()).hexdigest()
        if known
        else f"{platform.machine()} {platform.processor()} {platform.node()}"
    )


def _build(
    compiler: CxxCompiler,
    source: bytes,
    optimization: Optimization,
    *,
    native: bool,
    cache: Cache | None,
    more: tuple[str, ...],
) -> bytes:
    with temporary_files():
        made = TemporaryFolder()
    with made as folder:
        text, output = folder / "kernel.cpp", folder / "kernel.so"
        command = compiler.arguments(text, output, optimization, native=native)
        header = b""
        if cache and not compiler.msvc:
            header = _header(compiler, source, optimization, cache, native=native)
        with temporary_files():
            text.write_bytes(_after_header(folder, source, header) if header else source)
        done = _run([*command, *more, *(_INCLUDED if header else ())], folder)
        if done.returncode != 0:
            messages = done.stderr or done.stdout
            unwritten = not_written(messages)
            raise no_temporary_files(unwritten) if unwritten else _rejected(command, done.returncode, messages)
        return output.read_bytes()


def _header(compiler: CxxCompiler, source: bytes, optimization: Optimization, cache: Cache, *, native: bool) -> bytes:
    """Return the text's prelude as a precompiled header, or nothing where there is none or this compiler has none."""
    prelude, _ = split_prelude(source)
    if not prelude:
        return b""
    key = _key(b"precompiled|" + prelude, compiler, optimization, native=native)
    stored = cache.get(key)
    if stored is not None:
        return stored
    with temporary_files():
        made = TemporaryFolder()
    with made as folder:
        text, output = folder / "prelude.h", folder / "prelude.h.gch"
        with temporary_files():
            text.write_bytes(prelude)
        flags = compiler.flags(optimization, native=native)
        done = _run([*compiler.command, *flags, "-x", "c++-header", str(text), "-o", str(output)], folder)
        header = output.read_bytes() if done.returncode == 0 and output.exists() else b""
    header = header if header.startswith(_OF_GCC) else b""
    cache.put(key, header)
    return header


def _after_header(folder: Path, source: bytes, header: bytes) -> bytes:
    """Write the precompiled header into a folder; return the text without it, its lines' numbers as they were.

    GCC reads the prelude itself where it can't use the header, and both give the same library.
    """
    prelude, code = split_prelude(source)
    (folder / "prelude.h").write_bytes(prelude)
    (folder / "prelude.h.gch").write_bytes(header)
    return b'#line %d "kernel.cpp"\n' % (prelude.count(b"\n") + 1) + code


def _run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    try:
        return run_program(command, TIME_LIMIT, cwd=folder, env=os.environ | {"TMPDIR": str(folder)})
    except subprocess.TimeoutExpired:
        raise failed("SA241", f"{command[0]} did not finish within {TIME_LIMIT:.0f} s") from None
    except OSError as error:
        raise failed("SA245", f"{command[0]} could not be started: {error.strerror}", help="correct CXX") from None


def _rejected(command: list[str], status: int, output: str) -> RejectionError:
    """Return the compiler's errors, without the instantiation chains around them."""
    lines = output.strip().splitlines()
    errors = [line for line in lines if "error" in line] or lines
    diagnostic = Diagnostic(
        "SA246",
        f"{command[0]} rejected the C++ that Slang emitted (exit status {status})",
        help="this is a defect of Slang or slangad; the other targets may be fine",
        notes=tuple(errors[:_MAX_LINES]),
    )
    return RejectionError((diagnostic,), output)
