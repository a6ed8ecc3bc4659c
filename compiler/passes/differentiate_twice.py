"""Add kernels and pipelines whose gradients are products with the Hessian: reverse mode over forward mode.

    kernel fit(x, w) -> Sum    ->    kernel fit_hvp(x, w, tangent_x, tangent_w) -> Sum

``fit_hvp`` computes the change of the results of ``fit`` along the tangents. So its gradient for ``x`` is the product
of the Hessian with the tangents, and its gradient for ``tangent_x`` is the gradient of ``fit``. It is an ordinary
kernel, for which every later pass, the emitter and the runtime do what they do for others.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir import pipelines as pipes
from slangad.compiler.ir.build import Fresh, fresh_keys
from slangad.compiler.ir.built_in_stages import BUILT_IN
from slangad.compiler.ir.calls import callees_first
from slangad.compiler.ir.types import carries_gradient
from slangad.compiler.passes.derivatives import lower_derivatives
from slangad.compiler.passes.derivatives.split_pairs import split_pairs
from slangad.compiler.passes.derivatives.tangents import PREFIX, NoTangentError, Tangents

if TYPE_CHECKING:
    from collections.abc import Iterator

SUFFIX: Final = "_hvp"
"""The end of the name of a kernel or pipeline that computes products with the Hessian of another."""


def differentiate_twice(module: ir.Module, functions: tuple[str, ...] = ()) -> ir.Module:
    """Add a kernel or pipeline ``NAME_hvp`` for each one that has a gradient.

    The module's ``left_out`` gets those that have none, each with the reason.

    Args:
        module: The module from a front end.
        functions: Keys of functions that get a tangent too, ``KEY:tangent``.
    """
    module = lower_derivatives(replace(module, functions=tuple(split_pairs(f) for f in module.functions)))
    state = _Products(module, Tangents({f.key: f for f in module.functions}, fresh_keys(module)))
    for kernel in module.kernels:
        if not kernel.fused:
            state.try_kernel(kernel)
    for key in functions:
        state.try_function(key)
    for pipeline in module.pipelines:
        state.try_pipeline(pipeline)
    made = (*module.functions, *state.tangents.made.values(), *state.functions)
    return replace(
        module,
        functions=callees_first(made),
        kernels=(*module.kernels, *state.kernels.values()),
        pipelines=(*module.pipelines, *state.pipelines),
        left_out=(*module.left_out, *state.left_out),
    )


@dataclass(slots=True)
class _Products:
    """The kernels and pipelines so far; ``kernels`` by kernel and active parameters."""

    module: ir.Module
    tangents: Tangents
    kernels: dict[tuple[str, frozenset[str]], ir.Kernel] = field(default_factory=dict)
    functions: list[ir.Function] = field(default_factory=list)
    pipelines: list[pipes.Pipeline] = field(default_factory=list)
    left_out: list[ir.LeftOut] = field(default_factory=list)

    def try_kernel(self, kernel: ir.Kernel) -> None:
        """Add the product of a kernel, or why there is none."""
        try:
            self.kernel(kernel, frozenset(p.name for p in kernel.params if is_active(p)))
        except NoTangentError as error:
            self.left_out.append(ir.LeftOut(kernel.name, error.reason, ("hvp",), span=error.span))

    def try_function(self, key: str) -> None:
        """Add the tangent of a function, or why there is none."""
        function = self.tangents.functions[key]
        try:
            self.tangents.of(key, tuple(True for _ in function.params))
        except NoTangentError as error:
            self.left_out.append(ir.LeftOut(function.name, error.reason, ("hvp",), span=error.span))

    def try_pipeline(self, pipeline: pipes.Pipeline) -> None:
        """Add the product of a pipeline, or why there is none."""
        try:
            self.pipelines.append(self.pipeline(pipeline))
        except NoTangentError as error:
            self.left_out.append(ir.LeftOut(pipeline.name, error.reason, ("hvp",), span=error.span))

    def kernel(self, kernel: ir.Kernel, active: frozenset[str]) -> ir.Kernel:
        """Return the kernel that computes the change of the results along the tangents of some parameters.

        Raises:
            NoTangentError: There is none.
        """
        if (kernel.name, active) in self.kernels:
            return self.kernels[kernel.name, active]
        function = self.tangents.functions[kernel.function]
        if kernel.in_step:
            reason = "its threads compute together in their group, which has no second derivative"
            raise NoTangentError(reason, kernel.span)
        if not active or not function.differentiable or not _has_derivative(kernel):
            raise NoTangentError("no gradient flows from its parameters to its results", kernel.span)
        made = self.tangents.of_kernel(function, tuple(p.name in active for p in function.params))
        moved = (p.name for p in made.params[len(function.params) :])
        names = dict(zip((p.name for p in function.params if p.name in active), moved, strict=True))
        own = replace(made, name=self._name(kernel.name))
        self.functions.append(own)
        self.kernels[kernel.name, active] = replace(
            kernel,
            name=own.name,
            function=own.key,
            params=(*kernel.params, *(replace(p, name=names[p.name]) for p in kernel.params if p.name in names)),
            modes=("forward", "backward"),
            product_of=kernel.name,
            doc=own.doc,
            shapes=(*kernel.shapes, *((names[name], shape) for name, shape in kernel.shapes if name in names)),
        )
        return self.kernels[kernel.name, active]

    def _name(self, name: str) -> str:
        kernels = (*self.module.kernels, *self.kernels.values())
        return Fresh({k.name for k in kernels} | {p.name for p in self.module.pipelines}).name(f"{name}{SUFFIX}")

    def pipeline(self, pipeline: pipes.Pipeline) -> pipes.Pipeline:
        """Return the pipeline that computes the change of the results along the tangents of its parameters.

        Raises:
            NoTangentError: There is none.
        """
        kernels = {**BUILT_IN, **{kernel.name: kernel for kernel in self.module.kernels}}
        fresh = Fresh({p.name for p in pipeline.params} | {name for s in pipeline.stages for name in s.results})
        tangents = {p.name: fresh.name(f"{PREFIX}{p.name}") for p in pipeline.params if is_active(p)}
        params = (*pipeline.params, *(replace(p, name=tangents[p.name]) for p in pipeline.params if p.name in tangents))
        stages: list[pipes.Stage] = []
        for stage in pipeline.stages:
            kernel = kernels[stage.kernel]
            if any(p.memory.is_written for p in kernel.params):
                raise NoTangentError(f"{kernel.name} stores into a tensor, and would store twice", stage.span)
            bound = _values(kernel, stage)
            given = {p.name: tangents[a.value] for p, a in bound if is_active(p) and a.value in tangents}
            stages.append(stage)
            if not given or not _has_derivative(kernel):
                continue
            made = self.kernel(kernel, frozenset(given))
            moved = {name: fresh.name(f"{PREFIX}{name}") for name in stage.results}
            added = (pipes.ValueArgument(given[p.name]) for p in kernel.params if p.name in given)
            arguments = (*stage.arguments, *added)
            stages.append(replace(stage, kernel=made.name, arguments=arguments, results=tuple(moved.values())))
            tangents |= moved
        results = tuple(replace(r, value=tangents[r.value]) for r in pipeline.results if r.value in tangents)
        if not results:
            raise NoTangentError("no gradient flows from its parameters to its results", pipeline.span)
        name = self._name(pipeline.name)
        used = tuple(_needed(stages, {r.value for r in results}))
        doc = (f"The change of {pipeline.name} along tangents; its gradients are products with the Hessian.",)
        return replace(
            pipeline, name=name, params=params, stages=used, results=results, optimizer=None, doc=doc,
            product_of=pipeline.name,
        )  # fmt: skip


def is_active(param: ir.KernelParam) -> bool:
    """Return True if a parameter of a kernel or pipeline has a tangent."""
    return param.memory is not ir.Memory.UNIFORM and not param.no_diff and carries_gradient(param.type)


def _has_derivative(kernel: ir.Kernel) -> bool:
    written = any(p.memory.is_written and is_active(p) for p in kernel.params)
    return written or any(carries_gradient(result.type) for result in kernel.results)


def _values(kernel: ir.Kernel, stage: pipes.Stage) -> Iterator[tuple[ir.KernelParam, pipes.ValueArgument]]:
    for param, argument in zip(kernel.params, stage.arguments, strict=True):
        if isinstance(argument, pipes.ValueArgument):
            yield param, argument


def _needed(stages: list[pipes.Stage], wanted: set[str]) -> Iterator[pipes.Stage]:
    """Yield the stages whose results are used."""
    kept: list[pipes.Stage] = []
    for stage in reversed(stages):
        if wanted & set(stage.results):
            wanted = wanted | set(pipes.used_values(stage))
            kept.append(stage)
    return reversed(kept)
