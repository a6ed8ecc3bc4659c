"""Wrap a loaded kernel as a function that torch differentiates.

The backward pass runs the kernel's backward entry points on the tensors of the forward call. Forward-mode automatic
differentiation runs its jvp entry points. Neither is differentiable again: a second derivative raises an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from slangad.compiler.runtime.arrays.array_keys import array_keys
from slangad.compiler.runtime.arrays.modes import RunMode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from slangad.compiler.runtime.arrays.signature import KernelSignature


class CallableKernel(Protocol):
    """The part of a loaded kernel that torch needs."""

    @property
    def signature(self) -> KernelSignature:
        """The parameters and results of the kernel."""

    def keyed(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> dict[str, object]:
        """Return arguments as arrays by key."""

    def run(self, mode: RunMode, given: Mapping[str, object], device: str, domain: object) -> Mapping[str, Any]:
        """Run the kernel in a mode on arrays by key, and return arrays by key."""


@dataclass(frozen=True)
class _Call:
    """One call: the kernel, its device and domain, and the keys of the tensors."""

    kernel: CallableKernel
    device: str
    domain: object
    keys: tuple[str, ...]

    def run(self, mode: RunMode, tensors: tuple[Any, ...], more: dict[str, Any]) -> Any:  # noqa: ANN401  (an outcome)
        import torch

        with torch.no_grad():
            return self.kernel.run(
                mode, {**dict(zip(self.keys, tensors, strict=True)), **more}, self.device, self.domain
            )

    @property
    def results(self) -> tuple[str, ...]:
        """Keys of what comes out."""
        signature = self.kernel.signature
        written = (value for value in signature.parameters if value.is_written)
        return tuple(part.key for value in (*signature.results, *written) for part in value.parts)


def _first_only(name: str) -> Callable[..., Any]:
    """A function that gives a derivative as it is, and that can't be differentiated by what the derivative is of."""
    import torch

    message = (
        f"{name}: second derivatives are not available through torch; differentiate once (no create_graph), "
        "or write the derivative as a kernel of its own with sa.bwd_diff or sa.fwd_diff"
    )

    class FirstOnly(torch.autograd.Function):  # type: ignore[misc]  # torch is no dependency
        """The identity of its first argument, which hangs on the others."""

        @staticmethod
        def forward(derivative: Any, *_: Any) -> Any:  # noqa: ANN401
            return derivative.view_as(derivative)

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:  # noqa: ANN401
            """Nothing to keep."""

        @staticmethod
        def backward(*_: Any) -> Any:  # noqa: ANN401
            raise RuntimeError(message)

        @staticmethod
        def jvp(*_: Any) -> Any:  # noqa: ANN401
            raise RuntimeError(message)

    def apply(derivative: Any, inputs: tuple[Any, ...]) -> Any:  # noqa: ANN401
        return None if derivative is None else FirstOnly.apply(derivative, *inputs)

    return apply


def function_of(kernel: CallableKernel, device: str) -> Callable[..., Any]:
    """Return a function that takes the kernel's arguments as tensors and gives its results, with gradients.

    Raises:
        ImportError: Torch is not installed.
    """
    import torch

    first_only = _first_only(kernel.signature.name)

    class Function(torch.autograd.Function):  # type: ignore[misc]  # torch is no dependency
        """The kernel among torch's own operations."""

        @staticmethod
        def forward(call: _Call, *tensors: Any) -> tuple[Any, ...]:  # noqa: ANN401
            outcome = call.run(RunMode.FORWARD, tensors, {})
            return tuple(outcome[key] for key in call.results)

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Any, ...]) -> None:  # noqa: ANN401
            ctx.call, *tensors = inputs
            ctx.save_for_backward(*tensors)
            ctx.save_for_forward(*tensors)
            ctx.mark_non_differentiable(*(t for t in output if not t.is_floating_point()))

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> tuple[Any, ...]:  # noqa: ANN401
            seeds = {
                f"cotangent.{key}": c for key, c in zip(ctx.call.results, cotangents, strict=True) if c is not None
            }
            known = {p.key for p in array_keys(kernel.signature, RunMode.BACKWARD)}
            seeds = {key: seed for key, seed in seeds.items() if key in known}
            outcome = ctx.call.run(RunMode.BACKWARD, ctx.saved_tensors, seeds)
            of = (*ctx.saved_tensors, *seeds.values())
            return (None, *(first_only(outcome.get(f"grad.{key}"), of) for key in ctx.call.keys))

        @staticmethod
        def jvp(ctx: Any, _: Any, *tangents: Any) -> tuple[Any, ...]:  # noqa: ANN401
            given = {f"tangent.{k}": t for k, t in zip(ctx.call.keys, tangents, strict=True) if t is not None}
            outcome = ctx.call.run(RunMode.JVP, ctx.saved_tensors, given)
            of = (*ctx.saved_tensors, *given.values())
            return tuple(first_only(outcome.get(f"jvp.{key}"), of) for key in ctx.call.results)

    def call(*args: object, domain: object = None, **kwargs: object) -> Any:  # noqa: ANN401  (tensors)
        given = kernel.keyed(args, kwargs)
        tensors = {
            key: value if isinstance(value, torch.Tensor) else torch.as_tensor(value) for key, value in given.items()
        }
        found = Function.apply(_Call(kernel, device, domain, tuple(tensors)), *tensors.values())
        return found[0] if len(found) == 1 else found

    call.__name__ = call.__qualname__ = kernel.signature.name
    return call
