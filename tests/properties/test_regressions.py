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

def part_and_whole_of_two_vectors(p0: F2, p1: F4) -> F:
    t1 = F2(-0.5, 2.0)
    if p1.x > 0.0:
        t1.x -= 1.5
        p0 *= 0.5
    return t1.x / (abs(p0.x) + 0.5)

def parts_of_two_vectors_in_a_loop(p0: F2, p1: F) -> F2:
    t = F2(p1, 2.0)
    p = F2(p1, p1 * p1)
    for i in range(3):
        t.yx = p * p1
        p[i % 2] = t.x
        if i == 1:
            t[1] += p.x
    return t + p

def part_and_whole_of_two_structs(p0: Ball, p1: F) -> Ball:
    a = sa.copy(p0)
    b = Ball(a.center, p1, 2)
    if p1 > 0.0:
        b.radius *= 2.0
        b.center.z = p1
        a = Ball(a.center * 2.0, a.radius, 1)
        b.count = 3
    a.center.y += b.center.z * b.radius * b.count
    return a

def part_and_whole_of_two_arrays(p0: Array[F, 3], p1: F, p2: int) -> Array[F, 3]:
    a = sa.copy(p0)
    b = Array[F, 3](p1, 1.0, 2.0)
    for i in range(3):
        a[i] = a[i] * b[(p2 + i) % 3] + p1
        b[p2 % 3] = a[(i + 1) % 3] * 0.5
        b = Array[F, 3](b[1], b[0], b[2] * a[0])
    a[0] += b[1]
    return a

def parts_of_two_matrices(p0: M2, p1: F, p2: int) -> M2:
    a = sa.copy(p0)
    b = M2(1.0, 0.5, -0.5, 2.0)
    for i in range(2):
        a[i, 1] = a[i, 0] * p1
        b[1] = a[p2 % 2] * 0.5
        if p1 > 0.0:
            b = b * 2.0
            a[p2 % 2, i] += b[1, 1]
    return a + b

def parts_of_nested_structs(p0: Group, p1: F, p2: int) -> F:
    a = sa.copy(p0)
    b = sa.copy(p0)
    for i in range(3):
        a.weights[i] += p1 * b.weights[p2 % 3]
        b.ball.center.xz = a.ball.center.zy * p1
        if p1 > 0.0:
            b.weights[p2 % 3] = a.weights[2] * p1
        else:
            a = sa.copy(b)
    return a.weights[0] + b.ball.center.x + b.weights[1] * a.ball.center.z

def loop_of_one_turn_around_a_loop(p0: F) -> F:
    for i in range(1, 2):
        for j in range(2):
            p0 = sa.tanh(F((sa.uint(i)) % 8) / (p0 * p0 + 0.5))
    return p0

def loop_of_one_turn_that_is_left(p0: F, p1: int) -> F:
    for i in range(3, 4):
        for j in range(2):
            p0 = sa.tanh(i / (p0 * p0 + 0.5))
        if p1 > 2:
            break
        p0 *= 2.0
    for i in sa.range(p1 % 2, max_iters=1):
        for j in range(3):
            p0 = sa.sin((p1 % 3) * p0 + 0.5)
    n = 0
    while sa.max_iters(1) and n < 1 and p0 > -0.5:
        n += 1
        for j in range(3):
            p0 = sa.sin((p1 % 3) * p0 + 0.5)
            if p0 > 0.75:
                break
    return p0 * n

def few_turns_around_many(p0: F, p1: int) -> F:
    for i in range(2):
        for j in range(10):
            p0 = sa.sin((p1 % 3) * p0 + 0.5)
    return p0

def many_turns_around_few(p0: F, p1: int) -> F:
    for i in range(10):
        if i >= p1:
            break
        for j in range(2):
            p0 = sa.sin((p1 % 3) * p0 + 0.5)
            if p0 > 0.9375:
                break
    return p0

def three_loops(p0: F, p1: int) -> F:
    for i in range(2):
        for j in range(3):
            for k in range(4):
                p0 = sa.sin((p1 % 3) * p0 + 0.5)
        for j in range(5, 0, -2):
            if p0 > 0.5:
                p0 += sa.cos(p0 * j)
    return p0

def loops_in_an_unrolled_one(p0: F, p1: int) -> F:
    for i in sa.range(3, unroll=True):
        for j in range(2):
            for k in sa.range(p1 % 5, max_iters=4):
                p0 = sa.sin((p1 % 3) * p0 + 0.5)
    return p0

def many_turns_around_three_and_three(p0: F, p1: F, p2: F2) -> F:
    s = p0
    last = 0
    for i in range(100):
        t = F(0.0)
        for j in range(3):
            if t > 0.75:
                continue
            u = p2 * 0.5
            for k in range(3):
                t += sa.sin(s * (1 + j * k) + p1 * u.x) * 0.25
                u = sa.sin(u * p0 + F2(s, t))
                last = (i + j + k) % 7
                if u.y > 0.9375:
                    break
        s = sa.tanh(s + t * 0.0125)
    return s * last

def few_turns_around_a_hundred(p0: F, p1: Array[F, 3]) -> Array[F, 3]:
    a = sa.copy(p1)
    for i in range(3):
        n = 0
        while sa.max_iters(100) and n < 90 and a[i] < 2.0:
            n += 1
            a[i] = a[i] * 0.9375 + sa.cos(p0 * n) * 0.125
        a[(i + 1) % 3] += a[i] * 0.25
    return a

def scalar_beside_vector(p0: F3, p1: F) -> F3:
    return p1 - p0

def scalars_beside_vectors(p0: F3, p1: F, p2: F) -> tuple[F, F3]:
    return (p1 / p0).x * p1, (p1 * p0) * p2 + (p0 - p1) * p2 + p0 / p2 + (p0 + p2) / p1
"""


def _programs() -> list[Generated]:
    found = []
    for text in re.split(r"\n(?=def )", PROGRAMS.strip()):
        head = re.match(r"def (\w+)\((.*)\) -> (.*):", text)
        assert head is not None
        params = tuple((n, t) for n, t in re.findall(r"(p\d): ((?:sa\.)?\w+(?:\[\w+, \d\])?)", head[2]))
        body = f"@sa.differentiable\n{text.strip()}\n"
        found.append(Generated(head[1], body, params, head[3], body.count("\n")))
    return found


@pytest.mark.toolchain
def test_programs__that_once_differed__mean_the_same(tmp_path: Path) -> None:
    report = compare(_programs(), tmp_path, 3)
    assert not report.mismatches, "\n\n".join(str(m) for m in report.mismatches)
    assert report.compared > 8 * len(_programs()) * 0.9
