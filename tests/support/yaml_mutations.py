"""Broken YAML descriptions: good ones with bytes, lines and values changed at random, as strategies of hypothesis."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from slangad.compiler.frontends.yaml.sections import TABLE
from slangad.compiler.frontends.yaml.shape import Either, ListOf, MapOf, Record, Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

ROOT = Path(__file__).resolve().parents[1]
GOOD = tuple(
    path.read_bytes()
    for pattern in ("same_program/programs/*.yaml", "cases/yaml_accepted/*/input.yaml", "frontends/yaml/*.yaml")
    for path in sorted(ROOT.glob(pattern))
)
BAD = tuple(path.read_bytes() for path in sorted(ROOT.glob("cases/yaml_*/*/input.yaml")))
CORPUS = (*GOOD, *BAD)
"""Descriptions to start from, accepted and refused ones."""
WORDS = tuple(sorted({word for document in GOOD for word in re.findall(rb"[^\s\w]|\w+", document)}))
"""What descriptions are made of."""

TOKENS = tuple(
    text.encode()
    for text in (
        *(
            "&a ",
            "*a",
            "<<: *a",
            "!!python/object/apply:os.system [x]",
            "!!int ",
            "! ",
            "? ",
            "- ",
            ": ",
            "{",
            "}",
            "[",
            "]",
        ),
        *(
            '"',
            "'",
            "|",
            ">",
            "|2+",
            "#",
            "%YAML 1.2\n",
            "---\n",
            "...\n",
            "\t",
            "\n",
            "\r\n",
            "\ufeff",
            "\0",
            "\x85",
            "\u2028",
        ),
        *(
            "~",
            "null",
            "true",
            ".inf",
            "-.inf",
            ".nan",
            "1e400",
            "9" * 500,
            "0o777",
            "0x",
            "-0",
            "1_000",
            '"\\ud800"',
            '"\\',
        ),
        *(
            "slangad: 1",
            "functions:",
            "body: |\n",
            "expr: ",
            "slang: ",
            "extern: true",
            "backward: ",
            "derivative: ",
            "kernels: ",
        ),
        *(
            "array<",
            "array<float, 0>",
            "tensor<float, 2>",
            "texture2d<",
            ">",
            "no_diff ",
            "each ",
            "sum ",
            "float3",
            "lambda",
        ),
        *(
            "(" * 60,
            "-" * 200,
            "x" * 3000,
            "9**9**9**9",
            "1 << 10**9",
            "range(10**12)",
            "while True:",
            "for i in range(3):\n",
        ),
        *(
            "return ",
            "yield",
            "await x",
            "import os",
            "x.y.z",
            "x[0]",
            "x[-9]",
            "a, b = b, a",
            "sa.",
            "math.",
            "sa.zeros(",
            "**",
        ),
        *(
            "sa.bwd_diff(f)(x, 1.0)",
            "sa.fwd_diff(",
            "Array[float, 99999999]()",
            "float3(",
            "d_out",
            "self.",
            "f'{x}'",
            "1j",
            "é",
            "\N{GREEK SMALL LETTER SIGMA}",
        ),
    )
)

Change = tuple[str, int, int, bytes]


def changes() -> st.SearchStrategy[Change]:
    """One change: what, where, how much, and the text for it."""
    kinds = st.sampled_from(
        (*["word"] * 6, *["line"] * 3, "insert", "delete", "replace", "copy", "swap", "cut", "indent")
    )
    text = st.one_of(
        st.sampled_from(WORDS),
        st.sampled_from(TOKENS),
        st.binary(max_size=4),
        st.text(max_size=6).map(lambda t: t.encode("utf-8", "replace")),
    )
    return st.tuples(kinds, st.integers(0, 10_000), st.integers(0, 60), text)


def mutated_documents() -> st.SearchStrategy[bytes]:
    """A description with a few changes, or no description at all."""
    start = st.one_of(st.sampled_from(GOOD), st.sampled_from(GOOD), st.sampled_from(BAD))
    broken = st.builds(_apply_all, start, st.lists(changes(), min_size=1, max_size=6))
    return st.one_of(broken, broken, broken, st.binary(max_size=200))


def _apply_all(document: bytes, many: list[Change]) -> bytes:
    for kind, at, size, text in many:
        document = _CHANGES[kind](document, at % (len(document) + 1), size, text)
    return document


def _indent(document: bytes, at: int, size: int, text: bytes) -> bytes:
    start = document.rfind(b"\n", 0, at) + 1
    return document[:start] + b" " * (size % 9) + document[start:].lstrip(b" ")


def _word(document: bytes, at: int, size: int, text: bytes) -> bytes:
    """Another word instead of the one that begins next."""
    found = re.search(rb"\w+|[^\s\w]", document[at:])
    return document if found is None else document[: at + found.start()] + text + document[at + found.end() :]


def _line(document: bytes, at: int, size: int, text: bytes) -> bytes:
    """A line left out, repeated, or put somewhere else."""
    lines = document.split(b"\n")
    line = document.count(b"\n", 0, at)
    taken = lines[line] if size % 2 else lines.pop(line)
    if size % 3:
        lines.insert((line + size) % (len(lines) + 1), taken)
    return b"\n".join(lines)


_CHANGES: dict[str, Callable[[bytes, int, int, bytes], bytes]] = {
    "insert": lambda d, at, size, text: d[:at] + text + d[at:],
    "delete": lambda d, at, size, text: d[:at] + d[at + size :],
    "replace": lambda d, at, size, text: d[:at] + text + d[at + size :],
    "copy": lambda d, at, size, text: d[:at] + d[at : at + size * 8] + d[at:],
    "swap": lambda d, at, size, text: d[:at] + d[at + size : at + 2 * size] + d[at : at + size] + d[at + 2 * size :],
    "cut": lambda d, at, size, text: d[:at],
    "indent": _indent,
    "word": _word,
    "line": _line,
}


def shapes() -> Iterator[Shape]:
    """Every shape of the table."""
    waiting: list[Shape] = [TABLE.root, *TABLE.definitions.values()]
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


KEYS = sorted({key.name for shape in shapes() if isinstance(shape, Record) for key in shape.keys})
NAMES = ("a b", "9", "ß", "lambda", "x\n", "x" * 201)
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 2000),
    st.floats(allow_nan=False, allow_infinity=False, width=16),
    st.sampled_from(["", "float", "x", "recompute", "spirv", "a.slang", "a b", "f.x", "m[0].y", "é", "1"]),
    st.sampled_from(["a.slang\n", "x\n"]),
    st.lists(st.integers(0, 3), max_size=4),
    st.dictionaries(st.sampled_from(KEYS), st.sampled_from([1, "x", {}, [], None, True]), max_size=3),
)


@st.composite
def changed_data(draw: st.DrawFn, samples: Sequence[object]) -> object:
    """A description as data with a few keys and values changed."""
    data = copy.deepcopy(draw(st.sampled_from(samples)))
    for _ in range(draw(st.integers(1, 3))):
        known = places(data)
        if not known:
            break
        container, key = draw(st.sampled_from(known))
        match draw(st.sampled_from(["delete", "value", "value", "rename", "add", "move"])):
            case "delete":
                del container[key]
            case "value":
                container[key] = draw(VALUES)
            case "rename" if isinstance(container, dict):
                container[draw(st.sampled_from([*KEYS, *NAMES]))] = container.pop(key)
            case "add" if isinstance(container, dict):
                container[draw(st.sampled_from(KEYS))] = draw(VALUES)
            case _:
                other, name = draw(st.sampled_from(places(data)))
                container[key] = copy.deepcopy(other[name])
    return data
