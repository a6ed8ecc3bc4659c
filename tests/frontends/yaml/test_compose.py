"""Nodes of YAML texts: the core schema, anchors, merges, and the limits of what is read."""

from __future__ import annotations

import math
import time

import pytest

from slangad.compiler.errors.diagnostics import CompileError
from slangad.compiler.frontends.yaml.compose import MAX_CHARACTERS, MAX_DEPTH, compose
from slangad.compiler.frontends.yaml.nodes import plain_data


def data(text: str) -> object:
    return plain_data(compose("x.yaml", text).root)


def refusal(text: str) -> tuple[str, str]:
    with pytest.raises(CompileError) as caught:
        compose("x.yaml", text)
    first = caught.value.diagnostics[0]
    return first.code, f"{first.span.line}:{first.span.column}: {first.message}"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None), ("~", None), ("null", None), ("NULL", None),
        ("true", True), ("False", False), ("TRUE", True),
        ("yes", "yes"), ("no", "no"), ("on", "on"), ("off", "off"), ("y", "y"), ("n", "n"), ("Yes", "Yes"),
        ("0", 0), ("-7", -7), ("+7", 7), ("007", 7), ("0o17", 15), ("0x1F", 31), ("0b11", "0b11"), ("1_000", "1_000"),
        ("1e-3", 1e-3), ("1E3", 1e3), ("1.", 1.0), (".5", 0.5), ("-.5", -0.5), ("1.0e+2", 100.0), (".", "."),
        ("e3", "e3"),
        (".inf", math.inf), ("-.INF", -math.inf), ("+.Inf", math.inf), ("nan", "nan"), ("inf", "inf"),
        ("12:30:45", "12:30:45"), ("2001-12-14", "2001-12-14"), ("=", "="),
        ("'1'", "1"), ('"true"', "true"), ("!!str 1", "1"), ("!!float 1", 1.0), ("! 1", "1"), ("!!null ''", None),
        ("9" * 400, int("9" * 400)), ("9" * 401, "9" * 401), ("1e400", math.inf),
    ],
)  # fmt: skip
def test_scalar__plain_or_tagged__means_what_the_core_schema_says(text: str, value: object) -> None:
    found = data(f"k: {text}")["k"]
    assert found == value
    assert type(found) is type(value)


def test_scalar__not_a_number__is_one_of_its_kind() -> None:
    assert math.isnan(data("k: .nan")["k"])


def test_aliases__of_scalars_lists_and_mappings__stand_for_them() -> None:
    text = "a: &x 1\nb: [*x, &l [2]]\nc: *l\nd: &m {e: *x}\nf: *m\n"
    assert data(text) == {"a": 1, "b": [1, [2]], "c": [2], "d": {"e": 1}, "f": {"e": 1}}


def test_alias__after_an_anchor_is_given_again__stands_for_the_later() -> None:
    assert data("a: &x 1\nb: &x 2\nc: *x") == {"a": 1, "b": 2, "c": 2}


def test_merge__of_one_or_several__own_keys_win_and_first_mappings_next() -> None:
    text = "a: &a {x: 1, y: 2}\nb: &b {y: 3, z: 4}\nc: {<<: [*a, *b], x: 5, w: 6}\nd: {'<<': 1}\ne: {w: 0, <<: *a}\n"
    found = data(text)
    assert found["c"] == {"x": 5, "y": 2, "z": 4, "w": 6}
    assert list(found["c"]) == ["x", "y", "z", "w"]
    assert found["d"] == {"<<": 1}
    assert list(found["e"]) == ["x", "y", "w"]


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("a: 1\na: 2", "SA052", "2:1: 'a' occurs twice"),
        ("a: {b: 1, 'b': 2}", "SA052", "1:11: 'b' occurs twice"),
        ("? [1]\n: 2", "SA055", "1:3: a key is a name, not a list or mapping"),
        ("a: *b", "SA059", "1:4: there is no &b before *b"),
        ("a: &a {b: *a}", "SA059", "1:11: *a is inside &a"),
        ("<<: 1", "SA059", "1:5: << takes a mapping or a list of them"),
        ("a: !!set {x}", "SA056", "1:4: the tag !!set is not allowed here"),
        ("a: !!timestamp 2001-12-14", "SA056", "1:4: the tag !!timestamp is not allowed here"),
        ("a: !!python/tuple [1]", "SA056", "1:4: YAML can't name a Python object"),
        ("a: !<tag:yaml.org,2002:python/name:os.system> x", "SA056", "1:4: YAML can't name a Python object"),
        ("%TAG !e! tag:yaml.org,2002:python/\n---\na: !e!name:os x", "SA056", "3:4: YAML can't name a Python object"),
        ("a: !!map [1]", "SA056", "1:4: the tag !!map is not allowed here"),
        ("a: !!bool maybe", "SA056", "1:4: 'maybe' is no bool"),
        ("a: b\n--- \nc: d", "SA050", "2:1: a file holds one document"),
        ("a: 'b", "SA050", "1:6: not valid YAML: found unexpected end of stream"),
        ("a: \x01", "SA050", "1:4: not valid YAML: the character U+0001 is not allowed in it"),
        ('a: "\\udfff"', "SA050", "1:4: not valid YAML: an escape names half a character"),
        ('a: "\\UFFFFFFFF"', "SA050", "1:1: not valid YAML: an escape names no character"),
        ("- a", "SA055", "1:1: a description is a mapping"),
        ("", "SA055", "1:1: a description is a mapping"),
        ("a: " + "[" * (MAX_DEPTH + 1), "SA051", f"1:{3 + MAX_DEPTH}: nested more than {MAX_DEPTH} deep"),
        ("#" * (MAX_CHARACTERS + 1), "SA051", f"1:1: the file has more than {MAX_CHARACTERS} characters"),
    ],
)  # fmt: skip
def test_document__that_is_refused__says_where_and_why(text: str, code: str, said: str) -> None:
    assert refusal(text) == (code, said)


def test_text_with_a_comma__inside_braces_twice__says_that_it_needs_quotes() -> None:
    with pytest.raises(CompileError) as caught:
        compose("x.yaml", "a: {b: tensor<float, 1>, c: tensor<float, 1>}")
    assert [d.help for d in caught.value.diagnostics] == ["inside { } a text with a comma needs quotes"]


def bomb(levels: int, width: int) -> str:
    lines = ["a0: &a0 [x]"]
    lines += [f"a{i + 1}: &a{i + 1} [{', '.join([f'*a{i}'] * width)}]" for i in range(levels)]
    return "\n".join(lines)


@pytest.mark.parametrize("text", [bomb(9, 10), bomb(60, 2), bomb(40, 30).replace("[", "{<<: [").replace("]", "]}")])
def test_aliases__that_multiply__are_refused_at_once(text: str) -> None:
    begun = time.monotonic()
    code, _ = refusal(text)
    assert code in ("SA051", "SA059")
    assert time.monotonic() - begun < 2.0


@pytest.mark.parametrize(
    "text", ["[" * 500_000, "{a: " * 200_000, "- " * 400_000, "a: &a\n" * 3, "? " * 300_000, "!a " * 300_000]
)
def test_nesting__however_deep__ends_soon(text: str) -> None:
    begun = time.monotonic()
    with pytest.raises(CompileError):
        compose("x.yaml", text)
    assert time.monotonic() - begun < 10.0


def test_byte_order_mark__at_the_start__is_skipped() -> None:
    assert data("\ufeffa: 1") == {"a": 1}
