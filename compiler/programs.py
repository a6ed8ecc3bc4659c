"""Descriptions as things to run: a describing file goes in, its kernels ready for any device come out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from slangad.compiler.diagnostics import CompileError, Diagnostic
from slangad.compiler.emit.model import Mode
from slangad.compiler.runtime.devices import Source
from slangad.compiler.runtime.execute import KernelPlan
from slangad.compiler.runtime.signature import signatures

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from slangad.compiler.emit.model import EmittedModule
    from slangad.compiler.inputs import Input
    from slangad.compiler.ir.nodes import Module
    from slangad.compiler.pipeline import Options
    from slangad.compiler.runtime.devices import Device, DeviceProgram


@dataclass(frozen=True, slots=True)
class Program:
    """A description that can be run.

    Attributes:
        file: The describing file.
        emitted: Its Slang.
        plans: Its kernels by name.
        source: How the Slang is compiled.
    """

    file: Path
    emitted: EmittedModule
    plans: Mapping[str, KernelPlan]
    source: Source

    def load_on(self, device: Device, entries: Collection[str]) -> DeviceProgram:
        """Compile entry points for a device."""
        return device.load(self.emitted, self.source, entries)


def read_program(item: Input, options: Options) -> Program:
    """Take a description through the front end.

    Raises:
        CompileError: It was rejected.
        ToolchainError: Slang crashed on a Slang file.
    """
    from slangad.compiler.pipeline import describe

    (unit,) = describe([item], replace(options, keep_ir=True))
    assert unit.module is not None  # noqa: S101  (kept)
    wanted = item.kernels or tuple(kernel.name for kernel in unit.kernels)
    folder = str(item.path.absolute().parent)
    source = Source((folder, *options.include_dirs), options.defines, options.cache)
    return Program(item.path, unit.emitted, _plans(unit.emitted, unit.module, wanted), source)


def _plans(emitted: EmittedModule, module: Module, wanted: Collection[str]) -> dict[str, KernelPlan]:

    from slangad.compiler.emit.names import Scope
    from slangad.compiler.emit.slang import name_module

    fields = name_module(module, Scope(module.taken)).fields
    return {
        name: KernelPlan(
            signature,
            {mode: tuple(e for e in emitted.entry_points if e.kernel == name and e.mode is mode) for mode in Mode},
            fields,
        )
        for name, signature in signatures(module).items()
        if name in wanted
    }


def only_kernel(program: Program) -> KernelPlan:
    """The one kernel that is wanted.

    Raises:
        CompileError: There are several, or none.
    """
    if len(program.plans) == 1:
        return next(iter(program.plans.values()))
    if not program.plans:
        raise CompileError([Diagnostic("SA419", f"{program.file} has no kernel to run")])
    names = ", ".join(program.plans)
    help_ = f"name one: {program.file}:{next(iter(program.plans))}"
    raise CompileError([Diagnostic("SA419", f"{program.file} has several kernels: {names}", help=help_)])
