"""Thousands of broken descriptions: each is loaded, or refused with diagnostics that have a place; nothing hangs."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from support.yaml_mutations import CORPUS, GOOD, changed_data, mutated_documents

from slangad.compiler.emit import emit_module
from slangad.compiler.errors.codes.yaml import CODES
from slangad.compiler.errors.diagnostics import CompileError
from slangad.compiler.frontends import load
from slangad.compiler.frontends.yaml.compose import compose
from slangad.compiler.frontends.yaml.nodes import plain_data
from slangad.compiler.passes import run_passes
from slangad.compiler.report.text import render

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLES = int(os.environ.get("SLANGAD_FUZZ", "1000"))
SECONDS = 5.0


@pytest.fixture(scope="module")
def _in_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("fuzz")
    for name in ("phase", "lib", "more", "third"):
        (folder / f"{name}.slang").write_text("public float henyey(float x, float g) { return x; }\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield


def take(document: bytes) -> None:
    path = Path("input.yaml")
    path.write_bytes(document)
    begun = time.monotonic()
    refusal = None
    try:
        emit_module(run_passes(load(path), None))
    except CompileError as error:
        refusal = error
    if refusal is not None:
        assert refusal.diagnostics
        for diagnostic in refusal.diagnostics:
            assert diagnostic.span.file == "input.yaml"
            assert 1 <= diagnostic.span.line <= document.count(b"\n") + document.count(b"\r") + 1
            assert (diagnostic.span.line, diagnostic.span.column) < (
                diagnostic.span.end_line,
                diagnostic.span.end_column + 1,
            )
        render(refusal.diagnostics)
    assert time.monotonic() - begun < SECONDS


@pytest.mark.usefixtures("_in_folder")
@settings(
    max_examples=EXAMPLES, deadline=None, derandomize=bool(os.environ.get("CI")), print_blob=True, database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip
@given(mutated_documents())
def test_load__mutated_documents__are_loaded_or_refused_with_places(document: bytes) -> None:
    take(document)


@pytest.mark.usefixtures("_in_folder")
@settings(
    max_examples=EXAMPLES // 10,
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    print_blob=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(changed_data([plain_data(compose("x.yaml", document.decode()).root) for document in GOOD]))
def test_load__documents_with_changed_values__are_loaded_or_refused_with_places(data: object) -> None:
    take(yaml.safe_dump(data, allow_unicode=True, sort_keys=False).encode())


def test_corpus__of_descriptions__is_rich() -> None:
    assert len(CORPUS) > 40
    assert len(CODES) > 10
