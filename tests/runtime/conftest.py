"""Slang kernels compiled for the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from slangad.compiler.runtime.cpu import CpuModule, build_module
from slangad.compiler.runtime.cxx import build_shared_library
from slangad.compiler.runtime.isolation import IsolatedModule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from slangad.compiler.toolchain.request import CompileResult


@pytest.fixture
def build(cxx: object, compile_slang: Callable[..., CompileResult]) -> Callable[..., CpuModule]:
    """Compiles Slang text and loads it: ``build(source, *entry_points)``."""

    def build_one(source: str, *entries: str) -> CpuModule:
        result = compile_slang(source, entries, ("cpp",), whole=True)
        assert result.ok, result.messages
        text = result.reflection_text("cpp")
        assert text is not None
        return build_module(result.artefacts[0].data, text)

    return build_one


@pytest.fixture
def isolate(cxx: object, compile_slang: Callable[..., CompileResult]) -> Iterator[Callable[..., IsolatedModule]]:
    """The same in a child process: ``isolate(source, entry_point, **options)``."""
    made: list[IsolatedModule] = []

    def isolate_one(source: str, entry: str, **options: float) -> IsolatedModule:
        result = compile_slang(source, (entry,), ("cpp",))
        assert result.ok, result.messages
        library = build_shared_library(result.artefacts[0].data)
        made.append(IsolatedModule(library, result.reflection_text("cpp", entry) or "", **options))
        return made[-1]

    yield isolate_one
    for module in made:
        module.close()
