"""Fits a curve by several processes with torch's DistributedDataParallel or FSDP: ``torchrun … samples/ddp/ddp.py``."""

from __future__ import annotations

import argparse

import numpy as np

import slangad as sa
from slangad import Each, Mean, NoDiff, Param, Tensor


@sa.kernel
def misfit(w: Tensor[float, 1], b: Param[float], x: NoDiff[Each[float]], y: NoDiff[Each[float]]) -> Mean[float]:
    """The squared error of a sum of sines."""
    d = b - y
    for k in range(8):
        d += w[k] * sa.sin((k + 1.0) * x)
    return d * d


def train(steps: int, *, fsdp: bool = False) -> tuple[float, float]:
    """Train as one rank of a process group; return the first and the last loss over the data of all ranks."""
    import torch
    import torch.distributed as dist
    from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

    device = f"cuda:{torch.cuda.current_device()}" if torch.cuda.is_available() else "cpu"
    loss_of = misfit.torch(device.partition(":")[0])

    class Curve(torch.nn.Module):  # type: ignore[misc, unused-ignore]  # torch has no types where it is absent
        """The parameters; its value is the loss, so that the kernel is all of the network."""

        def __init__(self) -> None:
            super().__init__()
            self.w = torch.nn.Parameter(torch.zeros(8))
            self.b = torch.nn.Parameter(torch.zeros(1))

        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            loss: torch.Tensor = loss_of(self.w, self.b[0], x, y)
            return loss

    net: torch.nn.Module = Curve().to(device)
    if fsdp:
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        fully_shard(net, mesh=init_device_mesh(device.partition(":")[0], (dist.get_world_size(),)))
    else:
        net = torch.nn.parallel.DistributedDataParallel(net)
    x = np.linspace(0, 3, 1024, dtype=np.float32)
    data = TensorDataset(torch.from_numpy(x), torch.from_numpy(np.sign(np.sin(2 * x))))
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=256, sampler=sampler)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
    losses: list[float] = []
    while len(losses) < steps:
        sampler.set_epoch(len(losses))
        for batch in loader:
            optimizer.zero_grad()
            loss = net(*(one.to(device) for one in batch))
            loss.backward()
            optimizer.step()
            total = loss.detach().clone()
            dist.all_reduce(total)
            losses.append(float(total) / dist.get_world_size())
    return losses[0], losses[-1]


def main() -> None:
    """Train, and print the losses once."""
    import os

    import torch
    import torch.distributed as dist

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--fsdp", action="store_true", help="FSDP's fully_shard in place of DistributedDataParallel")
    arguments = parser.parse_args()
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    first, last = train(arguments.steps, fsdp=arguments.fsdp)
    if dist.get_rank() == 0:
        print(f"{dist.get_world_size()} ranks: loss {first:.3f} -> {last:.3f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
