"""Repeated calls on the CPU use buffers again: the same bits as planned calls, and the same errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import slangad as sa
from slangad.compiler.api.load import LoadedKernel
from slangad.compiler.runtime.arrays.modes import RunMode
from slangad.compiler.runtime.arrays.prepare import InputError
from slangad.compiler.runtime.pipeline import prepared_call
from slangad.compiler.runtime.pipeline.prepared_call import KeptRun

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from slangad.compiler.api.load import LoadedFile

pytestmark = pytest.mark.toolchain
TEXT = """
import slangad as sa
from slangad import Each, InOutTensor, Param, Sum, Tensor, Uniform


@sa.kernel
def fit(x: Each[float], a: Param[float], s: Uniform[float]) -> Sum[float]:
    return s * (a * x - 1.0) ** 2


@sa.kernel
def gather(i: Each[int], w: Tensor[float, 1]) -> tuple[Each[float], Each[bool]]:
    return w[i] * w[i], w[i] > 0.0


@sa.kernel
def relax(state: InOutTensor[float, 1], pull: Each[float]) -> None:
    i = sa.thread_id()
    state[i] += (sa.tanh(pull) - state[i]) * 0.25
"""


@pytest.fixture
def kernels(cxx: object, tmp_path: Path) -> LoadedFile:
    (tmp_path / "repeated.py").write_text(TEXT, encoding="utf-8")
    return sa.load(tmp_path / "repeated.py", device="cpu")


def planned(kernel: LoadedKernel, mode: RunMode, inputs: Mapping[str, object]) -> Mapping[str, Any]:
    """Return the results of a call that nothing was kept for."""
    return LoadedKernel(kernel.program, kernel.plan, "cpu", kernel.loaded).run(mode, inputs).arrays


def equal(found: Mapping[str, Any], right: Mapping[str, Any]) -> None:
    assert list(found) == list(right)
    for key, array in right.items():
        assert found[key].dtype == array.dtype
        np.testing.assert_array_equal(found[key], array)


def kept(kernel: LoadedKernel) -> list[KeptRun]:
    return [call for call in kernel.prepared._calls.values() if isinstance(call, KeptRun)]


def drawn(name: str, rng: np.random.Generator) -> dict[str, object]:
    match name:
        case "fit":
            x = rng.random(2 * 300, np.float32)[::2]
            return {"x": x, "a": float(rng.random()), "s": float(rng.random())}
        case "gather":
            return {"i": rng.integers(0, 5, 70, np.int32), "w": rng.random(5, np.float32) - 0.5}
        case _:
            return {"state": rng.random(40, np.float32), "pull": rng.random(40, np.float32)}


@pytest.mark.parametrize("name", ["fit", "gather", "relax"])
def test_repeated__calls__give_the_bits_of_planned_ones_and_leave_earlier_results_alone(
    kernels: LoadedFile, name: str
) -> None:
    kernel, rng = kernels[name], np.random.default_rng(0)
    for mode in (RunMode.FORWARD, RunMode.BACKWARD):
        earlier = []
        for _ in range(4):
            inputs = drawn(name, rng)
            copies = {key: np.copy(value) for key, value in inputs.items()}
            found = kernel.run(mode, inputs).arrays
            equal(found, planned(kernel, mode, inputs))
            equal({k: np.asarray(v) for k, v in inputs.items()}, copies)
            earlier.append((found, {key: array.copy() for key, array in found.items()}))
        for found, copied in earlier:
            equal(found, copied)
    assert len(kept(kernel)) == 2


def test_repeated__calls_with_given_gradients_and_cotangents__add_and_weight(kernels: LoadedFile) -> None:
    rng = np.random.default_rng(1)
    for _ in range(3):
        given: dict[str, object] = {"cotangent.result": float(rng.random()), "grad.x": rng.random(300, np.float32)}
        inputs = drawn("fit", rng) | given | {"grad.a": 2.0}
        equal(kernels.fit.run(RunMode.BACKWARD, inputs).arrays, planned(kernels.fit, RunMode.BACKWARD, inputs))
    assert len(kept(kernels.fit)) == 1


def test_repeated__bad_arguments_after_good_ones__are_refused(kernels: LoadedFile) -> None:
    x = np.ones(4, np.float32)
    for _ in range(3):
        assert kernels.fit(x, 2.0, 1.0) == 4.0
        with pytest.raises(InputError, match=r"a has values too large for float32, such as 1e\+300"):
            kernels.fit(x, 1e300, 1.0)
        with pytest.raises(InputError, match="x holds complex64"):
            kernels.fit(x * 1j, 2.0, 1.0)
        with pytest.raises(InputError, match="a has shape"):
            kernels.fit(x, x, 1.0)
        assert kernels.fit(x.astype("f8"), 2, 1.0) == 4.0


def test_repeated__more_kinds_than_the_limit__close_the_oldest(kernels: LoadedFile) -> None:
    for _ in range(2):
        for n in range(1, prepared_call._MOST_OPEN + 3):
            assert kernels.fit(np.ones(n, np.float32), 2.0, 1.0) == n
    assert sum(call._run is not None for call in kept(kernels.fit)) == prepared_call._MOST_OPEN
    before, large = len(kept(kernels.fit)), np.ones(1 << 15, np.float32)
    assert kernels.fit(large, 2.0, 1.0) == kernels.fit(large, 2.0, 1.0) == large.size
    assert len(kept(kernels.fit)) == before
