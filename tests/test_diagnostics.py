"""Errors survive the way from a worker process."""

from __future__ import annotations

import pickle

import pytest

from slangad.compiler.errors.diagnostics import CompileError, Diagnostic, ToolchainError


@pytest.mark.parametrize("kind", [CompileError, ToolchainError])
def test_error__pickled__is_the_same(kind: type[CompileError] | type[ToolchainError]) -> None:
    error = kind([Diagnostic("SA252", "the device failed", help="try again", notes=("it said so",))])
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert again.diagnostics == error.diagnostics
    assert str(again) == str(error)
