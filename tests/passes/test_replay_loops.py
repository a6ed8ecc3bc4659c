"""How reverse mode gets the states of a loop: the choice, its reason, and what the user may ask."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from slangad.compiler.emit import emit_module
from slangad.compiler.errors.diagnostics import CompileError
from slangad.compiler.frontends import load
from slangad.compiler.passes import run_passes

if TYPE_CHECKING:
    from pathlib import Path

    from slangad.compiler.ir.nodes import LoopChoice, Module

HEAD = """import slangad as sa
from slangad import Array, Each, OutTensor, Param, Tensor

@sa.differentiable
def both(a: float, b: float, c: float) -> tuple[float, float]:
    return a + 0.01 * sa.sin(b), b - c * a

@sa.kernel
def f(x: Each[float], a: Tensor[float, 1]) -> Each[float]:
    s = 0.0
    t = 1.0
"""


def passed(folder: Path, body: str, head: str = HEAD, end: str = "    return s + t\n") -> Module:
    file = folder / "loop.py"
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    file.write_text(head + lines + end)
    return run_passes(load(file))


def choice(folder: Path, body: str) -> LoopChoice:
    (found,) = passed(folder, body).loops
    return found


DEEP = "    for j in range(3):\n        s = sa.sin(s + x)\n        if s > 3.0:\n            return s"
"""An inner loop that Slang keeps and that returns."""
GUARD = "if t < 1e-4:\n        break"
EVENT = "    s += 0.1 * t\n    if x < 0.1 * k:\n        continue\n    s += t\n"
"""A sum, a branch that skips, and another sum."""
WAYS = {
    "sum": ("for k in range(100):\n    s += sa.sin(x * k)", "sum", 0),
    "sum of a branch": ("for k in range(100):\n    if x > 0.1 * k:\n        s = a[k] + s", "sum", 0),
    "decay": ("for k in range(100):\n    s = s * 0.9 + x * k", "sum", 0),
    "guarded product": ("for k in range(100):\n    s += t\n    t *= x\n    if t < 1e-4:\n        break", "invert", 0),
    "guarded by while": ("while sa.max_iters(100) and t > 1e-4:\n    s += t\n    t *= x", "invert", 0),
    "product": ("for k in range(100):\n    s += t\n    t = t * (x + k)", "invert", 80),
    "guard before": ("for k in range(100):\n    if t < 1e-4:\n        break\n    s += t\n    t *= x", "invert", 0),
    "guard before and a gap": (
        f"for k in range(100):\n    {GUARD}\n    s += t\n    if x < 0.1 * k:\n        continue\n    t *= x",
        "invert",
        0,
    ),
    "guard that may end it at once": (
        "t = x\nfor k in range(100):\n    if t < 1e-4:\n        break\n    s += t\n    t *= x",
        "invert",
        80,
    ),
    "guard of the index": (
        "for k in range(100):\n    if k > 50.0:\n        break\n    s += t\n    t *= x",
        "invert",
        80,
    ),
    "leapfrog": ("for _ in sa.range(100, keep=0):\n    s -= sa.sin(t) * x\n    t += s * 0.1", "invert", 0),
    "leapfrog by default": ("for _ in range(100):\n    s -= sa.sin(t) * x\n    t += s * 0.1", "recompute", 160),
    "integer": ("n = 3\nfor _ in range(100):\n    s += sa.sin(x * n)\n    n = n + 7", "invert", 0),
    "integers that only integers read": (
        (
            "n, m, b = 0, 1, False\nfor k in range(100):\n    b = b or t < 0.5\n    c = m + k\n"
            "    if m < c:\n        m = c\n    n = max(n, k)\n    s += t\n    t *= x\ns += n * m if b else 0.0"
        ),
        "invert",
        80,
    ),
    "an integer that is divided by": (
        "n = 9\nm = 0\nfor k in range(100):\n    m = k // n\n    n = n * 3\n    s += t\n    t *= x\ns += m",
        "recompute",
        160,
    ),
    "an integer index": (
        "n = 0\nl = Array[int, 9]()\nfor k in range(100):\n    l[n] = k\n    n = n * 3 & 7\n    t *= x\ns += l[0]",
        "recompute",
        160,
    ),
    "other": ("for k in range(100):\n    s = sa.sin(s + x)", "recompute", 80),
    "negative guard": ("for k in range(100):\n    s += t\n    t *= x\n    if t < -1.0:\n        break", "invert", 80),
    "two products": ("for k in range(100):\n    s += t\n    t *= x\n    t *= x + k", "recompute", 80),
    "products and a counter in a branch": (
        f"n = 0\nu = 1.0\nfor k in range(100):\n{EVENT}    t *= x\n    u *= x + 1.0\n    n += 1\ns += u",
        "invert",
        160,
    ),
    "a branch in a branch": (
        f"u = 1.0\nfor k in range(100):\n{EVENT}    if x > 2.0:\n        u *= x\n    else:\n        t *= x\ns += u",
        "invert",
        160,
    ),
    "locals of a branch and of an inner loop": (
        (
            "for k in range(100):\n    if x > 0.1 * k:\n        q = x * x\n        e = q + q\n    else:\n"
            "        e = x\n    for i in range(3):\n        r = e * i\n        e += r\n    s += t * e\n    t *= 1.0 - e"
        ),
        "invert",
        80,
    ),
    "a largest value in a branch": (
        f"u = 1.0\nfor k in range(100):\n{EVENT}    t *= x\n    u = max(u, t)\ns += u",
        "recompute",
        160,
    ),
    "read by itself": ("for k in range(100):\n    s += t\n    t *= 1.0 - t * x", "recompute", 80),
    "array that is only added to": (
        "y = Array[float, 2]()\nfor k in range(100):\n    s = sa.sin(s + x)\n    y[k % 2] += s\nt += y[0] * y[1]",
        "recompute",
        80,
    ),
    "asked": ("for k in sa.range(100, keep=20):\n    s = sa.sin(s + x)", "recompute", 100),
    "short": ("for k in range(64):\n    s = sa.sin(s + x)", "keep", 256),
    "returns": ("for k in range(100):\n    s += t\n    t *= x\n    if t < 1e-4:\n        return t", "invert", 0),
    "several values": ("for k in range(100):\n    s, t = both(s, t, x)", "recompute", 160),
    "several values that only add": ("for k in range(100):\n    d, _ = both(x, x, k)\n    s += d", "sum", 0),
    "a factor of several": ("for k in range(100):\n    d, e = both(x, x, k)\n    s += d * t\n    t *= e", "invert", 80),
    "a tuple": ("p = both(x, t, x)\nfor k in range(100):\n    p = both(p[0], p[1], x)\nt = p[1]", "recompute", 160),
    "a tuple, swapped": (
        "p = both(x, t, x)\nfor k in range(100):\n    p = (p[1], sa.sin(p[0]))\nt = p[1]",
        "recompute",
        160,
    ),
    "a shared tuple": ("p = both(x, t, x)\nfor k in range(100):\n    s += p[0] * k\nt = p[1]", "sum", 0),
    "returns from inside": (f"for k in range(100):\n{DEEP}", "keep", 0),
}


@pytest.mark.parametrize("name", WAYS)
def test_choice__of_each_form__is_what_the_updates_allow(tmp_path: Path, name: str) -> None:
    body, way, kept = WAYS[name]
    *_, found = passed(tmp_path, body).loops
    assert (found.way, found.kept) == (way, kept), found
    assert found.reason


def test_reason__of_a_branch_with_several_updates__is_that_of_the_one_without_inverse(tmp_path: Path) -> None:
    body, *_ = WAYS["a largest value in a branch"]
    assert choice(tmp_path, body).reason == "u does not change by a sum or a product"


def test_choice__of_passive_loop__is_none(tmp_path: Path) -> None:
    assert passed(tmp_path, "n = 1\nfor k in range(100):\n    n = n * 3 % 7\ns += x * n").loops == ()


def test_choice__of_loop_over_large_shared_array__is_keep(tmp_path: Path) -> None:
    body = "n = 0\nw = Array[float, 32]()\nw[3] = x\nfor k in range(100):\n    s = sa.sin(s * w[n])\n    n = n * 3 & 7"
    found = choice(tmp_path, body)
    assert (found.way, found.reason.split(" of ")[0]) == ("keep", "each iteration would add up 128 bytes")


ARRAYS = "    w = Array[float, 32]()\n    w[3] = x\n    m = Array[Array[float, 32], 4]()\n    m[1] = sa.copy(w)\n"
ROWS = "for i in range(4):\n    for k in range(32):\n        "
TAKEN = {
    "an element": ("for k in range(32):\n    s += t * w[k]", "float w_k)", ", w[k])"),
    "beside a branch": ("for k in range(32):\n    s += w[k - 1] if k > 0 else x", ", w[min(max(k - 1, 0), 31)])"),
    "after a branch": ("for k in range(32):\n    if k == 31:\n        continue\n    s += w[k + 1]", "max(k + 1, 0)"),
    "an element of a row": (
        ROWS + "s += m[i][k] * w[k]",
        "float m_i_k, float w_k)",
        ", m_i[k], w[k])",
        "float m_i[32])",
    ),
    "an element that changes": (
        "for k in range(32):\n    w[k] = sa.sin(w[k])\n    s += w[k]",
        "float w_k;",
        "state.w[k]",
    ),
    "an element that an inner loop changes": (ROWS + "w[k] += m[i][k]\ns += w[2]", "float w_k, int k, float m_i_k)"),
    "a local for all iterations": ("for k in range(32):\n    w[2] += t * w[2]\ns += w[2]", "float w_at = w[2];"),
}


@pytest.mark.parametrize(("body", "texts"), [(b, t) for b, *t in TAKEN.values()], ids=TAKEN)
def test_iteration__of_a_loop_over_arrays__takes_elements(tmp_path: Path, body: str, texts: list[str]) -> None:
    module = passed(tmp_path, body, head=HEAD + ARRAYS)
    text = emit_module(module).text
    assert [one for one in texts if one not in text] == []
    assert [found for found in module.loops if found.way == "keep" and found.kept] == []


WHOLE = {
    "an element that may be outside": "for k in range(32):\n    s += w[k + n] if x > 0.0 else x",
    "an element that the state finds": "for k in range(32):\n    s += w[n]\n    n = n * 3 & 7",
    "an element beside another that changes": "for k in range(1, 32):\n    w[k] = w[k - 1] * x",
    "a division that only some iterations make": "for k in range(32):\n    s += w[(k // n) % 32] if n > 0 else x",
}


@pytest.mark.parametrize("body", WHOLE.values(), ids=WHOLE)
def test_iteration__whose_element_is_not_known_before__takes_the_array(tmp_path: Path, body: str) -> None:
    head = HEAD + ARRAYS + "    n = int(x)\n"
    text = emit_module(passed(tmp_path, body + "\ns += w[31]", head=head)).text
    assert "min(max(" not in text
    assert not any("float w_" in line for line in text.splitlines())


def test_swap__in_a_long_loop__compiles(tmp_path: Path) -> None:
    found = choice(tmp_path, "for k in range(100):\n    s, t = t, s * x")
    assert found.way == "recompute"
    assert choice(tmp_path, "s = x\nfor k in range(100):\n    s, t = t, s").way == "recompute"


def test_sum__that_an_inner_loop_reads__goes_into_it(tmp_path: Path) -> None:
    body = "for i in range(9):\n    for k in range(100):\n        s += x\n        t = sa.sin(t + s)"
    text = emit_module(passed(tmp_path, body)).text
    assert "FState(0.0" not in text


def test_nested_sums__keep_nothing(tmp_path: Path) -> None:
    module = passed(tmp_path, "for i in range(70):\n    for j in range(70):\n        s += sa.sin(x * i) * a[j]")
    assert [found.way for found in module.loops] == ["sum", "sum"]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("for k in sa.range(9, keep=0):\n    s = sa.sin(s + x)", "s does not change by a sum or a product"),
        (f"for k in sa.range(9, keep=3):\n{DEEP}", "it returns from an inner loop"),
    ],
)
def test_keep__that_is_not_possible__is_refused_with_the_reason(tmp_path: Path, body: str, why: str) -> None:
    with pytest.raises(CompileError) as caught:
        passed(tmp_path, body)
    (found,) = caught.value.diagnostics
    assert found.code == "SA308"
    assert why in found.message
    assert found.span.line == HEAD.count("\n") + 1


@pytest.mark.parametrize("keep", ["-1", "n", "0.5"])
def test_keep__that_is_no_count__is_refused(tmp_path: Path, keep: str) -> None:
    with pytest.raises(CompileError) as caught:
        passed(tmp_path, f"n = int(x)\nfor k in sa.range(9, keep={keep}):\n    s = s + x")
    assert {d.code for d in caught.value.diagnostics} <= {"SA021", "SA014"}


def test_listing__of_a_loop_that_may_keep_states__says_where_it_keeps_them(tmp_path: Path) -> None:
    text = emit_module(passed(tmp_path, WAYS["product"][0])).text
    assert (
        """
/// The loop over s, t, which keeps 80 bytes for reverse mode (invert).
/// original:       for …: state = step(state, k, …)
/// forward sweep:  the same; end.edge is the state after end.lit iterations, which can be undone
/// reverse sweep:  the iterations after those again, if there are any, which keep one state of every 10
///                 for each kept state, last first: states of its block again, then
///                     d_state, d_… += bwd_diff(step)(states[…], k, …, d_state)
///                 from end.edge on, for the first end.lit iterations, last first: state = undo(state, k, …)
///                     d_state, d_… += bwd_diff(step)(state, k, …, d_state)
"""
        in text
    )
    assert "    if (end.lit < 100)\n" in text
    assert "    for (int k = end.lit - 1; k > -1; --k)\n" in text


def test_emitted__loop__has_its_listings_and_a_plain_reverse_loop(tmp_path: Path) -> None:
    text = emit_module(passed(tmp_path, WAYS["guarded product"][0])).text
    for line in (
        "/// The loop over s, t, which keeps nothing for reverse mode (invert).\n",
        "/// reverse sweep:  for …, last first: state = undo(state, k, …)\n",
        "[ForwardDerivative(f_loop_fwd)]\n[BackwardDerivative(f_loop_bwd)]\n",
        "    for (int k = end.ran - 1; k > -1; --k)\n",
        "    float t_before = t / x;\n",
    ):
        assert line in text
    assert "[MaxIters" not in text
