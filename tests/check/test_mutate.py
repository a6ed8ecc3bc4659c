"""Own derivatives broken on purpose: the check notices every break that makes a difference."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from slangad.cli.main import cli
from slangad.compiler.check.mutate import survivors
from slangad.compiler.check.session import CheckOptions, check
from slangad.compiler.inputs import parse_inputs

SAMPLES = Path(__file__).parents[2] / "samples"

IDLE = """
import slangad as sa


@sa.differentiable
def f(x: float, y: float) -> float:
    return x * y


@f.backward
def f_bwd(x, y, d_out):
    return y * d_out + 0.0 * x, x * d_out
"""


@pytest.mark.parametrize("name", ["quickstart/brdf.py", "root/kepler.py", "root/kepler.yaml"])
def test_mutate__own_derivatives_of_the_samples__are_all_noticed(name: str) -> None:
    report = check(parse_inputs([str(SAMPLES / name)]), CheckOptions(mutate=True))
    assert len(report.results) >= 10
    assert not [result.function for result in survivors(report)]


def test_mutate__a_change_without_effect__survives_and_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "f.py").write_text(IDLE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli, ["check", "f.py", "--mutate"])
    assert result.exit_code == 0
    assert "survived as PASS: f: term dropped in line 12" in result.stdout
    assert "makes no difference at any sample" in result.stdout
    assert CliRunner().invoke(cli, ["check", "f.py", "--mutate", "--strict"]).exit_code == 3
    document = json.loads(CliRunner().invoke(cli, ["check", "f.py", "--mutate", "--format", "json"]).stdout)
    assert 0 < document["killed"] < len(document["mutants"])
