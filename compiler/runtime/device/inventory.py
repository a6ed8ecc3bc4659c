"""Try everything that ``slangad doctor`` lists: versions, compilers, tools, targets and devices.

Each target compiles a kernel in a worker. Each device runs a kernel in a process of its own.
"""

from __future__ import annotations

import os
import platform
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from slangad import __version__
from slangad.compiler.errors.diagnostics import ToolchainError
from slangad.compiler.ir.targets import TARGETS
from slangad.compiler.runtime.device.choice import try_device
from slangad.compiler.runtime.device.cxx import build_shared_library, find_cxx
from slangad.compiler.runtime.device.table import DEVICES
from slangad.compiler.toolchain.cache import cache_directory, default_cache
from slangad.compiler.toolchain.jobs.request import CompileJob, CompileResult
from slangad.compiler.toolchain.locate import toolchain_record
from slangad.compiler.toolchain.session import compile_jobs
from slangad.compiler.toolchain.tools import TOOLS, tool_of

if TYPE_CHECKING:
    from pathlib import Path

_SOURCE: Final = """
[Differentiable]
float square(float x) { return x * x; }

[shader("compute")] [numthreads(64, 1, 1)]
void probe(uint3 thread: SV_DispatchThreadID, StructuredBuffer<float> x, RWStructuredBuffer<float> gradient)
{
    var pair = diffPair(x[thread.x], 0.0f);
    bwd_diff(square)(pair, 1.0f);
    gradient[thread.x] = pair.d;
}
"""


@dataclass(frozen=True, slots=True)
class Check:
    """One test; ``detail`` is its result, ``remedy`` the advice if it fails."""

    name: str
    works: bool
    detail: str = ""
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Inventory:
    """All that was tried, by kind; ``cache`` is where the cache lies, how many bytes it holds and may hold."""

    versions: tuple[Check, ...]
    tools: tuple[Check, ...]
    targets: tuple[Check, ...]
    devices: tuple[Check, ...]
    cache: tuple[Path, int, int]

    @property
    def usable(self) -> bool:
        """Return True if the Slang compiler is there and every target works that needs nothing else."""
        needed = {name for name, target in TARGETS.items() if not target.tool}
        return all(check.works for check in self.versions) and all(c.works for c in self.targets if c.name in needed)


def take_inventory(slangc: Path | None = None) -> Inventory:
    """Try everything; takes a few seconds."""
    with ThreadPoolExecutor() as threads:
        devices = threads.map(_try_device, DEVICES)
        targets = _try_targets(slangc)
        return Inventory(_versions(slangc), _tools(), targets, tuple(devices), _cache())


def _versions(slangc: Path | None) -> tuple[Check, ...]:
    versions = (
        Check("slangad", works=True, detail=__version__),
        Check("Python", works=True, detail=f"{platform.python_version()} on {platform.platform()}"),
    )
    try:
        record = toolchain_record(slangc)
    except ToolchainError as error:
        return (
            *versions,
            Check("Slang", works=False, detail=error.diagnostics[0].message, remedy=error.diagnostics[0].help),
        )
    return (*versions, *(Check(name, works=True, detail=version) for name, version in record.items()))


def _tools() -> tuple[Check, ...]:
    compiler = find_cxx()
    cxx = Check("C++ compiler", _builds(), compiler.described() if compiler else "", _cpu_remedy())
    found = ((tool, tool.find()) for key, tool in TOOLS.items() if key != "c++")
    return (cxx, *(Check(t.name, at is not None, t.described(at) if at else "", t.remedy) for t, at in found))


def _builds() -> bool:
    """Return True if the C++ compiler makes a library."""
    try:
        return bool(build_shared_library(b"int slangad_probe;\n"))
    except ToolchainError:
        return False


def _cpu_remedy() -> str:
    """Return the advice for a C++ compiler that does not work. The user may have selected it."""
    named = os.environ.get("CXX", "").strip()
    return f"correct CXX, which names {named}, or unset it" if named else DEVICES["cpu"].remedy


def _try_targets(slangc: Path | None) -> tuple[Check, ...]:
    """Compile a kernel with a derivative for every target."""
    job = CompileJob("probe.slang", _SOURCE, ("probe",), tuple(TARGETS))
    try:
        result = compile_jobs([job], slangc=slangc)[0]
    except ToolchainError as error:
        result = CompileResult(diagnostics=error.diagnostics)
    return tuple(_target_check(name, result) for name in TARGETS)


def _target_check(name: str, result: CompileResult) -> Check:
    target = TARGETS[name]
    if result.artefact(name, "probe"):
        return Check(name, works=True, detail=target.title)
    tool = tool_of(target)
    if tool is not None and tool.find() is None:
        return Check(name, works=False, detail=f"{target.title}; needs {tool.name}", remedy=tool.remedy)
    reasons = [*(d.message for d in result.diagnostics), *(m.text for m in result.messages)]
    return Check(name, works=False, detail=next(iter(reasons), "no code came out"))


def _try_device(name: str) -> Check:
    works, detail = try_device(name)
    return Check(name, works, detail, _cpu_remedy() if name == "cpu" else DEVICES[name].remedy)


def _cache() -> tuple[Path, int, int]:
    directory, cache = cache_directory(), default_cache()
    used = sum(path.stat().st_size for path in directory.glob("??/*") if path.is_file())
    return directory, used, cache.limit if cache else 0
