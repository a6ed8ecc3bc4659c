"""Checkpoints as files: written whole or not at all, and nothing is left beside them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.limits import small_files

from slangad.compiler.errors.diagnostics import ToolchainError
from slangad.compiler.runtime.training import checkpoints
from slangad.compiler.runtime.training.checkpoints import load_checkpoint, save_checkpoint

if TYPE_CHECKING:
    from pathlib import Path


def trainer(number: float, count: int = 3) -> Any:
    """What a checkpoint is made of."""
    arrays = {"a": np.full(count, number, np.float32)}
    return SimpleNamespace(losses=[number], step=1, parameters=lambda: arrays, state=dict)


def first(path: Path) -> float:
    """The first trained number of a checkpoint."""
    return float(load_checkpoint(path).parameters["a"][0])


def test_save__disk_that_is_full__leaves_the_one_before_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "c.ckpt"
    for known in ([], ["c.ckpt"]):
        with small_files(2000), pytest.raises(ToolchainError, match=r"SA405.*can't write .*c.ckpt: File too large"):
            save_checkpoint(path, trainer(2.0, 1000), {})
        assert [one.name for one in tmp_path.iterdir()] == known
        save_checkpoint(path, trainer(1.0), {})
    assert first(path) == 1.0


def test_save__two_at_a_time__write_files_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, write = tmp_path / "c.ckpt", checkpoints.write_arrays

    def interrupted(*arguments: Any) -> None:
        monkeypatch.setattr(checkpoints, "write_arrays", write)
        save_checkpoint(path, trainer(2.0), {})
        assert first(path) == 2.0
        write(*arguments)

    monkeypatch.setattr(checkpoints, "write_arrays", interrupted)
    save_checkpoint(path, trainer(1.0), {})
    assert first(path) == 1.0
    assert [one.name for one in tmp_path.iterdir()] == ["c.ckpt"]
