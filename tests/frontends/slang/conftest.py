"""Slang files loaded with the real compiler, in a worker that stays warm."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.slang_files import SHADERS, Loader

from slangad.compiler.driver.model import Options
from slangad.compiler.driver.slang_compilers import SlangCompilers
from slangad.compiler.frontends import load
from slangad.compiler.frontends.slang.model import SlangSetting

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from slangad.compiler.ir.nodes import Module


@pytest.fixture(scope="session")
def compilers() -> Iterator[SlangCompilers]:
    """The compiler."""
    with SlangCompilers(Options(workers=2)) as shared:
        yield shared


@pytest.fixture(scope="session")
def load_slang(compilers: SlangCompilers) -> Loader:
    """Loads Slang files."""

    def load_one(name: str | Path, *specialize: str) -> Module:
        return load(SHADERS / name, SlangSetting(compilers.reflect, specialize))

    return load_one
