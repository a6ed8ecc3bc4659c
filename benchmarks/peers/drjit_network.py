"""The network of networks.py in Dr.Jit: a frozen function of value and gradients.

In float, layers are those of ``drjit.nn`` with tensors: Dr.Jit's own kernels of matrix products, one a layer. In half,
they are cooperative vectors: one kernel, which needs OptiX on a GPU. The sums of weights' gradients are in half there.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import drjit as dr
import numpy as np
from drjit import nn

if TYPE_CHECKING:
    from collections.abc import Callable

SCALE = 1024
"""Factor of the loss in half, so that gradients of samples don't vanish."""
LAYERS = (("w1", "b1"), ("w2", "b2"), ("w3", "b3"))
Weights = list[tuple[Any, Any]]
"""The weights and the biases of each layer: tensors, or views of one buffer."""


def step_of(given: dict[str, np.ndarray], device: str, precision: str, corners: Callable | None) -> Step:
    """Return the step of a precision; ``corners`` is where positions lie in the grid, if there is one."""
    return (CooperativeStep if precision == "half" else Step)(given, device, corners)


class Step:
    """Value and gradients on a device, with tensors: ``run``, ``wait`` and ``results``. Columns are samples."""

    scale = 1

    def __init__(self, given: dict[str, np.ndarray], device: str, corners: Callable | None) -> None:
        backend = "llvm" if device == "cpu" else "cuda"
        if not dr.has_backend(dr.JitBackend.LLVM if backend == "llvm" else dr.JitBackend.CUDA):
            raise RuntimeError(f"Dr.Jit finds no {backend} here")
        self.types = import_module(f"drjit.{backend}.ad")
        self.samples = len(given["target"])
        self.factor = 1 / self.samples / (3 if corners else 1)
        self.source_name = "table" if corners else "x"
        tensor = self.types.TensorXf
        source = tensor(given["table"] if corners else np.ascontiguousarray(given["x"].T))
        weights = self._weights({k: tensor(given[k]) for pair in LAYERS for k in pair})
        target = tensor(np.ascontiguousarray(given["target"].T))
        levels = self._levels(corners(given["at"])) if corners else []
        frozen = dr.freeze(self._values)

        def run() -> None:
            self.found = frozen(source, weights, target, levels)
            dr.eval(self.found)

        self.run = run
        run()

    def wait(self) -> None:
        """Wait for the device."""
        dr.sync_thread()

    def results(self) -> dict[str, np.ndarray]:
        """Return the gradients, and the loss by the key ``loss``."""
        value, source, gradients = self.found
        found = source.numpy() / self.scale
        weights = {k: v / self.scale for k, v in self._weights_gradients(gradients).items()}
        return {
            "loss": np.asarray(value.numpy()).ravel()[0],
            self.source_name: found.T if self.source_name == "x" else found,
            **weights,
        }

    def _values(self, source: Any, weights: Weights, target: Any, levels: list[Any]) -> tuple[Any, Any, list[Any]]:
        source, weights = dr.detach(source), dr.detach(weights)  # arguments would keep the sum of all runs
        dr.enable_grad(source)
        moving = self._moving(weights)
        features = self._features(source, levels) if levels else source
        loss = dr.sum(dr.square(self._answers(weights, features) - target)) * self.factor
        dr.backward(loss * self.scale)
        return dr.detach(loss), dr.grad(source), [dr.grad(v) for v in moving]

    def _weights(self, tensors: dict[str, Any]) -> Weights:
        return [(tensors[weight], tensors[bias]) for weight, bias in LAYERS]

    def _moving(self, weights: Weights) -> list[Any]:
        """Return the arrays with gradients among the weights."""
        moving = [v for pair in weights for v in pair]
        dr.enable_grad(moving)
        return moving

    def _weights_gradients(self, gradients: list[Any]) -> dict[str, np.ndarray]:
        return dict(zip([k for pair in LAYERS for k in pair], [v.numpy() for v in gradients], strict=True))

    def _answers(self, weights: Weights, h: Any) -> Any:
        """Return the answers of the network, (3, samples)."""
        for number, (weight, bias) in enumerate(weights):
            layer = nn.Linear(*weight.shape[::-1])
            layer.weights, layer.bias = weight, bias
            h = layer(h)
            if number < len(weights) - 1:
                h = dr.maximum(h, 0)
        return h

    def _levels(self, corners: list[tuple[np.ndarray, np.ndarray]]) -> list[list[tuple[Any, Any]]]:
        """Return the entries that each corner of each level reads, and their weights."""
        index, real = self.types.UInt32, self.types.Float
        return [
            [(index(entry[:, c].astype(np.uint32)), real(weight[:, c])) for c in range(entry.shape[1])]
            for entry, weight in corners
        ]

    def _features(self, table: Any, levels: list[Any]) -> Any:
        """Return the features of a grid, one row of samples for each."""
        _, entries, features = table.shape
        rows = []
        for level, corners in enumerate(levels):
            total = 0
            for entry, weight in corners:
                pair = dr.gather(self.types.Array2f, table.array, entry + level * entries)
                total = total + pair * weight
            rows += [total[k] for k in range(features)]
        return self.types.TensorXf(dr.concat(rows), (len(rows), self.samples))


class CooperativeStep(Step):
    """Value and gradients with cooperative vectors in half."""

    scale = SCALE

    def _weights(self, tensors: dict[str, Any]) -> Weights:
        half = {k: self.types.TensorXf16(v) for k, v in tensors.items()}
        self.packed: Weights = nn.pack(super()._weights(half), layout="training")
        return self.packed

    def _moving(self, weights: Weights) -> list[Any]:
        buffer = weights[0][0].buffer
        dr.enable_grad(buffer)
        for pair in weights:
            for view in pair:
                view.buffer = buffer
        return [buffer]

    def _weights_gradients(self, gradients: list[Any]) -> dict[str, np.ndarray]:
        for pair in self.packed:
            for view in pair:
                view.buffer = gradients[0]
        found = {}
        for names, pair in zip(LAYERS, nn.unpack(self.packed), strict=True):
            for name, view in zip(names, pair, strict=True):
                rows, columns = view.shape
                lines = view.buffer.numpy()[view.offset : view.offset + view.size]
                found[name] = lines.reshape(rows, view.stride)[:, :columns].astype(np.float32)
        return found

    def _answers(self, weights: Weights, h: Any) -> Any:
        h = nn.CoopVec([self.types.Float16(h[k].array) for k in range(h.shape[0])])
        for number, (weight, bias) in enumerate(weights):
            h = nn.matvec(weight, h, bias)
            if number < len(weights) - 1:
                h = dr.maximum(h, 0)
        return self.types.TensorXf(dr.concat([self.types.Float(v) for v in h]), (3, self.samples))
