"""Call kernels from Python: ``sa.load("fit.py").fit.backward(x, m, cotangent=c)``, on numpy arrays or torch tensors.

Each device is opened once and stays open. The code for a call is compiled with the first such call.
"""

from __future__ import annotations

import atexit
import inspect
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, Final

from slangad.compiler.api.outcome import Outcome
from slangad.compiler.api.program import read_program
from slangad.compiler.api.readable_errors import readable_errors
from slangad.compiler.api.replaced_structs import refuse_replaced_structs
from slangad.compiler.api.travel import with_products_of_object
from slangad.compiler.driver.inputs import Input
from slangad.compiler.driver.model import Options
from slangad.compiler.emit.model import Mode, ParameterRole
from slangad.compiler.errors.diagnostics import Diagnostic, nearest_of
from slangad.compiler.ir.types import Struct
from slangad.compiler.runtime.arrays.array_keys import PREFIXES, array_keys, output_keys, shape_of
from slangad.compiler.runtime.arrays.flatten import flatten_named
from slangad.compiler.runtime.arrays.modes import RunMode
from slangad.compiler.runtime.arrays.prepare import InputError, prepare
from slangad.compiler.runtime.device.cuda_capture import is_captured
from slangad.compiler.runtime.device.open import open_device
from slangad.compiler.runtime.device.table import AUTO
from slangad.compiler.runtime.device.tensors import (
    Tracking,
    as_arrays,
    as_tensors,
    leaf_types,
    missing_values,
    place_of,
    tracking,
)
from slangad.compiler.runtime.pipeline.prepared_call import PreparedCalls, kind_of_call
from slangad.compiler.runtime.pipeline.run import outputs_of, prepare_pipeline, run_pipeline, signature_of
from slangad.compiler.runtime.pipeline.run_kernel import run_kernel
from slangad.compiler.toolchain.cache import default_cache

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from slangad.compiler.api.program import RunnableProgram
    from slangad.compiler.api.training import TrainingResult
    from slangad.compiler.runtime.arrays.prepare import Prepared
    from slangad.compiler.runtime.arrays.signature import KernelSignature
    from slangad.compiler.runtime.device.model import Device, DeviceProgram
    from slangad.compiler.runtime.pipeline.run_kernel import KernelPlan, Run
    from slangad.compiler.runtime.pipeline.runnable import RunnablePipeline

_TAKEN: Final = {
    ParameterRole.COTANGENT: "cotangents are of floating-point results and of tensors that are written",
    ParameterRole.TANGENT: "tangents are of parameters that carry gradient",
    ParameterRole.GRADIENT: "gradients are of parameters that carry gradient",
}
"""By role of a derivative: the values that have one, for messages."""

_OPEN: Final[dict[str, Device]] = {}
_LEFT: Final[list[Device]] = []
"""In a fork: GPUs of the parent, kept since giving them back would go through a driver whose threads aren't there."""
_OPENING = RLock()
"""Held while a device is looked up or opened."""


@dataclass(repr=False)
class LoadedKernel:
    """A kernel that runs on a device.

    Arguments are arrays in the order of the parameters, or by name: numpy arrays, torch tensors, numbers; structs as
    mappings or as objects with the fields as attributes. ``device=`` says where, ``domain=`` over what shape where no
    ``Each`` argument tells it.
    """

    program: RunnableProgram
    plan: KernelPlan
    device: str
    loaded: dict[tuple[str, tuple[str, ...]], DeviceProgram] = field(default_factory=dict)
    second: list[RunnableProgram] = field(default_factory=list)
    """The program with products with Hessians, once it is needed."""
    prepared: PreparedCalls = field(default_factory=PreparedCalls, compare=False)
    """The calls that can be repeated."""
    functions: dict[tuple[str, str], Callable[..., Any]] = field(default_factory=dict, compare=False)
    """The functions that torch and JAX differentiate, by library and device."""
    structs: Mapping[str, type] = field(default_factory=dict, compare=False)
    """The struct classes of the parameters of a decorated object."""

    def __repr__(self) -> str:
        takes = ", ".join(f"{v.name}: {v.memory.value} {v.shown}" for v in self.signature.parameters)
        return f"<kernel {self.signature.name}({takes}) on {self.device}>"

    def __getstate__(self) -> dict[str, object]:
        """Return what pickle keeps: nothing that is on a device."""
        second = with_products_of_object(self.program, self.second)
        return {
            **self.__dict__,
            "loaded": {},
            "second": second,
            "prepared": PreparedCalls(),
            "functions": {},
            "structs": {},
        }

    @property
    def signature(self) -> KernelSignature:
        """Its parameters and results."""
        return self.plan.signature

    def __call__(self, *args: object, **kwargs: object) -> Any:  # noqa: ANN401  (numpy or torch)
        """Return the result of ``forward``; without one, what was written: the only output, or all by name.

        A torch tensor that requires a gradient takes part in torch's graph.
        """
        device, domain = str(kwargs.pop("device", "")), kwargs.pop("domain", None)
        inputs = self.keyed(args, kwargs)
        if tracking(inputs.values()):
            from slangad.compiler.api.torch import run_tracked

            return run_tracked(self, device or self.device, inputs, domain)
        outcome = self.run(RunMode.FORWARD, inputs, device, domain)
        if self.signature.results or not outcome.outputs:
            return outcome.result
        return next(iter(outcome.outputs.values())) if len(outcome.outputs) == 1 else outcome.outputs

    def forward(self, *args: object, device: str = "", domain: object = None, **kwargs: object) -> Outcome:
        """Compute the results.

        Raises:
            InputError: An argument doesn't fit, or is a torch tensor that requires a gradient.
            ToolchainError: The device is missing or failed.
        """
        inputs = self.keyed(args, kwargs)
        if tracked := tracking(inputs.values()):
            name = self.signature.name
            message = f"{name}.forward would lose the graph of a tensor {tracked.value}"
            help_ = f"use {name}.torch()(…)" + (", or torch.no_grad()" if tracked is Tracking.GRADIENT else "")
            raise InputError([Diagnostic("SA411", message, help=help_)])
        return self.run(RunMode.FORWARD, inputs, device, domain)

    def backward(
        self, *args: object, cotangent: object = None, grad: object = None, device: str = "", domain: object = None,
        **kwargs: object,
    ) -> Outcome:  # fmt: skip
        """Compute the gradients.

        Args:
            *args: The arguments.
            cotangent: The gradient of the result: an array, a tuple for several results, or a mapping by result; ones
                where there is none. Of tensors that are written, by parameter; zeros where other
                results follow from them.
            grad: Gradients to add to, by parameter; they start from zero otherwise.
            device: Where.
            domain: Over what shape.
            **kwargs: Arguments by name.
        """
        inputs = self.keyed(args, kwargs)
        if cotangent is not None:
            inputs |= self.cotangents(cotangent)
        if grad is not None:
            inputs |= self._derivatives(ParameterRole.GRADIENT, grad, RunMode.BACKWARD)
        return self.run(RunMode.BACKWARD, inputs, device, domain)

    def jvp(
        self, *args: object, tangent: object = None, device: str = "", domain: object = None, **kwargs: object
    ) -> Outcome:
        """Compute the results and how they change along ``tangent``, a mapping by parameter; zero where left out."""
        inputs = self.keyed(args, kwargs) | self.tangents(tangent)
        return self.run(RunMode.JVP, inputs, device, domain)

    def jtjvp(
        self, *args: object, tangent: object = None, grad: object = None, device: str = "", domain: object = None,
        **kwargs: object,
    ) -> Outcome:  # fmt: skip
        """Compute the Gauss-Newton product of ``tangent``: its change of the results, sent back as a cotangent.

        Tensors that are written and from which other results follow have no part in it. It is added to ``grad``, as
        gradients are.
        """
        inputs = self.keyed(args, kwargs) | self._derivatives(ParameterRole.TANGENT, tangent, RunMode.JTJVP)
        inputs |= self._derivatives(ParameterRole.GRADIENT, grad, RunMode.JTJVP)
        return self.run(RunMode.JTJVP, inputs, device, domain)

    def hvp(
        self, *args: object, tangent: object = None, cotangent: object = None, device: str = "", domain: object = None,
        **kwargs: object,
    ) -> Outcome:  # fmt: skip
        """Compute the product of the Hessian with ``tangent``, a mapping by parameter; zero where left out.

        Args:
            *args: The arguments.
            tangent: The direction, by parameter.
            cotangent: The weights of the results; ones where there are none. The Hessian is that of their weighted sum.
            device: Where.
            domain: Over what shape.
            **kwargs: Arguments by name.

        Returns:
            ``.hvp`` by parameter, the gradient as ``.grad``, and the change of the results as ``.jvp``.

        Raises:
            CompileError: It has no second derivative, with the reason.
        """
        given = self.keyed(args, kwargs) | self._derivatives(ParameterRole.TANGENT, tangent, RunMode.HVP)
        given |= self._derivatives(ParameterRole.COTANGENT, self._by_result(cotangent), RunMode.HVP)
        return self.run(RunMode.HVP, given, device, domain)

    @property
    def slang(self) -> str:
        """The Slang of its description."""
        from slangad.compiler.api.compiled import SlangText

        return SlangText(self.program.emitted.text)

    def train(self, *args: object, device: str = "", domain: object = None, **kwargs: Any) -> TrainingResult:  # noqa: ANN401
        """Minimise the result: the parameters without ``NoDiff`` that are ``Param`` or ``Tensor`` are trained.

        Args:
            *args: The data; trained parameters that are given start at these values, the others at random ones.
            device: Where.
            domain: Over what shape.
            **kwargs: Arguments by name, and ``TrainingSettings``: ``steps=1000``, ``batch=0`` for all elements,
                ``optimizer=sa.Adam(lr=0.01)``, ``lr=``, ``until_loss=``, ``seed=0``, ``watch=`` a function of step
                and loss, ``data=`` a loader of batches, ``distributed=True`` in a rank of ``torch.distributed``. A
                parameter with such a name is given by position, a field with such a name in its struct.

        Raises:
            CompileError: It can't be trained, or the loss became infinite.
            InputError: An argument is missing or doesn't fit.
        """
        from slangad.compiler.api.training import TrainingSettings, train_on

        names = {one.name for one in fields(TrainingSettings)}
        given = _without(kwargs, *names)
        self._refuse_strays(given, names)
        inputs, shape = self.keyed(args, given), _shape(domain)
        with readable_errors():
            try:
                settings = TrainingSettings(**{name: value for name, value in kwargs.items() if name in names})
                return train_on(opened_device(device or self.device), self.program, self.found, inputs, shape, settings)
            except InputError as error:
                problems = self._with_settings(error.diagnostics, names & kwargs.keys(), kwargs)
                raise InputError([*problems]) from None

    def _with_settings(
        self, problems: Iterable[Diagnostic], settings: Collection[str], named: Collection[str]
    ) -> Iterator[Diagnostic]:
        """Yield problems; those of parameters and fields that have the name of a given setting say so."""
        for problem in problems:
            yield replace(problem, help=self._clash(problem, settings, named) or problem.help)

    def _clash(self, problem: Diagnostic, settings: Collection[str], named: Collection[str]) -> str:
        """Return what to do about a problem that comes from a setting with the name of a parameter or field.

        Args:
            problem: The problem of a missing array, or of a setting.
            settings: The settings that are given.
            named: All arguments that are given by name.
        """
        key, missing, _ = problem.message.partition(" is missing: ")
        name, *path = key.partition("=")[0].split(".")
        if name in settings and any(value.name == name for value in self.signature.parameters):
            clash = f"{name}= is a setting of .train: give the parameter {name} by position"
            return clash if missing else f"{problem.help}; {clash}"
        part = next((part for part in path if part in settings and name not in named), "")
        return f"{part}= is a setting of .train: give the field in {name}=, or as **{{'{key}': …}}" if part else ""

    def _refuse_strays(self, kwargs: Mapping[str, object], settings: Iterable[str]) -> None:
        """Refuse names that are neither parameters nor settings.

        Raises:
            InputError: It names the nearest of both.
        """
        known = {value.name for value in self.signature.parameters}
        stray = [name for name in kwargs if name.partition(".")[0] not in known]
        if stray:
            message = f"{self.signature.name} takes no {stray[0]}, and it is no setting of a training"
            raise InputError([Diagnostic("SA411", message, help=nearest_of(stray[0], [*known, *settings]))])

    @property
    def found(self) -> KernelPlan | RunnablePipeline:
        """The kernel or pipeline that a program runs."""
        return self.plan

    def torch(self, device: str = "") -> Callable[..., Any]:
        """Return a function of torch tensors that torch differentiates, by a ``torch.autograd.Function``."""
        from slangad.compiler.api.torch import function_of

        return self._function("torch", function_of, device)

    def jax(self, device: str = "") -> Callable[..., Any]:
        """Return a function of JAX's arrays that ``jax.grad``, ``jax.jvp``, ``jax.jit`` and ``jax.vmap`` take."""
        from slangad.compiler.api.jax import function_of

        return self._function("jax", function_of, device)

    def _function(self, library: str, make: Callable[[LoadedKernel, str], Any], device: str) -> Callable[..., Any]:
        """Return the function of a library for a device, made once."""
        key = (library, device or self.device)
        if key not in self.functions:
            self.functions[key] = make(self, key[1])
        return self.functions[key]

    def output_shapes(self, arrays: Mapping[str, Any], domain: object) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the results and of the tensors that are written, from the arguments, by key.

        Raises:
            InputError: A shape doesn't fit.
        """
        with readable_errors():
            prepared = prepare(self.signature, RunMode.FORWARD, _placeholders(arrays), _shape(domain))
        values = (*self.signature.results, *(v for v in self.signature.parameters if v.is_written))
        return {p.key: shape_of(v, p, prepared.domain, prepared.extents) for v in values for p in v.parts}

    def keyed(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> dict[str, object]:
        """Return arguments as arrays by key.

        Raises:
            InputError: A struct is of a class that was defined again.
            TypeError: There are too many, or one is given twice.
        """
        leaves = self._leaves
        values = (*args, *kwargs.values())
        if len(args) <= len(leaves) and leaf_types().issuperset(map(type, values)):
            found = {**dict(zip(leaves, args, strict=False)), **kwargs}
            if len(found) == len(values) and found.keys() <= leaves.keys():
                return {name: found[name] for name in leaves if name in found} if kwargs else found
        plain = {name: value for name, value in kwargs.items() if "." not in name}
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        python = [inspect.Parameter(value.name, kind) for value in self.signature.parameters]
        known = {value.name for value in self.signature.parameters}
        stray = {name: value for name, value in kwargs.items() if name not in plain or name not in known}
        try:
            bound = inspect.Signature(python).bind_partial(*args, **{n: v for n, v in plain.items() if n in known})
        except TypeError as error:
            raise TypeError(f"{self.signature.name}: {error}") from None
        with readable_errors():
            refuse_replaced_structs(self.signature.name, self.structs, bound.arguments)
        return flatten_named("", bound.arguments, self.signature) | stray

    @cached_property
    def output_keys(self) -> tuple[str, ...]:
        """The keys of the results and of the tensors that are written."""
        return output_keys(self.signature)

    @cached_property
    def backward_keys(self) -> frozenset[str]:
        """The keys of everything that takes part in the mode backward."""
        return frozenset(place.key for place in array_keys(self.signature, RunMode.BACKWARD))

    @cached_property
    def _leaves(self) -> dict[str, None]:
        """The names of the parameters if each is one array, not a struct; none otherwise."""
        values = self.signature.parameters
        return {v.name: None for v in values} if all([p.path for p in v.parts] == [()] for v in values) else {}

    def run(
        self,
        mode: RunMode,
        inputs: Mapping[str, object],
        device: str = "",
        domain: object = None,
        keep: Callable[[Run], None] | None = None,
    ) -> Outcome:
        """Run it in a mode on arrays by key.

        Args:
            mode: The mode.
            inputs: The arguments by key.
            device: Where.
            domain: Over what shape.
            keep: Called with the run of a kernel, if it is one run, before its results are read.

        Raises:
            InputError: An argument doesn't fit, or is a tensor without values.
            ToolchainError: The device is missing or failed.
        """
        shape = _shape(domain)
        name = device or self.device
        kind = None if keep is not None else kind_of_call(mode, name, inputs, shape)
        if kind is not None:
            with readable_errors():
                repeated = self.prepared.repeated(kind, _OPEN.get(name), inputs)
            if repeated is not None:
                return Outcome(repeated, self.signature)
        if "torch" in sys.modules and (missing := missing_values(inputs.values())):
            own = self.signature.name
            help_ = f"call it outside; torch.compile, torch.func.grad, vmap and jvp take {own}.torch()"
            raise InputError([Diagnostic("SA413", f"{own} can't run here: {missing}", help=help_)])
        place = place_of(inputs)
        with readable_errors():
            opened = opened_device(name)
        stays = place is not None and place.type == "cuda" and opened.name == "cuda"
        if opened.name == "cuda" and is_captured():
            from slangad.compiler.api.torch import refuse_uncaptured

            refuse_uncaptured(self.signature, mode, inputs)
        arrays = inputs if stays else as_arrays(inputs)
        if kind is not None and (stays or opened.host):
            keep = self.prepared.keeper(kind, mode, inputs)
        with readable_errors(), opened.lock:
            outcome = self.run_on(opened, mode, arrays, shape, place if stays else None, keep)
        return Outcome(outcome if place is None else as_tensors(outcome, place), self.signature)

    def run_on(
        self,
        device: Device,
        mode: RunMode,
        inputs: Mapping[str, object],
        shape: tuple[Any, ...] | None,
        place: object,
        keep: Callable[[Run], None] | None = None,
    ) -> Mapping[str, Any]:
        """Run it on a device.

        Args:
            device: The device.
            mode: The mode.
            inputs: The arguments by key.
            shape: The domain, if it is given.
            place: The torch device of tensors that are not copied.
            keep: Called with the run of a kernel, if it is one run, before its results are read.
        """
        prepared = replace(prepare(self.signature, mode, inputs, shape), place=place)
        if mode is RunMode.HVP:
            return self._run_product(device, prepared, {})
        self.plan.require(mode)
        return run_kernel(device, self.load_on(device, mode), self.plan, mode, prepared, keep)

    def _run_product(self, device: Device, prepared: Prepared, cotangents: Mapping[str, Any]) -> Mapping[str, Any]:
        """Run the product with the Hessian on a device."""
        if not self.second:
            self.second.append(self.program.with_products())
        (program,) = self.second
        product = program.product(self.found)
        key = (f"{device.name} hvp", product.entry_names)
        if key not in self.loaded:
            self.loaded[key] = program.load_on(device, product.entry_names)
        return product.run(device, self.loaded[key], prepared, cotangents, program.source.cache)

    def cotangents(self, values: object) -> dict[str, object]:
        """Return cotangents by key, from those of ``backward``."""
        return self._derivatives(ParameterRole.COTANGENT, self._by_result(values), RunMode.BACKWARD)

    def tangents(self, values: object) -> dict[str, object]:
        """Return tangents by key, from those of ``jvp``."""
        return self._derivatives(ParameterRole.TANGENT, values, RunMode.JVP)

    def load_on(self, device: Device, mode: RunMode) -> DeviceProgram:
        """Return its entry points for a mode on a device, compiled once."""
        key = (device.name, self.plan.entry_names(mode))
        if key not in self.loaded:
            self.loaded[key] = self.program.load_on(device, key[1])
        return self.loaded[key]

    def _derivatives(self, role: ParameterRole, values: object, mode: RunMode) -> dict[str, object]:
        """Return derivatives by key. Refuse those without effect, since they were named on purpose.

        Raises:
            InputError: A value has no such derivative.
            TypeError: The values aren't by name.
        """
        taken = dict.fromkeys(place.value.name for place in array_keys(self.signature, mode) if place.role is role)
        flat = flatten_named(PREFIXES[role], values, self.signature, next(iter(taken), "x"))
        known = {value.name for value in self.signature.values if value.name not in taken}
        pairs = values.items() if isinstance(values, Mapping) else ()
        useless = [name for name, value in pairs if name in known and value is not None]
        if useless:
            help_ = f"{_TAKEN[role]}: {', '.join(PREFIXES[role] + name for name in sorted(taken)) or 'there are none'}"
            message = f"{self.signature.name} takes no {PREFIXES[role]}"
            raise InputError([Diagnostic("SA411", f"{message}{name}", help=help_) for name in useless])
        return flat

    def _by_result(self, cotangent: object) -> object:
        """Return a mapping by result, from what may be the one result's own or a tuple of all."""
        names = [value.name for value in self.signature.results]
        if isinstance(cotangent, Mapping) and len(names) > 1 and isinstance(cotangent.get("result"), (tuple, list)):
            named = dict(cotangent)
            whole = self._by_result(named.pop("result"))
            assert isinstance(whole, dict)  # noqa: S101  (of a tuple)
            return named | whole
        if isinstance(cotangent, (tuple, list)) and len(names) > 1:
            if len(cotangent) != len(names):
                message = f"{self.signature.name} has {len(names)} results, and these are {len(cotangent)} cotangents"
                raise InputError([Diagnostic("SA411", message, help="pass a mapping by result to omit some")])
            return dict(zip(names, cotangent, strict=True))
        if cotangent is None or len(names) != 1:
            return cotangent
        known, (single,) = {value.name for value in self.signature.values}, self.signature.results
        fields = isinstance(single.type, Struct)
        by_name = isinstance(cotangent, Mapping) and (not fields or set(cotangent) <= known)
        return cotangent if by_name else {single.name: cotangent}


@dataclass(repr=False)
class LoadedPipeline(LoadedKernel):
    """A pipeline that runs on a device, called as a kernel is; ``plan`` is that of its last kernel."""

    runnable: RunnablePipeline = field(kw_only=True)

    def __repr__(self) -> str:
        return super().__repr__().replace("<kernel", "<pipeline", 1)

    @property
    def signature(self) -> KernelSignature:
        """Its parameters and results."""
        return signature_of(self.runnable)

    @property
    def found(self) -> KernelPlan | RunnablePipeline:
        """The kernel or pipeline that a program runs."""
        return self.runnable

    def output_shapes(self, arrays: Mapping[str, Any], domain: object) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the results and of the tensors that are written, from the arguments, by key."""
        with readable_errors():
            inputs = prepare_pipeline(self.runnable, RunMode.FORWARD, _placeholders(arrays), _shape(domain))
        known = inputs.shapes.values
        pairs = outputs_of(self.runnable)
        return {part.key: (*known[name], *part.shape) for value, name in pairs for part in value.parts}

    def run_on(
        self,
        device: Device,
        mode: RunMode,
        inputs: Mapping[str, object],
        shape: tuple[Any, ...] | None,
        place: object,
        keep: Callable[[Run], None] | None = None,  # noqa: ARG002  (pipelines are planned at each call)
    ) -> Mapping[str, Any]:
        """Run it on a device; ``place`` is where tensors stay that are not copied."""
        prepared = prepare_pipeline(self.runnable, mode, inputs, shape)
        prepared = replace(prepared, prepared=replace(prepared.prepared, place=place))
        if mode is RunMode.HVP:
            return self._run_product(device, prepared.prepared, prepared.cotangents)
        return run_pipeline(
            device, self.load_on(device, mode), self.runnable, mode, prepared, self.program.source.cache
        )

    def load_on(self, device: Device, mode: RunMode) -> DeviceProgram:
        """Return its kernels' entry points for a mode on a device, compiled once."""
        key = (device.name, self.runnable.entry_names((Mode.FORWARD, *mode.steps)))
        if key not in self.loaded:
            self.loaded[key] = self.program.load_on(device, key[1])
        return self.loaded[key]


def _placeholders(arrays: Mapping[str, Any]) -> dict[str, object]:
    """Return arrays of these shapes and types without contents."""
    import numpy as np

    return {key: np.broadcast_to(np.zeros((), one.dtype), one.shape) for key, one in arrays.items()}


def _shape(domain: object) -> tuple[Any, ...] | None:
    return None if domain is None else tuple(domain) if isinstance(domain, (tuple, list)) else (domain,)


def _without(kwargs: Mapping[str, object], *names: str) -> dict[str, object]:
    return {name: value for name, value in kwargs.items() if name not in names}


def loaded_from(program: RunnableProgram, name: str, device: str) -> LoadedKernel:
    """Return a kernel or pipeline of a program by name."""
    runnable = program.pipelines.get(name)
    if runnable is None:
        return LoadedKernel(program, program.plans[name], device)
    *_, last = runnable.kernels.values()
    return LoadedPipeline(program, last, device, runnable=runnable)


class LoadedFile(Mapping[str, LoadedKernel]):
    """A describing file's kernels and pipelines by name, as attributes and as a mapping."""

    def __init__(self, program: RunnableProgram, device: str) -> None:
        self.program, self._device = program, device
        names = dict.fromkeys((*program.plans, *program.pipelines))
        self._kernels = {name: loaded_from(program, name, device) for name in names}

    def __reduce__(self) -> tuple[object, ...]:
        """Return what pickle keeps."""
        return LoadedFile, (self.program, self._device)

    def __getattr__(self, name: str) -> LoadedKernel:
        if name.startswith("_") or name not in self._kernels:
            made = {kernel.name for kernel in self.program.module.kernels if kernel.fused}
            there = ", ".join(known for known in self._kernels if known not in made) or "none"
            raise AttributeError(f"{self.program.file} has no kernel {name}; it has {there}")
        return self._kernels[name]

    def __getitem__(self, name: str) -> LoadedKernel:
        return self._kernels[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kernels)

    def __len__(self) -> int:
        return len(self._kernels)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._kernels]


def load(path: str | Path, device: str = AUTO, *, deterministic: bool = False) -> LoadedFile:
    """Read a description to run its kernels.

    Args:
        path: A describing file in Python, YAML or Slang.
        device: Where calls run that don't say: cpu, cuda, vulkan, or auto for a GPU that works, else the CPU.
        deterministic: Make gradients bitwise repeatable, at the cost of memory and time.

    Raises:
        CompileError: The description was rejected.
    """
    options = Options(targets=(), cache=default_cache(), deterministic=deterministic)
    with readable_errors():
        return LoadedFile(read_program(Input(Path(path)), options), device)


def opened_device(name: str) -> Device:
    """Return a device, opened once in this process.

    Raises:
        ToolchainError: It isn't there, or it is a GPU and this process a fork of one that had opened it.
    """
    with _OPENING:
        if name not in _OPEN:
            device = open_device(name)
            _OPEN[name] = _OPEN.setdefault(device.name, device)
        return _OPEN[name]


@atexit.register
def _close_devices() -> None:
    for device in {id(device): device for device in _OPEN.values()}.values():
        device.close()
    _OPEN.clear()


def _after_fork() -> None:
    """Replace the lock, which a thread of the parent may hold, and leave GPUs to the parent. The CPU resets itself."""
    global _OPENING  # noqa: PLW0603  (the one of this process)
    _OPENING = RLock()
    for name in [name for name, device in _OPEN.items() if not device.host]:
        _LEFT.append(_OPEN.pop(name))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
