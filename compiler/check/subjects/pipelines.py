"""Make pipelines subjects: add their ranges and the kernels of their stages, launched like those of users."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from slangad.compiler.check.model.names import OF_STAGE, STAGE
from slangad.compiler.check.model.subject import CheckedPipeline
from slangad.compiler.check.subjects.integers import integers_of
from slangad.compiler.ir.built_in_stages import BIN, BUILT_IN, is_built_in
from slangad.compiler.ir.nodes import Kernel, Memory, Range
from slangad.compiler.ir.pipelines import ValueArgument
from slangad.compiler.passes.fuse_stages import fuse_stages
from slangad.compiler.passes.keep_params_in_memory import stays_in_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from slangad.compiler.ir.nodes import Function, Module
    from slangad.compiler.ir.pipelines import Pipeline, Stage


def as_launch(kernel: Kernel) -> Kernel:
    """Return the kernel with buffers for shared values, since these differ from launch to launch."""
    params = tuple(
        replace(p, memory=Memory.PARAM, no_diff=True) if p.memory is Memory.UNIFORM else p for p in kernel.params
    )
    return replace(kernel, params=params, modes=())


def add_pipelines(described: Module, made: Module) -> tuple[Module, dict[str, CheckedPipeline]]:
    """Return the module with the kernels of pipelines, and the pipelines to check by name.

    Args:
        described: The user's module.
        made: The module of the subjects so far.
    """
    if not described.pipelines:
        return made, {}
    stages = _Stages(described, made)
    apart = tuple(stages.pipeline(pipeline) for pipeline in described.pipelines)
    complete = replace(made, functions=stages.functions, kernels=stages.kernels, pipelines=apart)
    fused = fuse_stages(complete)
    functions = {function.key: function for function in described.functions}
    checked = {
        one.name: CheckedPipeline(
            one,
            joined,
            stages.shown,
            tuple(_ranges(plain, stages.known, functions)),
            tuple(_shapes(plain, stages.known)),
        )
        for plain, one, joined in zip(described.pipelines, apart, fused.pipelines, strict=True)
    }
    return replace(fused, pipelines=()), checked


class _Stages:
    """The kernels of stages, existing and new ones."""

    def __init__(self, described: Module, made: Module) -> None:
        self.known = {kernel.name: kernel for kernel in described.kernels}
        self.shown: dict[str, str] = dict.fromkeys(BUILT_IN, BIN)
        self._functions = {function.key: function for function in made.functions}
        self._described = {function.key: function for function in described.functions}
        self._kernels = {kernel.name: kernel for kernel in made.kernels}

    @property
    def functions(self) -> tuple[Function, ...]:
        return tuple(self._functions.values())

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        return tuple(self._kernels.values())

    def pipeline(self, pipeline: Pipeline) -> Pipeline:
        """Return the pipeline with kernels that are checked launch by launch."""
        stages = tuple(
            stage if is_built_in(stage) else replace(stage, kernel=self._kernel(stage.kernel))
            for stage in pipeline.stages
        )
        params = as_launch(Kernel("", "", pipeline.params, ())).params
        return replace(pipeline, stages=stages, params=params)

    def _kernel(self, name: str) -> str:
        wanted = as_launch(self.known[name])
        if self._kernels.get(name) == wanted:
            self.shown[name] = name
            return name
        added = f"{STAGE}{name}"
        if added not in self._kernels:
            self._kernels[added] = replace(wanted, name=added, function=self._function(wanted))
        self.shown[added] = name
        return added

    def _function(self, kernel: Kernel) -> str:
        """Return the key of a thread's work; a separate key if the check or a pass changes the function.

        A pass keeps some parameters of launches in memory. Kernels that run threads by themselves take them by value.
        """
        key = kernel.function
        function = self._described[key]
        if self._functions.get(key) == function and not any(stays_in_memory(param) for param in kernel.params):
            return key
        added = f"{OF_STAGE}{key}"
        self._functions[added] = replace(function, key=added)
        return added


def _ranges(pipeline: Pipeline, kernels: Mapping[str, Kernel], functions: Mapping[str, Function]) -> Iterator[Range]:
    """Yield the ranges of a pipeline's parameters: indices within arrays, then declared ranges."""
    yield from _moved_out(pipeline, kernels, lambda key: integers_of(functions[key], functions).ranges())
    yield from _moved_out(pipeline, kernels, lambda key: functions[key].ranges)


def _moved_out(
    pipeline: Pipeline, kernels: Mapping[str, Kernel], ranges: Callable[[str], Iterable[Range]]
) -> Iterator[Range]:
    """Yield the ranges of kernels' parameters as ranges of the pipeline's parameters."""
    names = {param.name for param in pipeline.params}
    for stage in _described(pipeline):
        kernel = kernels[stage.kernel]
        passed = _passed(stage, [param.name for param in kernel.params])
        for known in ranges(kernel.function):
            head = known.path.replace("[", ".", 1).partition(".")[0]
            if passed.get(head) in names:
                yield replace(known, path=f"{passed[head]}{known.path[len(head) :]}")


def _shapes(pipeline: Pipeline, kernels: Mapping[str, Kernel]) -> Iterator[tuple[str, tuple[int, ...]]]:
    names = {param.name for param in pipeline.params}
    for stage in _described(pipeline):
        kernel = kernels[stage.kernel]
        passed = _passed(stage, [param.name for param in kernel.params])
        yield from ((passed[name], shape) for name, shape in kernel.shapes if passed.get(name) in names)


def _described(pipeline: Pipeline) -> Iterator[Stage]:
    """Yield the stages that call a kernel of the module."""
    return (stage for stage in pipeline.stages if not is_built_in(stage))


def _passed(stage: Stage, params: Sequence[str]) -> dict[str, str]:
    pairs = zip(params, stage.arguments, strict=True)
    return {name: argument.value for name, argument in pairs if isinstance(argument, ValueArgument)}
