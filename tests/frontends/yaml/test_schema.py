"""One table, two readers: the loader and the JSON Schema accept the same structures, and refuse the same."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from contextlib import nullcontext
from functools import lru_cache
from pathlib import Path

import jsonschema
import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from support.yaml_mutations import CORPUS, GOOD, changed_data, shapes

import slangad as sa
from slangad.compiler.errors.diagnostics import CompileError
from slangad.compiler.frontends import load
from slangad.compiler.frontends.reading.problems import Problems
from slangad.compiler.frontends.yaml.compose import compose
from slangad.compiler.frontends.yaml.nodes import Node, plain_data
from slangad.compiler.frontends.yaml.schema import json_schema
from slangad.compiler.frontends.yaml.sections import DEFINITIONS, OPTIMIZER, TABLE
from slangad.compiler.frontends.yaml.shape import Either, Named, Record, ShapeTable, kinds
from slangad.compiler.frontends.yaml.validate import validate
from slangad.compiler.ir.optimizers import OPTIMIZERS, OptimizerKind
from slangad.compiler.lang.errors import ArgumentError

HERE = Path(__file__).parent
TESTS = HERE.parents[1]
SCHEMA = json_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
ANY_TEXT_AS_TYPE = {**SCHEMA, "$defs": {**SCHEMA["$defs"], "type": {"type": "string"}}}
STRUCTURE_VALIDATOR = jsonschema.Draft202012Validator(ANY_TEXT_AS_TYPE)
"""Without the pattern of types, which the loader reads after the structure."""
TYPE_VALIDATOR = jsonschema.Draft202012Validator({"$defs": SCHEMA["$defs"], "$ref": "#/$defs/type"})
EVERYTHING = (HERE / "everything.yaml").read_text(encoding="utf-8")
SAMPLES = sorted(
    [
        *TESTS.glob("same_program/programs/*.yaml"),
        *TESTS.glob("cases/yaml_accepted/*/input.yaml"),
        *TESTS.parent.glob("samples/**/*.yaml"),
        HERE / "everything.yaml",
    ]
)


def loader_accepts(text: str) -> bool:
    """Whether the loader finds nothing wrong in the structure."""
    return validate(composed(text), TABLE, Problems())


def schema_accepts(text: str) -> bool:
    """Whether the document as data fits the schema, types aside."""
    return STRUCTURE_VALIDATOR.is_valid(plain_data(composed(text)))


@lru_cache(maxsize=1)
def composed(text: str) -> Node:
    """The nodes of a document, which both read."""
    return compose("input.yaml", text).root


def test_schema__itself__is_a_schema_of_draft_2020_12() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert json.loads(json.dumps(SCHEMA)) == SCHEMA


def test_schema_command__output__is_the_schema() -> None:
    command = [sys.executable, "-m", "slangad.cli", "schema"]
    assert json.loads(subprocess.run(command, capture_output=True, check=True).stdout) == SCHEMA


@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_schema__every_sample__validates_both_ways(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    VALIDATOR.validate(plain_data(compose(str(path), text).root))
    assert loader_accepts(text)


@pytest.mark.parametrize(
    "text",
    ["float3", "each float", "no_diff each Material", "array<array<float, N>, 3>", "tensor<no_diff float, 2>", "Äpfel"],
)
def test_schema__a_type__is_accepted(text: str) -> None:
    assert TYPE_VALIDATOR.is_valid(text)


@pytest.mark.parametrize("text", ["eech float", "float float", "float[3]", "tensor<float", "list<float>", "", "-float"])
def test_schema__a_text_that_is_no_type__is_refused_by_both(text: str) -> None:
    assert not TYPE_VALIDATOR.is_valid(text)
    document = f"slangad: 1\nfunctions:\n  f: {{params: {{x: {text!r}}}, returns: float, expr: '1.0'}}\n"
    assert not VALIDATOR.is_valid(yaml.safe_load(document))
    assert schema_accepts(document)


@pytest.mark.parametrize(("name", "kind"), OPTIMIZERS.items())
def test_schema__settings_of_an_optimizer__have_the_bounds_that_python_has(name: str, kind: OptimizerKind) -> None:
    of_python = {"sgd": sa.SGD, "adam": sa.Adam, "adamw": sa.AdamW}[name]
    validator = jsonschema.Draft202012Validator({"$defs": SCHEMA["$defs"], "$ref": "#/$defs/optimizer"})
    for setting in kind.settings:
        for value in (-1, 0, 0.001, 0.5, 1, 1000.5):
            accepted = setting.bounds.contain(value)
            values: dict[str, float] = {"lr": 0.5, setting.name: value}
            root = compose("input.yaml", json.dumps({name: values})).root
            assert validate(root, ShapeTable(OPTIMIZER, DEFINITIONS), Problems()) == accepted, (setting.name, value)
            assert validator.is_valid({name: values}) == accepted, (setting.name, value)
            with nullcontext() if accepted else pytest.raises(ArgumentError, match=f"^{setting.name} of "):
                of_python(**values)
        assert setting.bounds.contain(np.float32(0.5))
        assert not any(setting.bounds.contain(value) for value in (-1, math.nan, math.inf, "1", True, None, 10**400))


def test_schema__what_editors_offer__is_there() -> None:
    words = SCHEMA["$defs"]["type"]["anyOf"][0]["enum"]
    assert {"float", "half4", "float3x3", "each float3", "no_diff each float", "mean float", "tensor<float, 2>"} <= set(
        words
    )
    assert len(words) == len(set(words))
    VALIDATOR.validate(SCHEMA["examples"][0])
    assert SCHEMA["$id"].startswith("urn:slangad:")


def test_table__a_default__is_the_one_that_its_text_names() -> None:
    keys = [key for shape in shapes() if isinstance(shape, Record) for key in shape.keys]
    named = [key for key in keys if key.default is not None]
    assert len(named) > 10
    for key in named:
        value = str(key.default).lower() if isinstance(key.default, bool) else f"{key.default:g}".replace("e-08", "e-8")
        assert f"Default: {value}." in key.doc, key.name


def test_schema__all_that_is_refused__is_refused_for_its_structure_by_both() -> None:
    compared = 0
    for document in CORPUS:
        try:
            text = document.decode()
            accepted = loader_accepts(text)
        except (UnicodeDecodeError, CompileError):
            continue
        compared += 1
        assert accepted == schema_accepts(text), text
    assert compared > 40


def test_table__alternatives__differ_in_kind() -> None:
    for shape in shapes():
        options = [o for o in TABLE.alternatives(shape) if not isinstance(o, (Either, Named))]
        taken = [kind for option in options for kind in kinds(option)]
        texts = sum("text" in kinds(option) for option in options)
        assert len(taken) == len(set(taken)), shape
        assert texts <= 1


def test_table__every_key_of_every_record__is_in_the_sample_of_everything() -> None:
    keys = {key.name for shape in shapes() if isinstance(shape, Record) for key in shape.keys}
    missing = {key for key in keys if f"{key}:" not in EVERYTHING}
    assert not missing


@pytest.mark.parametrize("shape", [s for s in shapes() if isinstance(s, Record)], ids=lambda s: s.what)
def test_table__every_key__says_what_it_is_for(shape: Record) -> None:
    for key in shape.keys:
        assert key.doc.endswith("."), key.name
        assert shape.what


@settings(
    max_examples=int(os.environ.get("SLANGAD_FUZZ", "200")), deadline=None, derandomize=bool(os.environ.get("CI")),
    database=None, suppress_health_check=[HealthCheck.too_slow],
)  # fmt: skip
@given(changed_data([plain_data(compose("everything.yaml", EVERYTHING).root)]))
def test_schema__changed_documents__are_refused_by_both_or_by_none(data: object) -> None:
    text = yaml.safe_dump(data, allow_unicode=True, sort_keys=False, width=10_000)
    if not isinstance(data, dict) or not data:
        return
    assert loader_accepts(text) == schema_accepts(text), text


STRUCTURE = {"SA053", "SA054", "SA055"}
"""Codes of errors in the structure of a description."""


@settings(
    max_examples=int(os.environ.get("SLANGAD_FUZZ", "200")), deadline=None, derandomize=bool(os.environ.get("CI")),
    database=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(data=changed_data([plain_data(compose("x.yaml", document.decode()).root) for document in GOOD]))
def test_schema__changed_descriptions__are_accepted_when_loaded_and_refused_when_misshaped(
    tmp_path: Path, data: object
) -> None:
    if not isinstance(data, dict) or not data:
        return
    path = tmp_path / "input.yaml"
    path.write_text(yaml.safe_dump(data, allow_unicode=True, sort_keys=False, width=10_000), encoding="utf-8")
    codes = set()
    try:
        load(path)
    except CompileError as error:
        codes = {diagnostic.code for diagnostic in error.diagnostics}
    if not codes or codes & STRUCTURE:
        assert VALIDATOR.is_valid(data) == (not codes), (codes, path.read_text(encoding="utf-8"))
