"""Kernels among JAX's operations: values, both modes, second derivatives, ``jit``, ``vmap`` and ``shard_map``.

Run by hand where JAX and a GPU are: ``python tests/devices/jax_interop.py cuda``; on the CPU by the tests.
"""

from __future__ import annotations

import os
import sys
import time

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=2")  # JAX reads it when it is imported

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec

import slangad as sa
from slangad import Each, InOutTensor, NoDiff, OutTensor, Param, Sum, Tensor, Uniform, float3
from slangad.compiler.runtime.device.xla import _CALLED


@sa.struct
class Line:
    slope: float
    offset: float


@sa.kernel
def misfit(x: NoDiff[Each[float]], y: Each[float], m: Param[Line]) -> Sum[float]:
    r = m.slope * x + m.offset - y
    return r * r * r


@sa.kernel
def gather(i: Each[int], w: Tensor[float, 1], k: Param[float3]) -> Each[float]:
    return w[i] * w[i] * k.y + sa.sin(k.x * k.z)


@sa.kernel
def both(x: Each[float]) -> tuple[Each[float], Each[bool]]:
    return x * x, x > 0.5


@sa.kernel
def squared(a: Each[float]) -> Sum[float]:
    return a * a


@sa.kernel
def moved(x: Each[float], v: InOutTensor[float, 1], s: Uniform[float]) -> None:
    i = sa.thread_id()
    v[i] = 2.0 * v[i] * x + s * x


@sa.kernel
def histogram(x: Each[float], out: OutTensor[float, 1]) -> None:
    out[int(x * 4.0)] += x * x


@sa.pipeline
def total(i: Each[int], w: Tensor[float, 1], k: Param[float3]) -> Sum[float]:
    return squared(gather(i, w, k))


@sa.kernel
def wide(x: Each[sa.double]) -> Sum[sa.double]:
    return x * x


def same(found: object, wanted: object) -> None:
    """Asserts that trees of arrays agree."""
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5), found, wanted)


def refusal(way: object, kind: type[Exception]) -> str:
    """What a call says that raises."""
    try:
        way()
    except kind as error:
        return str(error)
    raise AssertionError("it did not raise")


def in_shards(device: str) -> None:
    """Asserts that derivatives in ``shard_map`` add up what the shards give for a value that all share."""
    own, y, w = gather.jax(device), jnp.arange(8), jnp.linspace(0.1, 0.8, 8)
    k = jnp.array([0.4, 0.5, 0.6])
    mesh, split, same_for_all = Mesh(np.array(jax.devices()), ("d",)), PartitionSpec("d"), PartitionSpec()

    def wanted(w: jax.Array, k: jax.Array) -> jax.Array:
        return jnp.sum(w[y] * w[y] * k[1] + jnp.sin(k[0] * k[2]))

    for check in (True, False):

        def total(w: jax.Array, k: jax.Array, *, check: bool = check) -> jax.Array:
            def one(i: jax.Array, w: jax.Array, k: jax.Array) -> jax.Array:
                return jax.lax.psum(own(i, w, k).sum(), "d")

            specs = (split, same_for_all, same_for_all)
            return jax.shard_map(one, mesh=mesh, in_specs=specs, out_specs=same_for_all, check_vma=check)(y, w, k)

        same(jax.jit(jax.grad(total, (0, 1)))(w, k), jax.grad(wanted, (0, 1))(w, k))
        same(jax.jvp(total, (w, k), (w, k)), jax.jvp(wanted, (w, k), (w, k)))
        same(jax.jvp(jax.grad(total, 1), (w, k), (w, k)), jax.jvp(jax.grad(wanted, 1), (w, k), (w, k)))


def check(device: str) -> None:
    """Asserts that everything is as JAX has it."""
    x, y = jnp.linspace(0.0, 1.0, 9), jnp.linspace(1.0, 0.3, 9)
    m = {"slope": jnp.float32(2.0), "offset": jnp.float32(-0.5)}
    kernel = misfit.jax(device)

    def reference(y: jax.Array, m: dict[str, jax.Array]) -> jax.Array:
        return jnp.sum((m["slope"] * x + m["offset"] - y) ** 3)

    def own(y: jax.Array, m: dict[str, jax.Array]) -> jax.Array:
        return kernel(x, y, m)

    same(own(y, m), reference(y, m))
    same(jax.jit(own)(y, m), reference(y, m))
    same(jax.grad(own, (0, 1))(y, m), jax.grad(reference, (0, 1))(y, m))
    same(jax.jit(jax.value_and_grad(own, 1))(y, m), jax.value_and_grad(reference, 1)(y, m))
    directions = (jnp.cos(y), {"slope": jnp.float32(0.3), "offset": jnp.float32(-1.0)})
    same(jax.jvp(own, (y, m), directions), jax.jvp(reference, (y, m), directions))
    same(jax.hessian(own, 1)(y, m), jax.hessian(reference, 1)(y, m))
    same(jax.jacrev(jax.grad(own, 1), 0)(y, m), jax.jacrev(jax.grad(reference, 1), 0)(y, m))
    many = jnp.stack((y, 2 * y))
    same(jax.vmap(jax.grad(own), (0, None))(many, m), jax.vmap(jax.grad(reference), (0, None))(many, m))

    i, w, k = jnp.array([0, 2, 2, 1]), jnp.array([0.3, -0.4, 0.8]), jnp.array([0.5, 1.5, -0.7])

    def gathered(w: jax.Array, k: jax.Array) -> jax.Array:
        return w[i] * w[i] * k[1] + jnp.sin(k[0] * k[2])

    def sum_of(f: object) -> object:
        return lambda w, k: jnp.sum(f(w, k) ** 2)

    run = gather.jax(device)
    same(jax.jacrev(lambda w, k: run(i, w, k), (0, 1))(w, k), jax.jacrev(gathered, (0, 1))(w, k))
    same(jax.jacfwd(lambda w, k: run(i, w, k), (0, 1))(w, k), jax.jacfwd(gathered, (0, 1))(w, k))
    same(jax.hessian(sum_of(lambda w, k: run(i, w, k)), (0, 1))(w, k), jax.hessian(sum_of(gathered), (0, 1))(w, k))
    pipeline = total.jax(device)
    same(jax.grad(lambda w: pipeline(i, w, k))(w), jax.grad(lambda w: jnp.sum(gathered(w, k) ** 2))(w))
    value, flags = jax.jit(both.jax(device))(jnp.array([0.2, 0.7]))
    same((value, flags), (jnp.array([0.04, 0.49]), jnp.array([False, True])))
    same(jax.grad(lambda x: both.jax(device)(x)[0].sum())(w), 2 * w)
    assert "set jax.config.update('jax_enable_x64', True)" in refusal(lambda: wide.jax(device)(x), TypeError)
    second = jax.grad(lambda s: jax.grad(own)(s, m).sum())
    third = jax.grad(lambda s: second(s).sum())
    assert "misfit: third derivatives are not available" in refusal(lambda: third(y), NotImplementedError)
    if hasattr(jax, "shard_map"):
        in_shards(device)
    s = jnp.float32(3.0)
    same(moved.jax(device)(x, y, s), 2.0 * y * x + s * x)
    wanted = jax.grad(lambda x, y: jnp.sum((2.0 * y * x + s * x) ** 2), (0, 1))(x, y)
    same(jax.jit(jax.grad(lambda x, y: jnp.sum(moved.jax(device)(x, y, s) ** 2), (0, 1)))(x, y), wanted)
    bins, at = jnp.zeros(4), (jnp.linspace(0.01, 0.99, 9) * 4).astype(int)
    x = jnp.linspace(0.01, 0.99, 9)
    counted = histogram.jax(device)

    def weighted(f: object) -> object:
        return lambda x: jnp.sum(f(x) ** 2)

    wanted = jax.value_and_grad(weighted(lambda x: bins.at[at].add(x * x)))(x)
    same(jax.value_and_grad(weighted(lambda x: counted(x, bins)))(x), wanted)
    same(kernel(x[:0], y[:0], m), 0.0)
    assert "there is no device 'vulcan'" in refusal(
        lambda: jax.block_until_ready(jax.jit(misfit.jax("vulcan"))(x, y, m)), RuntimeError
    )


def main(device: str) -> None:
    """Checks everything on a device, on a GPU three times: repeated calls go another way there."""
    for _ in range(1 if device == "cpu" else 3):
        check(device)
    calls = [call for run in _CALLED.values() for call in getattr(run, "_prepared", {}).values()]
    if device == "cuda":
        print(f"{sum(call is not None for call in calls)} of {len(calls)} calls run in JAX's own memory")
        assert any(calls)
    y, large = jnp.linspace(1.0, 0.3, 9), jnp.linspace(0.0, 1.0, 1 << 20)
    step = jax.jit(jax.grad(squared.jax(device)))
    for array in (y, large):
        step(array).block_until_ready()
        start = time.perf_counter()
        for _ in range(20):
            step(array).block_until_ready()
        print(f"gradient of {array.size} elements: {(time.perf_counter() - start) / 20 * 1e6:.0f} us")
    print(f"jax {jax.__version__} on {device}: all as JAX has it")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "cpu")
