"""The zoo: no right function is accused, no wrong one passes.

By default a part of it, with one seed. ``SLANGAD_ZOO=1`` takes every mutant, ``SLANGAD_ZOO=5`` every fifth;
``SLANGAD_ZOO_SEEDS=10`` ten seeds.
"""

from __future__ import annotations

import os
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from check.conftest import by_name
from support import zoo_memory, zoo_pipelines
from support.zoo_functions import CLASSES, RIGHT
from support.zoo_memory import KERNELS
from support.zoo_mutants import all_mutants, module_of
from support.zoo_pipelines import PIPELINES

from slangad.compiler.check.options import CheckOptions
from slangad.compiler.check.session import check
from slangad.compiler.driver.inputs import parse_inputs
from slangad.compiler.report.model import Verdict
from slangad.compiler.toolchain.cache import default_cache

if TYPE_CHECKING:
    from support.zoo_mutants import Mutant

    from slangad.compiler.report.model import Result

STRIDE = int(os.environ.get("SLANGAD_ZOO", "31"))
SEEDS = range(int(os.environ.get("SLANGAD_ZOO_SEEDS", "1")))
CHUNK = 40
MUTANTS = tuple(islice(all_mutants(), 0, None, STRIDE))
CHUNKS = tuple(MUTANTS[start : start + CHUNK] for start in range(0, len(MUTANTS), CHUNK))
WRONG_KERNELS = {name: text for kernel in KERNELS for name, text in kernel.mutants().items()}
WRONG_PIPELINES = {name: text for runnable in PIPELINES for name, text in runnable.mutants().items()}
UNGUARDED_MOST = 0.02
SLANG = tuple(Path(__file__).parent / "slang" / name for name in ("right.slang", "own.slang"))


def _checked(path: Path, seed: int, only: tuple[str, ...] = (), samples: int = 128) -> dict[str, Result]:
    options = CheckOptions(seed=seed, only=only, samples=samples, cache=default_cache())
    return by_name(check(parse_inputs([str(path)]), options))


def _none_accused(results: dict[str, Result]) -> None:
    accused = {name: result.reason for name, result in results.items() if result.verdict.bad}
    undecided = {name: result.reason for name, result in results.items() if result.verdict is Verdict.INCONCLUSIVE}
    unguarded = {name: result.reason for name, result in results.items() if result.verdict is Verdict.UNGUARDED}
    assert not accused
    assert len(unguarded) <= UNGUARDED_MOST * len(results), unguarded
    assert len(undecided) <= 0.02 * len(results), undecided


def _none_passed(results: dict[str, Result]) -> None:
    missed = {name: result.verdict for name, result in results.items() if not result.verdict.bad}
    assert not missed


def test_zoo__of_right_and_wrong_ones__has_enough(capsys: pytest.CaptureFixture[str]) -> None:
    right = {name: len(animals) for name, animals in CLASSES.items()} | Counter(kernel.kind for kernel in KERNELS)
    right["pipelines"] = len(PIPELINES)
    wrong = Counter(mutant.kind.split("_")[0] for mutant in all_mutants())
    wrong += Counter(f"{name.rsplit('_', 1)[1]} in a kernel" for name in WRONG_KERNELS)
    wrong += Counter(f"{name.rsplit('_', 1)[1]} in a pipeline" for name in WRONG_PIPELINES)
    with capsys.disabled():
        for title, counts in (("right", right), ("wrong", wrong)):
            told = ", ".join(f"{count} {name}" for name, count in counts.items())
            print(f"\n{sum(counts.values())} {title}: {told}")
    assert sum(right.values()) >= 150
    assert sum(wrong.values()) >= 300
    assert min(*right.values(), *wrong.values()) > 0


@pytest.mark.parametrize("seed", SEEDS)
def test_check__the_right_functions_of_the_zoo__accuses_none(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "right.py"
    path.write_text(module_of(RIGHT), encoding="utf-8")
    results = _checked(path, seed)
    assert {animal.name for animal in RIGHT} <= results.keys()
    _none_accused(results)


@pytest.mark.parametrize("seed", SEEDS)
def test_check__the_right_kernels_of_the_zoo__accuses_none(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "right.py"
    path.write_text(zoo_memory.module_of([kernel.text for kernel in KERNELS]), encoding="utf-8")
    results = _checked(path, seed, samples=48)
    assert results.keys() == {kernel.name for kernel in KERNELS}
    _none_accused(results)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("path", SLANG, ids=lambda path: path.stem)
def test_check__right_functions_in_slang__accuses_none(path: Path, seed: int) -> None:
    _none_accused(_checked(path, seed))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("chunk", CHUNKS, ids=lambda chunk: chunk[0].name)
def test_check__mutants_of_the_zoo__passes_none(tmp_path: Path, chunk: tuple[Mutant, ...], seed: int) -> None:
    path = tmp_path / "wrong.py"
    animals = dict.fromkeys(mutant.animal.name for mutant in chunk)
    text = module_of([animal for animal in RIGHT if animal.name in animals], chunk)
    path.write_text(text, encoding="utf-8")
    results = _checked(path, seed, tuple(mutant.name for mutant in chunk))
    assert len(results) == len(chunk)
    _none_passed(results)


@pytest.mark.parametrize("seed", SEEDS)
def test_check__wrong_kernels_of_the_zoo__passes_none(tmp_path: Path, seed: int) -> None:
    chosen = dict(islice(WRONG_KERNELS.items(), 0, None, min(STRIDE, 13)))
    path = tmp_path / "wrong.py"
    path.write_text(zoo_memory.module_of(list(chosen.values())), encoding="utf-8")
    results = _checked(path, seed, tuple(chosen), samples=48)
    assert results.keys() == chosen.keys()
    _none_passed(results)


@pytest.mark.parametrize("seed", SEEDS)
def test_check__the_right_pipelines_of_the_zoo__accuses_none(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "right.py"
    path.write_text(zoo_pipelines.module_of([runnable.text for runnable in PIPELINES]), encoding="utf-8")
    names = tuple(runnable.name for runnable in PIPELINES)
    results = _checked(path, seed, names, samples=48)
    assert tuple(results) == names
    _none_accused(results)


@pytest.mark.parametrize("seed", SEEDS)
def test_check__wrong_pipelines_of_the_zoo__passes_none(tmp_path: Path, seed: int) -> None:
    chosen = dict(islice(WRONG_PIPELINES.items(), 0, None, min(STRIDE, 7)))
    path = tmp_path / "wrong.py"
    path.write_text(zoo_pipelines.module_of(list(chosen.values())), encoding="utf-8")
    results = _checked(path, seed, tuple(chosen), samples=48)
    assert results.keys() == chosen.keys()
    _none_passed(results)
