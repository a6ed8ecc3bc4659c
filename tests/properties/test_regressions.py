"""Programs that once meant something else on the device, or had another gradient there, than in Python."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from support.differential import compare
from support.programs import Generated

if TYPE_CHECKING:
    from pathlib import Path

PROGRAMS = """
def literal_vector_before_a_branch(p0: F) -> F3:
    t = F3(0.5, 1.5, 2.0)
    t.x = p0 * 0.5
    if p0 > 0.0:
        t.y = sa.sin(t.x + t.y)
    return t

def literal_matrix_before_a_loop(p0: F) -> M2:
    t = M2(1.0, 0.5, -0.5, 2.0)
    t[0, 0] = p0 * 0.5
    u = t
    for i in range(2):
        u = u + 1.0
    return t * u

def literal_vector_copied_before_a_ternary(p0: F) -> F2:
    u = F2(0.0)
    t = u
    t = sa.copy(t)
    t.y = p0
    return t if p0 > 0.5 else t * 2.0

def zeros_of_vectors_before_a_loop(p0: F) -> F:
    t = Array[F2, 2]()
    t[0].x = p0
    for i in range(3):
        t[1].y = sa.sin(t[0].x + t[1].y)
    return t[0].x + t[1].y

def swapped_and_rotated(p0: F, p1: F, p2: int) -> F3:
    a, b, c = p0, p1, p0 * p1
    for i in range(3):
        a, b, c = b, c, a + b * 0.5
    i, n = 1, p2
    i, n = n % 3, i
    return F3(a, b, c) * (i + n)

def entries_live_while_looped_over(p0: Array[F, 3]) -> F:
    a = sa.copy(p0)
    s = F(0.0)
    for i, x in enumerate(a):
        a[2] = x * 0.5
        s += x * i
    return s + a[2]

def entries_of_a_value_bound_anew(p0: Array[F, 3], p1: F) -> F:
    a = sa.copy(p0)
    s = F(0.0)
    for x in a:
        a = Array[F, 3](p1, x, 2.0)
        s += x + a[1]
    return s

def else_of_a_loop_with_break(p0: F, p1: int) -> F:
    for i in range(4):
        if i > p1:
            y = p0 * i
            break
    else:
        y = -p0
    return y * i

def doubles_of_a_call(p0: F) -> F:
    return abs(F(-1.5)) * p0 + sa.copy(F(0.5)) + sa.no_diff(F(0.25)) * F(2.0)

def nested_arrays(p0: F, p1: int) -> F:
    e = Array[Array[F, 2], 3]()
    e[2][1] = p0
    e[p1 % 3][0] = p0 * 2.0
    return e[2][1] + 3.0 * e[p1 % 3][0] + e[0][1]
"""


def _programs() -> list[Generated]:
    found = []
    for text in re.split(r"\n(?=def )", PROGRAMS.strip()):
        head = re.match(r"def (\w+)\((.*)\) -> (.*):", text)
        assert head is not None
        params = tuple((n, t) for n, t in re.findall(r"(p\d): (\w+(?:\[\w+, \d\])?)", head[2]))
        body = f"@sa.differentiable\n{text.strip()}\n"
        found.append(Generated(head[1], body, params, head[3], body.count("\n")))
    return found


@pytest.mark.toolchain
def test_programs__that_once_differed__mean_the_same(tmp_path: Path) -> None:
    report = compare(_programs(), tmp_path, 3)
    assert not report.mismatches, "\n\n".join(str(m) for m in report.mismatches)
    assert report.compared > 8 * len(_programs()) * 0.9
