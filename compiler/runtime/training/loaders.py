"""Train on the batches of a loader: ``torch.utils.data.DataLoader``, or any object to iterate over once an epoch.

A batch is a mapping of arrays by name, or a tuple of arrays in the order of the ``Each`` parameters. All steps have as
many elements as the first batch; smaller batches are left out, as the last partial batch of an epoch is elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from slangad.compiler.errors.diagnostics import Diagnostic
from slangad.compiler.runtime.arrays.modes import RunMode
from slangad.compiler.runtime.arrays.prepare import InputError, prepare
from slangad.compiler.runtime.training.train import Trainer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


@dataclass
class Batches:
    """The batches of a loader, epoch after epoch.

    Attributes:
        loader: Gives the batches of an epoch each time that it is iterated over.
        names: The parameters whose arrays a tuple has, in order.
        keyed: Return arrays by key from arguments by name.
        size: The elements of a batch.
        epoch: The number of epochs that have begun, less one.
    """

    loader: Iterable[object]
    names: Sequence[str]
    keyed: Callable[[Mapping[str, object]], dict[str, Any]]
    size: int = 0
    epoch: int = -1
    _left: Iterator[object] = field(default_factory=lambda: iter(()))
    _first: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        self._first = self._next()
        self.size = _elements(self._first)

    def take(self) -> dict[str, Any]:
        """Return the arrays of the next batch by key.

        Raises:
            InputError: The loader gives no batch, or one that has too many elements or no names.
        """
        first, self._first = self._first, None
        return self._next() if first is None else first

    def again(self, arrays: dict[str, Any]) -> Batches:
        """Give a batch back, so that it is the next one."""
        self._first = arrays
        return self

    def _next(self) -> dict[str, Any]:
        for is_new in (False, True):  # the rest of an epoch, then a new one
            for batch in self._left:
                arrays = self.keyed(self._named(batch))
                count = _elements(arrays)
                if self.size and count > self.size:
                    raise _refused(f"a batch of the loader has {count} elements, and the first had {self.size}")
                if count and count >= self.size:
                    return arrays
            if not is_new:
                self._begin()
        why = f"no batch of {self.size} elements" if self.size else "no batch"
        help_ = "it is iterated over once an epoch: give a DataLoader or a list, no generator"
        raise _refused(f"the loader gives {why}", help_)

    def _begin(self) -> None:
        """Begin an epoch; a sampler of ``torch.utils.data`` that shuffles for several ranks gets its number."""
        self.epoch += 1
        begin = getattr(getattr(self.loader, "sampler", None), "set_epoch", None)
        if begin is not None:
            begin(self.epoch)
        self._left = iter(self.loader)

    def _named(self, batch: object) -> Mapping[str, object]:
        if isinstance(batch, Mapping):
            return batch
        arrays = batch if isinstance(batch, (tuple, list)) else (batch,)
        if len(arrays) != len(self.names):
            wanted = ", ".join(self.names) or "nothing: all parameters are given"
            message = f"a batch of the loader has {len(arrays)} arrays, and {len(self.names)} are wanted: {wanted}"
            raise _refused(message, "give a mapping by name, or a tuple in the order of the Each parameters")
        return dict(zip(self.names, arrays, strict=True))


def _elements(arrays: Mapping[str, Any]) -> int:
    """Return the elements along the first axis; ``prepare`` refuses arrays that differ."""
    return max((int(array.shape[0]) for array in arrays.values() if getattr(array, "ndim", 0)), default=0)


def _refused(message: str, help_: str = "") -> InputError:
    return InputError([Diagnostic("SA414", message, help=help_)])


@dataclass
class LoaderTrainer(Trainer):
    """A training in progress whose elements come from a loader.

    Attributes:
        batches: The batches.
        inputs: The other arrays, by key.
    """

    batches: Batches = field(init=False)
    inputs: Mapping[str, Any] = field(default_factory=dict)

    def room(self, count: int) -> int:
        """Return the steps in one submission: one, since each has arrays of its own."""
        return min(count, 1)

    def advance(self, count: int) -> None:
        """Do some steps."""
        for _ in range(count):
            arrays = {**self.inputs, **self.batches.take()}
            self.load_elements(prepare(self.runnable.signature, RunMode.FORWARD, arrays))
            super().advance(1)
