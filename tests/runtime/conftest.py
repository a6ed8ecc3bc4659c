"""Slang kernels compiled for the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from slangad.compiler.runtime.device.cpu_kernels import CpuModule, build_module

if TYPE_CHECKING:
    from collections.abc import Callable

    from slangad.compiler.toolchain.jobs.request import CompileResult


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
