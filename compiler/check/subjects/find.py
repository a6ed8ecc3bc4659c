"""Find what can be checked in a module, and add a harness kernel for each subject.

A harness kernel runs one thread of its subject for each element, whatever memory the values of the subject use. So one
launch computes any number of samples, directions and cotangents. Shared parameters become one value per element, sums
become one result per element, thread numbers become parameters.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.model.names import LAUNCHED, STANDING, VALUES_ONLY, is_launch
from slangad.compiler.check.model.subject import SourceFacts, Subject
from slangad.compiler.check.subjects.integers import integers_of
from slangad.compiler.check.subjects.pipelines import add_pipelines, as_launch
from slangad.compiler.check.subjects.source_facts import facts_of
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.calls import reached
from slangad.compiler.ir.memory_parts import scalar_count
from slangad.compiler.ir.types import (
    INT,
    DiffPair,
    Struct,
    Tensor,
    Texture,
    Tuple,
    Void,
    carries_gradient,
    show,
)
from slangad.compiler.ir.walk import body_exprs, map_exprs_of, rewrite, statements

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from slangad.compiler.check.model.subject import CheckedPipeline
    from slangad.compiler.errors.spans import Span
    from slangad.compiler.ir.pipelines import Pipeline
    from slangad.compiler.ir.types import Type


_NAME: Final = re.compile(r"\w+")
_CALLEE: Final = re.compile(r"it calls (\w+), which has \[BackwardDerivative\] alone")


def find_subjects(
    module: ir.Module, is_own: Callable[[str], bool] | None = None
) -> tuple[ir.Module, tuple[Subject, ...]]:
    """Return the module with harness kernels in place of its kernels, and the subjects.

    Args:
        module: The module.
        is_own: Returns True for the files whose functions are subjects; by default the describing file is.
    """
    functions = {function.key: function for function in module.functions}
    described = [k for k in module.kernels if not isinstance(functions[k.function].body, ir.External)]
    if not described and (module.kernels or module.left_out):
        texts = facts_of(module.sources)
        left_out = (_left_out(left, texts) for left in _without_modes(module.left_out))
        return module, (*_external(module, functions, texts), *left_out)
    rows = [*_plain(module, is_own or (lambda file: file == module.source)), *_kernels(module, functions)]
    changed = {function.key: function for _, _, function in rows if function is not None}
    launched = tuple(_launch_kernels(module, [subject for subject, _, _ in rows], functions))
    changed |= {function.key: function for _, function in launched}
    kernels = (*(kernel for _, kernel, _ in rows if kernel is not None), *(kernel for kernel, _ in launched))
    known = {function.key for function in module.functions}
    functions_then = (
        *(changed.get(function.key, function) for function in module.functions),
        *(function for key, function in changed.items() if key not in known),
    )
    plain = replace(module, functions=functions_then, kernels=kernels, buffers=(), pipelines=())
    made, checked = add_pipelines(module, plain)
    pipelines = (_pipeline(pipeline, checked[pipeline.name]) for pipeline in module.pipelines)
    subjects = (*(subject for subject, _, _ in rows), *pipelines)
    used = reached({f.key: f for f in made.functions}, {kernel.function for kernel in made.kernels})
    kept = tuple(_without_probes(function) for function in made.functions if function.key in used)
    return replace(made, functions=kept), subjects


def _pipeline(pipeline: Pipeline, checked: CheckedPipeline) -> Subject:
    return Subject(pipeline.name, "pipeline", pipeline.span, ranges=checked.ranges, pipeline=checked)


def _without_probes(function: ir.Function) -> ir.Function:
    """Return the function without probes. They change no value and no gradient."""
    if not any(isinstance(expr, ir.Probe) for expr in body_exprs(statements(function))):
        return function

    def value_of(expr: ir.Expr) -> ir.Expr:
        return expr.value if isinstance(expr, ir.Probe) else expr

    return map_exprs_of(function, lambda expr: rewrite(expr, value_of))


_Found: TypeAlias = "tuple[Subject, ir.Kernel | None, ir.Function | None]"
_Texts: TypeAlias = "Mapping[tuple[str, int, int], SourceFacts]"


def _external(module: ir.Module, functions: dict[str, ir.Function], texts: _Texts) -> Iterator[Subject]:
    for kernel in module.kernels:
        function = functions[kernel.function]
        symbol = function.body.symbol if isinstance(function.body, ir.External) else function.name
        lacks = [left for left in module.left_out if left.span == function.span]
        facts = _facts_at(function.name, function.span, texts)
        adapted = isinstance(function.body, ir.External) and bool(function.body.call)
        if facts and adapted:  # a parameter may have another type than in the text
            types = _NAME.findall(facts.signature)
            same = {param.name for param in function.params if show(param.type).rpartition(".")[2] in types}
            facts = replace(facts, plain=facts.plain & same)
        yield Subject(
            symbol,
            "function",
            function.span,
            kernel.name,
            function.key,
            function.ranges,
            _unfit_for(facts) if facts else "",
            missing=tuple(dict.fromkeys((mode, _why_missing(left)) for left in lacks for mode in left.modes)),
            facts=facts,
            signature=facts.signature
            if facts and not adapted
            else f"({', '.join(show(param.type) for param in function.params)})",
        )


def _unfit_for(facts: SourceFacts) -> str:
    """Return the reason why a function can't be checked by itself; empty if it can."""
    treated = "[TreatAsDifferentiable] declares that it has no derivative" if facts.treated else ""
    return facts.shared or facts.unset or treated


def _facts_at(name: str, span: Span, texts: _Texts) -> SourceFacts | None:
    return texts.get((name, span.line, span.column))


def _why_missing(left: ir.LeftOut) -> str:
    """Return the reason why a function lacks a mode; a short one if a callee causes it."""
    callee = _CALLEE.match(left.reason)
    return f"not available: custom backward of {callee[1]}" if callee else left.reason


def _without_modes(left_out: tuple[ir.LeftOut, ...]) -> Iterator[ir.LeftOut]:
    return (left for left in left_out if not left.modes and not left.targets)


def _left_out(left: ir.LeftOut, texts: _Texts) -> Subject:
    facts = _facts_at(left.function.rpartition(".")[2], left.span, texts)
    signature = facts.signature if facts else ""
    reason = (facts.shared if facts else "") or left.reason
    return Subject(left.function, "function", left.span, skipped=reason, signature=signature)


def _plain(module: ir.Module, is_own: Callable[[str], bool]) -> Iterator[_Found]:
    """Yield the differentiable functions of the described file itself."""
    functions = {function.key: function for function in module.functions}
    threads = {kernel.function for kernel in module.kernels}
    names: set[str] = {kernel.name for kernel in module.kernels}
    for function in module.functions:
        here = is_own(function.span.file)
        if (
            function.key in threads
            or function.role is not ir.Role.PLAIN
            or isinstance(function.body, ir.External)
            or not here
        ):
            continue
        if not function.differentiable or not _flows(function):
            continue
        integers = integers_of(function, functions)
        subject = Subject(
            _shown(function, module),
            "function",
            function.span,
            function=function.key,
            ranges=(*integers.ranges(), *function.ranges),
            policy=function.derivative,
            integers=integers,
        )
        reason = _unfit(function)
        if reason:
            yield replace(subject, skipped=reason), None, None
            continue
        params = tuple(_parameters(function))
        if function.owner or any(p.memory is ir.Memory.PARAM for p in params):
            function = _free_standing(function)  # noqa: PLW2901  (the function that calls the subject)
        name = _fresh(f"check_{function.name}", names)
        kernel = ir.Kernel(name, function.key, params, tuple(_results(function.result)), span=function.span)
        made = function if function.key != subject.function else None
        if is_launch(kernel):
            yield replace(subject, kernel=name, launch=name), as_launch(kernel), made
            continue
        numbered, kernel = _numbered(function, kernel)
        integers = replace(integers, counted=_counted(kernel.params[len(params) :]))
        yield replace(subject, kernel=name, integers=integers), kernel, numbered or made


def _parameters(function: ir.Function) -> Iterator[ir.KernelParam]:
    """Yield the parameters of a harness kernel. Large ones are shared by the elements, as those of kernels are.

    By value they would be copied by each access: a table of 4,096 entries took 100 times as long. A function with a
    derivative of its own takes them by value in each case.
    """
    shares = isinstance(function.derivative, ir.Automatic)
    for param in function.params:
        memory = ir.Memory.PARAM if shares and scalar_count(param.type) > tol.PARAM_BY_VALUE else ir.Memory.EACH
        yield ir.KernelParam(param.name, memory, param.type, param.no_diff)


def with_shapes(module: ir.Module, shapes: Iterable[tuple[str, tuple[int, ...]]]) -> ir.Module:
    """Return the module with these shapes added to its kernels: ``kernel.parameter`` and extents."""
    named = tuple(shapes)

    def of(kernel: ir.Kernel) -> Iterator[tuple[str, tuple[int, ...]]]:
        for path, shape in named:
            name, _, param = path.partition(".")
            if name == kernel.name:
                yield param, shape

    return replace(module, kernels=tuple(replace(k, shapes=(*k.shapes, *of(k))) for k in module.kernels))


def _shape_ranges(kernel: ir.Kernel, function: ir.Function) -> Iterator[ir.Range]:
    """Yield the ranges of integers that index tensors of a declared shape."""
    shapes = dict(kernel.shapes)
    types = {p.name: p.type for p in function.params}
    for expr in body_exprs(statements(function)):
        if not isinstance(expr, ir.Read) or not isinstance(expr.source, ir.Var) or expr.source.name not in shapes:
            continue
        for index, extent in zip(expr.indices, shapes[expr.source.name], strict=False):
            read = index.source if isinstance(index, ir.Read) else index
            if isinstance(read, ir.Var) and read.name in types:
                yield ir.Range(read.name, 0.0, float(extent - 1))


def _free_standing(function: ir.Function) -> ir.Function:
    """Return a function that calls another.

    Slang differentiates only functions by name, which methods are not. And a kernel gives its function large parameters
    in memory, which other functions pass by value.
    """
    args = tuple(ir.Var(p.name, p.type) for p in function.params)
    body = (ir.Return(ir.Call(function.key, args, function.result)),)
    key = f"{STANDING}{function.key}"
    return replace(function, key=key, body=body, derivative=ir.Automatic(), owner="", static=False, doc=(), prefer="")


def _kernels(module: ir.Module, functions: dict[str, ir.Function]) -> Iterator[_Found]:
    """Yield the kernels. Each thread is a function of its inputs."""
    for kernel in module.kernels:
        function = functions[kernel.function]
        integers = integers_of(function, functions)
        ranges = (*_shape_ranges(kernel, function), *integers.ranges(), *function.ranges)
        subject = Subject(kernel.name, "kernel", kernel.span, "", function.key, ranges, integers=integers)
        flows = _flows_through(kernel, function) if is_launch(kernel) else _flows(function)
        if not function.differentiable or not flows:
            if kernel.in_step:
                values = replace(as_launch(kernel), modes=VALUES_ONLY)
                yield replace(subject, kernel=kernel.name, launch=kernel.name), values, None
                continue
            yield replace(subject, skipped="nothing in it carries a gradient"), None, None
            continue
        if is_launch(kernel):
            yield replace(subject, kernel=kernel.name, launch=kernel.name), as_launch(kernel), None
            continue
        params = tuple(
            replace(p, memory=ir.Memory.EACH, no_diff=p.no_diff or p.memory is ir.Memory.UNIFORM) for p in kernel.params
        )
        results = tuple(replace(r, memory=ir.Memory.EACH) for r in kernel.results)
        name = f"check_{kernel.name}"
        plain = ir.Kernel(name, kernel.function, params, results, span=kernel.span)
        numbered, plain = _numbered(function, plain)
        subject = replace(subject, integers=replace(integers, counted=_counted(plain.params[len(params) :])))
        launch = kernel.name if _adds_up(kernel) else ""
        yield replace(subject, kernel=name, launch=launch), plain, numbered


def _adds_up(kernel: ir.Kernel) -> bool:
    """Return True if threads add to shared memory."""
    shared = any(p.memory is ir.Memory.PARAM and not p.no_diff and carries_gradient(p.type) for p in kernel.params)
    return shared or any(r.memory in (ir.Memory.SUM, ir.Memory.MEAN) for r in kernel.results)


def _launch_kernels(
    module: ir.Module, subjects: Iterable[Subject], functions: dict[str, ir.Function]
) -> Iterator[tuple[ir.Kernel, ir.Function]]:
    """Yield the kernels that are checked thread by thread and add up sums, in the form in which they are launched."""
    launches = {subject.launch for subject in subjects if subject.launch != subject.kernel}
    for kernel in module.kernels:
        if kernel.name in launches:
            key = f"{LAUNCHED}{kernel.function}"
            yield replace(as_launch(kernel), function=key), replace(functions[kernel.function], key=key)


def _flows_through(kernel: ir.Kernel, function: ir.Function) -> bool:
    """Return True if an input of a kernel can affect an output."""
    into = any(
        not p.no_diff and p.memory not in (ir.Memory.UNIFORM, ir.Memory.OUT_TENSOR) and _may_flow(p.type)
        for p in kernel.params
    )
    out = any(p.memory.is_written and _may_flow(p.type) for p in kernel.params)
    return into and (out or carries_gradient(function.result))


def _may_flow(type_: Type) -> bool:
    return carries_gradient(type_.element if isinstance(type_, (Tensor, Texture)) else type_)


def _numbered(function: ir.Function, kernel: ir.Kernel) -> tuple[ir.Function | None, ir.Kernel]:
    """Return the function with parameters in place of thread numbers, and the kernel that passes them."""
    used = dict.fromkeys(
        _thread_name(e) for e in body_exprs(statements(function)) if isinstance(e, (ir.ThreadId, ir.ThreadCount))
    )
    if not used:
        return None, kernel

    def exchange(expr: ir.Expr) -> ir.Expr:
        if isinstance(expr, (ir.ThreadId, ir.ThreadCount)):
            return ir.Var(_thread_name(expr), expr.type, expr.span)
        return expr

    numbers = tuple(ir.Param(name, INT) for name in used)
    changed = map_exprs_of(function, lambda expr: rewrite(expr, exchange))
    changed = replace(changed, params=(*function.params, *numbers))
    params = (*kernel.params, *(ir.KernelParam(name, ir.Memory.EACH, INT) for name in used))
    return changed, replace(kernel, params=params)


def _counted(params: Iterable[ir.KernelParam]) -> tuple[tuple[str, str], ...]:
    """Return the parameters for thread numbers, each with the parameter for the number of threads along its axis."""
    names = {param.name for param in params}
    pairs = [(f"thread_id_{axis}", f"thread_count_{axis}") for axis in range(3)]
    return tuple((a if a in names else "", b if b in names else "") for a, b in pairs if {a, b} & names)


def _thread_name(expr: ir.ThreadId | ir.ThreadCount) -> str:
    return f"thread_{'id' if isinstance(expr, ir.ThreadId) else 'count'}_{expr.axis}"


def _shown(function: ir.Function, module: ir.Module) -> str:
    owner = next((d.struct.name for d in module.structs if d.struct.key == function.owner), "")
    return f"{owner}.{function.name}" if owner else function.name


def _flows(function: ir.Function) -> bool:
    into = any(not p.no_diff and carries_gradient(p.type) for p in function.params)
    return into and carries_gradient(function.result)


def _unfit(function: ir.Function) -> str:
    """Return the reason why values of the function cannot be in buffers; empty if they can."""
    results = function.result.elements if isinstance(function.result, Tuple) else (function.result,)
    named = [(f"parameter '{p.name}'", p.type) for p in function.params]
    for what, type_ in (*named, *(("its result", result) for result in results)):
        if isinstance(type_, (Tensor, Texture)):
            kind = "tensor" if isinstance(type_, Tensor) else "texture"
            return f"{what} is a {kind}: the kernels that call it are checked"
        if isinstance(type_, (DiffPair, Tuple, Void)):
            return f"{what} can't lie in a buffer"
        if isinstance(type_, Struct) and not type_.fields:
            return f"{what} has no fields"
    return ""


def _results(type_: Type) -> Iterator[ir.KernelResult]:
    if not isinstance(type_, Tuple):
        yield ir.KernelResult("result", ir.Memory.EACH, type_)
        return
    for index, element in enumerate(type_.elements):
        yield ir.KernelResult(f"result.{index}", ir.Memory.EACH, element)


def _fresh(wanted: str, taken: set[str]) -> str:
    name, number = wanted, 1
    while name in taken:
        number += 1
        name = f"{wanted}_{number}"
    taken.add(name)
    return name
