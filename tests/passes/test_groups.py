"""Kernels whose threads compute together: what is in step, what other passes leave alone, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from slangad.compiler.errors.diagnostics import CompileError
from slangad.compiler.frontends import load
from slangad.compiler.ir.text_form.printer import show
from slangad.compiler.ir.text_form.reader import parse
from slangad.compiler.passes import run_passes

if TYPE_CHECKING:
    from pathlib import Path

    from slangad.compiler.ir.nodes import Module

HEAD = """import slangad as sa
from slangad import Each, Param, Sum, Tensor, Uniform, float3

"""
ROWS = """
@sa.kernel(dims=2, group_size=(2, 16))
def rows(x: Each[float], w: Param[float], n: Uniform[int]) -> Each[float]:
    tile = sa.Shared[float, 2, 16]()
    i, j = sa.thread_id(0) % 2, sa.thread_id(1) % 16
    tile[i, j] = w * x
    for _ in sa.range(n, max_iters=4):
        sa.barrier()
        y = tile[i, 15 - j] + 0.5 * x
        sa.barrier()
        tile[i, j] = y
    sa.barrier()
    return tile[1 - i, j] / sa.group_sum(1.0 + x * x)
"""
FILLED = """
@sa.kernel(group_size=(64,))
def filled(x: Each[float]) -> Each[float]:
    row = sa.Shared[float, 64]()
    for k in range(64):
        if k == sa.thread_id() % 64:
            row[k] = x
    sa.barrier()
    return row[0] * x
"""
YAML = """slangad: 1
kernels:
  rows:
    params: {x: each float, w: param float, n: uniform int}
    returns: each float
    dims: 2
    group_size: [2, 16]
    body: |
      tile = Shared[float, 2, 16]()
      i, j = thread_id(0) % 2, thread_id(1) % 16
      tile[i, j] = w * x
      for _ in sa.range(n, max_iters=4):
          barrier()
          y = tile[i, 15 - j] + 0.5 * x
          barrier()
          tile[i, j] = y
      barrier()
      return tile[1 - i, j] / group_sum(1.0 + x * x)
"""


def loaded(folder: Path, text: str, name: str = "f.py") -> Module:
    path = folder / name
    path.write_text(text)
    return load(path)


def test_groups__kernels__are_in_step(tmp_path: Path) -> None:
    module = run_passes(loaded(tmp_path, HEAD + ROWS))
    assert [kernel.in_step for kernel in module.kernels] == [True]
    assert [(memory.key, memory.type.extents) for memory in module.shared] == [("rows.tile", (2, 16))]
    assert show(parse(show(module))) == show(module)
    (choice,) = module.loops
    assert choice.way == "keep"
    assert "waits for the group" in choice.reason


def test_groups__the_same_in_yaml(tmp_path: Path) -> None:
    python, yaml = loaded(tmp_path, HEAD + ROWS), loaded(tmp_path, YAML, "f.yaml")
    assert python.functions[0].body == yaml.functions[0].body
    assert yaml.kernels[0].in_step


REFUSED = {
    "SA033 thread_id(0) // 16 decides": """
@sa.kernel(group_size=(64,))
def f(x: Each[float]) -> Each[float]:
    if sa.thread_id() // 16 == 1:
        sa.barrier()
    return x
""",
    "SA033 in a branch or loop": """
@sa.kernel
def f(x: Each[float], n: Uniform[int]) -> Each[float]:
    if n > 2:
        row = sa.Shared[float, 64]()
        row[0] = x
    return x
""",
    "SA033 only in the body of a kernel": """
@sa.differentiable
def f(x: float) -> float:
    return sa.group_sum(x)
""",
    "SA033 sa.Shared of half": """
@sa.kernel
def f(x: Each[float]) -> Each[float]:
    row = sa.Shared[sa.half, 64]()
    return x
""",
    "SA040 not a value": """
@sa.kernel
def f(x: Each[float]) -> Each[float]:
    row = sa.Shared[float, 64]()
    y = row
    return x
""",
    "SA025 index 64 is outside": """
@sa.kernel
def f(x: Each[float]) -> Each[float]:
    row = sa.Shared[float, 64]()
    row[64] = x
    return x
""",
    "SA004 not used": """
@sa.kernel
def f(x: Each[float]) -> Each[float]:
    sa.group_sum(x)
    return x
""",
}


@pytest.mark.parametrize("wanted", REFUSED)
def test_groups__what_can_not_be__is_refused(tmp_path: Path, wanted: str) -> None:
    with pytest.raises(CompileError) as caught:
        loaded(tmp_path, HEAD + REFUSED[wanted])
    (found,) = caught.value.diagnostics
    assert found.code == wanted.partition(" ")[0]
    assert wanted.partition(" ")[2].removeprefix("only ") in f"{found.message} {found.label}"


SHARED = """
@sa.kernel(group_size=(8,))
def rows(x: Each[float]) -> Sum[float]:
    row = sa.Shared[float, 8]()
    k = sa.thread_id() % 8
    row[k] = x * x
    sa.barrier()
    return row[7 - k] * x
"""


@pytest.mark.parametrize("text", [ROWS, SHARED], ids=["operations", "memory alone"])
def test_groups__second_derivatives__leave_the_kernel_out(tmp_path: Path, text: str) -> None:
    module = run_passes(loaded(tmp_path, HEAD + text), second_order=True)
    assert [kernel.name for kernel in module.kernels] == ["rows"]
    (left,) = module.left_out
    assert (left.function, left.modes) == ("rows", ("hvp",))
    assert "compute together" in left.reason


def test_loop__that_fills_memory_of_the_group__says_that_it_does(tmp_path: Path) -> None:
    file = tmp_path / "rows.py"
    file.write_text(HEAD + FILLED)
    (loop,) = run_passes(load(file)).loops
    assert (loop.way, loop.reason) == ("keep", "the loop stores into memory that the group shares")
