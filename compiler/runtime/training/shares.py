"""Split the elements of a training among ranks, and refuse programs whose result would depend on the split."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from slangad.compiler.errors.diagnostics import CompileError, Diagnostic
from slangad.compiler.ir.built_in_stages import shown_name
from slangad.compiler.ir.expressions import ThreadCount, ThreadId
from slangad.compiler.ir.nodes import Memory
from slangad.compiler.ir.pipelines import ValueArgument
from slangad.compiler.ir.walk import body_exprs, statements

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy.typing as npt

    from slangad.compiler.ir.nodes import Module
    from slangad.compiler.ir.pipelines import Stage
    from slangad.compiler.runtime.pipeline.runnable import RunnablePipeline

    Array = npt.NDArray[Any]

PARTS: Final = 8
"""Parts of every step under ``--deterministic``, for any number of ranks up to this. More: more launches in a step."""


def parts_of(count: int, parts: int) -> list[range]:
    """Return the elements of each part, in order; sizes differ by at most one."""
    return [range(k * count // parts, (k + 1) * count // parts) for k in range(parts)]


def refuse_unshared(runnable: RunnablePipeline, module: Module) -> None:
    """Refuse pipelines whose objective is not a sum or mean over elements that do not know of each other.

    Raises:
        CompileError: It says which stage is in the way.
    """
    for reason in _reasons(runnable, module):
        message = f"{runnable.pipeline.name} can't be trained by several ranks: {reason}"
        help_ = "ranks share the elements of Each parameters; train it in one process"
        raise CompileError([Diagnostic("SA420", message, runnable.pipeline.span, help=help_)])


def element_count(runnable: RunnablePipeline, inputs: Mapping[str, object]) -> int:
    """Return the number of elements along the first axis of the data, of which each rank gets a share.

    Raises:
        CompileError: Arrays of ``Each`` parameters have different lengths.
    """
    import numpy as np

    arrays = {key: np.asanyarray(inputs[key]) for key in element_keys(runnable) if key in inputs}
    lengths = {key: int(array.shape[0]) for key, array in arrays.items() if array.ndim}
    if len(set(lengths.values())) == 1:
        return next(iter(lengths.values()))
    found = ", ".join(f"{key} has {length}" for key, length in lengths.items()) or "they are missing"
    message = f"the arrays of Each parameters need one length: {found}"
    raise CompileError([Diagnostic("SA420", message, runnable.pipeline.span)])


def element_keys(runnable: RunnablePipeline) -> tuple[str, ...]:
    """Return the keys of arrays with one entry for each element."""
    return tuple(part.key for value in runnable.signature.parameters if value.per_element for part in value.parts)


def _reasons(runnable: RunnablePipeline, module: Module) -> Iterator[str]:
    signature = runnable.signature
    if not element_keys(runnable):
        yield "it has no Each parameter"
    yield from (f"it writes {value.name}" for value in signature.parameters if value.is_written)
    shared = {value.name for value in signature.parameters if value.per_element}
    sums: set[str] = set()
    for stage in runnable.pipeline.stages:
        is_shared = False
        values = runnable.kernels[stage.kernel].signature
        for value, argument in zip(values.parameters, stage.arguments, strict=True):
            if not isinstance(argument, ValueArgument):
                continue
            if argument.value in sums:
                yield f"{stage.kernel} uses a sum over all elements"
            if argument.value in shared and not value.per_element:
                yield f"{shown_name(stage.kernel)} reads the elements of {argument.value} as a tensor"
            is_shared |= argument.value in shared
        if not is_shared:
            yield from _unshared_sums(runnable, stage)
            continue
        if _uses_ids(module, stage.kernel):
            yield f"{stage.kernel} asks for the number of its thread, which counts within a share"
        returned = [result for result in values.results if not result.param]
        for result, name in zip(returned, stage.results, strict=True):
            (shared if result.per_element else sums).add(name)


def _unshared_sums(runnable: RunnablePipeline, stage: Stage) -> Iterator[str]:
    """Yield a reason if the objective is a sum of a stage that every rank runs completely."""
    objective = runnable.objective
    if objective is not None and objective.value in stage.results:
        yield f"{stage.kernel}, which gives its objective, has no Each parameter of it"


def _uses_ids(module: Module, kernel: str) -> bool:
    functions = {function.key: function for function in module.functions}
    found = next((one.function for one in module.kernels if one.name == kernel), "")
    expressions = body_exprs(statements(functions[found])) if found in functions else ()
    return any(isinstance(one, (ThreadId, ThreadCount)) for one in expressions)


def is_mean(runnable: RunnablePipeline) -> bool:
    """Return True if the objective is a mean, so that a share counts by its size."""
    return runnable.objective is not None and runnable.objective.memory is Memory.MEAN
