"""Compile a decorated object for targets: ``fit.compile("wgsl")`` gives the outputs by file name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slangad.compiler.driver.compile import compile_inputs
from slangad.compiler.driver.inputs import Input
from slangad.compiler.driver.model import Options
from slangad.compiler.driver.write_files import write_files
from slangad.compiler.errors.diagnostics import ToolchainError
from slangad.compiler.frontends.python.live import LiveDescription
from slangad.compiler.frontends.reading.problems import did_you_mean
from slangad.compiler.ir.targets import TARGETS, meant_by
from slangad.compiler.toolchain.cache import default_cache

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slangad.compiler.driver.model import Output
    from slangad.compiler.lang.decorators.kernels import KernelObject, PipelineObject


class SlangText(str):
    """Slang as text; terminals show it as it is, notebooks in colours."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        from slangad.compiler.report.notebook import html_slang

        return html_slang(self)


class Compiled(Mapping[str, str | bytes]):
    """The outputs of a compile by file name: texts, and bytes of binary artefacts."""

    def __init__(self, outputs: Sequence[Output]) -> None:
        self.outputs = {output.name: output for output in outputs}

    def __getitem__(self, name: str) -> str | bytes:
        if name not in self.outputs:
            raise KeyError(f"{name}; there is {', '.join(self.outputs)}")
        data = self.outputs[name].data
        return data if b"\0" in data else SlangText(data.decode())

    def __iter__(self) -> Iterator[str]:
        return iter(self.outputs)

    def __len__(self) -> int:
        return len(self.outputs)

    def __repr__(self) -> str:
        width = max(map(len, self.outputs), default=0)
        return "\n".join(f"{name:<{width}}  {len(output.data)} bytes" for name, output in self.outputs.items())

    def _repr_html_(self) -> str:
        from slangad.compiler.report.notebook import html_slang, html_table

        table = html_table(("output", "bytes"), [(name, str(len(one.data))) for name, one in self.outputs.items()])
        texts = [(name, text) for name, text in self.items() if isinstance(text, str)]
        return table + "".join(html_slang(text, name) for name, text in texts)

    def save(self, folder: str | Path) -> list[Path]:
        """Write all outputs into a folder, or none, and return their paths."""
        files = {Path(folder) / name: output.data for name, output in self.outputs.items()}
        write_files(files)
        return list(files)


def compile_live(
    value: KernelObject[object] | PipelineObject[object], targets: Sequence[str], options: Mapping[str, Any]
) -> Compiled:
    """Compile a kernel or pipeline for targets.

    Raises:
        TypeError: A target or option is unknown.
        CompileError: The description is rejected.
        ToolchainError: Slang failed, or a target's tool is missing.
    """
    known = ("modes", "deterministic", "optimization")
    unknown = [name for name in options if name not in known]
    if unknown:
        raise TypeError(f"compile() has no {unknown[0]}=; it has {', '.join(f'{name}=' for name in known)}")
    for target in targets:
        if target not in TARGETS:
            other = meant_by(target, TARGETS)
            help_ = f"did you mean {other}?" if other else did_you_mean(target, TARGETS)
            help_ = help_ or f"targets are {', '.join(TARGETS)}"
            raise TypeError(f"compile() has no target {target!r}; {help_}")
    if not targets:
        raise TypeError(f'compile() needs a target, such as fit.compile("wgsl"); targets are {", ".join(TARGETS)}')
    live = LiveDescription(value)
    (unit,) = compile_inputs(
        [Input(Path(live.file), live=live)], Options(tuple(targets), cache=default_cache(), **options)
    )
    if unit.failures:
        raise ToolchainError(unit.failures)
    artefacts = [output for output in unit.outputs if output.kind == "artefact"]
    return Compiled([*artefacts, *(output for output in unit.outputs if output.kind in ("slang", "library"))])
