"""Wrap a loaded kernel as a function that torch differentiates.

Three operations of torch: the kernel, its gradient, and runs whose results have no derivative. The
gradient's own derivatives are products with the Hessian, in the mode hvp. Everything that reads a tensor is an
operation, since tensors under ``torch.func`` transforms have no memory outside of one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from slangad.compiler.errors.diagnostics import Diagnostic
from slangad.compiler.ir.nodes import Memory
from slangad.compiler.runtime.arrays.array_keys import array_keys
from slangad.compiler.runtime.arrays.modes import RunMode
from slangad.compiler.runtime.arrays.prepare import InputError
from slangad.compiler.runtime.device.tensors import tracking

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from slangad.compiler.runtime.arrays.signature import KernelSignature


class CallableKernel(Protocol):
    """The part of a loaded kernel that torch and JAX need."""

    @property
    def signature(self) -> KernelSignature:
        """The parameters and results of the kernel."""

    @property
    def output_keys(self) -> tuple[str, ...]:
        """The keys of the results and of the tensors that are written."""

    @property
    def backward_keys(self) -> frozenset[str]:
        """The keys of everything that takes part in the mode backward."""

    def keyed(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> dict[str, object]:
        """Return arguments as arrays by key."""

    def run(self, mode: RunMode, inputs: Mapping[str, object], device: str, domain: object) -> Mapping[str, Any]:
        """Run the kernel in a mode on arrays by key, and return arrays by key."""


@dataclass(frozen=True)
class _Call:
    """One call: the kernel, its device and domain, the keys of its tensors and of its outputs.

    Attributes:
        keys: The keys of the arguments.
        seeds: For the gradient: the results that have a cotangent. Their cotangents follow the arguments.
        mode: For a run without derivative: its mode.
        outputs: The keys of the outputs.
        why: For a run without derivative: the message if one is wanted.
    """

    kernel: CallableKernel
    device: str
    domain: object
    keys: tuple[str, ...]
    seeds: tuple[str, ...] = ()
    mode: RunMode = RunMode.FORWARD
    outputs: tuple[str, ...] = ()
    why: str = ""

    def run(self, mode: RunMode, given: Mapping[str, Any]) -> Any:  # noqa: ANN401  (an outcome)
        import torch

        with torch.no_grad():
            return self.kernel.run(mode, given, self.device, self.domain)

    def plain(self, mode: RunMode, given: Mapping[str, Any], outputs: tuple[str, ...], why: str) -> dict[str, Any]:
        """Return outputs of a run that can't be differentiated, by key; why not if it is tried."""
        operation = _operations()[0]
        call = replace(self, keys=tuple(given), mode=mode, outputs=outputs, why=f"{self.kernel.signature.name}: {why}")
        return dict(zip(outputs, operation.apply(call, *given.values()), strict=True))


def _named(prefix: str, keys: tuple[str, ...], values: tuple[Any, ...]) -> dict[str, Any]:
    """Return the values that are there, by key with a prefix."""
    return {f"{prefix}.{key}": value for key, value in zip(keys, values, strict=True) if value is not None}


def _each_in_turn(function: Any, info: Any, dims: tuple[Any, ...], call: _Call, *tensors: Any) -> Any:  # noqa: ANN401
    """Return a function's results for each element of a batch, stacked: the rule of ``torch.vmap``."""
    import torch

    found = []
    for element in range(info.batch_size):
        own = (t if d is None else t.select(d, element) for t, d in zip(tensors, dims[1:], strict=True))
        found.append(function.apply(call, *own))
    stacked = tuple(torch.stack(parts) for parts in zip(*found, strict=True))
    return stacked, tuple(0 for _ in stacked)


_MADE: list[tuple[Any, Any, Any, Any]] = []


def _operations() -> tuple[Any, Any, Any, Any]:
    """Return the classes of runs without derivative, of gradients and of kernels, made once since they need torch.

    The last one is for kernels outside of ``torch.func`` transforms.
    """
    if not _MADE:
        plain = _plain_operation()
        gradient = _gradient_operation()
        kernel = _kernel_operation(gradient)
        _MADE.append((plain, gradient, kernel, _direct_operation(kernel)))
    return _MADE[0]


def _plain_operation() -> Any:  # noqa: ANN401  (a class)
    import torch

    class Plain(torch.autograd.Function):  # type: ignore[misc]  # torch is no dependency
        """A run of a kernel in some mode, without a derivative of its own."""

        @staticmethod
        def forward(call: _Call, *tensors: Any) -> tuple[Any, ...]:  # noqa: ANN401
            outcome = call.run(call.mode, dict(zip(call.keys, tensors, strict=True)))
            return tuple(outcome[key] for key in call.outputs)

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Any, ...]) -> None:  # noqa: ANN401, ARG004
            ctx.why = inputs[0].why

        @staticmethod
        def backward(ctx: Any, *_: Any) -> Any:  # noqa: ANN401
            raise RuntimeError(ctx.why)

        @staticmethod
        def jvp(ctx: Any, *_: Any) -> Any:  # noqa: ANN401
            raise RuntimeError(ctx.why)

        @staticmethod
        def vmap(info: Any, dims: tuple[Any, ...], call: _Call, *tensors: Any) -> Any:  # noqa: ANN401
            return _each_in_turn(Plain, info, dims, call, *tensors)

    return Plain


def _gradient_operation() -> Any:  # noqa: ANN401  (a class)
    import torch

    third = "third derivatives are not available"

    class Gradient(torch.autograd.Function):  # type: ignore[misc]  # torch is no dependency
        """The gradients, from the arguments and then the cotangents."""

        @staticmethod
        def forward(call: _Call, *tensors: Any) -> tuple[Any, ...]:  # noqa: ANN401
            outcome = call.run(RunMode.BACKWARD, _divided(call, tensors))
            return tuple(outcome[f"grad.{key}"] for key in call.outputs)

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Any, ...]) -> None:  # noqa: ANN401, ARG004
            ctx.call, *tensors = inputs
            ctx.save_for_backward(*tensors)
            ctx.save_for_forward(*tensors)

        @staticmethod
        def backward(ctx: Any, *directions: Any) -> tuple[Any, ...]:  # noqa: ANN401
            call: _Call = ctx.call
            given = _divided(call, ctx.saved_tensors) | _named("tangent", call.outputs, directions)
            wanted = (*(f"hvp.{key}" for key in call.outputs), *(f"jvp.{key}" for key in call.seeds))
            found = call.plain(RunMode.HVP, given, wanted, third)
            products = (found.get(f"hvp.{key}") for key in call.keys)
            return (None, *products, *(found[f"jvp.{key}"] for key in call.seeds))

        @staticmethod
        def jvp(ctx: Any, _: Any, *tangents: Any) -> tuple[Any, ...]:  # noqa: ANN401
            call: _Call = ctx.call
            own = _divided(call, ctx.saved_tensors)
            count = len(call.keys)
            found: list[Any] = [torch.zeros_like(own[key]) for key in call.outputs]
            moved = _named("tangent", call.keys, tangents[:count])
            if moved:
                products = call.plain(RunMode.HVP, own | moved, tuple(f"hvp.{key}" for key in call.outputs), third)
                found = [*products.values()]
            reseeded = {key: torch.zeros_like(own[key]) for key in own if key.startswith("cotangent.")}
            given = _named("cotangent", call.seeds, tangents[count:])
            if given:
                outputs = tuple(f"grad.{key}" for key in call.outputs)
                more = call.plain(RunMode.BACKWARD, own | reseeded | given, outputs, third)
                found = [a + b for a, b in zip(found, more.values(), strict=True)]
            return tuple(found)

        @staticmethod
        def vmap(info: Any, dims: tuple[Any, ...], call: _Call, *tensors: Any) -> Any:  # noqa: ANN401
            return _each_in_turn(Gradient, info, dims, call, *tensors)

    return Gradient


def _divided(call: _Call, tensors: tuple[Any, ...]) -> dict[str, Any]:
    """Return the arguments and cotangents of a gradient by key."""
    count = len(call.keys)
    return dict(zip(call.keys, tensors[:count], strict=True)) | _named("cotangent", call.seeds, tensors[count:])


def _kernel_operation(gradient: Any) -> Any:  # noqa: ANN401  (classes)
    import torch

    reverse_first = "a derivative of forward mode is not available: take the gradient first, then its derivative"

    class Function(torch.autograd.Function):  # type: ignore[misc]  # torch is no dependency
        """The kernel among torch's own operations."""

        @staticmethod
        def forward(call: _Call, *tensors: Any) -> tuple[Any, ...]:  # noqa: ANN401
            outcome = call.run(RunMode.FORWARD, dict(zip(call.keys, tensors, strict=True)))
            return tuple(outcome[key] for key in call.outputs)

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Any, ...]) -> None:  # noqa: ANN401
            ctx.call, *tensors = inputs
            ctx.save_for_backward(*tensors)
            ctx.save_for_forward(*tensors)
            ctx.mark_non_differentiable(*(t for t in output if not t.is_floating_point()))

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> tuple[Any, ...]:  # noqa: ANN401
            call: _Call = ctx.call
            known = call.kernel.backward_keys
            given = dict(zip(call.outputs, cotangents, strict=True))
            seeds = {k: c for k, c in given.items() if c is not None and f"cotangent.{k}" in known}
            wanted = tuple(key for key in call.keys if f"grad.{key}" in known)
            own = replace(call, seeds=tuple(seeds), outputs=wanted)
            values = (*ctx.saved_tensors, *seeds.values())
            tracked = torch.is_grad_enabled() or tracking(values) is not None
            gradients = gradient.apply(own, *values) if tracked else gradient.forward(own, *values)
            found = dict(zip(wanted, gradients, strict=True))
            return (None, *(found.get(key) for key in call.keys))

        @staticmethod
        def jvp(ctx: Any, _: Any, *tangents: Any) -> tuple[Any, ...]:  # noqa: ANN401
            call: _Call = ctx.call
            known = call.kernel.backward_keys
            moving = tuple(key for key in call.outputs if f"cotangent.{key}" in known)
            given = dict(zip(call.keys, ctx.saved_tensors, strict=True)) | _named("tangent", call.keys, tangents)
            outcome = call.plain(RunMode.JVP, given, tuple(f"jvp.{key}" for key in moving), reverse_first)
            return tuple(outcome.get(f"jvp.{key}") for key in call.outputs)

        @staticmethod
        def vmap(info: Any, dims: tuple[Any, ...], call: _Call, *tensors: Any) -> Any:  # noqa: ANN401
            return _each_in_turn(Function, info, dims, call, *tensors)

    return Function


def _direct_operation(kernel: Any) -> Any:  # noqa: ANN401  (classes)
    """Return the operation of a kernel without a separate ``setup_context``, for which torch inspects the signature."""
    import torch

    class Direct(kernel):  # type: ignore[misc]  # torch is no dependency
        """The kernel among torch's own operations, outside of transforms."""

        setup_context = torch.autograd.Function.setup_context

        @staticmethod
        def forward(ctx: Any, call: _Call, *tensors: Any) -> tuple[Any, ...]:  # noqa: ANN401
            output: tuple[Any, ...] = kernel.forward(call, *tensors)
            kernel.setup_context(ctx, (call, *tensors), output)
            return output

    return Direct


def run_tracked(kernel: CallableKernel, device: str, inputs: Mapping[str, object], domain: object = None) -> Any:  # noqa: ANN401  (tensors)
    """Return a kernel's results, from arguments by key, as a part of torch's graph: a tensor, or a tuple of them."""
    import torch

    tensors = {
        key: value if isinstance(value, torch.Tensor) else torch.as_tensor(value) for key, value in inputs.items()
    }
    call = _Call(kernel, device, domain, tuple(tensors), outputs=kernel.output_keys)
    batched = torch._C._are_functorch_transforms_active()
    if not batched and tracking(tensors.values()) is None:
        found = call.run(RunMode.FORWARD, tensors)
        results = tuple(found[key] for key in call.outputs)
    else:
        results = _operations()[2 if batched else 3].apply(call, *tensors.values())
    return results[0] if len(results) == 1 else results


def refuse_uncaptured(signature: KernelSignature, mode: RunMode, inputs: Mapping[str, Any]) -> None:
    """Refuse arguments that a CUDA graph would not read again when it is replayed, or can't read.

    Raises:
        InputError: An array is not on the GPU, or a number that is passed by value is.
    """
    found = []
    for key in array_keys(signature, mode):
        if key.key not in inputs:
            continue
        is_on_gpu = getattr(getattr(inputs[key.key], "device", None), "type", "") == "cuda"
        if key.value.memory is Memory.UNIFORM and is_on_gpu:
            found.append(
                (
                    f"{key.key} is on the GPU and is passed by value",
                    "give a number, which the graph keeps, or make it NoDiff[Param[…]]",
                )
            )
        elif key.value.memory is not Memory.UNIFORM and not is_on_gpu:
            found.append((f"{key.key} is not on the GPU", 'give a tensor on the device "cuda"'))
    if found:
        what = f"{signature.name} can't be captured in a CUDA graph"
        raise InputError([Diagnostic("SA413", f"{what}: {reason}", help=help_) for reason, help_ in found])


def function_of(kernel: CallableKernel, device: str) -> Callable[..., Any]:
    """Return a function that takes the kernel's arguments as tensors and gives its results, with gradients.

    ``torch.compile`` leaves it alone: it would else read slangad's own code, for seconds, to the same end.

    Raises:
        ImportError: Torch is not installed.
    """
    import torch

    def run(*args: object, domain: object = None, **kwargs: object) -> Any:  # noqa: ANN401  (tensors)
        return run_tracked(kernel, device, kernel.keyed(args, kwargs), domain)

    outside = torch._disable_dynamo(run)  # unlike torch.compiler.disable, it loads torch's compiler (2 s) when called

    def call(*args: object, **kwargs: object) -> Any:  # noqa: ANN401  (tensors)
        if not torch.compiler.is_compiling():
            return run(*args, **kwargs)
        torch._dynamo.graph_break(msg="a kernel of slangad runs outside of the graph")
        return outside(*args, **kwargs)

    call.__name__ = call.__qualname__ = kernel.signature.name
    return call
