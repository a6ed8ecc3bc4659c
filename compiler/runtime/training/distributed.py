"""Train over several ranks: each computes the gradients of its share of a step, and the sums make the update.

Gradients of all parameters lie in one flat array, with the loss and a flag behind them, so a step has one sum. All
ranks make the same update of the same numbers. A mean over a share counts by the size of the share, so unequal shares
give the mean over all elements. Under ``--deterministic`` a step has ``PARTS`` parts for any number of ranks, and their
gradients are added as integers.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from slangad.compiler.errors.diagnostics import CompileError, Diagnostic
from slangad.compiler.runtime.arrays.modes import RunMode
from slangad.compiler.runtime.arrays.prepare import prepare, refuse_nan
from slangad.compiler.runtime.device.tensors import set_to
from slangad.compiler.runtime.training.shares import PARTS, element_keys, is_mean, parts_of
from slangad.compiler.runtime.training.train import Trainer
from slangad.compiler.runtime.training.trainable import prepare_training

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from slangad.compiler.runtime.arrays.prepare import Prepared
    from slangad.compiler.runtime.device.model import Device, DeviceProgram
    from slangad.compiler.runtime.pipeline.runnable import RunnablePipeline
    from slangad.compiler.runtime.training.ranks import Ranks
    from slangad.compiler.runtime.training.train import TrainingPlan
    from slangad.compiler.toolchain.cache import Cache

    Array = npt.NDArray[Any]


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
    trainer = DistributedTrainer.start(device, program, runnable, replace(prepared, notes=()), each, cache)
    trainer.engines = {len(first): trainer}
    trained = {one.key: array for one, array in zip(trainer.trained, trainer.parameters().values(), strict=True)}
    data = replace(data, drawn={key: array for key, array in trained.items() if key not in data.inputs})
    for other in others:
        prepared = data.prepared(other, None)
        trainer.engines[len(other)] = Trainer.start(device, program, runnable, prepared, each, cache)
    for size, engine in trainer.engines.items():
        weight = size / data.step_size(plan.batch) if is_mean(runnable) else 1.0
        trainer.weights[size] = weight
        for seed in engine.resident.seeds.values():
            set_to(seed, None, weight)
    trainer.plan, trainer.data = plan, data
    trainer.spread()
    return trainer, (*prepared.notes, *notes)


@dataclass
class DistributedTrainer(Trainer):
    """A training in progress, seen from one rank. It keeps the optimizer, and computes gradients of one size of parts.

    Attributes:
        data: The data that the ranks share.
        engines: The trainers that compute the gradients of a part, by its size: this object, and maybe another.
        weights: The weight of the sum over a part, by the size of the part.
        asked: Not empty once this rank was asked to stop.
    """

    data: SharedData = field(init=False)
    engines: dict[int, Trainer] = field(default_factory=dict)
    weights: dict[int, float] = field(default_factory=dict)
    asked: Sequence[object] = ()
    _leaving: bool = False
    _drawn_order: tuple[int, Array] | None = None
    _loaded: dict[int, object] = field(default_factory=dict)

    # --- the interface of a training ---

    @property
    def epoch_steps(self) -> int:
        """Return the steps until every element was in a batch; a last partial batch is dropped."""
        return self.data.count // self.plan.batch if self.plan.batch else 0

    def room(self, count: int) -> int:
        """Return the steps in one submission: one, since the ranks add up after each."""
        return min(count, 1)

    def leaves(self, asked: Sequence[object]) -> bool:
        """Return True if some rank was asked to stop; all ranks learn it in the same step."""
        self.asked = asked
        return self._leaving

    def advance(self, count: int) -> None:
        """Do some steps."""
        for _ in range(count):
            flat = self._sum([self._gradient(part) for part in self.data.parts(self.plan.batch)])
            self._leaving = bool(flat[-1])
            self._step(flat)

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

    def _gradient(self, positions: range) -> Array:
        """Return what this rank adds for a part: the gradients, the loss, and a flag if it was asked to stop."""
        import numpy as np

        engine = self.engines[len(positions)]
        self._load(engine, positions)
        self.device.submit(engine._body)
        gradients = [one.gradient.download().reshape(-1) for one in engine.trained]
        loss = engine._loss.download().astype("f8") * self.weights[len(positions)]
        last = np.array([*loss, bool(self.asked)], gradients[0].dtype)
        return np.concatenate([*gradients, last])

    def _sum(self, parts: list[Array]) -> Array:
        ranks = self.data.ranks
        if self.data.exact:
            return ranks.add_exactly(parts)
        (part,) = parts
        return ranks.add(part)

    def _load(self, engine: Trainer, positions: range) -> None:
        """Upload the rows of a part, unless they are there."""
        if not self.plan.batch:
            order, wanted = None, (positions, 0)
        else:
            epoch, within = divmod(self.step, self.epoch_steps)
            order, wanted = self._shuffled(epoch)[within * self.plan.batch :], (positions, self.step + 1)
        size = len(positions)
        if self._loaded.get(size) == wanted:
            return
        prepared = self.data.prepared(positions, order)
        for value in engine.runnable.signature.parameters:
            for part in value.parts if value.per_element else ():
                array = next(a for (_, n, p), a in prepared.arrays.items() if (n, p) == (value.name, part.path))
                set_to(engine.resident.values[value.name, part.path], array, None)
        self._loaded[size] = wanted

    def _shuffled(self, epoch: int) -> Array:
        import numpy as np

        if self._drawn_order is None or self._drawn_order[0] != epoch:
            self._drawn_order = epoch, np.random.default_rng([self.plan.seed, epoch]).permutation(self.data.count)
        return self._drawn_order[1]

    def _step(self, flat: Array) -> None:
        """Update the parameters by the sum of all ranks."""
        import numpy as np

        at = 0
        for one in self.trained:
            count = one.gradient.count
            one.gradient.upload(flat[at : at + count].astype(one.gradient.dtype, copy=False))
            at += count
        self._loss.upload(np.array([flat[at]], self._loss.dtype))
        self._stop.fill(0)
        self.device.submit(self.resident.steps.launches([self._record(0), *self._update(self.step + 1)]))
        self.stopped = bool(self._stop.download()[0])
        self.losses.append(float(self._history.download()[0]))
        self.step += not self.stopped
        self._pass_on()

    def _pass_on(self) -> None:
        """Copy the parameters to the engines of other sizes."""
        for engine in self.engines.values():
            for mine, copy in zip(self.trained, engine.trained, strict=True):
                if engine is not self:
                    copy.values.upload(mine.values.download())


def _refused(message: str) -> CompileError:
    return CompileError([Diagnostic("SA420", message, help="use fewer ranks, or a larger --batch")])
