"""Run a function over arrays of samples, through a kernel that calls it once for each sample.

An array with more axes than one value of its parameter has one value for each sample; its first axes are those of the
samples. Every other argument is one value for all samples, and its gradient is the sum over them::

    shade.grad({"albedo": [0.2, 0.4, 0.6], "gloss": 0.3}, np.linspace(0.0, 1.0, 1000))
               one material for all                       1000 samples
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slangad.compiler.api.live_programs import kept
from slangad.compiler.api.outcome import Outcome
from slangad.compiler.emit.model import ParameterRole as Role
from slangad.compiler.errors.diagnostics import Diagnostic
from slangad.compiler.runtime.arrays.array_keys import PREFIXES
from slangad.compiler.runtime.arrays.flatten import flatten_named
from slangad.compiler.runtime.arrays.modes import RunMode
from slangad.compiler.runtime.arrays.prepare import InputError
from slangad.compiler.runtime.device.tensors import is_tensor, tracking

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from slangad.compiler.api.load import LoadedKernel
    from slangad.compiler.lang.decorators.functions import DescribedFunction
    from slangad.compiler.runtime.arrays.signature import ArrayPart, KernelSignature, KernelValue

    Function = DescribedFunction[..., object]
    Shape = tuple[int, ...]


def run_samples(function: Function, mode: str, args: Sequence[object], kwargs: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """Run a function over samples: ``forward`` returns the results, the other modes an ``Outcome``.

    Raises:
        CompileError: The function is rejected.
        InputError: An argument doesn't fit, or the arrays have different numbers of samples.
        ToolchainError: The device is missing or failed.
    """
    options = {name: kwargs[name] for name in ("device", "cotangent", "tangent") if name in kwargs}
    named = {name: value for name, value in kwargs.items() if name not in options}
    alone = kept(function, frozenset()).kernel
    arguments = _with_defaults(function, alone, args, named)
    samples = _Samples.of(alone.signature, arguments)
    kernel = kept(function, samples.names).kernel
    if mode == "forward" and tracking(arguments.values()):
        return samples.run_tracked(kernel, arguments, options)
    outcome = samples.run(kernel, RunMode(mode), arguments, options)
    return outcome.result if mode == "forward" else outcome


def _with_defaults(
    function: Function, kernel: LoadedKernel, args: Sequence[object], named: Mapping[str, object]
) -> dict[str, object]:
    """Return the arguments by key, with the defaults of parameters."""
    defaults = {
        name: parameter.default
        for name, parameter in inspect.signature(function.python).parameters.items()
        if parameter.default is not inspect.Parameter.empty
    }
    inputs = kernel.keyed(tuple(args), named)
    missing = [
        value
        for value in kernel.signature.parameters
        if value.name in defaults and not any(part.key in inputs for part in value.parts)
    ]
    return inputs | flatten_named("", {value.name: defaults[value.name] for value in missing}, kernel.signature)


@dataclass(frozen=True, slots=True)
class _Samples:
    """The parameters that have one value for each sample, and the axes of the samples."""

    names: frozenset[str]
    shape: Shape

    @classmethod
    def of(cls, signature: KernelSignature, arguments: Mapping[str, object]) -> _Samples:
        """Find the axes of the samples.

        Raises:
            InputError: Two arrays have different ones.
        """
        result: dict[str, Shape] = {}
        for value in signature.parameters:
            for part in () if value.is_tensor else value.parts:
                front = _front(arguments[part.key], part) if part.key in arguments else ()
                if front:
                    result.setdefault(part.key, front)
        shapes = dict.fromkeys(result.values())
        if len(shapes) > 1:
            shown = ", ".join(f"{key} has {'x'.join(map(str, shape))}" for key, shape in result.items())
            message = f"{signature.name}: the arrays have different numbers of samples: {shown}"
            raise InputError([Diagnostic("SA414", message, help="one value for all samples has the parameter's shape")])
        names = (value.name for value in signature.parameters if any(part.key in result for part in value.parts))
        return cls(frozenset(names), next(iter(shapes), ()))

    @property
    def count(self) -> int:
        """Return the number of samples."""
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    def run(
        self, kernel: LoadedKernel, mode: RunMode, arguments: Mapping[str, object], options: Mapping[str, Any]
    ) -> Outcome:
        """Run the kernel over all samples."""
        signature = kernel.signature
        inputs = self._spread_all(signature, arguments)
        cotangent = options.get("cotangent")
        if mode in (RunMode.BACKWARD, RunMode.HVP) and cotangent is not None:
            inputs |= self._seeds(signature, kernel.cotangents(cotangent))
        if mode in (RunMode.JVP, RunMode.HVP):
            tangents = kernel.tangents(options.get("tangent"))
            for value in signature.parameters:
                prefix = PREFIXES[Role.TANGENT]
                tangents.update(self._spread(value, tangents, prefix) if value.name in self.names else {})
            inputs |= tangents
        outcome = kernel.run(mode, inputs, options.get("device", ""), self._domain)
        return Outcome({key: self._unflattened(signature, key, array) for key, array in outcome.items()}, signature)

    def run_tracked(self, kernel: LoadedKernel, arguments: Mapping[str, object], options: Mapping[str, Any]) -> Any:  # noqa: ANN401  (tensors)
        """Compute the results as a part of torch's graph: a tensor, or a tuple of them."""
        from slangad.compiler.api.torch import run_tracked

        inputs = self._spread_all(kernel.signature, arguments)
        outputs = run_tracked(kernel, options.get("device", "") or kernel.device, inputs, self._domain)
        many = outputs if isinstance(outputs, tuple) else (outputs,)
        shaped = tuple(one.reshape((*self.shape, *one.shape[1:])) for one in many)
        return shaped if isinstance(outputs, tuple) else shaped[0]

    @property
    def _domain(self) -> int | None:
        """Return the domain if no argument tells it."""
        return self.count if not self.names else None

    def _spread_all(self, signature: KernelSignature, arguments: Mapping[str, object]) -> dict[str, object]:
        spread = dict(arguments)
        for value in signature.parameters:
            spread.update(self._spread(value, spread, "") if value.name in self.names else {})
        return spread

    def _spread(self, value: KernelValue, inputs: Mapping[str, object], prefix: str) -> dict[str, object]:
        """Return the arrays of a parameter with one axis of samples; one value for all is repeated."""
        keys = {f"{prefix}{part.key}": part for part in value.parts if f"{prefix}{part.key}" in inputs}
        return {key: self._flattened(inputs[key], part) for key, part in keys.items()}

    def _seeds(self, signature: KernelSignature, cotangents: Mapping[str, object]) -> dict[str, object]:
        parts = {f"{PREFIXES[Role.COTANGENT]}{part.key}": part for value in signature.results for part in value.parts}
        return {key: self._flattened(one, parts[key]) if key in parts else one for key, one in cotangents.items()}

    def _flattened(self, array: object, part: ArrayPart) -> object:
        import numpy as np

        if is_tensor(array):
            return array.expand(*self.shape, *part.shape).reshape(self.count, *part.shape)  # type: ignore[attr-defined]
        plain = np.asarray(array)
        return np.broadcast_to(plain, (*self.shape, *part.shape)).reshape(self.count, *part.shape)

    def _unflattened(self, signature: KernelSignature, key: str, array: Any) -> Any:  # noqa: ANN401  (numpy or torch)
        plain = key.partition(".")[2] if key.startswith(("grad.", "jvp.", "hvp.")) else key
        values = [value for value in signature.values if any(part.key == plain for part in value.parts)]
        per_sample = not values or values[0].per_element
        return array.reshape((*self.shape, *array.shape[1:])) if per_sample else array


def _front(array: Any, part: ArrayPart) -> Shape:  # noqa: ANN401  (numbers, lists, numpy or torch)
    """Return the axes of an array before those of one value."""
    import numpy as np

    shape = tuple(array.shape) if is_tensor(array) else np.shape(array)
    return shape[: max(0, len(shape) - len(part.shape))]
