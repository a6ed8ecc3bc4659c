"""Which lines the conditions of the preprocessor hide, and where functions stand whose heads they choose."""

from __future__ import annotations

from slangad.compiler.slang_text.bodies import read_source
from slangad.compiler.slang_text.conditions import hidden_lines
from slangad.compiler.slang_text.tokens import read_text

CONDITIONS = """#define SIZE 4
#if SIZE > 2 && !defined(HOST) // larger
1
#elif defined SIZE
0
#else
0
#endif
#ifdef FAST
0
#if 1
0
#endif
#else
1
#endif
#ifndef GIVEN
0
#undef SIZE
#endif
#if FOREIGN || __cplusplus
1
#else
1
#endif
#if SIZE == 0x4u
1
#endif
#if STRANGE(1, 2)
1
#endif
"""
HEADS = """
#ifdef HOST
inline float luminance(float3 rgb)
#else
[Differentiable]
float luminance(float3 rgb)
#endif
{ return rgb.x; }
[Differentiable]
float f(float x,
#if MORE
    float y
#endif
) { return x; }
"""


def test_hidden_lines__of_conditions__are_those_that_the_text_decides() -> None:
    hidden = hidden_lines(read_text(CONDITIONS).directives, {"GIVEN": "1"}, {"FOREIGN"})
    lines = CONDITIONS.split("\n")
    shown = {number: line for number, line in enumerate(lines, 1) if line in ("0", "1")}
    assert {number: str(int(number not in hidden)) for number in shown} == shown


def test_read_source__of_two_heads_before_one_body__takes_the_differentiable_one() -> None:
    source = read_source(HEADS, "t.slang")
    assert [(one.name, one.span.line, source.is_differentiable(one)) for one in source.functions] == [
        ("luminance", 6, True),
        ("f", 10, True),
    ]
    assert [source.at(one.span) for one in source.functions] == [*source.functions]
