"""Train over several ranks: each computes the gradients of its share of a step, and the sums make the update.

Gradients of all parameters lie in flat tensors, with the loss and a flag behind them. The sum of gradients that are
complete runs beside the rest of the backward pass. All ranks make the same update of the same numbers. A mean over a
share counts by the size of the share, so unequal shares give the mean over all elements. Under ``--deterministic`` a
step has ``PARTS`` parts for any number of ranks, and their gradients are added as integers.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from slangad.compiler.errors.diagnostics import CompileError, Diagnostic
from slangad.compiler.runtime.arrays.modes import RunMode
from slangad.compiler.runtime.arrays.prepare import prepare, refuse_nan
from slangad.compiler.runtime.device.tensors import TensorBuffer, copy_buffer, set_to, tensor_of
from slangad.compiler.runtime.pipeline.steps import RepeatedSteps
from slangad.compiler.runtime.training.flat import buckets_of
from slangad.compiler.runtime.training.ranks import RankLostError
from slangad.compiler.runtime.training.shares import PARTS, element_keys, is_mean, parts_of
from slangad.compiler.runtime.training.train import HISTORY, Trainer
from slangad.compiler.runtime.training.trainable import prepare_training

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy.typing as npt

    from slangad.compiler.runtime.arrays.prepare import Prepared
    from slangad.compiler.runtime.device.model import Device, DeviceProgram
    from slangad.compiler.runtime.pipeline.runnable import RunnablePipeline
    from slangad.compiler.runtime.training.flat import Bucket
    from slangad.compiler.runtime.training.loaders import Batches
    from slangad.compiler.runtime.training.ranks import Ranks
    from slangad.compiler.runtime.training.train import TrainingPlan
    from slangad.compiler.toolchain.cache import Cache

    Array = npt.NDArray[Any]

_AHEAD: Final = 8
"""Steps that a GPU may have before it. More: a rank that waits for a lost one has no room left for launches, and hears
no signal. Fewer: the GPU waits for the host."""


@dataclass(frozen=True)
class SharedData:
    """The data of a training, of which this rank reads its shares.

    Attributes:
        inputs: Arrays by key. Those of ``Each`` parameters may be memory-mapped: only rows of this rank are read.
        count: The elements along the first axis of the ``Each`` parameters.
        exact: True if results must have the same bits for every number of ranks.
        drawn: Trained parameters that are not in the inputs, by key.
        allow_nan: Take data with NaN.
    """

    runnable: RunnablePipeline
    inputs: Mapping[str, Any]
    count: int
    ranks: Ranks
    exact: bool
    drawn: Mapping[str, Any] = field(default_factory=dict)
    allow_nan: bool = False

    def step_size(self, batch: int) -> int:
        """Return the elements of one step of all ranks."""
        return batch or self.count

    def parts(self, batch: int) -> list[range]:
        """Return this rank's parts of a step, as positions in the step.

        Raises:
            CompileError: A step has fewer elements than parts.
        """
        count, total = PARTS if self.exact else self.ranks.size, self.step_size(batch)
        if self.exact and self.ranks.size > PARTS:
            raise _refused(f"--deterministic has {PARTS} parts in a step, which {self.ranks.size} ranks can't share")
        if total < count:
            raise _refused(f"{total} elements of a step are fewer than its {count} parts")
        return parts_of(total, count)[self.ranks.rank :: self.ranks.size]

    def changes(self, batch: int) -> bool:
        """Return True if each step has other elements."""
        return bool(batch)

    def prepared(self, positions: range, order: Array | None) -> Prepared:
        """Return the arrays of a part as kernels take them."""
        prepared = prepare(self.runnable.signature, RunMode.FORWARD, self.rows(positions, order))
        if not self.allow_nan:
            refuse_nan(prepared)
        return prepared

    def rows(self, positions: range, order: Array | None) -> dict[str, Any]:
        """Return all inputs, those of ``Each`` parameters with the rows of a part."""
        import numpy as np

        chosen = slice(positions.start, positions.stop) if order is None else order[positions.start : positions.stop]
        keys = set(element_keys(self.runnable))
        named = {key: np.asarray(value)[chosen] if key in keys else value for key, value in self.inputs.items()}
        return {**named, **self.drawn}


@dataclass(frozen=True)
class LoadedData(SharedData):
    """The batches of a loader on each rank; ``count`` is the number of elements of a step of all ranks."""

    batches: Batches = field(kw_only=True)

    def parts(self, batch: int) -> list[range]:  # noqa: ARG002  (the loader's)
        """Return the batch of this rank, as positions in it."""
        return [range(self.batches.size)]

    def changes(self, batch: int) -> bool:  # noqa: ARG002  (the loader's)
        """Return True: each step has other elements."""
        return True

    def rows(self, positions: range, order: Array | None) -> dict[str, Any]:  # noqa: ARG002  (all of a batch)
        """Return all inputs, those of ``Each`` parameters from the next batch."""
        return {**self.inputs, **self.batches.take(), **self.drawn}


def start_distributed(
    device: Device, program: DeviceProgram, data: SharedData, plan: TrainingPlan, cache: Cache | None
) -> tuple[DistributedTrainer, tuple[Diagnostic, ...]]:
    """Return the training of this rank, and notes for the user.

    Raises:
        CompileError: The data can't be shared.
        InputError: An input is missing or does not fit.
        ToolchainError: The device failed, or another rank ended.
    """
    runnable, each = data.runnable, replace(plan, batch=0)
    first, *others = {len(one): one for one in data.parts(plan.batch)}.values()
    prepared, notes = prepare_training(runnable, data.rows(first, None), None, each)
    if not data.allow_nan:
        refuse_nan(prepared)
    place = data.ranks.place_on(device.name)
    here = replace(prepared, notes=(), place=place)
    trainer = DistributedTrainer.start(device, program, runnable, here, each, cache)
    trainer.engines = {len(first): trainer}
    trained = {one.key: array for one, array in zip(trainer.trained, trainer.parameters().values(), strict=True)}
    data = replace(data, drawn={key: array for key, array in trained.items() if key not in data.inputs})
    for other in others:
        prepared = replace(data.prepared(other, None), place=place)
        trainer.engines[len(other)] = Trainer.start(device, program, runnable, prepared, each, cache)
    for size, engine in trainer.engines.items():
        weight = size / data.step_size(plan.batch) if is_mean(runnable) else 1.0
        trainer.weights[size] = weight
        for seed in engine.resident.seeds.values():
            set_to(seed, None, weight)
        gradients = [one.gradient for one in engine.trained]
        body = RepeatedSteps(device, engine._body, place)
        trainer.flat[size] = buckets_of(body, gradients, data.ranks.place, overlap=not data.exact)
    trainer.update = RepeatedSteps(device, trainer._updating, place)
    trainer.plan, trainer.data, trainer.asked = plan, data, data.ranks.asked
    trainer.spread()
    return trainer, (*prepared.notes, *notes)


@dataclass
class DistributedTrainer(Trainer):
    """A training in progress, seen from one rank. It keeps the optimizer, and computes gradients of one size of parts.

    Attributes:
        data: The data that the ranks share.
        engines: The trainers that compute the gradients of a part, by its size: this object, and maybe another.
        weights: The weight of the sum over a part, by the size of the part.
        flat: The gradients of each engine in flat tensors, by the size of its parts.
        update: The launches of the optimizer.
    """

    data: SharedData = field(init=False)
    engines: dict[int, Trainer] = field(default_factory=dict)
    weights: dict[int, float] = field(default_factory=dict)
    flat: dict[int, tuple[Bucket, ...]] = field(default_factory=dict)
    update: RepeatedSteps = field(init=False)
    _leaving: bool = False
    _drawn_order: tuple[int, Array] | None = None
    _loaded: dict[int, object] = field(default_factory=dict)

    # --- the interface of a training ---

    @property
    def buckets(self) -> tuple[Bucket, ...]:
        """Return the flat gradients that make the update."""
        return next(self.flat[size] for size, engine in self.engines.items() if engine is self)

    @property
    def epoch_steps(self) -> int:
        """Return the steps until every element was in a batch; a last partial batch is dropped."""
        return self.data.count // self.plan.batch if self.plan.batch else 0

    def room(self, count: int) -> int:
        """Return the steps in one submission: the smallest number that a rank has in mind."""
        return self.data.ranks.least(min(count, HISTORY))

    def leaves(self) -> bool:
        """Return True if some rank was asked to stop; all ranks learn it after the same step."""
        return self._leaving

    def advance(self, count: int) -> None:
        """Do some steps, fewer if training stops.

        Raises:
            RankLostError: Another rank has ended; the steps before count.
        """
        self._begin(count)
        done, whole = 0, True
        ranks, marks = self.data.ranks, deque[Any]()
        try:
            for index in range(count):
                self._sum(self.step + index)
                self._step()
                done += 1
                marks.append(ranks.mark())
                if len(marks) > _AHEAD:
                    ranks.wait_for(marks.popleft())
            for mark in marks:
                ranks.wait_for(mark)
            for engine in self.engines.values():
                engine.resident.require_room()
        except RankLostError as lost:
            whole = lost.whole
            raise
        finally:
            if whole:
                self._count(done)

    def _count(self, done: int) -> None:
        """Take the losses of the steps that a submission has done."""
        stop = int(self._stop.download()[0])
        seen = stop or done
        self.losses += [float(loss) for loss in self._history.download()[:seen]]
        self.stopped = bool(stop)
        self.step += seen - bool(stop)
        self._leaving = bool(self.buckets[-1].flat[-1])

    def data_digest(self) -> str:
        """Return a digest of the data of all ranks: contents of arrays in memory, shapes of memory-mapped ones."""
        import hashlib

        import numpy as np

        digest, trained = hashlib.sha256(), {one.key for one in self.trained}
        for key in sorted(self.data.inputs.keys() - trained):
            array = np.asanyarray(self.data.inputs[key])
            digest.update(f"{key} {array.dtype} {array.shape};".encode())
            if not isinstance(array, np.memmap):
                digest.update(array.tobytes())
        return digest.hexdigest()

    def close(self) -> None:
        """Release all memory."""
        for steps in (self.update, *(bucket.steps for buckets in self.flat.values() for bucket in buckets)):
            steps.close()
        for engine in self.engines.values():
            engine.resident.close()

    def spread(self) -> None:
        """Take the state of the first rank."""
        ranks = self.data.ranks
        first = (self.parameters(), self.state(), self.losses) if ranks.is_first else None
        self.restore(*ranks.from_first(first))

    def restore(self, parameters: Mapping[str, Array], state: Mapping[str, Array], losses: list[float]) -> None:
        """Restore the state of a training."""
        super().restore(parameters, state, losses)
        self._pass_on()

    # --- one step ---

    def _sum(self, step: int) -> None:
        """Set the gradients and the loss to the sums over all ranks."""
        parts, ranks = self.data.parts(self.plan.batch), self.data.ranks
        if self.data.exact:
            flats = [[bucket.flat.clone() for bucket in self._gradient(part, step)] for part in parts]
            for bucket, *found in zip(self.buckets, *flats, strict=True):
                bucket.flat.copy_(ranks.add_exactly(found))
        else:
            (part,) = parts
            handles = [ranks.start(bucket.flat) for bucket in self._gradient(part, step)]
            for handle in handles:
                ranks.end(handle)
        for bucket in self.buckets:
            bucket.put_back()

    def _gradient(self, positions: range, step: int) -> Iterator[Bucket]:
        """Yield the buckets of a part, each with what this rank adds; the launches of the later ones are left."""
        engine = self.engines[len(positions)]
        self._load(engine, positions, step)
        buckets = self.flat[len(positions)]
        for bucket in buckets:
            bucket.steps.submit(1)
            bucket.take_in()
            if bucket is buckets[-1]:
                loss = tensor_of(engine._loss, bucket.flat.device)
                bucket.flat[-2] = loss[0].to(bucket.flat.dtype) * self.weights[len(positions)]
                bucket.flat[-1:].fill_(float(bool(self.asked)))  # an assignment would wait for the GPU
            yield bucket

    def _load(self, engine: Trainer, positions: range, step: int) -> None:
        """Upload the rows of a part, unless they are there."""
        if not self.plan.batch:
            order, wanted = None, (positions, step + 1 if self.data.changes(0) else 0)
        else:
            epoch, within = divmod(step, self.epoch_steps)
            order, wanted = self._shuffled(epoch)[within * self.plan.batch :], (positions, step + 1)
        size = len(positions)
        if self._loaded.get(size) == wanted:
            return
        engine.load_elements(self.data.prepared(positions, order))
        self._loaded[size] = wanted

    def _shuffled(self, epoch: int) -> Array:
        import numpy as np

        if self._drawn_order is None or self._drawn_order[0] != epoch:
            self._drawn_order = epoch, np.random.default_rng([self.plan.seed, epoch]).permutation(self.data.count)
        return self._drawn_order[1]

    def _step(self) -> None:
        """Update the parameters by the sum of all ranks."""
        flat = self.buckets[-1].flat
        if isinstance(self._loss, TensorBuffer):
            self._loss.handle[:1].copy_(flat[-2:-1])
        else:
            self._loss.upload(flat[-2:-1].cpu().numpy().astype(self._loss.dtype))
        self.update.submit(1)
        self._pass_on()

    def _pass_on(self) -> None:
        """Copy the parameters to the engines of other sizes."""
        for engine in self.engines.values():
            for mine, copy in zip(self.trained, engine.trained, strict=True):
                if engine is not self:
                    copy_buffer(mine.values, copy.values)


def _refused(message: str) -> CompileError:
    return CompileError([Diagnostic("SA420", message, help="use fewer ranks, or a larger --batch")])
