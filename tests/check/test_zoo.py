"""The zoo: no right function is accused, no wrong one passes.

By default a part of it, with one seed. ``SLANGAD_ZOO=1`` takes every mutant, ``SLANGAD_ZOO_SEEDS=10`` ten seeds.
"""

from __future__ import annotations

import os
from itertools import islice
from typing import TYPE_CHECKING

import pytest
from check.conftest import by_name
from support.zoo_functions import RIGHT
from support.zoo_mutants import all_mutants, module_of

from slangad.compiler.check.session import CheckOptions, check
from slangad.compiler.inputs import parse_inputs
from slangad.compiler.report.model import Verdict
from slangad.compiler.toolchain.cache import default_cache

if TYPE_CHECKING:
    from pathlib import Path

    from support.zoo_mutants import Mutant

WHOLE = os.environ.get("SLANGAD_ZOO") == "1"
SEEDS = range(int(os.environ.get("SLANGAD_ZOO_SEEDS", "1")))
CHUNK = 40
MUTANTS = tuple(islice(all_mutants(), 0, None, 1 if WHOLE else 31))
CHUNKS = tuple(MUTANTS[start : start + CHUNK] for start in range(0, len(MUTANTS), CHUNK))


@pytest.mark.parametrize("seed", SEEDS)
def test_check__the_right_functions_of_the_zoo__accuses_none(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "right.py"
    path.write_text(module_of(RIGHT), encoding="utf-8")
    results = by_name(check(parse_inputs([str(path)]), CheckOptions(seed=seed, cache=default_cache())))
    assert len(results) == len(RIGHT)
    accused = {name: result.reason for name, result in results.items() if result.verdict.bad}
    undecided = {name: result.reason for name, result in results.items() if result.verdict is Verdict.INCONCLUSIVE}
    assert not accused
    assert len(undecided) <= 0.02 * len(RIGHT), undecided


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("chunk", CHUNKS, ids=lambda chunk: chunk[0].name)
def test_check__mutants_of_the_zoo__passes_none(tmp_path: Path, chunk: tuple[Mutant, ...], seed: int) -> None:
    path = tmp_path / "wrong.py"
    animals = dict.fromkeys(mutant.animal.name for mutant in chunk)
    text = module_of([animal for animal in RIGHT if animal.name in animals], chunk)
    path.write_text(text, encoding="utf-8")
    names = tuple(mutant.name for mutant in chunk)
    results = by_name(check(parse_inputs([str(path)]), CheckOptions(seed=seed, only=names, cache=default_cache())))
    assert len(results) == len(chunk)
    missed = {name: result.verdict for name, result in results.items() if not result.verdict.bad}
    assert not missed
