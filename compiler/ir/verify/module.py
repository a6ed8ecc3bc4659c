"""Check the rules that a module must keep after a front end or a pass.

A violation is a defect of slangad. The result is a list of diagnostics SA900-SA905, empty for a valid module.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from slangad.compiler.errors.diagnostics import Diagnostic
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.memory_parts import memory_parts
from slangad.compiler.ir.types import (
    DiffPair,
    Struct,
    Tensor,
    Texture,
    Tuple,
    Type,
    carries_gradient,
    count_scalars,
    show,
)
from slangad.compiler.ir.verify.bodies import verify_body
from slangad.compiler.ir.verify.pipelines import verify_pipeline
from slangad.compiler.ir.walk import body_exprs, statements

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_TENSORS: Final = {
    (True, False): ir.Memory.TENSOR,
    (False, True): ir.Memory.OUT_TENSOR,
    (True, True): ir.Memory.INOUT_TENSOR,
}
_ACCESSED: Final = (*_TENSORS.values(), ir.Memory.TEXTURE2D)


class InvalidModule(Exception):  # noqa: N818  (a state, and never shown as an error of the user's)
    """A module broke a rule of the IR: a defect of slangad."""

    def __init__(self, after: str, diagnostics: list[Diagnostic]) -> None:
        self.diagnostics = diagnostics
        super().__init__(f"after {after}: " + "; ".join(f"[{d.code}] {d.span}: {d.message}" for d in diagnostics))


class SoundBodies:
    """Bodies that were verified: with ``SLANGAD_VERIFY``, those are skipped that a pass leaves as they are."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[object, ...]] = {}

    def problems(self, function: ir.Function, buffers: Mapping[str, Type], *, declared: bool) -> list[Diagnostic]:
        """Return everything wrong in a function's body."""
        seen = (function.body, function.params, function.result, buffers, declared)
        known = self._known.get(id(function.body))  # which holds the body, so no other one has its id
        if known is not None and known == seen:
            return []
        found = [*verify_body(function, buffers, declared=declared)]
        if not found:
            self._known[id(function.body)] = seen
        return found


def verify(module: ir.Module, *, declared: bool = False, sound: SoundBodies | None = None) -> list[Diagnostic]:
    """Return everything wrong with a module. With ``declared``, locals must be declared.

    Args:
        module: The module.
        declared: Whether locals must be declared.
        sound: The bodies that were verified before, and from now on those of this module.
    """
    return [*_verify(module, sound or SoundBodies(), declared=declared)]


def _verify(module: ir.Module, sound: SoundBodies, *, declared: bool) -> Iterator[Diagnostic]:
    yield from _verify_keys(module)
    by_key = {f.key: f for f in module.functions}
    earlier: set[str] = set()
    buffers: dict[str, Type] = {b.key: b.type for b in module.named_memory}
    for function in module.functions:
        yield from _verify_references(function, module, by_key, earlier)
        yield from sound.problems(function, buffers, declared=declared)
        yield from _verify_derivative(function, by_key)
        earlier.add(function.key)
    for kernel in module.kernels:
        yield from _verify_kernel(kernel, by_key, {b.param for b in module.buffers if b.kernel == kernel.name})
        yield from _verify_memories(kernel)
    yield from _verify_buffers(module)
    for pipeline in module.pipelines:
        yield from verify_pipeline(pipeline, {kernel.name: kernel for kernel in module.kernels})


def _verify_keys(module: ir.Module) -> Iterator[Diagnostic]:
    for kind, keys in (
        ("function", [f.key for f in module.functions]),
        ("struct", [s.struct.key for s in module.structs]),
        ("constant", [c.key for c in module.constants]),
        ("kernel", [k.name for k in module.kernels]),
        ("buffer", [b.key for b in module.buffers]),
    ):
        for key in {k for k in keys if keys.count(k) > 1}:
            yield Diagnostic("SA900", f"two {kind}s have the key {key!r}")
    owners = {s.struct.key for s in module.structs}
    for function in module.functions:
        if function.owner and function.owner not in owners:
            yield Diagnostic("SA900", f"{function.key}: no struct {function.owner!r}", function.span)
    for constant in module.constants:
        if len(constant.values) != count_scalars(constant.type).total():
            yield Diagnostic("SA900", f"constant {constant.key!r} has {len(constant.values)} values", constant.span)


@dataclass(frozen=True, slots=True)
class _Callee:
    """The parameters and result of a function in one kind of call."""

    params: tuple[Type, ...]
    result: Type


def _verify_references(
    function: ir.Function, module: ir.Module, by_key: dict[str, ir.Function], earlier: set[str]
) -> Iterator[Diagnostic]:
    constants = {c.key: c.type for c in module.constants}
    for expr in body_exprs(statements(function)):
        match expr:
            case ir.Call(key, args) | ir.BackwardCall(key, args) | ir.ForwardCall(key, args):
                if key not in by_key:
                    yield Diagnostic("SA900", f"{function.key} calls {key!r}, which is not there", expr.span)
                    continue
                if key not in earlier:
                    yield Diagnostic("SA900", f"{function.key} calls {key!r}, which stands after it", expr.span)
                yield from _verify_call(expr, _callee(expr, by_key[key]), args)
            case ir.ConstantRef(key, type_) if constants.get(key) != type_:
                yield Diagnostic("SA900", f"{function.key} uses constant {key!r} as {show(type_)}", expr.span)
            case _:
                pass


def _callee(expr: ir.Call | ir.BackwardCall | ir.ForwardCall, function: ir.Function) -> _Callee:
    types = tuple(p.type for p in function.params)
    match expr:
        case ir.Call():
            return _Callee(types, function.result)
        case ir.BackwardCall():
            return _Callee((*types, function.result), gradient_type(function.params))
        case ir.ForwardCall():
            pairs = tuple(DiffPair(p.type) if gets_gradient(p) else p.type for p in function.params)
            return _Callee(pairs, DiffPair(function.result))


def _verify_call(expr: ir.Expr, callee: _Callee, args: tuple[ir.Expr, ...]) -> Iterator[Diagnostic]:
    if len(args) != len(callee.params):
        yield Diagnostic("SA901", f"{len(args)} arguments for {len(callee.params)} parameters", expr.span)
        return
    for arg, wanted in zip(args, callee.params, strict=True):
        if arg.type != wanted:
            yield Diagnostic("SA901", f"argument is {show(arg.type)}, parameter {show(wanted)}", arg.span)
    if not _gives(expr.type, callee.result):
        yield Diagnostic("SA901", f"call is {show(expr.type)}, function gives {show(callee.result)}", expr.span)


def _gives(actual: Type, wanted: Type) -> bool:
    """Return True if a type is the wanted one, or the struct that replaces the wanted tuple."""
    if isinstance(wanted, Tuple) and isinstance(actual, Struct):
        return tuple(f.type for f in actual.fields) == wanted.elements
    return actual == wanted


def gets_gradient(param: ir.Param) -> bool:
    """Return True if a parameter carries gradient."""
    return not param.no_diff and carries_gradient(param.type)


def gradient_type(params: tuple[ir.Param, ...]) -> Type:
    """Return the result type of a backward function: the gradient of the differentiable parameter, or a tuple."""
    types = tuple(p.type for p in params if gets_gradient(p))
    return types[0] if len(types) == 1 else Tuple(types)


def _verify_derivative(function: ir.Function, by_key: dict[str, ir.Function]) -> Iterator[Diagnostic]:
    match function.derivative:
        case ir.Custom(backward, forward):
            keys = [k for k in (backward, forward) if k is not None]
            if not keys:
                yield Diagnostic("SA903", f"{function.key} has an empty custom derivative", function.span)
        case ir.Surrogate(key):
            keys = [key]
        case _:
            keys = []
    for key in keys:
        if key not in by_key:
            yield Diagnostic("SA903", f"{function.key}: no function {key!r}", function.span)
    if function.role is not ir.Role.PLAIN and not function.role.reads_memory:
        yield from _verify_role(function, by_key)


def _verify_role(function: ir.Function, by_key: dict[str, ir.Function]) -> Iterator[Diagnostic]:
    primal = by_key.get(function.of)
    if primal is None:
        yield Diagnostic("SA903", f"{function.key} is the derivative of {function.of!r}, not there", function.span)
        return
    types = [p.type for p in primal.params]
    if function.role is ir.Role.BACKWARD:
        wanted, result = [*types, primal.result], gradient_type(primal.params)
    else:
        wanted = [DiffPair(p.type) if gets_gradient(p) else p.type for p in primal.params]
        result = DiffPair(primal.result)
    if [p.type for p in function.params] != wanted or function.result != result:
        yield Diagnostic("SA903", f"{function.key} does not fit {function.of}", function.span)


def _verify_buffers(module: ir.Module) -> Iterator[Diagnostic]:
    params = {(k.name, p.name): p for k in module.kernels for p in k.params}
    for buffer in module.buffers:
        of = params.get((buffer.kernel, buffer.param))
        if of is None or buffer.type not in _types_at(of, buffer.path) or (of.no_diff and not buffer.no_diff):
            yield Diagnostic("SA904", f"buffer {buffer.key!r} is no parameter of {buffer.kernel!r}", buffer.span)


def _types_at(param: ir.KernelParam, path: tuple[str, ...]) -> tuple[Type, ...]:
    """Return the types that a buffer of a part of a parameter may have."""
    if param.memory is not ir.Memory.PARAM:
        return (param.type,)
    return tuple(part.tensor for part in memory_parts(param.type) if part.path == path)


def _passed(param: ir.KernelParam, named: Mapping[str, Type]) -> tuple[Type, ...]:
    """Return the types of a function's parameters for one of its kernel: tensors for a ``Param`` left in memory."""
    if named.get(param.name) == param.type or param.memory is not ir.Memory.PARAM:
        return (param.type,)
    return tuple(part.tensor for part in memory_parts(param.type))


def _verify_memories(kernel: ir.Kernel) -> Iterator[Diagnostic]:
    for p in kernel.params:
        if memory_of(p.type) != (p.memory if isinstance(p.type, (Tensor, Texture)) else None):
            yield Diagnostic("SA904", f"kernel {kernel.name}: {show(p.type)} in {p.memory.value}", p.span)
        if p.memory in (ir.Memory.SUM, ir.Memory.MEAN) or (p.memory in _ACCESSED and memory_of(p.type) is None):
            yield Diagnostic("SA904", f"kernel {kernel.name}: a parameter of {p.memory.value}", p.span)
    for r in kernel.results:
        if r.memory not in (ir.Memory.EACH, ir.Memory.SUM, ir.Memory.MEAN):
            yield Diagnostic("SA904", f"kernel {kernel.name}: a result of {r.memory.value}", kernel.span)


def memory_of(type_: Type) -> ir.Memory | None:
    """Return the memory that a type implies: that of tensors and textures."""
    match type_:
        case Texture():
            return ir.Memory.TEXTURE2D
        case Tensor(reads=reads, writes=writes):
            return _TENSORS[reads, writes]
        case _:
            return None


def _verify_kernel(kernel: ir.Kernel, by_key: dict[str, ir.Function], buffered: set[str]) -> Iterator[Diagnostic]:
    function = by_key.get(kernel.function)
    if function is None:
        yield Diagnostic("SA904", f"kernel {kernel.name}: no function {kernel.function!r}", kernel.span)
        return
    named = {p.name: p.type for p in function.params}
    passed = [type_ for p in kernel.params if p.name not in buffered for type_ in _passed(p, named)]
    if passed != [p.type for p in function.params if p.direction != "out"]:
        yield Diagnostic("SA904", f"kernel {kernel.name} and its function differ in parameters", kernel.span)
    stored = {p.name: p.type for p in function.params if p.direction != "in"}
    if {r.param: r.type for r in kernel.results if r.param} != stored:
        yield Diagnostic("SA904", f"kernel {kernel.name} and its function differ in what is stored", kernel.span)
    types = [r.type for r in kernel.results if not r.param]
    several = _gives(function.result, Tuple(tuple(types)))
    if types and not several and types != [function.result]:
        yield Diagnostic("SA904", f"kernel {kernel.name} and its function differ in results", kernel.span)
    if len(kernel.group_size) != kernel.dims:
        yield Diagnostic("SA904", f"kernel {kernel.name}: group size and dimensions differ", kernel.span)
    if kernel.tile and len(kernel.tile) != kernel.dims:
        yield Diagnostic("SA904", f"kernel {kernel.name}: tile and dimensions differ", kernel.span)
