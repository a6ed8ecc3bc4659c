"""Add the subjects of second derivatives: ``slangad check --order 2``.

For a function ``f`` the subject ``f_hvp`` is the change of ``f`` along tangents. Its value is Slang's forward mode of
``f``, and its gradient is that of the function which the mode ``hvp`` differentiates::

    f_hvp(x, tangent_x)             = fwd_diff f(x, tangent_x).d
    f_hvp_bwd(x, tangent_x, d_out)  = bwd_diff f_tangent(x, tangent_x, d_out)

So the differences of the reference come from another implementation than the gradient. A kernel or pipeline ``fit`` has
``fit_hvp`` itself as subject.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from slangad.compiler.check.model.subject import Subject
from slangad.compiler.errors.spans import NOWHERE
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.build import Fresh, fresh_keys, part
from slangad.compiler.ir.calls import callees_first
from slangad.compiler.ir.types import DiffPair, Tensor, Texture, Tuple, carries_gradient
from slangad.compiler.ir.verify.module import gets_gradient, gradient_type
from slangad.compiler.passes.derivatives.maker import gradients, make_pair, tangent
from slangad.compiler.passes.differentiate_twice import SUFFIX, differentiate_twice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def with_second_order(module: ir.Module, is_own: Callable[[str], bool]) -> tuple[ir.Module, tuple[Subject, ...]]:
    """Return the module with second derivatives, and subjects for what has none, each with the reason.

    Args:
        module: The module of a description.
        is_own: Returns True for the files whose functions are subjects.
    """
    threads = {kernel.function for kernel in module.kernels}
    wanted = [f for f in module.functions if f.key not in threads and is_own(f.span.file) and _has_gradient(f)]
    made = differentiate_twice(module, tuple(f.key for f in wanted))
    functions = {f.key: f for f in made.functions}
    keys, names = fresh_keys(made), Fresh({f.name for f in made.functions})
    subjects: list[ir.Function] = []
    for function in wanted:
        moved = functions.get(f"{function.key}:tangent")
        if moved is not None:
            subjects += _subject(functions[function.key], moved, keys.name(f"{function.key}{SUFFIX}"), names)
    lost = [left for left in made.left_out if "hvp" in left.modes]
    kernels, pipelines = {k.name for k in module.kernels}, {p.name for p in module.pipelines}

    def subject(left: ir.LeftOut) -> Subject:
        kind: Literal["function", "kernel", "pipeline"] = "function"
        if left.function in kernels | pipelines:
            kind = "kernel" if left.function in kernels else "pipeline"
        return Subject(f"{left.function}{SUFFIX}", kind, left.span, skipped=left.reason)

    kept = {f.key for f in module.functions}
    unlisted = (f if f.key in kept or ":tangent" not in f.key else replace(f, span=NOWHERE) for f in made.functions)
    ordered = callees_first((*unlisted, *subjects))
    return replace(made, functions=ordered, left_out=module.left_out), tuple(map(subject, lost))


def _has_gradient(function: ir.Function) -> bool:
    """Return True if a function can be a subject, and has a derivative."""
    types = (*(p.type for p in function.params), function.result)
    fits = function.role is ir.Role.PLAIN and not isinstance(function.body, ir.External)
    fits = fits and not any(isinstance(t, (Tensor, Texture, DiffPair, Tuple)) for t in types)
    flows = any(map(gets_gradient, function.params)) and carries_gradient(function.result)
    return fits and flows and (function.differentiable or function.derivative != ir.Automatic())


def _subject(function: ir.Function, moved: ir.Function, key: str, names: Fresh) -> Iterator[ir.Function]:
    """Yield the subject of a function after its backward function."""
    count = len(function.params)
    own = tuple(replace(p, name=q.name) for p, q in zip(function.params, moved.params, strict=False))
    params = (*own, *moved.params[count:])
    variables = [ir.Var(p.name, p.type) for p in params]
    tangents = iter(variables[count:])
    pairs = [
        make_pair(v, next(tangents)) if gets_gradient(p) else v
        for p, v in zip(function.params, variables, strict=False)
    ]
    change = tangent(ir.ForwardCall(function.key, tuple(pairs), DiffPair(function.result)))
    name = names.name(f"{function.name}{SUFFIX}")
    fresh = Fresh({p.name for p in params})
    seed = fresh.var("d_out", function.result)
    result = gradient_type(params)
    whole = fresh.var("product", result)
    body = (
        ir.Assign(whole, ir.BackwardCall(moved.key, (*variables, seed), result)),
        gradients([part(whole, i) for i in range(sum(map(gets_gradient, params)))]),
    )
    plain = replace(
        function, key=key, name=name, params=params, body=(ir.Return(change),), owner="", static=False,
        derivative=ir.Custom(f"{key}:bwd", None), doc=(),
    )  # fmt: skip
    taken = (*(replace(p, no_diff=False) for p in params), ir.Param(seed.name, seed.type))
    backward = ir.Function(
        f"{key}:bwd", f"{name}_bwd", taken, result, body, differentiable=False, role=ir.Role.BACKWARD,
        of=key, span=function.span,
    )  # fmt: skip
    yield plain
    yield backward
