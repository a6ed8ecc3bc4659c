"""Which threads read the same element: the tile of a kernel, the way of its tensors, and the reads of one call."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from slangad.compiler.emit import emit_module
from slangad.compiler.emit.model import ThreadWork
from slangad.compiler.frontends import load
from slangad.compiler.ir.text_form.printer import parse, show
from slangad.compiler.passes import run_passes

if TYPE_CHECKING:
    from pathlib import Path

    from slangad.compiler.ir.nodes import Module

HEAD = """import slangad as sa
from slangad import Each, NoDiff, Tensor, Uniform

@sa.kernel(dims=2)
def f(x: Each[float], w: Tensor[float, 1], order: NoDiff[Tensor[int, 1]], n: Uniform[int]) -> Each[float]:
    i, j = sa.thread_id(0), sa.thread_id(1)
    s = 0.0
"""


def passed(folder: Path, body: str, head: str = HEAD) -> Module:
    file = folder / "tile.py"
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    file.write_text(f"{head}{lines}    return s\n")
    return run_passes(load(file))


SHARED = "not block: two blocks may read one element"
LIST = "for k in sa.range(order[i // 16 + j // 16], max_iters=256):\n"
INDICES = {
    "block": ("s = w[i // 16 + 3 * (j // 16)] * x", "together", f"thread_id(0) // 16; {SHARED}", (16, 16)),
    "through a table": ("s = w[order[i // 8] + n] * x", "together", "thread_id(0) // 8", (8, 32)),
    "common blocks": ("s = w[i // 24 + j // 16] * x", "together", f"thread_id(0) // 24; {SHARED}", (8, 16)),
    "row": ("s = w[i] * x", "together", "thread_id(0)", (1, 32)),
    "column": ("s = w[j] * x", "scatter", "thread_id(1)", ()),
    "narrow columns": ("s = w[j // 4] * x", "scatter", "thread_id(1) // 4", ()),
    "list": (f"{LIST}    s += w[order[i // 16] + k] * x", "together", "thread_id(0) // 16", (16, 16)),
    "list with a gap": (
        f"{LIST}    if x > 0.1 * k:\n        continue\n    s += w[order[i // 16 + j // 16] + k]",
        "together", "thread_id(0) // 16", (16, 16),
    ),
    "too few threads": ("s = w[i // 4 + j // 4] * x", "scatter", "thread_id(0) // 4", ()),
    "not in blocks": ("s = w[i + j] * x", "scatter", "thread_id(0)", ()),
    "from an element": ("s = w[int(x)] * x", "scatter", "x", ()),
    "shifted": ("s = w[(j + 1) // 16] * x", "scatter", "thread_id(1)", ()),
    "list of each": ("for k in sa.range(int(x), max_iters=9):\n    s += w[k + j // 16]", "scatter", "x", ()),
    "after a break": (
        f"g = 0\n{LIST}    g += 1\n    if x > 0.1 * k:\n        break\ns = w[g] * x", "scatter", "x", ()
    ),
    "list up to a break": (
        f"{LIST}    if s > 1.0:\n        break\n    s += w[order[i // 16] + k] * x",
        "together", "thread_id(0) // 16", (16, 16),
    ),
    "of earlier turns, some with a break": (
        f"g = 0\nfor m in range(3):\n    {LIST}        g += 1\n        s += w[g]\n        if s > x:\n            break",
        "scatter", "x", (),
    ),
    "in turns with a break": (
        f"for m in range(3):\n    {LIST}        g = k + m\n        s += w[g] * x\n        if s > x:\n            break",
        "together", "thread_id(0) // 16", (16, 16),
    ),
    "after a branch": ("g = i // 16\nif x > 0.5:\n    g = 0\ns = w[g] * x", "scatter", "x", ()),
}  # fmt: skip


@pytest.mark.parametrize("name", INDICES)
def test_index__has_the_way_the_reason_and_the_tile(tmp_path: Path, name: str) -> None:
    body, way, why, tile = INDICES[name]
    module = passed(tmp_path, body)
    (w,) = (buffer for buffer in module.buffers if buffer.param == "w")
    assert (w.accumulation.value, w.why, module.kernels[0].tile or ()) == (way, why, tile)


GIVEN = {
    "(8, 16)": ("s = w[i // 16 + 3 * (j // 16)] * x", "together", (8, 16)),
    "(16, 32)": ("s = w[i // 16 + 3 * (j // 16)] * x", "scatter", (16, 32)),
    "(16, 16)": ("s = w[int(x)] * x", "scatter", (16, 16)),
    "(8, 4)": ("s = w[j // 4] * x", "together", (8, 4)),
    "(4, 4)": ("s = w[i // 4 + j // 4] * x", "scatter", (4, 4)),
    "'rows'": ("s = w[i // 16 + 3 * (j // 16)] * x", "scatter", ()),
    "'rows' ": ("s = w[i] * x", "together", ()),
}


@pytest.mark.parametrize("tile", GIVEN)
def test_tile__of_the_kernel__is_taken(tmp_path: Path, tile: str) -> None:
    body, way, extents = GIVEN[tile]
    module = passed(tmp_path, body, HEAD.replace("dims=2", f"dims=2, tile={tile}"))
    (w,) = (buffer for buffer in module.buffers if buffer.param == "w")
    assert (w.accumulation.value, module.kernels[0].tile) == (way, extents)
    assert parse(show(module)).kernels[0].tile == extents
    tiles = {e.tile for e in emit_module(module).entry_points if e.work is ThreadWork.STRIDED}
    assert tiles == {extents}


def test_reads__up_to_a_branch_that_leaves__are_one_call(tmp_path: Path) -> None:
    body = f"{LIST}    g = order[i // 16] + k\n    a = w[g] + w[g + 1]\n"
    body += "    if a > x:\n        continue\n    s += w[g + 2] * a"
    text = emit_module(passed(tmp_path, body)).text
    assert "return FItem(f_w[g], f_w[at]);" in text
    assert "f_w_read(g + 2)" in text


def test_reads__after_such_a_branch__are_in_the_call_at_its_indices_and_inside_their_tensor(tmp_path: Path) -> None:
    head = HEAD.replace("n: Uniform[int]", "v: Tensor[float, 1], n: Uniform[int]")
    body = (
        f"{LIST}    g = order[i // 16] + k\n    a = w[g]\n    if a > x:\n        continue\n    s += v[g] * a + v[g + 1]"
    )
    text = emit_module(passed(tmp_path, body, head)).text
    assert "return FItem(f_w[g], g >= 0 && g < int(f_v_extents) ? f_v[g] : 0.0);" in text
    assert "f_v_read(g + 1)" in text


def test_loop__on_the_cpu__is_that_of_slang_where_its_states_are_few(tmp_path: Path) -> None:
    many = "for k in sa.range(n, max_iters=LIMIT):\n    s = sa.sin(s + x)"
    short, long = (emit_module(passed(tmp_path, many.replace("LIMIT", limit))).text for limit in ("4096", "4097"))
    assert "return f_plain(" in short
    assert short.count("#if defined(SLANGAD_HOST) && !defined(SLANGAD_REPLAY)") == 2
    assert "SLANGAD_HOST" not in long
