"""Train in several ways by two and by four ranks; the first rank writes losses and parameters as JSON.

``python distributed_ranks.py FOLDER``. torch is imported once: the ranks are forks of this process, which holds their
store as torchrun does.
"""

from __future__ import annotations

import json
import os
import sys
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

import slangad as sa
from slangad.compiler.api.program import as_pipeline, read_program
from slangad.compiler.driver.inputs import Input
from slangad.compiler.driver.model import Options
from slangad.compiler.emit.model import Mode
from slangad.compiler.errors.diagnostics import CompileError
from slangad.compiler.runtime.arrays.files import read_arrays
from slangad.compiler.runtime.device.open import open_device
from slangad.compiler.runtime.training import distributed, flat
from slangad.compiler.runtime.training.distributed import SharedData, start_distributed
from slangad.compiler.runtime.training.loop import Ending, train
from slangad.compiler.runtime.training.ranks import Ranks, join_ranks
from slangad.compiler.runtime.training.shares import element_count, refuse_unshared
from slangad.compiler.runtime.training.train import TrainingPlan
from slangad.compiler.runtime.training.trainable import with_optimizer
from slangad.compiler.toolchain.cache import default_cache

FOLDER = Path(sys.argv[1])
STEPS = 6


def trained(ranks: Ranks, kernel: str, *, exact: bool, batch: int = 0) -> dict[str, Any]:
    """Train a kernel over the ranks; return losses and parameters as hexadecimal text."""
    cache = default_cache()
    with ranks.first_before_others():
        program = read_program(Input(FOLDER / "net.py"), Options(targets=(), cache=cache, deterministic=exact))
    found = program.pipelines.get(kernel) or program.plans[kernel]
    runnable = with_optimizer(as_pipeline(program, found, ()), "adam", 0.05)
    refuse_unshared(runnable, program.module)
    inputs = read_arrays([FOLDER / "x.npy", FOLDER / "y.npy", FOLDER / "start.npz"])
    assert all(isinstance(inputs[key], np.memmap) for key in ("x", "y"))
    optimizer = runnable.pipeline.optimizer
    assert optimizer is not None
    with open_device("cpu") as device:
        with ranks.first_before_others():
            loaded = program.load_on(device, runnable.entry_names((Mode.FORWARD, Mode.BACKWARD)))
        data = SharedData(runnable, inputs, element_count(runnable, inputs), ranks, exact)
        plan = TrainingPlan(optimizer, batch, 3)
        trainer, _ = start_distributed(device, loaded, data, plan, cache)
        train(trainer, Ending(STEPS), lambda _: None)
        parameters = {key: array.tolist() for key, array in trainer.parameters().items()}
        every = ranks.from_first(parameters)
        assert parameters == every, "the ranks have different parameters"
        trainer.close()
    return {"losses": trainer.losses, "parameters": parameters}


def with_torch() -> list[float]:
    """Train the kernel in a module under DistributedDataParallel, with torch's optimizer."""
    loss_of = sa.load(FOLDER / "net.py", device="cpu").fit.torch("cpu")

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = torch.nn.Parameter(torch.zeros(4))
            self.b = torch.nn.Parameter(torch.tensor(0.1))

        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return loss_of(self.w, self.b, x, y)

    net = DistributedDataParallel(Net())
    optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
    rank, size = dist.get_rank(), dist.get_world_size()
    x, y = (torch.from_numpy(np.load(FOLDER / f"{name}.npy")[:100]) for name in "xy")
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = net(x[rank::size].contiguous(), y[rank::size].contiguous())
        loss.backward()
        optimizer.step()
        total = loss.detach().clone()
        dist.all_reduce(total)
        losses.append(float(total) / size)
    return losses


def in_python(ranks: Ranks) -> dict[str, Any]:
    """Train by ``.train(distributed=True)``: memory-mapped arrays, and a loader of torch with a share of each rank."""
    fit = sa.load(FOLDER / "net.py", device="cpu").fit
    x, y = (np.load(FOLDER / f"{name}.npy", mmap_mode="r") for name in "xy")
    start = dict(np.load(FOLDER / "start.npz"))
    settings: dict[str, Any] = {"optimizer": sa.Adam(lr=0.05), "steps": STEPS, "distributed": True}
    mapped = fit.train(**start, x=x, y=y, batch=37, seed=3, **settings)
    rows = TensorDataset(*(torch.from_numpy(one[:100].copy()) for one in (x, y)))
    sampler = DistributedSampler(rows, shuffle=False)
    loaded = fit.train(**start, data=DataLoader(rows, batch_size=50, sampler=sampler), **settings)
    exact = sa.load(FOLDER / "net.py", device="cpu", deterministic=True).fit
    with pytest.raises(CompileError, match="batches of a loader depend on the number of ranks"):
        exact.train(**start, data=[(x, y)], **settings)
    same = ranks.from_first(loaded.losses) == loaded.losses
    return {"mapped": mapped.losses, "loaded": loaded.losses, "same": same}


def overlapped(ranks: Ranks) -> dict[str, Any]:
    """Train a pipeline whose gradients are complete at different launches, with a sum after each, and with one sum."""
    found: dict[str, Any] = {}
    for size in (1, flat.BUCKET_BYTES):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(flat, "BUCKET_BYTES", size)
            made = patched_buckets(patch)
            found[str(size)] = trained(ranks, "staged", exact=False) | {"buckets": made[0]}
    return found


def patched_buckets(patch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets the number of buckets that have launches of their own, of each training."""
    made: list[int] = []

    def counted(*args: Any, **kwargs: Any) -> tuple[flat.Bucket, ...]:
        buckets = flat.buckets_of(*args, **kwargs)
        made.append(sum(bool(bucket.steps.planned) for bucket in buckets))
        return buckets

    patch.setattr(distributed, "buckets_of", counted)
    return made


def compare(rank: int, size: int, port: int) -> None:
    """Do as one rank what the test compares."""
    numbers = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": size, "MASTER_PORT": port}
    os.environ.update({name: str(number) for name, number in numbers.items()})
    os.environ.update(MASTER_ADDR="127.0.0.1", TORCHELASTIC_USE_AGENT_STORE="True")
    ranks = join_ranks("cpu")
    found: dict[str, Any] = {
        "mean": trained(ranks, "fit", exact=False),
        "exact": trained(ranks, "fit", exact=True, batch=37),
    }
    if size == 2:
        found["sum"] = trained(ranks, "total", exact=False, batch=37)
        found["torch"] = with_torch()
        found["python"] = in_python(ranks)
        found["staged"] = overlapped(ranks)
        parts = [[1e12, 1.0, np.inf, 0.0], [ranks.rank - 1e12, 2**-30, 1.0, 0.0]]
        added = ranks.add_exactly([torch.tensor(part, dtype=torch.float64) for part in parts])
        found["added"] = [str(number) for number in added.tolist()]
    if ranks.is_first:
        (FOLDER / f"found{ranks.size}.json").write_text(json.dumps(found))
    ranks.leave()


def main() -> None:
    """Run two ranks, then four."""
    for size in (2, 4):
        store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
        context = get_context("fork")
        ranks = [context.Process(target=compare, args=(rank, size, store.port)) for rank in range(size)]
        for one in ranks:
            one.start()
        for one in ranks:
            one.join()
        if any(one.exitcode for one in ranks):
            sys.exit(1)


main()
