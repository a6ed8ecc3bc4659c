"""Convert a job and some of its targets to slangc's arguments, the same for the library and for an executable."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from slangad.compiler.ir.targets import ASKED, TARGETS, Target, macros_for
from slangad.compiler.toolchain.tools import tool_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from slangad.compiler.toolchain.jobs.request import CompileJob

COMMON = (
    "-enable-machine-readable-diagnostics",
    "-matrix-layout-row-major",
    "-line-directive-mode",
    "none",
    "-fvk-use-entrypoint-name",
    "-warnings-disable",
    "31106,31107,30082",
)
"""Given always. Row-major as in numpy.

Two of the warnings only tell that Vulkan passes buffers apart from uniforms, one that floats are added up in double.
"""


OWN: Final = {
    "-matrix-layout-column-major": "buffers hold matrices by rows, as numpy does; the layout changes no derivative",
    **dict.fromkeys(
        (
            "-o",
            "-target",
            "-entry",
            "-stage",
            "-depfile",
            "-reflection-json",
            "-no-codegen",
            "-O0",
            "-O1",
            "-O2",
            "-O3",
        ),
        "slangad sets it itself",
    ),
}
"""Arguments of Slang that users cannot give, with the reason."""


def refused_flag(flag: str) -> str:
    """Return the reason why users cannot pass this argument to Slang; empty if they can."""
    return OWN.get(flag, "")


def slangc_arguments(job: CompileJob, source: Path, entries: Sequence[str], targets: Sequence[str]) -> tuple[str, ...]:
    """Build the argument list for some entry points and targets of a job.

    Args:
        job: The job; its ``entry_points`` and ``targets`` are not read.
        source: The file with the job's text, beside its modules.
        entries: Entry points to compile.
        targets: Names of targets to compile for, all with the same macros.
    """
    arguments = [os.fspath(source), *COMMON, f"-O{job.optimization}", "-I", os.fspath(source.parent)]
    for folder in job.include_dirs:
        arguments += ["-I", folder]
    arguments += [f"-D{name}={value}" for name, value in job.defines if name not in ASKED]
    arguments += [f"-D{name}" for name in sorted({macro for name in targets for macro in macros_of(job, name)})]
    for entry in entries:
        arguments += ["-entry", entry, "-stage", "compute"]
    for name in targets:
        arguments += ["-target", name, *TARGETS[name].arguments, *_tool_arguments(TARGETS[name])]
    return (*arguments, *job.extra_arguments)


def macros_of(job: CompileJob, target: str) -> tuple[str, ...]:
    """Return those macros of a target that the texts of a job name. Targets with the same ones share a call."""
    texts = (job.source, *(text for _, text in job.modules))
    macros = macros_for(target, [name for name, _ in job.defines])
    return tuple(macro for macro in macros if any(macro in text for text in texts))


def module_arguments(source: str, output: str, defines: Sequence[tuple[str, str]] = ()) -> tuple[str, ...]:
    """Build the argument list that makes a binary module of a Slang text."""
    return (source, *COMMON, *(f"-D{name}={value}" for name, value in defines), "-o", output)


def _tool_arguments(target: Target) -> tuple[str, ...]:
    tool = tool_of(target)
    if tool is None or not tool.argument:
        return ()
    path = tool.find()
    return (tool.argument, os.fspath(path)) if path else ()
