"""One table, two readers: the loader and the JSON Schema accept the same structures, and refuse the same."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.yaml_mutations import CORPUS

from slangad.compiler.diagnostics import CompileError
from slangad.compiler.frontends.problems import Problems
from slangad.compiler.frontends.targets import TARGET_NAMES
from slangad.compiler.frontends.yaml.compose import compose
from slangad.compiler.frontends.yaml.nodes import plain_data
from slangad.compiler.frontends.yaml.schema import json_schema
from slangad.compiler.frontends.yaml.sections import DEFINITIONS, ROOT, TABLE
from slangad.compiler.frontends.yaml.shape import Either, ListOf, MapOf, Named, Record, Shape, kinds
from slangad.compiler.frontends.yaml.validate import validate
from slangad.compiler.toolchain.targets import TARGETS

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
TESTS = HERE.parents[1]
SCHEMA = json_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
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
    problems = Problems()
    return validate(compose("input.yaml", text).root, TABLE, problems)


def schema_accepts(text: str) -> bool:
    """Whether the document as data fits the schema."""
    return VALIDATOR.is_valid(plain_data(compose("input.yaml", text).root))


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


def shapes() -> Iterator[Shape]:
    """Every shape of the table."""
    waiting: list[Shape] = [ROOT, *DEFINITIONS.values()]
    while waiting:
        shape = waiting.pop()
        yield shape
        match shape:
            case Record(keys=keys):
                waiting.extend(key.shape for key in keys)
            case MapOf(value=value):
                waiting.append(value)
            case ListOf(item=item):
                waiting.append(item)
            case Either(shapes=inner):
                waiting.extend(inner)


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


def test_table__targets__are_those_of_the_toolchain() -> None:
    assert tuple(TARGETS) == TARGET_NAMES


@pytest.mark.parametrize("shape", [s for s in shapes() if isinstance(s, Record)], ids=lambda s: s.what)
def test_table__every_key__says_what_it_is_for(shape: Record) -> None:
    for key in shape.keys:
        assert key.doc.endswith("."), key.name
        assert shape.what


Place = tuple[object, object]


def places(data: object) -> list[Place]:
    """Every container of a document with each of its keys or indices."""
    found: list[Place] = []
    waiting = [data]
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, dict):
            found += [(inner, key) for key in inner]
            waiting += inner.values()
        elif isinstance(inner, list):
            found += [(inner, index) for index in range(len(inner))]
            waiting += inner
    return found


WORDS = sorted({key.name for shape in shapes() if isinstance(shape, Record) for key in shape.keys})
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 2000),
    st.floats(allow_nan=False, allow_infinity=False, width=16),
    st.sampled_from(["", "float", "x", "recompute", "spirv", "a.slang", "a b", "f.x", "m[0].y", "é", "1"]),
    st.lists(st.integers(0, 3), max_size=4),
    st.dictionaries(st.sampled_from(WORDS), st.sampled_from([1, "x", {}, [], None, True]), max_size=3),
)


@st.composite
def changed_data(draw: st.DrawFn) -> object:
    """The sample of everything with a few keys and values changed."""
    data = plain_data(compose("everything.yaml", EVERYTHING).root)
    for _ in range(draw(st.integers(1, 3))):
        container, key = draw(st.sampled_from(places(data)))
        match draw(st.sampled_from(["delete", "value", "value", "rename", "add", "move"])):
            case "delete":
                del container[key]
            case "value":
                container[key] = draw(VALUES)
            case "rename" if isinstance(container, dict):
                container[draw(st.sampled_from([*WORDS, "a b", "9", "ß"]))] = container.pop(key)
            case "add" if isinstance(container, dict):
                container[draw(st.sampled_from(WORDS))] = draw(VALUES)
            case _:
                other, name = draw(st.sampled_from(places(data)))
                container[key] = copy.deepcopy(other[name])
    return data


@settings(
    max_examples=int(os.environ.get("SLANGAD_FUZZ", "200")), deadline=None, derandomize=bool(os.environ.get("CI")),
    database=None, suppress_health_check=[HealthCheck.too_slow],
)  # fmt: skip
@given(changed_data())
def test_schema__changed_documents__are_refused_by_both_or_by_none(data: object) -> None:
    text = yaml.safe_dump(data, allow_unicode=True, sort_keys=False, width=10_000)
    if not isinstance(data, dict) or not data:
        return
    assert loader_accepts(text) == schema_accepts(text), text
