"""Run the product of a Hessian with tangents: the mode ``hvp`` of kernels and pipelines.

The pass ``differentiate_twice`` adds ``fit_hvp`` to ``fit``. Its parameters are those of ``fit``, then a tangent for
each one that carries gradient. Arrays are checked against the signature of ``fit``, then get the names of ``fit_hvp``::

    tangent.x  ->  tangent_x        grad.x          ->  hvp.x      the product of the Hessian
    x          ->  x                grad.tangent_x  ->  grad.x     the gradient
                                    result          ->  jvp.result
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from slangad.compiler.emit.model import Mode, ParameterRole
from slangad.compiler.errors.diagnostics import CompileError, Diagnostic
from slangad.compiler.ir.nodes import Memory
from slangad.compiler.runtime.arrays.array_keys import HVP, PREFIXES, shape_of
from slangad.compiler.runtime.arrays.modes import RunMode
from slangad.compiler.runtime.pipeline.run import PipelineInputs, run_pipeline
from slangad.compiler.runtime.pipeline.run_kernel import KernelPlan, run_kernel
from slangad.compiler.runtime.pipeline.runnable import RunnablePipeline
from slangad.compiler.runtime.pipeline.stages import shapes_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from slangad.compiler.runtime.arrays.array_keys import Slot
    from slangad.compiler.runtime.arrays.prepare import Prepared
    from slangad.compiler.runtime.arrays.signature import KernelSignature
    from slangad.compiler.runtime.device.model import Device, DeviceProgram
    from slangad.compiler.toolchain.cache import Cache

Role = ParameterRole
Runnable = KernelPlan | RunnablePipeline
_GRADIENT, _JVP = PREFIXES[Role.GRADIENT], PREFIXES[Role.RESULT_TANGENT]
_NO_HESSIAN: Final = "it has: forward, backward, jvp"


@dataclass(frozen=True, slots=True)
class HessianProduct:
    """A kernel or pipeline, and the one whose gradients are products with its Hessian."""

    of: Runnable
    by: Runnable

    @property
    def entry_names(self) -> tuple[str, ...]:
        """Return the entry points that it launches."""
        if isinstance(self.by, KernelPlan):
            forward = self.by.entry_names(RunMode.FORWARD) if self._stores else ()
            return (*self.by.entry_names(RunMode.BACKWARD), *forward)
        return self.by.entry_names((Mode.FORWARD, Mode.BACKWARD))

    @property
    def _stores(self) -> bool:
        """Return True if it is a kernel with results that its backward mode does not give."""
        sums = (Memory.SUM, Memory.MEAN)
        written = any(v.is_written for v in self.of.signature.parameters)
        return written or any(v.memory not in sums for v in self.of.signature.results)

    @property
    def tangents(self) -> dict[str, str]:
        """Return the names of the tangents by parameter."""
        own = self.of.signature.parameters
        active = (v.name for v in own if v.differentiable and v.memory is not Memory.UNIFORM)
        return dict(zip(active, (v.name for v in self.by.signature.parameters[len(own) :]), strict=True))

    def run(
        self,
        device: Device,
        program: DeviceProgram,
        prepared: Prepared,
        cotangents: Mapping[str, Any],
        cache: Cache | None,
    ) -> dict[str, Any]:
        """Run it, wait, and return arrays by key.

        Args:
            device: Where.
            program: Its entry points.
            prepared: The arrays for the kernel or pipeline itself.
            cotangents: Cotangents of a pipeline's results, by key.
            cache: Where code of the device is kept.

        Raises:
            ToolchainError: The device failed, or has too little memory.
        """
        moved = self._renamed(prepared)
        if isinstance(self.by, KernelPlan):
            found = run_kernel(device, program, self.by, RunMode.BACKWARD, moved)
            if self._stores:
                found |= run_kernel(device, program, self.by, RunMode.FORWARD, moved)
        else:
            inputs = PipelineInputs(moved, shapes_of(self.by, moved), cotangents)
            found = run_pipeline(device, program, self.by, RunMode.BACKWARD, inputs, cache)
        return dict(self._results(found))

    def _renamed(self, prepared: Prepared) -> Prepared:
        """Return the arguments of the product."""
        tangents = self.tangents
        written = {v.name for v in self.of.signature.parameters if v.is_written}
        arrays: dict[Slot, Any] = dict(self._zeros(prepared))
        for (role, name, path), array in prepared.arrays.items():
            if role is Role.TANGENT:
                arrays[Role.INPUT, tangents[name], path] = array
            elif role in (Role.COTANGENT, Role.ADJOINT) and name in written:
                arrays[role, tangents[name], path] = array
            else:
                arrays[role, name, path] = array
        extents = {tangents[name]: shape for name, shape in prepared.extents.items() if name in tangents}
        return replace(prepared, arrays=arrays, extents={**prepared.extents, **extents})

    def _zeros(self, prepared: Prepared) -> Iterator[tuple[Slot, Any]]:
        """Yield zeros for the tangents that are not given, and as cotangents of the tensors that are written."""
        import numpy as np

        for value in self.of.signature.parameters:
            for part in value.parts if value.name in self.tangents else ():
                zeros = np.zeros(shape_of(value, part, prepared.domain, prepared.extents), part.device_dtype)
                if value.memory is not Memory.OUT_TENSOR:
                    yield (Role.INPUT, self.tangents[value.name], part.path), zeros
                if value.is_written:
                    yield (Role.COTANGENT, value.name, part.path), zeros

    def _results(self, found: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        own = {tangent: name for name, tangent in self.tangents.items()}
        results = {part.key for value in self.of.signature.results for part in value.parts}
        for key, array in found.items():
            plain = key.removeprefix(_GRADIENT)
            name, dot, rest = plain.partition(".")
            if plain != key:
                yield (f"{_GRADIENT}{own[name]}{dot}{rest}" if name in own else f"{HVP}{plain}"), array
            elif name in own:
                yield f"{_JVP}{own[name]}{dot}{rest}", array
            else:
                yield (f"{_JVP}{key}" if key in results or key.startswith("result") else key), array


def refuse_product(signature: KernelSignature, reason: str) -> CompileError:
    """Return the error of a kernel or pipeline that has no product with its Hessian."""
    message = f"{signature.name} has no hvp mode: {reason}"
    return CompileError([Diagnostic("SA417", message, signature.span, help=_NO_HESSIAN)])
