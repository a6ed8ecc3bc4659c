"""Run, print and compile decorated objects: the bodies of ``lang.decorators.methods.RunMethods``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slangad.compiler.api.compiled import SlangText, compile_live
from slangad.compiler.api.live_programs import kept
from slangad.compiler.api.readable_errors import readable_errors
from slangad.compiler.api.samples import run_samples

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from slangad.compiler.api.graph import Graph
    from slangad.compiler.api.load import LoadedKernel
    from slangad.compiler.lang.decorators.functions import DescribedFunction
    from slangad.compiler.lang.decorators.kernels import KernelObject, PipelineObject

    Runnable = KernelObject[object] | PipelineObject[object]
    Described = KernelObject[object] | PipelineObject[object] | DescribedFunction[..., object]


def loaded(value: Runnable, device: str, *, deterministic: bool) -> LoadedKernel:
    """Return a kernel or pipeline on a device.

    Raises:
        CompileError: The description is rejected.
    """
    return kept(value, None, deterministic=deterministic).on(device)


def sampled(value: DescribedFunction[..., object], mode: str, args: Sequence[object], kwargs: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """Run a function over arrays of samples."""
    return run_samples(value, mode, args, kwargs)


def slang(value: Described) -> str:
    """Return the Slang of an object, readable in notebooks.

    Raises:
        CompileError: The description is rejected.
    """
    return SlangText(kept(value, None).program.emitted.text)


def graph(value: Described, mode: str, depth: int) -> Graph:
    """Return the derivative graph of an object.

    Raises:
        CompileError: The description is rejected.
    """
    from slangad.compiler.api.graph import graph_of_object

    return graph_of_object(value, mode=mode, depth=depth)


def compiled(value: Runnable, targets: Sequence[str], options: Mapping[str, Any]) -> Mapping[str, str | bytes]:
    """Compile an object for targets.

    Raises:
        CompileError: The description is rejected, or an option is unknown.
        ToolchainError: Slang failed, or lacks a tool.
    """
    with readable_errors():
        return compile_live(value, targets, options)
