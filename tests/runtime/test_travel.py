"""Loaded programs and decorated kernels are pickled: workers without the description call them all the same."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import slangad as sa

if TYPE_CHECKING:
    from pathlib import Path

FIT = """
import slangad as sa
from slangad import Each, Mean, NoDiff, Param

from shading import tone


@sa.kernel
def fit(a: Param[float], x: NoDiff[Each[float]], y: NoDiff[Each[float]]) -> Mean[float]:
    d = tone(x, a) - y
    return d * d
"""
SHADING = """
import slangad as sa


@sa.differentiable
def tone(x: float, a: float) -> float:
    return a * x * x
"""
SLANG = '#include "scale.slangh"\n[Differentiable] float f(float x) { return scaled(x) * x; }\n'
HEADER = "[Differentiable] float scaled(float x) { return 3.0 * x; }\n"
SCRIPT = """
import pickle, sys, warnings
import numpy as np

with warnings.catch_warnings(record=True) as caught, open(sys.argv[1], "rb") as file:
    warnings.simplefilter("always", UserWarning)
    loaded, fit, backward, f, described = pickle.load(file)
x, y = np.linspace(0, 1, 8, dtype="f4"), np.ones(8, "f4")
print([str(one.message) for one in caught if one.category is UserWarning])
print(*(float(one(2.0, x, y).grad.a) for one in (fit.backward, loaded.fit.backward, backward)))
print(f.backward(x).grad.x.tolist())
described = described.__class__(**{**described.__dict__, "device": "cpu"})
print(float(described.backward(2.0, x, y).grad.a), float(described.hvp(2.0, x, y, tangent={"a": 1.0}).hvp.a))
"""


@pytest.fixture
def described(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a description that imports another, and of a Slang file that includes one."""
    folder = tmp_path / "here"
    folder.mkdir()
    for name, text in (("fit.py", FIT), ("shading.py", SHADING), ("f.slang", SLANG), ("scale.slangh", HEADER)):
        (folder / name).write_text(text)
    monkeypatch.syspath_prepend(folder)
    for name in ("fit", "shading"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return folder


def _received(file: Path, folder: Path) -> list[str]:
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(file)], cwd=folder, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()


@pytest.mark.toolchain
def test_pickle__a_worker_without_the_files__runs_what_was_sent_and_another_file_is_named(
    described: Path, tmp_path: Path
) -> None:
    import fit as module

    loaded, slang = sa.load(described / "fit.py", device="cpu"), sa.load(described / "f.slang", device="cpu")
    x, y = np.linspace(0, 1, 8, dtype="f4"), np.ones(8, "f4")
    expected = float(loaded.fit.backward(2.0, x, y).grad.a)
    of_slang = slang.f.backward(x).grad.x.tolist()
    assert copy.deepcopy(module.fit) is module.fit
    sent = (loaded, loaded.fit, loaded.fit.backward, slang.f, module.fit)
    file = tmp_path / "sent.pickle"
    file.write_bytes(pickle.dumps(sent))
    assert len(file.read_bytes()) < 200_000
    away = described.rename(tmp_path / "away")
    answers = _received(file, tmp_path)
    assert answers[0] == "[]"
    assert [float(word) for word in answers[1].split()] == [expected] * 3
    assert answers[2] == str(of_slang)
    gradient, product = (float(word) for word in answers[3].split())
    assert gradient == expected
    assert product == pytest.approx(2 * float(np.mean(x**4)), rel=1e-5)

    away.rename(described)
    (described / "scale.slangh").write_text(HEADER.replace("3.0", "5.0"))
    answers = _received(file, tmp_path)
    assert "scale.slangh is not the file that was sent (hash " in answers[0]
    assert answers[0].count("is not the file") == 1
    assert answers[2] == str(of_slang)


@pytest.fixture
def gradients(described: Path) -> tuple[Any, list[tuple[Any, ...]], list[float]]:
    """The backward pass of a kernel, some arguments, and the gradients of this process."""
    backward = sa.load(described / "fit.py", device="cpu").fit.backward
    x = np.linspace(0, 1, 64, dtype="f4")
    arguments = [(scale, x, np.ones_like(x)) for scale in (0.5, 1.0, 2.0, 4.0)]
    expected = [float(backward(*one).grad.a) for one in arguments]
    described.rename(described.with_name("away"))
    return backward, arguments, expected


@pytest.mark.toolchain
def test_joblib__two_processes__give_the_gradients_of_this_one(
    gradients: tuple[Any, list[tuple[Any, ...]], list[float]],
) -> None:
    joblib = pytest.importorskip("joblib")
    backward, arguments, expected = gradients
    outcomes = joblib.Parallel(n_jobs=2, backend="loky")(joblib.delayed(backward)(*one) for one in arguments)
    assert [float(one.grad.a) for one in outcomes] == expected
    from joblib.externals.loky import get_reusable_executor

    get_reusable_executor().shutdown(wait=True)


@pytest.mark.toolchain
@pytest.mark.filterwarnings("ignore")  # of Dask's own modules and sockets
def test_dask__two_processes__give_the_gradients_of_this_one(
    gradients: tuple[Any, list[tuple[Any, ...]], list[float]],
) -> None:
    distributed = pytest.importorskip("distributed")
    backward, arguments, expected = gradients
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert os.getpid() not in client.run(os.getpid).values()
        outcomes = client.gather([client.submit(backward, *one) for one in arguments])
    assert [float(one.grad.a) for one in outcomes] == expected


@pytest.mark.toolchain
@pytest.mark.filterwarnings("ignore")  # of Ray's own modules and sockets
def test_ray__two_processes__give_the_gradients_of_this_one(
    gradients: tuple[Any, list[tuple[Any, ...]], list[float]],
) -> None:
    ray = pytest.importorskip("ray")
    backward, arguments, expected = gradients
    ray.init(num_cpus=2, include_dashboard=False, logging_level="error", configure_logging=False)
    try:

        @ray.remote
        def gradient(one: tuple[Any, ...]) -> tuple[int, float]:
            return os.getpid(), float(backward(*one).grad.a)

        answers = ray.get([gradient.remote(one) for one in arguments])
    finally:
        ray.shutdown()
    assert [value for _, value in answers] == expected
    assert os.getpid() not in {process for process, _ in answers}
