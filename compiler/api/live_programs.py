"""The programs of decorated objects, each described as the object lives.

An object is compiled with its first call. Later calls look whether a name that its bodies use has another value: a
constant that changed, a function that a later cell defines again. Then it is described again.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Final

from slangad.compiler.api.load import LoadedKernel, loaded_from
from slangad.compiler.api.program import read_program
from slangad.compiler.api.readable_errors import readable_errors
from slangad.compiler.driver.inputs import Input
from slangad.compiler.driver.model import Options
from slangad.compiler.frontends.python.live import LiveDescription
from slangad.compiler.lang.decorators.resolve import annotations_of
from slangad.compiler.lang.decorators.struct import described_struct
from slangad.compiler.lang.types.annotations import memory_annotation
from slangad.compiler.runtime.device.table import AUTO
from slangad.compiler.toolchain.cache import default_cache

if TYPE_CHECKING:
    from slangad.compiler.api.program import RunnableProgram
    from slangad.compiler.lang.decorators.functions import DescribedFunction
    from slangad.compiler.lang.decorators.kernels import KernelObject, PipelineObject

    Runnable = KernelObject[object] | PipelineObject[object]
    Described = KernelObject[object] | PipelineObject[object] | DescribedFunction[..., object]

_DESCRIBING: Final = RLock()
"""Held while an object is described: front ends are not for several threads."""
_KEPT: Final = "__slangad_programs__"
"""The attribute of a decorated object that keeps its programs."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """A program of an object, and the description that says how long it is right."""

    live: LiveDescription
    program: RunnableProgram
    only: LoadedKernel | None
    devices: dict[str, LoadedKernel] = field(default_factory=dict)

    @property
    def kernel(self) -> LoadedKernel:
        """Return the kernel or pipeline; a function alone has none."""
        assert self.only is not None  # noqa: S101  (the callers know)
        return self.only

    def on(self, device: str) -> LoadedKernel:
        """Return the kernel or pipeline on a device."""
        if device not in self.devices:
            kernel = self.kernel
            self.devices[device] = kernel if kernel.device == device else replace(kernel, device=device)
        return self.devices[device]


def kept(value: Described, sampled_names: frozenset[str] | None, *, deterministic: bool = False) -> _Kept:
    """Return the program of an object, described again if a name has another value now.

    Args:
        value: The object.
        sampled_names: For a function, the parameters with one value for each sample.
        deterministic: Make gradients bitwise repeatable.

    Raises:
        CompileError: The description is rejected.
    """
    programs: dict[object, _Kept] = value.__dict__.setdefault(_KEPT, {})
    key = (sampled_names, deterministic)
    known = programs.get(key)
    if known is not None and known.live.holds():
        return known
    with _DESCRIBING, readable_errors():
        known = programs.get(key)
        if known is None or not known.live.holds():
            known = programs[key] = _described(value, sampled_names, deterministic=deterministic)
    return known


def _described(value: Described, sampled_names: frozenset[str] | None, *, deterministic: bool) -> _Kept:
    live = LiveDescription(value, sampled_names)
    options = Options(targets=(), cache=default_cache(), deterministic=deterministic)
    program = read_program(Input(Path(live.file), live=live), options)
    runs = live.name in program.plans or live.name in program.pipelines
    only = replace(loaded_from(program, live.name, AUTO), structs=_structs_of(value)) if runs else None
    return _Kept(live, program, only)


def _structs_of(value: Described) -> dict[str, type]:
    """Return the struct classes of an object's parameters, as they were when it was defined."""
    annotations = annotations_of(value.python, value.frame_locals, getattr(value, "owner", None))
    classes = {name: memory_annotation(a).value for name, a in annotations.items() if name != "return"}
    return {name: cls for name, cls in classes.items() if isinstance(cls, type) and described_struct(cls) is not None}
