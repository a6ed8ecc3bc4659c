"""Kernels in CUDA graphs: a training step that torch captures, slangad's own training, and what can't be captured.

Run by hand where torch and an NVIDIA GPU are: ``python tests/devices/cuda_graph.py``.
"""

from __future__ import annotations

import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

import slangad as sa
from slangad.compiler.api.program import as_pipeline, chosen, read_program
from slangad.compiler.driver.inputs import parse_inputs
from slangad.compiler.driver.model import Options
from slangad.compiler.emit.model import Mode
from slangad.compiler.runtime.device.open import open_device
from slangad.compiler.runtime.device.slangpy_device import _Replayed
from slangad.compiler.runtime.training.train import Trainer, TrainingPlan
from slangad.compiler.runtime.training.trainable import prepare_training, with_optimizer

if TYPE_CHECKING:
    from collections.abc import Callable

    from slangad.compiler.runtime.device.model import Device

DESCRIBED = """
import slangad as sa
from slangad import Each, Mean, NoDiff, Param, Tensor, Uniform


@sa.kernel
def fit(w: Tensor[float, 1], b: Param[float], x: NoDiff[Each[float]], y: NoDiff[Each[float]]) -> Mean[float]:
    d = b - y
    for k in range(8):
        d += w[k] * sa.sin((k + 1.0) * x)
    return d * d


@sa.kernel
def sines(w: Tensor[float, 1], x: NoDiff[Each[float]]) -> Each[float]:
    s = 0.0
    for k in range(8):
        s += w[k] * sa.sin((k + 1.0) * x)
    return s


@sa.kernel
def apart(h: Each[float], b: Param[float], y: NoDiff[Each[float]]) -> Mean[float]:
    d = h + b - y
    return d * d


@sa.pipeline(fuse=False)
def staged(w: Tensor[float, 1], b: Param[float], x: NoDiff[Each[float]], y: NoDiff[Each[float]]) -> Mean[float]:
    return apart(sines(w, x), b, y)


@sa.kernel
def scaled(x: Each[float], s: Uniform[float]) -> Each[float]:
    return s * x * x
"""


def step_of(loss_of: Callable[..., Any], count: int) -> tuple[Callable[[], None], torch.Tensor, list[torch.Tensor]]:
    """Return a training step, the loss that it writes, and the parameters."""
    x = torch.linspace(0, 3, count, device="cuda")
    y = torch.sign(torch.sin(2 * x))
    parameters = [torch.zeros(8, device="cuda", requires_grad=True), torch.zeros((), device="cuda", requires_grad=True)]
    optimizer = torch.optim.Adam(parameters, lr=0.02, capturable=True)
    kept = torch.zeros((), device="cuda")

    def step() -> None:
        optimizer.zero_grad(set_to_none=False)
        loss = loss_of(*parameters, x, y)
        loss.backward()
        optimizer.step()
        kept.copy_(loss.detach())

    return step, kept, parameters


def captured(step: Callable[[], None]) -> torch.cuda.CUDAGraph:
    """Run a step three times on a stream of its own, as torch asks for, and capture it."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph


def check_replay(loss_of: Callable[..., Any], name: str) -> None:
    """Compare 20 replayed steps with 20 ordinary ones, and time both."""
    step, loss, parameters = step_of(loss_of, 100_000)
    graph = captured(step)
    losses = []
    for _ in range(20):
        graph.replay()
        losses.append(float(loss))
    plain, plain_loss, plain_parameters = step_of(loss_of, 100_000)
    expected = []
    for number in range(23):
        plain()
        expected += [float(plain_loss)] if number >= 3 else []
    torch.testing.assert_close(torch.tensor(losses), torch.tensor(expected), rtol=1e-4, atol=1e-6)
    for one, other in zip(parameters, plain_parameters, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)
    assert losses[-1] < losses[0]
    replay, ordinary = timed(graph.replay), timed(plain)
    busy = kernel_time(graph.replay)
    print(f"{name}: replayed {replay:.1f} us a step, kernels {busy:.1f} us; ordinary {ordinary:.1f} us")


def timed(run: Callable[[], object], count: int = 300) -> float:
    """Return microseconds of a run, of many in a row."""
    for _ in range(20):
        run()
    torch.cuda.synchronize()
    begun = time.perf_counter()
    for _ in range(count):
        run()
    torch.cuda.synchronize()
    return 1e6 * (time.perf_counter() - begun) / count


def kernel_time(run: Callable[[], object], count: int = 50) -> float:
    """Return the microseconds in which the GPU runs kernels and copies, for one run."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as profiled:
        for _ in range(count):
            run()
        torch.cuda.synchronize()
    return sum(event.device_time_total for event in profiled.key_averages()) / count


def check_training(file: Path, name: str) -> None:
    """Check slangad's own training: losses as on the CPU, with batches and a schedule, and the time between kernels."""
    count = 100_000
    x = np.linspace(0, 3, count, dtype="f4")
    given = {"w": np.zeros(8, "f4"), "b": 0.0, "x": x, "y": np.sign(np.sin(2 * x))}
    schedule = sa.Adam(lr=0.02, warmup=10, half_life=40)
    for batch in (0, 30_000):
        losses = [
            sa.load(file, device=device)[name].train(**given, batch=batch, optimizer=schedule, steps=200).losses
            for device in ("cuda", "cpu")
        ]
        np.testing.assert_allclose(losses[0], losses[1], rtol=1e-4, atol=1e-6)
        assert len(losses[0]) == 200
        assert losses[0][-1] < losses[0][0]
    with open_device("cuda") as device, device.lock:
        trainer = started(device, f"{file}:{name}", given)
        with closing(trainer):
            for warm in (1, 2, 256):
                trainer.advance(warm)
            kept = trainer._whole.kept
            assert isinstance(kept, _Replayed)
            assert kept.graph is not None
            begun = time.perf_counter()
            for _ in range(4):
                trainer.advance(256)
            whole = 1e6 * (time.perf_counter() - begun) / 1024
            replayed = timed(lambda: kept.submit(100), 10) / 100
            busy = kernel_time(lambda: kept.submit(10), 10) / 10
            kept.is_plain, graph, kept.graph = True, kept.graph, None
            plain = timed(lambda: kept.submit(10), 10) / 10
            kept.graph = graph
    print(
        f"{name} trained by slangad: {whole:.1f} us a step with losses; launches {replayed:.1f} us, of which kernels"
        f" {busy:.1f} us; without a graph {plain:.1f} us"
    )


def started(device: Device, item: str, given: dict[str, Any]) -> Trainer:
    """Return a training by Adam on a device."""
    (described,) = parse_inputs((item,))
    program = read_program(described, Options())
    runnable = with_optimizer(as_pipeline(program, chosen(program)), "adam", 0.02)
    assert runnable.pipeline.optimizer is not None
    plan = TrainingPlan(runnable.pipeline.optimizer)
    prepared, _ = prepare_training(runnable, given, None, plan)
    loaded = program.load_on(device, runnable.entry_names((Mode.FORWARD, Mode.BACKWARD)))
    return Trainer.start(device, loaded, runnable, prepared, plan)


def check_refusals(kernels: Any) -> None:
    """Check that a first call and a number from the GPU are refused in one line, and that the device works after."""
    x, on_gpu = torch.linspace(0, 1, 1000, device="cuda"), torch.tensor(2.0, device="cuda")
    for name, call in (
        ("the kernel is not compiled yet", lambda: kernels.scaled.torch("cuda")(x, torch.tensor(2.0))),
        ("s is on the GPU", lambda: kernels.scaled.torch("cuda")(x, on_gpu)),
    ):
        message = ""
        try:
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                call()
        except Exception as error:
            message = f"{type(error).__name__}: {error}"
        torch.cuda.synchronize()
        print(f"refused, wanted {name!r}: {message.splitlines()[:2]}")
        torch.testing.assert_close(kernels.scaled(x, 2.0, device="cuda"), 2 * x * x)


def main() -> None:
    """Run all checks."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "captured.py"
        file.write_text(DESCRIBED)
        kernels = sa.load(file, device="cuda")
        names = sys.argv[1:] or ["fit", "staged"]
        for name in names:
            check_replay(kernels[name].torch("cuda"), name)
            check_training(file, name)
        check_refusals(kernels)
    print("all as torch has it")


if __name__ == "__main__":
    main()
