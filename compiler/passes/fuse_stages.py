"""Fuse neighbouring stages of a pipeline over one domain, if the second takes the elements that the first returns.

    y = blur(x)          ->   loss = blur_then_error(x)     kernel blur_then_error(x): error(blur(x))
    loss = error(y)

The intermediate value then never leaves the thread in any mode. Two stages are not fused in these cases: the value is
used elsewhere or returned, one of them reads its thread id or writes a tensor, both have a probe of one name, the
kernel would have more than ``MOST_JOINED`` stages, or the pipeline has ``fuse: false``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.build import Fresh
from slangad.compiler.ir.built_in_stages import is_built_in
from slangad.compiler.ir.calls import reached_in_order, value_callees
from slangad.compiler.ir.pipelines import ValueArgument, used_values
from slangad.compiler.ir.types import Tensor, Tuple, Type, Void, carries_gradient
from slangad.compiler.ir.walk import body_exprs, statements

if TYPE_CHECKING:
    from collections.abc import Collection

    from slangad.compiler.ir.pipelines import Argument, Pipeline, Stage


MOST_JOINED: Final = 32
"""Stages of one fused kernel. Slang nests the types of their intermediate values, and refuses some 150 of them. Compile
time grows faster than the number."""
_LONGEST_NAME: Final = 80
"""Letters of a fused kernel's name up to which it has the names of all its stages."""
_NAMED: Final = 2
"""Stages that a longer name has: the first and the last one."""


def fuse_stages(module: ir.Module) -> ir.Module:
    """Return the module with fused kernels, and with pipelines that use them."""
    if not any(pipeline.fuse for pipeline in module.pipelines):
        return module
    fused = _Fused(module, {k.name: k for k in module.kernels}, {f.key: f for f in module.functions}, {}, {})
    pipelines = tuple(fused.pipeline(p) if p.fuse else p for p in module.pipelines)
    used = {*(k.name for k in module.kernels), *(s.kernel for p in pipelines for s in p.stages)}
    kernels = tuple(k for k in fused.kernels.values() if k.name in used)
    return replace(module, functions=tuple(fused.functions.values()), kernels=kernels, pipelines=pipelines)


@dataclass(frozen=True, slots=True)
class _ParameterSource:
    """The source of a parameter of the second kernel: a result or parameter of the first, or a new parameter."""

    kind: Literal["result", "shared", "own"]
    index: int


@dataclass(frozen=True, slots=True)
class _Fused:
    """All kernels and functions so far.

    Attributes:
        made: The fused kernels by the kernels that they join.
        joined: The names of the stages of each fused kernel.
    """

    module: ir.Module
    kernels: dict[str, ir.Kernel]
    functions: dict[str, ir.Function]
    made: dict[tuple[str, str, tuple[_ParameterSource, ...]], str]
    joined: dict[str, tuple[str, ...]]

    def pipeline(self, pipeline: Pipeline) -> Pipeline:
        """Return the pipeline with fused stages. Fusion starts at the front, so three in a row become one."""
        stages: list[Stage] = []
        for stage in pipeline.stages:
            before = stages[-1] if stages else None
            if before is not None and self._may_join(pipeline, before, stage):
                stages[-1] = self._joined(before, stage)
            else:
                stages.append(stage)
        return replace(pipeline, stages=tuple(stages))

    def _may_join(self, pipeline: Pipeline, first: Stage, second: Stage) -> bool:
        if is_built_in(first) or is_built_in(second):
            return False
        a, b = self.kernels[first.kernel], self.kernels[second.kernel]
        if (a.dims, a.group_size, a.tile) != (b.dims, b.group_size, b.tile):
            return False
        if len(self._stages(a, b)) > MOST_JOINED or not self._is_plain(a) or not self._is_plain(b):
            return False
        if second.domain not in ((), first.domain) or not first.results:
            return False
        if self._probes(a.function) & self._probes(b.function):
            return False
        returned = {result.value for result in pipeline.results}
        others = [s for s in pipeline.stages if not set(first.results) & set(s.results)]
        users = [s for s in others if set(used_values(s)) & set(first.results)]
        each = all(result.memory is ir.Memory.EACH for result in a.results)
        taken = [p for p, x in zip(b.params, second.arguments, strict=True) if _is_one_of(x, first.results)]
        elementwise = bool(taken) and all(p.memory is ir.Memory.EACH and _flows(p) for p in taken)
        alone = len(users) == 1 and set(second.results) <= set(users[0].results)
        return each and elementwise and alone and not returned & set(first.results)

    def _stages(self, *kernels: ir.Kernel) -> tuple[str, ...]:
        """Return the names of the stages that kernels have."""
        return tuple(name for kernel in kernels for name in self.joined.get(kernel.name, (kernel.name,)))

    def _probes(self, key: str) -> set[str]:
        """Return the names of the probes in a function and in what it calls."""
        reached = reached_in_order(self.functions, key, value_callees)
        return {e.name for f in reached for e in body_exprs(statements(f)) if isinstance(e, ir.Probe)}

    def _is_plain(self, kernel: ir.Kernel) -> bool:
        """Return True if a thread reads only its values and writes only its results."""
        function = self.functions[kernel.function]
        ids = any(isinstance(e, (ir.ThreadId, ir.ThreadCount)) for e in body_exprs(statements(function)))
        writes = any(isinstance(p.type, Tensor) and p.type.writes for p in kernel.params)
        alone = not ids and not kernel.in_step
        return alone and not writes and not kernel.modes and bool(kernel.results)

    def _joined(self, first: Stage, second: Stage) -> Stage:
        """Return both stages as one call; a value that both take in the same way is passed once."""
        a, b = self.kernels[first.kernel], self.kernels[second.kernel]
        sources = tuple(_source(a, first, p, x) for p, x in zip(b.params, second.arguments, strict=True))
        key = (a.name, b.name, sources)
        if key not in self.made:
            self.made[key] = self._make(a, b, sources)
        remaining = tuple(x for x, source in zip(second.arguments, sources, strict=True) if source.kind == "own")
        return replace(second, kernel=self.made[key], arguments=(*first.arguments, *remaining), domain=first.domain)

    def _make(self, a: ir.Kernel, b: ir.Kernel, sources: tuple[_ParameterSource, ...]) -> str:
        """Return a kernel whose threads call the functions of both kernels."""
        names = Fresh({p.name for p in a.params})
        remaining = [p for p, source in zip(b.params, sources, strict=True) if source.kind == "own"]
        params = (*a.params, *(replace(p, name=names.name(p.name)) for p in remaining))
        stages = self._stages(a, b)
        wanted = "_then_".join(stages)
        if len(wanted) > _LONGEST_NAME and len(stages) > _NAMED:
            wanted = f"{stages[0]}_then_{len(stages) - _NAMED}_more_then_{stages[-1]}"
        name = Fresh({*self.kernels, *(f.name for f in self.functions.values())}).name(wanted)
        self.joined[name] = stages
        key = Fresh({*self.functions}).name(f"{self.module.source}:{name}")
        first, second = self.functions[a.function], self.functions[b.function]
        self.functions[key] = ir.Function(
            key, name, tuple(ir.Param(p.name, p.type, p.no_diff, p.span) for p in params), second.result,
            self._body(a, b, sources, params, names), first.differentiable and second.differentiable, span=b.span,
        )  # fmt: skip
        doc = (f"{a.name}, then {b.name} of what it gives.",)
        self.kernels[name] = ir.Kernel(
            name, key, params, b.results, b.dims, b.group_size, doc, b.span, fused=True, tile=b.tile
        )
        return name

    def _body(
        self,
        a: ir.Kernel,
        b: ir.Kernel,
        sources: tuple[_ParameterSource, ...],
        params: tuple[ir.KernelParam, ...],
        names: Fresh,
    ) -> tuple[ir.Stmt, ...]:
        first, second = self.functions[a.function], self.functions[b.function]
        variables = [ir.Var(p.name, p.type) for p in params]
        value, remaining = names.var("value", first.result), iter(variables[len(a.params) :])
        arguments: list[ir.Expr] = []
        for source in sources:
            match source.kind:
                case "result":
                    arguments.append(_part(value, source.index))
                case "shared":
                    arguments.append(variables[source.index])
                case _:
                    arguments.append(next(remaining))
        inner = ir.Call(a.function, tuple(variables[: len(a.params)]), first.result, b.span)
        result = ir.Call(b.function, tuple(arguments), second.result, b.span)
        return (ir.Assign(value, inner, b.span), ir.Return(result, b.span))


def _source(a: ir.Kernel, first: Stage, param: ir.KernelParam, argument: Argument) -> _ParameterSource:
    if isinstance(argument, ValueArgument) and argument.value in first.results:
        return _ParameterSource("result", first.results.index(argument.value))
    for index, (known, passed) in enumerate(zip(a.params, first.arguments, strict=True)):
        if passed == argument and (known.memory, known.type, known.no_diff) == (
            param.memory,
            param.type,
            param.no_diff,
        ):
            return _ParameterSource("shared", index)
    return _ParameterSource("own", 0)


def _is_one_of(argument: Argument, values: Collection[str]) -> bool:
    return isinstance(argument, ValueArgument) and argument.value in values


def _flows(param: ir.KernelParam) -> bool:
    """Return True if gradient flows back through it, or if it has none."""
    return not param.no_diff or not carries_gradient(param.type)


def _part(value: ir.Var, index: int) -> ir.Expr:
    """Return a result of the first kernel: the whole value, or one of a tuple."""
    type_: Type = value.type
    if isinstance(type_, Tuple):
        return ir.Member(value, f"item{index}", type_.elements[index])
    if isinstance(type_, Void):
        raise TypeError("a kernel that gives nothing has no parts")
    return value
