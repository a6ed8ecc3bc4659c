"""Add up numbers over the ranks of a distributed training, by ``torch.distributed``. torch is imported here only.

Sums of floats depend on the order of additions, and so on the number of ranks. ``add_exactly`` adds integers instead:
each number is scaled by the largest exponent that any part has at its place, so the sum is the same for every order.
"""

from __future__ import annotations

import os
import sys
import time
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING, Any, Final

from slangad.compiler.errors.diagnostics import Diagnostic, ToolchainError
from slangad.compiler.runtime.device.gpu_launches import wait_until
from slangad.compiler.toolchain.messages.failures import failed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

VARIABLES: Final = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
"""The variables by which torchrun, and other launchers, tell a process which rank it is."""
_INSTALL: Final = "pip install torch"
_BITS: Final = 52
"""Bits of a number in an exact sum, below the largest exponent at its place. More: sums of 1024 parts may overflow."""
_BIAS: Final = 1023
"""The bits of the exponent of 1.0 as a double, whose mantissa has ``_BITS`` bits."""
_LEAST: Final = -(1 << 20)
"""The exponent of zero."""
_NOT_FINITE: Final = 1 << 20
"""The exponent of NaN and infinity: the sum is NaN."""


_PATIENCE: Final = 5.0
"""Seconds after which a rank says that it waits for others. Ranks of one launch differ by less."""
_GRACE: Final = {"cuda": 3.0, "cpu": 20.0}
"""Seconds that a sum may take after this rank was asked to stop. Launchers ask the others if a rank has ended. NCCL
itself waits for it without end, and gloo does once in 700 times. Less: ranks whose shares take longer, as on a busy
CPU, are taken for lost. More: torchrun kills a rank 30 seconds after it asked it."""


class RankLostError(ToolchainError):
    """Another rank has ended.

    Attributes:
        whole: The parameters of this rank are those of a whole step.
    """

    whole: bool = True


@dataclass(frozen=True, slots=True)
class Ranks:
    """The ranks of a training, seen from one of them.

    Attributes:
        rank: The number of this one, from 0.
        size: The number of ranks.
        place: The torch device on which numbers are added.
        asked: Not empty once this rank was asked to stop.
    """

    rank: int
    size: int
    place: str = "cpu"
    asked: list[Callable[[], None]] = field(default_factory=list, compare=False)

    @property
    def is_first(self) -> bool:
        """Return True for the rank that prints and writes files."""
        return self.rank == 0

    def place_on(self, device: str) -> Any:  # noqa: ANN401  (a torch device)
        """Return the GPU on which numbers are added if a device shares its memory with torch, else None."""
        import torch

        return torch.device(self.place) if device == "cuda" and self.place != "cpu" else None

    def start(self, numbers: Any) -> Any:  # noqa: ANN401  (a tensor, a handle)
        """Begin to add up a tensor over all ranks, in place; ``end`` takes the handle."""
        import torch.distributed as dist

        with self._lost_ranks():
            return dist.all_reduce(numbers, async_op=True)

    def end(self, handle: Any) -> None:  # noqa: ANN401  (a handle)
        """Let everything that follows wait for a sum: the host for sums on the CPU, the stream for those on a GPU."""
        with self._lost_ranks():
            if self.place == "cpu":
                self._wait_until(handle.is_completed)
            handle.wait()

    def mark(self) -> Any:  # noqa: ANN401  (an event)
        """Return a mark after all that was submitted so far, for ``wait_for``; None on the CPU, which waits itself."""
        if self.place == "cpu":
            return None
        import torch

        event = torch.cuda.Event()
        event.record()
        return event

    def wait_for(self, mark: Any) -> None:  # noqa: ANN401  (an event)
        """Wait until everything before a mark is done.

        Raises:
            RankLostError: This rank was asked to stop, and a sum does not come to its end.
        """
        if mark is not None:
            with self._lost_ranks():
                self._wait_until(mark.query)

    def add_exactly(self, parts: Sequence[Any]) -> Any:  # noqa: ANN401  (tensors)
        """Return the sum of all parts of all ranks, the same bits for every number and order of ranks."""
        import torch

        exponents = self._reduced(torch.stack([_exponents(part) for part in parts]).amax(0), "MAX")
        finite = exponents < _NOT_FINITE
        scale = torch.where(finite & (exponents > _LEAST), exponents, torch.zeros_like(exponents))
        digits = torch.stack([_digits(part, scale, finite) for part in parts]).sum(0)
        total = _scaled(self._reduced(digits, "SUM").double(), scale - _BITS)
        return torch.where(finite, total, torch.full_like(total, float("nan"))).to(parts[0].dtype)

    def least(self, number: int) -> int:
        """Return the smallest of the numbers that the ranks have."""
        import torch

        return int(self._reduced(torch.tensor([number], device=self.place), "MIN", waits=True))

    def total(self, number: int) -> int:
        """Return the sum of the numbers that the ranks have."""
        import torch

        return int(self._reduced(torch.tensor([number], device=self.place), "SUM", waits=True))

    def from_first(self, value: object) -> Any:  # noqa: ANN401  (what the first rank has)
        """Return the value that the first rank passes, on every rank. Signals are not heard meanwhile."""
        import torch.distributed as dist

        box = [value]
        with self._lost_ranks():
            dist.broadcast_object_list(box, src=0, device=self._device())
        return box[0]

    @contextmanager
    def first_before_others(self) -> Iterator[None]:
        """Let the first rank run a block before the others, so that they find in the cache what it compiled."""
        if not self.is_first:
            self.wait()
        yield
        if self.is_first:
            self.wait()

    def wait(self) -> None:
        """Wait until every rank is here."""
        self.total(0)

    def is_first_to_end(self) -> bool:
        """Return True if no other rank has reported the end of the training, so that there is one message."""
        import torch.distributed as dist

        with suppress(Exception):  # the store is gone with the launcher
            store = dist.distributed_c10d._get_default_store()
            return bool(store.add("slangad_reported", 1) == 1)
        return True

    def leave(self) -> None:
        """Leave the ranks after the last sum."""
        import torch.distributed as dist

        self.wait()
        dist.destroy_process_group()

    def _wait_until(self, is_done: Callable[[], bool]) -> None:
        """Wait for a sum. Signals are heard meanwhile.

        Raises:
            RuntimeError: This rank was asked to stop, and the sum does not come to its end.
        """
        asked_at: list[float] = []
        grace = _GRACE[self.place.partition(":")[0]]

        def is_over() -> bool:
            if self.asked and not asked_at:
                asked_at.append(time.monotonic())
            if is_done():
                return True
            if asked_at and time.monotonic() - asked_at[0] > grace:
                raise RuntimeError(f"no answer for {grace:.0f} seconds")
            return False

        wait_until(is_over)

    def _device(self) -> Any:  # noqa: ANN401  (a torch device)
        import torch

        return torch.device(self.place)

    def _reduced(self, numbers: Any, operation: str, *, waits: bool = False) -> Any:  # noqa: ANN401  (tensors)
        import torch.distributed as dist

        with self._lost_ranks():
            handle = dist.all_reduce(numbers, op=getattr(dist.ReduceOp, operation), async_op=True)
        self.end(handle)
        if waits:
            self.wait_for(self.mark())
        return numbers

    @contextmanager
    def _lost_ranks(self) -> Iterator[None]:
        """Turn the errors of a sum into one for the user. On a GPU the sums under way are ended: they may be wrong.

        Raises:
            RankLostError: Another rank has ended, so no sum can be complete.
        """
        import torch.distributed as dist

        try:
            yield
        except RuntimeError as error:
            message = "another rank ended, so training stopped"
            help_ = "start again with --resume to continue from the checkpoint, with any number of ranks"
            lost = RankLostError([Diagnostic("SA428", message, help=help_, notes=(_first_line(error),))])
            lost.whole = self.place == "cpu"
            if not lost.whole:
                with suppress(Exception):  # it may have ended already
                    dist.distributed_c10d._abort_process_group()
            raise lost from None


def is_rank(environment: Mapping[str, str] = os.environ) -> bool:
    """Return True if a launcher started this process as a rank."""
    return all(environment.get(name) for name in VARIABLES)


def require_torch() -> None:
    """Refuse distributed training without torch, before anything starts.

    Raises:
        ToolchainError: torch is missing, or has no ``torch.distributed``.
    """
    try:
        import torch.distributed
    except ImportError:
        raise failed("SA428", "distributed training needs torch", _INSTALL) from None
    if not torch.distributed.is_available():
        raise failed("SA428", "this torch has no torch.distributed", _INSTALL)


def join_ranks(device: str) -> Ranks:
    """Join the ranks that the environment describes: by NCCL if the device is CUDA's, else by gloo.

    Raises:
        ToolchainError: torch is missing, or the ranks do not find each other.
    """
    _take_own_gpu(int(os.environ.get("LOCAL_RANK", "0")))
    require_torch()
    import torch
    import torch.distributed as dist

    cuda = (device == "cuda" or (device == "auto" and torch.cuda.is_available())) and dist.is_nccl_available()
    own = torch.device("cuda", torch.cuda.current_device()) if cuda else None
    start = partial(dist.init_process_group, "nccl" if cuda else "gloo", device_id=own)
    try:
        _run_interruptibly(start)
    except (RuntimeError, ValueError) as error:
        raise failed("SA428", f"the ranks did not find each other: {_first_line(error)}") from None
    return _ranks()


def _run_interruptibly(call: Callable[[], object]) -> None:
    """Run a call that blocks in a thread, so that this one hears signals.

    Raises:
        Exception: What the call raised.
    """
    ended: Future[object] = Future()

    def run() -> None:
        try:
            ended.set_result(call())
        except Exception as error:
            ended.set_exception(error)

    Thread(target=run, daemon=True).start()  # an interrupt leaves it behind
    if not wait([ended], _PATIENCE).done:
        rank, size, host, port = (os.environ.get(name, "?") for name in VARIABLES)
        sys.stderr.write(f"slangad: rank {rank} waits for the others of {size} at {host}:{port}\n")
    while not wait([ended], _PATIENCE).done:  # without a limit, Windows would not hear Ctrl-C
        pass
    ended.result()


def joined_ranks(device: str) -> Ranks:
    """Return the ranks that this process has joined, or join those that the environment describes.

    Raises:
        ToolchainError: torch is missing, or this process is no rank.
    """
    require_torch()
    import torch.distributed as dist

    if dist.is_initialized():
        return _ranks()
    if not is_rank():
        help_ = "start the script by `torchrun --nproc-per-node 2 fit.py`, or call torch.distributed.init_process_group"
        raise failed("SA428", "distributed=True in a process that is no rank", help_)
    return join_ranks(device)


def _ranks() -> Ranks:
    """Return the ranks of torch's process group. NCCL adds up on the GPU that torch uses."""
    import torch
    import torch.distributed as dist

    place = f"cuda:{torch.cuda.current_device()}" if "nccl" in dist.get_backend() else "cpu"
    return Ranks(dist.get_rank(), dist.get_world_size(), place)


def _take_own_gpu(local: int) -> None:
    """Show this process one GPU of the machine, by its number among the ranks of the machine."""
    visible = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
    if not visible:
        os.environ["CUDA_VISIBLE_DEVICES"] = str(local)
    elif local < len(visible):
        os.environ["CUDA_VISIBLE_DEVICES"] = visible[local]


def _first_line(error: Exception) -> str:
    line = next(iter(str(error).splitlines()), type(error).__name__)
    return line.partition(". ")[0]


def _exponents(numbers: Any) -> Any:  # noqa: ANN401  (tensors)
    import torch

    found = torch.frexp(numbers.double()).exponent
    found = torch.where(numbers == 0, torch.full_like(found, _LEAST), found)
    return torch.where(torch.isfinite(numbers), found, torch.full_like(found, _NOT_FINITE))


def _digits(numbers: Any, scale: Any, finite: Any) -> Any:  # noqa: ANN401  (tensors)
    """Return numbers as integers of at most two to the power of ``_BITS``."""
    import torch

    held = torch.where(finite, numbers, torch.zeros_like(numbers)).double()
    return torch.round(_scaled(held, _BITS - scale)).long()


def _scaled(numbers: Any, exponents: Any) -> Any:  # noqa: ANN401  (tensors)
    """Return doubles times powers of two. ``torch.ldexp`` computes a power, which GPUs may round."""
    half = exponents.long() >> 1
    return numbers * _power_of_two(half) * _power_of_two(exponents.long() - half)


def _power_of_two(exponents: Any) -> Any:  # noqa: ANN401  (tensors)
    import torch

    return ((exponents + _BIAS) << _BITS).view(torch.float64)
