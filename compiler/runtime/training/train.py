"""The loop of ``slangad train``: minimise the objective of a pipeline, with losses and parameters as the result.

A step is one part of a submission: the batch is gathered, forward and backward run, the loss is written into a
history on the device, the optimizer changes the parameters. The launches of all steps are the same: what changes, such
as the learning rate, is in memory, and a clock on the device says which step it is. A loss that is not finite, or below
the threshold, stops the device itself: later launches of the submission change nothing. So results do not depend on how
many steps are submitted at a time.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from slangad.compiler.emit.entry_points.steps import UPDATE_SETTINGS, state_scalar
from slangad.compiler.emit.model import Mode
from slangad.compiler.ir.nodes import Memory
from slangad.compiler.ir.optimizers import OPTIMIZERS
from slangad.compiler.runtime.device.tensors import set_to, typed
from slangad.compiler.runtime.pipeline.resident import Resident
from slangad.compiler.runtime.pipeline.stages import shapes_of
from slangad.compiler.runtime.pipeline.steps import RepeatedSteps, scalar_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import numpy.typing as npt
    from typing_extensions import Self

    from slangad.compiler.ir.pipelines import Optimizer
    from slangad.compiler.runtime.arrays.prepare import Prepared
    from slangad.compiler.runtime.arrays.signature import ArrayPart
    from slangad.compiler.runtime.device.model import Device, DeviceBuffer, DeviceProgram
    from slangad.compiler.runtime.pipeline.flow import GradientFlow
    from slangad.compiler.runtime.pipeline.runnable import RunnablePipeline
    from slangad.compiler.runtime.pipeline.steps import Step
    from slangad.compiler.runtime.training.psnr import Psnr
    from slangad.compiler.toolchain.cache import Cache

    Array = npt.NDArray[Any]

HISTORY: Final = 256
"""Maximum number of steps in one submission."""


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """How to train.

    Attributes:
        optimizer: With its settings.
        batch: Elements of a step, along the first axis of the arrays with one element per thread; 0 means all.
        seed: Seed of the order of the batches.
        threshold: Stop at the first loss below this.
    """

    optimizer: Optimizer
    batch: int = 0
    seed: int = 0
    threshold: float = -math.inf


@dataclass(frozen=True, slots=True)
class Trained:
    """One trained array: its values, its gradient, and the optimizer's state."""

    key: str
    part: ArrayPart
    values: DeviceBuffer
    gradient: DeviceBuffer
    state: Mapping[str, DeviceBuffer]
    shape: tuple[int, ...]


@dataclass
class Trainer:
    """A training in progress.

    Attributes:
        step: Steps done.
        losses: The loss before each of them.
        stopped: True after a loss below the threshold, or one that isn't finite.
        asked: Not empty once somebody asked to stop.
        psnr: The PSNR of its losses, if they determine one.
    """

    device: Device
    runnable: RunnablePipeline
    prepared: Prepared
    plan: TrainingPlan
    resident: Resident
    step: int = 0
    losses: list[float] = field(default_factory=list)
    stopped: bool = False
    asked: list[Callable[[], None]] = field(default_factory=list)
    psnr: Psnr | None = None

    @classmethod
    def start(
        cls,
        device: Device,
        program: DeviceProgram,
        runnable: RunnablePipeline,
        prepared: Prepared,
        plan: TrainingPlan,
        cache: Cache | None = None,
    ) -> Self:
        """Allocate memory and compile the kernels.

        Raises:
            InputError: The stages' shapes don't fit together.
            ToolchainError: The device has too little memory, or failed.
        """
        small = _first_batch(runnable, prepared, plan.batch)
        resident = Resident(device, program, runnable, small, shapes_of(runnable, small), runnable.trained)
        made = cls(device, runnable, prepared, plan, resident)
        made._plan(cache)
        return made

    def close(self) -> None:
        """Release all memory."""
        self._whole.close()
        self.resident.close()

    # --- planning ---

    def _plan(self, cache: Cache | None) -> None:
        resident, steps = self.resident, self.resident.steps
        objective = self.runnable.objective
        assert objective is not None  # noqa: S101  (whoever trains has looked)
        flow = resident.flow(Mode.BACKWARD)
        maker = next(u for s in flow.stages for u in s.makes if u.version == objective.value)
        resident.seed(objective.value, maker.value.parts[0], None)
        body = [*resident.forward(flow, only=self._forward(flow)), *resident.backward(flow)]
        loss = resident.values[objective.value, ()]
        self._loss = loss
        self._history = resident.buffer(state_scalar(scalar_name(loss)), HISTORY)
        self._stop, self._clock = resident.buffer("uint", 1), resident.buffer("uint", 1)
        self.trained = tuple(self._trained())
        self._data = tuple(self._gathered())
        width = len(UPDATE_SETTINGS[OPTIMIZERS[self.plan.optimizer.name].kernel])
        scalars = {state_scalar(one.part.scalar.name) for one in self.trained}
        self._settings = {scalar: resident.buffer(scalar, HISTORY * width) for scalar in sorted(scalars)}
        gathering = [*self._gather()]
        body_together = steps.together(body, self.device)
        updating = steps.together([self._record(), *self._update()], self.device)
        steps.load(self.device, cache)
        self._body = steps.launches(body_together)
        self._updating = steps.launches(updating)
        self._whole = RepeatedSteps(self.device, [*steps.launches(gathering), *self._body, *self._updating])

    def _forward(self, flow: GradientFlow) -> set[int]:
        """Return the stages that must run forward: the others make only sums, which their backward pass makes too."""
        needed = set()
        for stage in flow.stages:
            sums = all(use.value.memory in (Memory.SUM, Memory.MEAN) for use in stage.makes)
            later = {use.version for other in flow.stages for use in other.uses}
            written = any(use.made for use in stage.uses)
            if not (stage.active and sums and not written and not any(use.version in later for use in stage.makes)):
                needed.add(stage.number)
        return needed

    def _trained(self) -> Iterator[Trained]:
        resident = self.resident
        for value in self.runnable.signature.parameters:
            if value.name not in self.runnable.trained:
                continue
            for part in (p for p in value.parts if p.differentiable):
                values = resident.values[value.name, part.path]
                scalar = state_scalar(part.scalar.name)
                slots = OPTIMIZERS[self.plan.optimizer.name].state
                state = {name: resident.buffer(scalar, values.count) for name in slots}
                if part.scalar.name == "half":
                    state["master"] = resident.buffer("float", values.count)
                    state["master"].upload(values.download().astype("f4"))
                shape = (*resident.shapes.values[value.name], *part.shape)
                yield Trained(part.key, part, values, resident.gradient(value.name, part), state, shape)

    def _gathered(self) -> Iterator[tuple[DeviceBuffer, DeviceBuffer, int]]:
        """Yield the data on the device, the buffer of its batch, and the scalars of one element."""
        if not self.plan.batch:
            return
        import numpy as np

        for value in self.runnable.signature.parameters:
            for part in value.parts if value.per_element else ():
                array = next(a for (_, n, p), a in self.prepared.arrays.items() if (n, p) == (value.name, part.path))
                target = self.resident.values[value.name, part.path]
                whole = self.resident.buffer(scalar_name(target), array.size, fill=None)
                whole.upload(array.astype(target.dtype, copy=False))
                yield whole, target, int(np.prod(array.shape[1:]))
        self._order = self.resident.buffer("uint", self.prepared.domain[0])
        self._first = self.resident.buffer("uint", HISTORY)
        self._epoch = -1

    # --- one step ---

    @property
    def epoch_steps(self) -> int:
        """Return the steps until every element was in a batch; a last partial batch is dropped."""
        return self.prepared.domain[0] // self.plan.batch if self.plan.batch else 0

    def _gather(self) -> Iterator[Step]:
        for source, target, width in self._data:
            yield self.resident.steps.step(
                "gather", scalar_name(target), target.count,
                width=width, first=self._first, clock=self._clock, order=self._order, source=source, target=target,
            )  # fmt: skip

    def _record(self) -> Step:
        scalar = scalar_name(self._loss)
        return self.resident.steps.step(
            "record", scalar, 1, state_scalar(scalar), threshold=self.plan.threshold,
            loss=self._loss, history=self._history, clock=self._clock, stop=self._stop,
        )  # fmt: skip

    def _update(self) -> Iterator[Step]:
        kernel = OPTIMIZERS[self.plan.optimizer.name].kernel
        for one in self.trained:
            settings = self._settings[state_scalar(one.part.scalar.name)]
            bound = {**one.state, "gradient": one.gradient, "values": one.values}
            yield self.resident.steps.step(
                kernel, one.part.scalar.name, one.values.count,
                settings=settings, clock=self._clock, stop=self._stop, **bound,
            )  # fmt: skip

    def _begin(self, count: int) -> None:
        """Write what changes from one step of a submission to the next, and set the clock to its first step."""
        import numpy as np

        steps = np.arange(self.step, self.step + HISTORY)
        rows = [[*optimizer_settings(self.plan.optimizer, int(step) + 1).values()] for step in steps[:count]]
        settings = np.zeros((HISTORY, len(rows[0])))
        settings[:count] = rows
        for buffer in self._settings.values():
            buffer.upload(settings.reshape(-1).astype(buffer.dtype))
        if self._data:
            self._first.upload((steps % self.epoch_steps * self.plan.batch).astype("u4"))
        self._stop.fill(0)
        self._clock.fill(0)

    def room(self, count: int) -> int:
        """Return how many of so many steps can be submitted at once."""
        if self.plan.batch:
            count = min(count, self.epoch_steps - self.step % self.epoch_steps)
        return min(count, HISTORY)

    def advance(self, count: int) -> None:
        """Do some steps, fewer if training stops; ``room`` returns the maximum."""
        if self.plan.batch and self.step // self.epoch_steps != self._epoch:
            self._shuffle(self.step // self.epoch_steps)
        self._begin(count)
        self._whole.submit(count)
        stop = int(self._stop.download()[0])
        self.resident.require_room()
        seen = stop or count
        self.losses += [float(loss) for loss in self._history.download()[:seen]]
        self.stopped = bool(stop)
        self.step += seen - bool(stop)

    def load_elements(self, prepared: Prepared) -> None:
        """Copy the arrays of ``Each`` parameters to the device; their shapes are those of the start."""
        for value in self.runnable.signature.parameters:
            for part in value.parts if value.per_element else ():
                array = next(a for (_, n, p), a in prepared.arrays.items() if (n, p) == (value.name, part.path))
                set_to(self.resident.values[value.name, part.path], array, None)

    def _shuffle(self, epoch: int) -> None:
        import numpy as np

        order = np.random.default_rng([self.plan.seed, epoch]).permutation(self.prepared.domain[0])
        self._order.upload(order.astype("u4"))
        self._epoch = epoch

    def leaves(self) -> bool:
        """Return True if training ends because somebody asked; ``asked`` is then not empty."""
        return bool(self.asked)

    # --- what it is now ---

    def data_digest(self) -> str:
        """Return a digest of all arrays that are not trained, including NoDiff and integer fields of structs."""
        digest, trained = hashlib.sha256(), {one.key for one in self.trained}
        for (role, name, path), array in sorted(self.prepared.arrays.items(), key=lambda item: repr(item[0])):
            if ".".join((name, *map(str, path))) not in trained:
                digest.update(f"{role.value} {name} {path} {array.dtype} {array.shape};".encode())
                digest.update(array.tobytes())
        return digest.hexdigest()

    def parameters(self) -> dict[str, Array]:
        """Return the trained arrays by key."""
        return {one.key: typed(one.values.download(), one.part.dtype).reshape(one.shape) for one in self.trained}

    def state(self) -> dict[str, Array]:
        """Return the optimizer's state, by name and key."""
        return {f"{n}.{one.key}": b.download() for one in self.trained for n, b in one.state.items()}

    def restore(self, parameters: Mapping[str, Array], state: Mapping[str, Array], losses: list[float]) -> None:
        """Restore the state of a training."""
        for one in self.trained:
            one.values.upload(parameters[one.key].astype(one.values.dtype, copy=False))
            for name, buffer in one.state.items():
                buffer.upload(state[f"{name}.{one.key}"])
        self.losses = list(losses)
        self.step = len(losses)


def optimizer_settings(optimizer: Optimizer, number: int) -> dict[str, float]:
    """Return the settings for the optimizer's kernel, in their order; ``number`` counts the updates from 1."""
    lr = _rate(optimizer, number)
    if optimizer.name == "sgd":
        return {"lr": lr, "momentum": optimizer["momentum"]}
    beta1, beta2 = optimizer["beta1"], optimizer["beta2"]
    decay = optimizer["weight_decay"] if optimizer.name == "adamw" else 0.0
    return {
        "lr": lr,
        "beta1": beta1,
        "fresh1": 1.0 - beta1,
        "beta2": beta2,
        "fresh2": 1.0 - beta2,
        "eps": optimizer["eps"],
        "kept": 1.0 - lr * decay,
        "corrected1": 1.0 - beta1**number,
        "corrected2": 1.0 - beta2**number,
    }


def _rate(optimizer: Optimizer, number: int) -> float:
    """Return the learning rate of an update: it grows evenly, then halves again and again."""
    lr, warmup, half_life = (optimizer[name] for name in ("lr", "warmup", "half_life"))
    if number < warmup:
        return lr * number / warmup
    return lr * 0.5 ** ((number - warmup) / half_life) if half_life > 0 else lr


def _first_batch(runnable: RunnablePipeline, prepared: Prepared, batch: int) -> Prepared:
    """Return the signature values of one batch: arrays with one element per thread have the batch's length."""
    if not batch:
        return prepared
    each = {v.name for v in runnable.signature.parameters if v.per_element}
    arrays = {slot: a[:batch] if slot[1] in each else a for slot, a in prepared.arrays.items()}
    return replace(prepared, domain=(batch, *prepared.domain[1:]), arrays=arrays)
