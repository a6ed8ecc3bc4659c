"""Wrap a loaded kernel as a function that JAX differentiates, compiles and batches.

One JAX primitive with four kinds of runs; each kind is linear in its last arguments::

    run(x)         the results                  derivative: jvp(x, dx)
    jvp(x, dx)     their change                 transposed: vjp(x, c)
    vjp(x, c)      the gradients                transposed: jvp(x, dx)    derivative: hvp(x, c, dx) + vjp(x, dc)
    hvp(x, c, dx)  products with the Hessian    transposed: itself

Arrays reach the kernel through a callback, which copies them to the host. JAX's foreign function interface needs a
compiled extension for each version of XLA, which slangad does not have (docs/decisions/jax.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from slangad.compiler.api.torch import CallableKernel
from slangad.compiler.runtime.arrays.array_keys import array_keys, output_keys
from slangad.compiler.runtime.arrays.modes import RunMode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


_REFUSED: Final = {
    "jvp": "a derivative of forward mode is not available: take the gradient first, then its derivative",
    "hvp": "third derivatives are not available",
}
_MODES: Final = {"run": RunMode.FORWARD, "jvp": RunMode.JVP, "vjp": RunMode.BACKWARD, "hvp": RunMode.HVP}


class ShapedKernel(CallableKernel, Protocol):
    """The part of a loaded kernel that JAX needs."""

    def output_shapes(self, arrays: Mapping[str, Any], domain: object) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the results and of the tensors that are written, by key."""


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
    """

    kernel: ShapedKernel
    device: str
    domain: object
    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any]
    moving: tuple[str, ...]
    changing: tuple[str, ...]

    def arguments(self, kind: str) -> tuple[str, ...]:
        """Return the keys of the arguments of a kind of run."""
        cotangents = tuple(f"cotangent.{key}" for key in self.changing) if kind in ("vjp", "hvp") else ()
        tangents = tuple(f"tangent.{key}" for key in self.moving) if kind in ("jvp", "hvp") else ()
        return (*self.inputs, *cotangents, *tangents)

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

    def run(self, kind: str, *arrays: object) -> list[Any]:
        """Run the kernel on the host's copies of arrays."""
        import numpy as np

        given = {key: np.asarray(array) for key, array in zip(self.arguments(kind), arrays, strict=True)}
        found = self.kernel.run(_MODES[kind], given, self.device, self.domain)
        return [np.asarray(found[key], shape.dtype) for key, shape in self.results(kind).items()]


@cache
def _primitive() -> Any:  # noqa: ANN401  (a primitive of JAX)
    """Return the primitive, made once since it needs JAX."""
    import jax
    from jax.extend.core import Primitive
    from jax.interpreters import ad, batching, mlir

    primitive = Primitive("slangad_kernel")
    primitive.multiple_results = True

    def run(*arrays: Any, call: _Call, kind: str) -> Any:  # noqa: ANN401
        return [jax.numpy.asarray(found) for found in call.run(kind, *arrays)]

    def lowered(ctx: Any, *values: Any, call: _Call, kind: str) -> Any:  # noqa: ANN401
        # jax.pure_callback would put the arrays on a device once more before it calls
        found, _, _ = mlir.emit_python_callback(
            ctx, lambda *arrays: tuple(call.run(kind, *arrays)), None, list(values), ctx.avals_in, ctx.avals_out,
            has_side_effect=False,
        )  # fmt: skip
        return found

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

    def call(*args: object, domain: object = None, **kwargs: object) -> Any:  # noqa: ANN401  (arrays)
        if wide and not jax.config.jax_enable_x64:
            use = "set jax.config.update('jax_enable_x64', True)"
            raise TypeError(f"{signature.name}: {wide[0]} is double, and JAX uses float: {use}")
        given = kernel.keyed(args, kwargs)
        arrays = {key: jnp.asarray(value, parts[key].dtype if key in parts else None) for key, value in given.items()}
        inputs = {key: jax.ShapeDtypeStruct(array.shape, array.dtype) for key, array in arrays.items()}
        shapes = kernel.output_shapes(inputs, domain)
        traced = _Call(
            kernel=kernel,
            device=device,
            domain=domain,
            inputs=inputs,
            outputs={key: jax.ShapeDtypeStruct(shapes[key], parts[key].dtype) for key in outputs},
            moving=tuple(key for key in inputs if f"grad.{key}" in known),
            changing=tuple(key for key in outputs if f"cotangent.{key}" in known),
        )
        found = _bind(_primitive(), list(arrays.values()), call=traced, kind="run")
        return found[0] if len(found) == 1 else tuple(found)

    call.__name__ = call.__qualname__ = signature.name
    return call
