"""Kernels among torch's operations: gradients, tangents, structs, and that a GPU's tensors are not copied.

Run by hand where torch and a GPU are: ``python tests/devices/torch_interop.py cuda``; on the CPU by the tests.
"""

from __future__ import annotations

import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

import slangad as sa
from slangad.compiler.runtime.arrays.prepare import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

FOLDER = tempfile.TemporaryDirectory()
DESCRIBED = """
import slangad as sa
from slangad import Each, NoDiff, Param, Sum, Tensor, float3


@sa.struct
class Line:
    slope: float
    offset: float


@sa.kernel
def bend(x: Each[float], k: Each[float3]) -> Each[float]:
    return sa.sin(x) * k.y + k.x * k.z


@sa.kernel
def misfit(x: NoDiff[Each[float]], y: NoDiff[Each[float]], m: Param[Line]) -> Sum[float]:
    r = m.slope * x + m.offset - y
    return r * r


@sa.kernel
def gather(i: Each[int], w: Tensor[float, 1]) -> Each[float]:
    return w[i] * w[i]


@sa.kernel
def precise(x: Each[sa.double]) -> Each[sa.double]:
    return x * x * x


@sa.kernel
def narrow(x: Each[sa.half], on: Each[bool]) -> tuple[Each[sa.half], Each[bool]]:
    return x * x if on else x, not on


@sa.kernel
def square(x: Each[float], w: Tensor[float, 1]) -> Each[float]:
    return x * x * w[sa.thread_id(0) % w.shape[0]]


@sa.kernel
def apart(a: Each[float], b: NoDiff[Each[float]], m: Param[Line]) -> Sum[float]:
    r = m.slope * a + m.offset - b
    return r * r


@sa.pipeline
def chain(x: Each[float], w: Tensor[float, 1], k: Each[float3], m: Param[Line]) -> Sum[float]:
    return apart(bend(square(x, w), k), x, m)
"""


def described() -> object:
    """The kernels above."""
    path = Path(FOLDER.name) / "described.py"
    path.write_text(DESCRIBED, encoding="utf-8")
    return sa.load(path)


def check_gradients(kernels: object, device: str) -> None:
    """Every gradient and tangent against torch's own."""
    torch.manual_seed(0)
    x = torch.randn(1000, device=device, requires_grad=True)
    k = torch.randn(1000, 3, device=device, requires_grad=True)
    bend = kernels.bend.torch(device)
    expected = torch.sin(x) * k[:, 1] + k[:, 0] * k[:, 2]
    weights = torch.randn(1000, device=device)
    same((weights * bend(x, k)).sum(), (weights * expected).sum(), 1e-3)
    wanted = torch.autograd.grad((weights * expected).sum(), (x, k))
    found = torch.autograd.grad((weights * bend(x, k)).sum(), (x, k))
    for f, w in zip(found, wanted, strict=True):
        assert f.device == x.device
        same(f, w)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x.detach(), weights)
        moved = torch.autograd.forward_ad.unpack_dual(bend(dual, k.detach())).tangent
    same(moved, torch.cos(x.detach()) * k.detach()[:, 1] * weights)


def check_shared(kernels: object, device: str) -> None:
    """Parameters, tensors, and a fit that converges."""
    x = torch.linspace(-1, 1, 4097, device=device)
    y = 3.0 * x - 0.5
    slope = torch.zeros((), device=device, requires_grad=True)
    offset = torch.zeros((), device=device, requires_grad=True)
    misfit = kernels.misfit.torch(device)
    optimizer = torch.optim.SGD([slope, offset], lr=1e-4)
    for _ in range(60):
        optimizer.zero_grad()
        misfit(x, y, {"slope": slope, "offset": offset}).backward()
        optimizer.step()
    same(slope.detach(), torch.tensor(3.0, device=device), 1e-2)
    same(offset.detach(), torch.tensor(-0.5, device=device), 1e-2)
    w = torch.randn(7, device=device, requires_grad=True)
    at = torch.randint(0, 7, (999,), device=device, dtype=torch.int32)
    kernels.gather.torch(device)(at, w).sum().backward()
    same(w.grad, 2 * w.detach() * torch.bincount(at.long(), minlength=7))
    half = torch.randn(33, device=device).half()
    on = torch.rand(33, device=device) > 0.5
    squared, off = kernels.narrow.torch(device)(half, on)
    same(squared.float(), torch.where(on, half * half, half).float(), 1e-3)
    assert torch.equal(off, ~on)


def check_pipeline(kernels: object, device: str) -> None:
    """A pipeline's result and gradients: of one element per thread, of a tensor, of a parameter; and a tangent."""
    torch.manual_seed(1)
    x, k, w = torch.randn(1001, device=device), torch.randn(1001, 3, device=device), torch.randn(5, device=device)
    m = {"slope": torch.tensor(1.5, device=device), "offset": torch.tensor(-0.5, device=device)}
    given = [t.requires_grad_() for t in (x, k, w, *m.values())]
    bent = torch.sin(x * x * w[torch.arange(1001, device=device) % 5]) * k[:, 1] + k[:, 0] * k[:, 2]
    expected = ((m["slope"] * bent + m["offset"] - x.detach()) ** 2).sum()
    found = kernels.chain.torch(device)(x, w, k, m)
    same(found, expected)
    gradients = torch.autograd.grad(found, given)
    for f, wanted in zip(gradients, torch.autograd.grad(expected, given), strict=True):
        assert f.device == x.device
        same(f, wanted, 1e-3)
    v = torch.randn(1001, device=device)
    plain = [t.detach() for t in (x, w, k)]
    moved = kernels.chain.jvp(*plain, m, tangent={"x": v}, device=device)
    same(moved.jvp["result"], (gradients[0] * v).sum(), 1e-3)


def check_second(kernels: object, device: str) -> None:
    """Second derivatives are torch's own, however torch is asked for them; third ones are refused."""
    plain, weights = torch.randn(5, device=device), torch.randn(7, device=device)
    gather = kernels.gather.torch(device)
    at = torch.tensor([0, 3, 3, 6, 2], device=device, dtype=torch.int32)
    x = weights.requires_grad_()
    (first,) = torch.autograd.grad((plain * gather(at, x)).sum(), x, create_graph=True)
    counts = torch.zeros(7, device=device).index_add_(0, at.long(), plain)
    same(first, 2 * x * counts)
    (second,) = torch.autograd.grad((first * first).sum(), x, create_graph=True)
    same(second, 8 * x * counts * counts)
    hessian = torch.diag(2 * torch.zeros(7, device=device).index_add_(0, at.long(), torch.ones(5, device=device)))

    def total(w: torch.Tensor) -> torch.Tensor:
        return gather(at, w).sum()

    fixed = x.detach()
    same(torch.autograd.functional.hessian(total, fixed), hessian)
    same(torch.func.jacfwd(torch.func.grad(total))(fixed), hessian)
    same(torch.func.jacrev(torch.func.grad(total))(fixed), hessian)
    many = torch.stack((fixed, 2 * fixed))
    same(torch.func.vmap(torch.func.grad(total))(many), many @ hessian)
    cotangent = plain.clone().requires_grad_()  # the gradient is linear in the cotangent
    (seeded,) = torch.autograd.grad(gather(at, x), x, cotangent, create_graph=True)
    same(torch.autograd.grad(seeded.sum(), cotangent)[0], 2 * fixed[at.long()])
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, torch.ones_like(x))
        forward = torch.autograd.forward_ad.unpack_dual(gather(at, dual)).tangent
        assert "take the gradient first" in refusal(lambda: torch.autograd.grad(forward.sum(), x))
    assert "gather: third derivatives are not available" in refusal(lambda: second.sum().backward())


def check_plain_calls(kernels: object, device: str) -> None:
    """A plain call of a loaded kernel takes part in what torch does, or is refused; nothing is lost."""
    x, k, v = torch.randn(5, device=device), torch.randn(5, 3, device=device), torch.ones(5, device=device)
    kernel = replace(kernels.bend, device=device)
    slope = torch.cos(x) * k[:, 1]
    tracked = x.clone().requires_grad_()
    same(torch.autograd.grad(kernel(tracked, k).sum(), tracked)[0], slope)
    same(torch.func.grad(lambda one: kernel(one, k).sum())(x), slope)
    same(torch.func.jvp(lambda one: kernel(one, k), (x,), (v,))[1], slope)
    same(torch.func.vmap(kernel, in_dims=(1, None))(torch.stack((x, 2 * x), 1), k)[1], kernel(2 * x, k))
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, v)
        same(torch.autograd.forward_ad.unpack_dual(kernel(dual, k)).tangent, slope)
        assert "of a tensor that has a tangent of forward mode" in refusal(lambda: kernel.forward(dual, k))
    assert "of a tensor that requires a gradient" in refusal(lambda: kernel.forward(tracked, k))
    inside = "a tensor inside torch.func.grad, vmap or jvp"
    many = torch.stack((x, x))
    assert inside in refusal(lambda: torch.func.vmap(lambda one: kernel.forward(one, k).result)(many))
    assert inside in refusal(lambda: torch.func.vmap(lambda one: kernel.backward(one, k).grad.x)(many))


def check_tools(kernels: object, device: str) -> None:
    """Torch's own checks, its compiler, and the recorders that a kernel can't be part of."""
    x, k = torch.randn(5, device=device), torch.randn(5, 3, device=device)
    inputs = x.double().requires_grad_()
    assert torch.autograd.gradcheck(kernels.precise.torch(device), (inputs,), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(kernels.precise.torch(device), (inputs,), check_fwd_over_rev=True)
    bend = kernels.bend.torch(device)

    def total(x: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        return (2 * bend(torch.sin(x), k)).sum()

    given = x.clone().requires_grad_(), k.clone().requires_grad_()
    compiled = torch.compile(total, backend="aot_eager")
    for _ in range(2):
        found, wanted = (torch.autograd.grad(one(*given), given) for one in (compiled, total))
        for f, w in zip(found, wanted, strict=True):
            same(f, w)
    assert torch._dynamo.utils.counters["frames"]["total"] < 10, "torch.compile reads slangad's own code"
    torch._dynamo.reset()
    assert "a kernel of slangad runs outside" in refusal(lambda: torch.compile(total, fullgraph=True)(*given))
    records = "bend can't run here: torch records a program"
    assert records in refusal(lambda: torch.func.linearize(lambda one: bend(one, k), x))
    assert records in refusal(lambda: torch.jit.trace(bend, (x, k)))
    assert "no values" in refusal(lambda: bend(x.to("meta"), k))
    with FakeTensorMode():
        assert "no values" in refusal(lambda: bend(torch.empty(5), torch.empty(5, 3)))


def refusal(way: Callable[[], object]) -> str:
    """What a call says that raises, or what it gives if it doesn't."""
    try:
        return f"a derivative came out: {way()}"
    except (RuntimeError, InputError) as error:
        return str(error)


def check_no_copies(kernels: object) -> None:
    """A large tensor on the GPU: a call takes no time that depends on the CPU."""
    x = torch.randn(1 << 24, device="cuda", requires_grad=True)
    k = torch.randn(1 << 24, 3, device="cuda")
    bend = kernels.bend.torch("cuda")
    bend(x, k)
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    start = time.perf_counter()
    for _ in range(10):
        result = bend(x, k)
    torch.cuda.synchronize()
    each = (time.perf_counter() - start) / 10
    print(f"forward of 2^24 elements: {1e6 * each:.0f} us, {(torch.cuda.memory_allocated() - before) >> 20} MiB more")
    assert each < 0.01, "tensors seem to be copied to the CPU"
    start = time.perf_counter()
    result.sum().backward()
    torch.cuda.synchronize()
    print(f"backward: {1e6 * (time.perf_counter() - start):.0f} us")


def same(found: torch.Tensor, wanted: torch.Tensor, tolerance: float = 1e-4) -> None:
    """Asserts that tensors agree."""
    torch.testing.assert_close(found, wanted, rtol=tolerance, atol=tolerance)


def main(device: str) -> None:
    """Checks everything on a device of torch's."""
    kernels = described()
    check_gradients(kernels, device)
    check_shared(kernels, device)
    check_pipeline(kernels, device)
    check_second(kernels, device)
    check_plain_calls(kernels, device)
    check_tools(kernels, device)
    if device == "cuda":
        check_no_copies(kernels)
    print(f"torch {torch.__version__} on {device}: all as torch has it")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "cpu")
