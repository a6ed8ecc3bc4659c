"""Every sample's kernel: its gradients are those of differences, in both modes, and it has a YAML version."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.cpu import Checker, checker

from slangad.compiler.emit import Mode
from slangad.compiler.frontends import load

if TYPE_CHECKING:
    from slangad.compiler.emit import EntryParameter

SAMPLES = Path(__file__).parents[1] / "samples"
SHARED = {"mlp", "texture_fit", "particles", "pipeline", "neural_image"}
"""Samples whose threads share memory; tests of memories and of training have them."""
PROGRAMS = {"webgpu"}
"""Samples that are programs, not descriptions."""
FILES = sorted(file for file in SAMPLES.glob("*/*.py") if file.parent.name not in SHARED | PROGRAMS)
COUNT = 9


@pytest.fixture(scope="module")
def checkers() -> dict[Path, Checker]:
    return {}


def values(parameter: EntryParameter, rng: np.random.Generator) -> np.ndarray:
    extents = parameter.shape if parameter.access == "value" else (COUNT, *parameter.shape)
    return rng.uniform(0.2, 0.8, extents).astype(np.float32)


@pytest.mark.toolchain
@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_sample__gradients__are_those_of_differences(checkers: dict[Path, Checker], file: Path) -> None:
    found = checkers.setdefault(file, checker(load(file)))
    rng = np.random.default_rng(11)
    for entry in found.program.emitted.entry_points:
        if entry.mode is Mode.FORWARD:
            given = {p.name: values(p, rng) for p in entry.parameters if p.role.value in ("input", "uniform")}
            found.check(entry.kernel, given)


def test_samples__all_of_them__have_a_yaml_version() -> None:
    files = sorted(file for file in SAMPLES.glob("*/*.py") if file.parent.name not in PROGRAMS)
    assert {f.parent.name for f in files} >= {"quickstart", "network", "root", *SHARED}
    # YAML has no section for sa.nn
    for file in (f for f in files if f.stem != "neural_image"):
        assert file.with_suffix(".yaml").is_file(), f"{file.stem} has no YAML version"
