"""Wrap a loaded kernel as a function that JAX differentiates, compiles and batches.

One JAX primitive with four kinds of runs; each kind is linear in its last arguments::

    run(x)         the results                  derivative: jvp(x, dx)
    jvp(x, dx)     their change                 transposed: vjp(x, c)
    vjp(x, c)      the gradients                transposed: jvp(x, dx)    derivative: hvp(x, c, dx) + vjp(x, dc)
    hvp(x, c, dx)  products with the Hessian    transposed: itself

XLA calls kernels through its foreign function interface (docs/decisions/jax.md), with the memory of the arrays.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from slangad.compiler.api.torch import CallableKernel
from slangad.compiler.runtime.arrays.array_keys import array_keys, output_keys
from slangad.compiler.runtime.arrays.modes import RunMode
from slangad.compiler.runtime.device.cuda_capture import kept_context
from slangad.compiler.runtime.device.xla import TARGET, interface, number_of, register, view_of
from slangad.compiler.runtime.pipeline.addressed_call import AddressedCall, copied_to_host, copy_to_gpu
from slangad.compiler.runtime.pipeline.prepared_call import UnrepeatableError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from slangad.compiler.runtime.pipeline.run_kernel import Run


_REFUSED: Final = {
    "jvp": "a derivative of forward mode is not available: take the gradient first, then its derivative",
    "hvp": "third derivatives are not available",
}
_MODES: Final = {"run": RunMode.FORWARD, "jvp": RunMode.JVP, "vjp": RunMode.BACKWARD, "hvp": RunMode.HVP}


class ShapedKernel(CallableKernel, Protocol):
    """The part of a loaded kernel that JAX needs."""

    def output_shapes(self, arrays: Mapping[str, Any], domain: object) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the results and of the tensors that are written, by key."""

    def run(
        self,
        mode: RunMode,
        inputs: Mapping[str, object],
        device: str,
        domain: object,
        keep: Callable[[Run], None] | None = None,
    ) -> Mapping[str, Any]:
        """Run the kernel in a mode on arrays by key; give ``keep`` the run if it is a single one."""


@dataclass(frozen=True, eq=False)
class _Call:
    """One traced call.

    Attributes:
        kernel: The kernel.
        device: Where it runs.
        domain: Over what shape; None if the arguments tell it.
        inputs: The shapes and types of the arguments, by key.
        outputs: Those of the results.
        moving: The arguments with a gradient.
        changing: The results with a cotangent.
        runs: Its runs by kind.
    """

    kernel: ShapedKernel
    device: str
    domain: object
    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any]
    moving: tuple[str, ...]
    changing: tuple[str, ...]
    runs: dict[str, _Run] = field(default_factory=dict)

    def arguments(self, kind: str) -> dict[str, Any]:
        """Return the shapes and types of the arguments of a kind of run, by key."""
        cotangents = {f"cotangent.{key}": self.outputs[key] for key in self.changing if kind in ("vjp", "hvp")}
        tangents = {f"tangent.{key}": self.inputs[key] for key in self.moving if kind in ("jvp", "hvp")}
        return {**self.inputs, **cotangents, **tangents}

    def results(self, kind: str) -> dict[str, Any]:
        """Return the shapes and types of the outputs of a kind of run, by key."""
        match kind:
            case "run":
                return dict(self.outputs)
            case "jvp":
                return {f"jvp.{key}": self.outputs[key] for key in self.changing}
            case _:
                prefix = "grad" if kind == "vjp" else "hvp"
                return {f"{prefix}.{key}": self.inputs[key] for key in self.moving}

    def run_of(self, kind: str) -> _Run:
        """Return a kind of run, made once."""
        if kind not in self.runs:
            self.runs[kind] = _Run(self, kind)
        return self.runs[kind]


class _Run:
    """A kind of run of a traced call, as XLA calls it.

    Attributes:
        arguments: The number of its arguments.
        results: The number of its results.
        number: The number by which XLA calls it.
        compiled: The function that runs outside of ``jax.jit``.
    """

    def __init__(self, call: _Call, kind: str) -> None:
        self._call, self._mode = call, _MODES[kind]
        self._given, self._made = call.arguments(kind), call.results(kind)
        self.arguments, self.results = len(self._given), len(self._made)
        self._prepared: dict[int, AddressedCall | None] = {}
        self.number = number_of(self)
        self.compiled: Any = None

    def on_host(self, arguments: Sequence[int], results: Sequence[int]) -> None:
        """Run on arrays in the memory of the host."""
        import numpy as np

        views = [view_of(at, one.shape, one.dtype) for at, one in zip(arguments, self._given.values(), strict=True)]
        found = self._run(dict(zip(self._given, views, strict=True)), None)
        for at, (key, one) in zip(results, self._made.items(), strict=True):
            np.copyto(view_of(at, one.shape, one.dtype), found[key], casting="unsafe")

    def on_gpu(self, stream: int, arguments: Sequence[int], results: Sequence[int]) -> None:
        """Run on arrays of a GPU: there if the kernel runs on it, in the same stream, else on copies."""
        with kept_context():
            prepared = self._prepared.get(stream)
            if prepared is not None:
                given = dict(zip(self._given, arguments, strict=True))
                prepared(given, dict(zip(self._made, results, strict=True)), stream)
                return
            copies = copied_to_host(zip(arguments, self._given.values(), strict=True), stream)

            def keep(run: Run) -> None:
                if stream not in self._prepared:
                    self._prepared[stream] = self._repeatable(run, [*arguments, *results])

            found = self._run(dict(zip(self._given, copies, strict=True)), keep)
            made = [found[key].astype(one.dtype, copy=False) for key, one in self._made.items()]
            copy_to_gpu(zip(results, made, strict=True), stream)

    def _run(self, given: Mapping[str, Any], keep: Callable[[Run], None] | None) -> Any:  # noqa: ANN401  (an outcome)
        call = self._call
        return call.kernel.run(self._mode, given, call.device, call.domain, keep)

    def _repeatable(self, run: Run, addresses: Sequence[int]) -> AddressedCall | None:
        """Return a run to repeat on memory of JAX; None if it can't be, or if the memory is on another GPU."""
        if run.device.name != "cuda":
            return None
        try:
            prepared = AddressedCall(run, self._mode, self._given, self._made)
        except UnrepeatableError:
            return None
        return prepared if prepared.takes(addresses) else None


@cache
def _primitive() -> Any:  # noqa: ANN401  (a primitive of JAX)
    """Return the primitive, made once since it needs JAX."""
    import jax
    import numpy as np
    from jax.extend.core import Primitive
    from jax.interpreters import ad, batching, mlir

    lowering = interface().ffi_lowering(TARGET)
    primitive = Primitive("slangad_kernel")
    primitive.multiple_results = True

    def run(*arrays: Any, call: _Call, kind: str) -> Any:  # noqa: ANN401
        own = call.run_of(kind)
        if own.compiled is None:
            own.compiled = jax.jit(partial(primitive.bind, call=call, kind=kind))
        return own.compiled(*arrays)

    def lowered(ctx: Any, *values: Any, call: _Call, kind: str) -> Any:  # noqa: ANN401
        register()
        return lowering(ctx, *values, number=np.int64(call.run_of(kind).number))

    def shapes_of(*types: Any, call: _Call, kind: str) -> Any:  # noqa: ANN401
        varying = next((type_ for type_ in types if _varying_axes(type_)), None)
        return [_shaped(varying, s) for s in call.results(kind).values()]

    def batched(arrays: Sequence[Any], dims: Sequence[Any], **params: Any) -> Any:  # noqa: ANN401
        pairs = list(zip(arrays, dims, strict=True))
        moved = [a if d is None else jax.numpy.moveaxis(a, d, 0) for a, d in pairs]
        batch = [a for a, d in zip(moved, dims, strict=True) if d is not None]

        def one(own: list[Any]) -> Any:  # noqa: ANN401
            parts = iter(own)
            given = [a if d is None else next(parts) for a, d in zip(moved, dims, strict=True)]
            return _bind(primitive, given, **params)

        found = jax.lax.map(one, batch)
        return found, [0] * len(found)

    primitive.def_impl(run)
    primitive.def_abstract_eval(shapes_of)
    mlir.register_lowering(primitive, lowered)
    batching.primitive_batchers[primitive] = batched
    ad.primitive_jvps[primitive] = partial(_derivative, primitive)
    ad.primitive_transposes[primitive] = partial(_transposed, primitive)
    return primitive


def _derivative(primitive: Any, arrays: Sequence[Any], tangents: Sequence[Any], *, call: _Call, kind: str) -> Any:  # noqa: ANN401
    """Return the results of a run and their tangents.

    Raises:
        NotImplementedError: It is a third derivative, or the derivative of forward mode.
    """
    from jax.interpreters import ad

    found = _bind(primitive, arrays, call=call, kind=kind)
    names = call.arguments(kind)
    moved = {n: ad.instantiate_zeros(t) for n, t in zip(names, tangents, strict=True) if not isinstance(t, ad.Zero)}
    own = dict(zip(names, arrays, strict=True))
    inputs = [own[key] for key in call.inputs]
    directions = [moved.get(key, _zeros(own[key])) for key in call.moving]
    is_moving = any(key in moved for key in call.moving)
    terms: list[dict[str, Any]] = []
    match kind:
        case "run" if is_moving:
            made = _bind(primitive, [*inputs, *directions], call=call, kind="jvp")
            terms.append(dict(zip(call.changing, made, strict=True)))
            changes = [terms[0].get(key) for key in call.outputs]
        case "run":
            changes = [None for _ in found]
        case _ if is_moving and kind != "vjp":
            raise NotImplementedError(f"{call.kernel.signature.name}: {_REFUSED[kind]}")
        case _:
            sums: list[Any] = [None for _ in found]
            if is_moving:
                seeds = [own[f"cotangent.{key}"] for key in call.changing]
                sums = _bind(primitive, [*inputs, *seeds, *directions], call=call, kind="hvp")
            linear = [n for n in names if n.startswith("cotangent." if kind == "vjp" else "tangent.")]
            if any(n in moved for n in linear):
                changed = [moved.get(n, _zeros(own[n])) if n in linear else own[n] for n in names]
                more = _bind(primitive, changed, call=call, kind=kind)
                sums = [b if a is None else a + b for a, b in zip(sums, more, strict=True)]
            changes = sums
    return found, [_no_change(f) if c is None else c for f, c in zip(found, changes, strict=True)]


def _bind(primitive: Any, arrays: Sequence[Any], **params: Any) -> Any:  # noqa: ANN401
    """Run the primitive. In ``shard_map`` all arguments then vary over the same axes of the mesh.

    The transposed conversion adds up the cotangents of the shards.
    """
    axes = [_varying_axes(_type_of(array)) for array in arrays]
    every = frozenset[str]().union(*axes)
    given = [a if own == every else _varying(a, tuple(every - own)) for a, own in zip(arrays, axes, strict=True)]
    return primitive.bind(*given, **params)


def _type_of(array: Any) -> Any:  # noqa: ANN401  (an array of JAX)
    import jax

    type_of = getattr(jax, "typeof", None) or jax.core.get_aval  # the name before JAX 0.6
    return type_of(array)


def _varying_axes(type_: Any) -> frozenset[str]:  # noqa: ANN401  (a type of JAX)
    """Return the axes of a mesh over which a value in ``shard_map`` varies."""
    if hasattr(type_, "mat"):  # from JAX 0.10 on
        return frozenset(type_.mat.varying)
    return frozenset(getattr(type_, "vma", ()))  # from JAX 0.7 on


def _varying(array: Any, axes: tuple[str, ...]) -> Any:  # noqa: ANN401
    from jax import lax

    return lax.pcast(array, axes, to="varying") if hasattr(lax, "pcast") else lax.pvary(array, axes)


def _shaped(varying: Any, shape: Any) -> Any:  # noqa: ANN401
    """Return the type of a result; it varies over the same axes as an argument."""
    import jax

    if varying is None:
        return jax.core.ShapedArray(shape.shape, shape.dtype)
    spread = varying.sharding.update(spec=jax.sharding.PartitionSpec(*(None for _ in shape.shape)))
    return varying.update(shape=shape.shape, dtype=shape.dtype, weak_type=False, sharding=spread)


def _no_change(array: Any) -> Any:  # noqa: ANN401  (an array of JAX)
    """Return JAX's zero tangent of an array; that of integers and bools has a type of its own."""
    from jax.interpreters import ad

    return ad.Zero(_type_of(array).to_tangent_aval())


def _zeros(array: Any) -> Any:  # noqa: ANN401  (an array of JAX)
    import jax.numpy as jnp

    return jnp.zeros_like(array)


def _transposed(primitive: Any, cotangents: Sequence[Any], *arrays: Any, call: _Call, kind: str) -> Any:  # noqa: ANN401
    """Return the cotangents of the arguments in which a run is linear; None for the others."""
    from jax.interpreters import ad

    seeds = [ad.instantiate_zeros(c) for c in cotangents]
    names = call.arguments(kind)
    own = dict(zip(names, arrays, strict=True))
    inputs = [own[key] for key in call.inputs]
    match kind:
        case "jvp":
            made = _bind(primitive, [*inputs, *seeds], call=call, kind="vjp")
            found = {f"tangent.{key}": one for key, one in zip(call.moving, made, strict=True)}
        case "vjp":
            made = _bind(primitive, [*inputs, *seeds], call=call, kind="jvp")
            found = {f"cotangent.{key}": one for key, one in zip(call.changing, made, strict=True)}
        case _:
            fixed = [own[f"cotangent.{key}"] for key in call.changing]
            made = _bind(primitive, [*inputs, *fixed, *seeds], call=call, kind="hvp")
            found = {f"tangent.{key}": one for key, one in zip(call.moving, made, strict=True)}
    return [found.get(name) if ad.is_undefined_primal(array) else None for name, array in own.items()]


def function_of(kernel: ShapedKernel, device: str) -> Callable[..., Any]:
    """Return a function that takes the kernel's arguments as arrays of JAX and gives its results, with derivatives.

    Raises:
        ImportError: JAX is not installed.
    """
    import jax
    import jax.numpy as jnp

    signature = kernel.signature
    parts = {part.key: part for value in signature.values for part in value.parts}
    wide = [part.key for part in parts.values() if part.scalar.name == "double"]
    known = {place.key for place in array_keys(signature, RunMode.BACKWARD)}
    outputs = output_keys(signature)
    calls: dict[Hashable, _Call] = {}

    def call(*args: object, domain: object = None, **kwargs: object) -> Any:  # noqa: ANN401  (arrays)
        if wide and not jax.config.jax_enable_x64:
            use = "set jax.config.update('jax_enable_x64', True)"
            raise TypeError(f"{signature.name}: {wide[0]} is double, and JAX uses float: {use}")
        given = kernel.keyed(args, kwargs)
        arrays = {key: jnp.asarray(value, parts[key].dtype if key in parts else None) for key, value in given.items()}
        inputs = {key: jax.ShapeDtypeStruct(array.shape, array.dtype) for key, array in arrays.items()}
        shapes = kernel.output_shapes(inputs, domain)
        over = tuple(domain) if isinstance(domain, (list, tuple)) else domain
        kind = (over, *inputs.items())
        if kind not in calls:
            calls[kind] = _Call(
                kernel=kernel,
                device=device,
                domain=over,
                inputs=inputs,
                outputs={key: jax.ShapeDtypeStruct(shapes[key], parts[key].dtype) for key in outputs},
                moving=tuple(key for key in inputs if f"grad.{key}" in known),
                changing=tuple(key for key in outputs if f"cotangent.{key}" in known),
            )
        found = _bind(_primitive(), list(arrays.values()), call=calls[kind], kind="run")
        return found[0] if len(found) == 1 else tuple(found)

    call.__name__ = call.__qualname__ = signature.name
    return call
