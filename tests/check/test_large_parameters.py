"""Kernels and functions with thousands of parameter scalars: memory is bounded, and one wrong gradient is found."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

from slangad.compiler.report.model import Verdict

if TYPE_CHECKING:
    from pathlib import Path

    from check.conftest import Checked

TEXT = """
import slangad as sa
from slangad import Array, Each, NoDiff, Param, Tensor, float2

Net = sa.nn.MLP([16, 64, 64, 3], activation="relu")
Grid = sa.nn.HashGrid(4, 2, 8192, 16, 1.7)


@sa.kernel
def network(net: Param[Net], x: Each[Array[float, 16]]) -> sa.Mean[float]:
    y = net(x)
    return y[0] * y[0] + y[1] * y[1] + y[2] * y[2]


@sa.kernel
def grid(grid: Param[Grid], x: Each[float2]) -> sa.Mean[float]:
    y = grid(x)
    s = 0.0
    for k in range(8):
        s += y[k] * y[k]
    return s


@sa.kernel
def beside(w: Param[Array[float, 65]], v: Tensor[float, 1], n: NoDiff[Tensor[int, 1]], x: Each[float]) -> Each[float]:
    return w[4] * x * v[0] + w[64] * v[1] + float(n[0])


@sa.differentiable
def term(w: float, x: float, k: int) -> float:
    return w * w * x + 0.5 * w


@term.backward
def term_backward(w: float, x: float, k: int, d_out: float):
    wrong = 1.01 if k == 1777 else 1.0
    return d_out * (2.0 * w * x + 0.5) * wrong, d_out * w * w


@sa.kernel
def planted(w: Param[Array[float, 3000]], x: Each[float]) -> sa.Mean[float]:
    s = 0.0
    for k in range(3000):
        s += term(w[k], x, k)
    return s


@sa.differentiable
def value(net: Net, x: Array[float, 16]) -> float:
    y = net(x)
    return y[0] * y[1] + y[2]


@sa.differentiable
def summed(w: Array[float, 3000], x: float) -> float:
    s = 0.0
    for k in range(3000):
        s += term(w[k], x, k)
    return s
"""
PIPELINES = """
import slangad as sa
from slangad import Array, Each, Mean, Param

Net = sa.nn.MLP([4, 8, 8, 1], activation="tanh")


@sa.kernel
def predict(net: Param[Net], x: Each[Array[float, 4]]) -> Each[float]:
    return net(x)[0]


@sa.kernel
def squared(y: Each[float]) -> Mean[float]:
    return y * y


@sa.pipeline
def fit(net: Param[Net], x: Each[Array[float, 4]]) -> Mean[float]:
    return squared(predict(net, x))


@sa.differentiable
def term(w: float, x: float, k: int) -> float:
    return w * w * x + 0.5 * w


@term.backward
def term_backward(w: float, x: float, k: int, d_out: float):
    wrong = 1.01 if k == 777 else 1.0
    return d_out * (2.0 * w * x + 0.5) * wrong, d_out * w * w


@sa.kernel
def summed(w: Param[Array[float, 1100]], x: Each[float]) -> Each[float]:
    s = 0.0
    for k in range(1100):
        s += term(w[k], x, k)
    return s


@sa.pipeline
def planted(w: Param[Array[float, 1100]], x: Each[float]) -> Mean[float]:
    return squared(summed(w, x))
"""
MEMORY = 512
"""Megabytes that any process of a check may take, the C++ compiler's among them."""


def test_check__thousands_of_parameters__finds_the_wrong_one_in_little_memory(tmp_path: Path) -> None:
    (tmp_path / "large.py").write_text(TEXT, encoding="utf-8")
    code = """
import resource, subprocess, sys
command = [sys.executable, "-m", "slangad", "-q", "check", "--format", "json", "large.py"]
command += [word for name in ("network", "grid", "beside", "planted", "value", "summed") for word in ("--only", name)]
print(subprocess.run(command, check=False, capture_output=True, text=True).stdout)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)
"""
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True, text=True)
    report, megabytes = run.stdout.rstrip().rsplit("\n", 1)
    results = {result["function"]: result for result in json.loads(report)["results"]}
    assert int(megabytes) < MEMORY
    assert (results["network"]["verdict"], results["grid"]["verdict"]) == ("PASS", "KINK_OK")
    assert results["beside"]["verdict"] == "PASS"
    assert results["value"]["verdict"] == "PASS"
    for name in ("planted", "summed"):
        assert results[name]["verdict"] == "FAIL"
        assert {failure["column"] for failure in results[name]["failures"]} == {"w[1777]"}
    inputs_of = {"network": 5523, "grid": 65546, "planted": 3005, "value": 5523, "summed": 3005}
    for name, inputs in inputs_of.items():
        (note,) = (n["message"] for n in results[name]["notes"] if n["message"].startswith("compared all"))
        assert note.startswith(f"compared all {inputs} inputs, of which ")


def test_check__pipelines_with_hundreds_of_parameters__are_checked_as_their_kernels_are(checked: Checked) -> None:
    """The 121 parameters of ``fit`` are read from memory in the pipeline, and passed by value to a single thread."""
    results = checked(PIPELINES, only=("fit", "predict", "planted"))
    assert {name: results[name].verdict for name in ("fit", "predict")} == dict.fromkeys(
        ("fit", "predict"), Verdict.PASS
    )
    (failure,) = results["planted"].failures
    assert (failure.verdict, failure.column) == (Verdict.FAIL, "w[777]")
    assert failure.notes[-1] == "a stage with more than 512 inputs is not examined by itself: check summed with --only"
