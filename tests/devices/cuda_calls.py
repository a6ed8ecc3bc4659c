"""Repeated calls of kernels on cuda: the same bits as planned calls, in any stream, and the errors of planned calls.

Run by hand where torch and an NVIDIA GPU are: ``python tests/devices/cuda_calls.py``.
"""

from __future__ import annotations

import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

import slangad as sa
from slangad.compiler.api.load import LoadedKernel
from slangad.compiler.runtime.arrays.modes import RunMode
from slangad.compiler.runtime.arrays.prepare import InputError
from slangad.compiler.runtime.pipeline.prepared_call import MOST_KINDS, PreparedCall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DESCRIBED = """
import slangad as sa
from slangad import Each, InOutTensor, Mean, NoDiff, Param, Sum, Tensor, Uniform, float3


@sa.struct
class Line:
    slope: float
    offset: float


@sa.kernel
def fit(x: Each[float], a: Param[float]) -> Sum[float]:
    return (a * x - 1.0) ** 2


@sa.kernel
def lines(x: Each[float], y: NoDiff[Each[float]], m: Param[Line]) -> Mean[float]:
    r = m.slope * x + m.offset - y
    return r * r


@sa.kernel
def gather(i: Each[int], w: Tensor[float, 1], k: Param[float]) -> Each[float]:
    return w[i] * w[i] * k


@sa.kernel
def scaled(x: Each[float3], s: Uniform[float], n: Uniform[int]) -> Each[float]:
    return sa.dot(x, x) * s + float(n)


@sa.kernel
def precise(x: Each[sa.double]) -> Sum[sa.double]:
    return x * x * x


@sa.kernel
def narrow(x: Each[sa.half], on: Each[bool]) -> tuple[Each[sa.half], Each[bool]]:
    return x * x if on else x, not on


@sa.kernel
def relax(state: InOutTensor[float, 1], pull: Each[float]) -> None:
    i = sa.thread_id()
    state[i] += (sa.tanh(pull) - state[i]) * 0.25


@sa.kernel
def probed(x: Each[float], a: Param[float]) -> Sum[float]:
    y = sa.probe("y", a * x)
    return y * y
"""


def draw(kind: str, *shape: int) -> torch.Tensor:
    """Return random values of a type on the GPU."""
    if kind == "int":
        return torch.randint(0, 7, shape, device="cuda", dtype=torch.int32)
    if kind == "bool":
        return torch.rand(shape, device="cuda") < 0.5
    return torch.rand(shape, device="cuda", dtype=getattr(torch, kind)) - 0.5


def cases(n: int) -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    """Yield kernels and functions that draw their arguments."""
    yield "fit", lambda: {"x": draw("float32", n), "a": draw("float32")}
    yield "fit", lambda: {"x": draw("float32", n), "a": float(np.random.default_rng().random())}
    yield "fit", lambda: {"x": draw("float32", 2 * n)[::2], "a": draw("float32")}
    yield (
        "lines",
        lambda: {"x": draw("float32", n), "y": draw("float32", n), "m.slope": draw("float32"), "m.offset": 2},
    )
    yield "gather", lambda: {"i": draw("int", n), "w": draw("float32", 7), "k": draw("float32")}
    yield "scaled", lambda: {"x": draw("float32", n, 3), "s": float(np.random.default_rng().random()), "n": 3}
    yield "precise", lambda: {"x": draw("float64", n)}
    yield "narrow", lambda: {"x": draw("float16", n), "on": draw("bool", n)}
    yield "relax", lambda: {"state": draw("float32", n), "pull": draw("float32", n)}
    yield "probed", lambda: {"x": draw("float32", n), "a": draw("float32")}


def planned(kernel: LoadedKernel, mode: RunMode, inputs: dict[str, Any]) -> dict[str, torch.Tensor]:
    """Return the results of a call that nothing is kept of."""
    fresh = LoadedKernel(kernel.program, kernel.plan, "cuda", kernel.loaded)
    return fresh.run(mode, inputs).arrays


def repeats(kernel: LoadedKernel) -> int:
    """Return the number of kinds of calls that are kept."""
    return sum(isinstance(call, PreparedCall) for call in kernel.prepared._calls.values())


def equal(found: dict[str, torch.Tensor], right: dict[str, torch.Tensor], scattered: str = "") -> None:
    """Compare results by their bits; one that threads add to has no order."""
    assert list(found) == list(right)
    for key, tensor in right.items():
        assert (found[key].dtype, found[key].shape, found[key].device) == (tensor.dtype, tensor.shape, tensor.device)
        assert found[key].is_contiguous()
        if key == scattered:
            assert torch.allclose(found[key], tensor, rtol=1e-4, atol=1e-4)
            continue
        assert torch.equal(found[key].reshape(-1).view(torch.uint8), tensor.reshape(-1).view(torch.uint8)), key


def compare(kernels: Any) -> None:
    """Compare repeated calls with planned ones."""
    for n in (1, 1000, 100_000):
        for name, make in cases(n):
            kernel = kernels[name]
            for mode in (RunMode.FORWARD, RunMode.BACKWARD, RunMode.JVP):
                if mode is RunMode.JVP and name in ("narrow", "gather", "relax"):
                    continue
                extra: Callable[[], dict[str, Any]] = dict
                if mode is RunMode.JVP:
                    extra = lambda: {"tangent.x": torch.ones_like(make()["x"])}  # noqa: B023, E731
                kernel.run(mode, make() | extra())
                before = repeats(kernel)
                for _ in range(3):
                    inputs = make() | extra()
                    equal(kernel.run(mode, inputs).arrays, planned(kernel, mode, inputs), "grad.w")
                assert before == repeats(kernel) > 0, (name, mode)
    print("results: equal")


def gradients_to_add_to(kernels: Any) -> None:
    """Add to gradients that are given, and weight results."""
    fit = kernels["fit"]
    for _ in range(3):
        x, a, c = draw("float32", 99), draw("float32"), draw("float32")
        given = {"x": x, "a": a, "cotangent.result": c, "grad.x": draw("float32", 99), "grad.a": draw("float32")}
        kept = {key: value.clone() for key, value in given.items()}
        equal(fit.run(RunMode.BACKWARD, given).arrays, planned(fit, RunMode.BACKWARD, given))
        assert all(torch.equal(given[key], kept[key]) for key in given)


def aliases(kernels: Any) -> None:
    """Give one tensor for two parameters, use results as arguments, and keep results apart."""
    lines = kernels["lines"]
    first = None
    for step in range(4):
        x = draw("float32", 500)
        given = {"x": x, "y": x, "m.slope": 2.0, "m.offset": 0.5}
        found = lines.run(RunMode.BACKWARD, given).arrays
        equal(found, planned(lines, RunMode.BACKWARD, given))
        if step == 1:
            first = {key: value.clone() for key, value in found.items()}, found
    assert first is not None
    equal(first[1], first[0])


def errors(kernels: Any) -> None:
    """Bad arguments after good ones are refused as before."""
    fit, x = kernels["fit"], draw("float32", 1000)
    for _ in range(3):
        fit.forward(x, draw("float32"))
    cpu = torch.tensor(2.0)
    assert torch.equal(fit.forward(x, cpu).result, fit.forward(x, 2.0).result)
    for bad, words in (
        ({"x": x.double(), "a": 2.0}, "holds float64"),
        ({"x": x, "a": 1e300}, "too large"),
        ({"x": x[None], "a": 2.0}, "has shape"),
        ({"x": x, "b": 2.0}, "takes no b"),
        ({"x": x}, "missing"),
        ({"x": x, "a": draw("float32", 2)}, "has shape"),
        ({"x": x.clone().requires_grad_(), "a": 2.0}, "would lose the graph"),
    ):
        for _ in range(2):
            with pytest.raises(InputError, match=words):
                fit.forward(**bad)
    assert fit.forward(x[:0], 2.0).result == 0.0


def streams(kernels: Any) -> None:
    """Work in several streams and threads, with arguments that are variables of the module."""
    gather, a, b = kernels["gather"], torch.cuda.Stream(), torch.cuda.Stream()
    given = [{"i": draw("int", 1 << 20), "w": draw("float32", 7), "k": draw("float32")} for _ in range(8)]
    right = [planned(gather, RunMode.BACKWARD, one) for one in given]
    torch.cuda.synchronize()
    found: list[Any] = []
    for number, one in enumerate(given):
        with torch.cuda.stream(a if number % 2 else b):
            found.append(gather.run(RunMode.BACKWARD, one).arrays)
        if number == 5:  # a planned call in between
            equal(planned(gather, RunMode.BACKWARD, given[0]), right[0], "grad.w")
            numbers = {key: value.cpu().numpy() for key, value in given[0].items()}
            on_host = gather.run(RunMode.BACKWARD, numbers)["grad.w"]
            assert np.allclose(on_host, right[0]["grad.w"].cpu().numpy(), rtol=1e-4)
    torch.cuda.synchronize()
    for one, wanted in zip(found, right, strict=True):
        for key in wanted:
            assert torch.allclose(one[key], wanted[key], rtol=1e-5, atol=1e-4), key  # atomics: no order

    def work(number: int) -> bool:
        stream = torch.cuda.Stream()
        fit = kernels["fit"]
        for _ in range(50):
            with torch.cuda.stream(stream):
                x, a = draw("float32", 1000 + number), draw("float32")
                result = fit.backward(x, a).result
                if not torch.allclose(result, ((a * x - 1) ** 2).sum(), rtol=1e-4):
                    return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))
    print("streams and threads: equal")


def forgets(kernels: Any) -> None:
    """Keep no more kinds of calls than the limit."""
    fit = kernels["fit"]
    for n in range(1, MOST_KINDS + 20):
        fit.forward(draw("float32", n), 2.0)
    assert len(fit.prepared._calls) <= MOST_KINDS


def differentiated(kernels: Any) -> None:
    """Differentiate repeated calls in torch, to the second order, and in a CUDA graph."""
    fit = kernels["fit"].torch()
    for n in (64, 64, 64, 128):
        x, a = draw("float32", n).requires_grad_(), draw("float32").requires_grad_()
        gx, ga = torch.autograd.grad(fit(x, a), (x, a), create_graph=True)
        wx, wa = torch.autograd.grad(((a * x - 1) ** 2).sum(), (x, a))
        assert torch.allclose(gx, wx, rtol=1e-4, atol=1e-5)
        assert torch.allclose(ga, wa, rtol=1e-4, atol=1e-4)
        (second,) = torch.autograd.grad(gx.sum(), x)
        assert torch.allclose(second, 2 * a.detach() ** 2 * torch.ones_like(x), rtol=1e-4, atol=1e-5)
    x, a = draw("float32", 64), draw("float32")
    graph = torch.cuda.CUDAGraph()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        kernels["fit"](x, a)
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        result = kernels["fit"](x, a)
    x.copy_(draw("float32", 64))
    graph.replay()
    assert torch.allclose(result, ((a * x - 1) ** 2).sum(), rtol=1e-4)
    print("torch: equal")


def main() -> None:
    """Run everything."""
    torch.manual_seed(0)
    torch.cuda.init()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernels.py"
        path.write_text(DESCRIBED)
        kernels = sa.load(path, "cuda")
        for check in (compare, gradients_to_add_to, aliases, errors, streams, differentiated, forgets):
            check(kernels)
        exact = sa.load(path, "cuda", deterministic=True)
        for _ in range(3):
            given = {"i": draw("int", 5000), "w": draw("float32", 7), "k": draw("float32")}
            found = exact["gather"].run(RunMode.BACKWARD, given).arrays
            equal(found, planned(exact["gather"], RunMode.BACKWARD, given))
    print("repeated calls on cuda: all as planned ones")


if __name__ == "__main__":
    main()
