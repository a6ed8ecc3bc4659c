"""Which loops groups run for whole tiles."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from slangad.compiler.emit import emit_module
from slangad.compiler.frontends import load
from slangad.compiler.passes import run_passes

if TYPE_CHECKING:
    from pathlib import Path

TEXT = """import slangad as sa
from slangad import Each, NoDiff, Param, Sum, Tensor, Uniform, float3

@sa.kernel(dims=2)
def f(
    order: NoDiff[Tensor[int, 1]], first: NoDiff[Tensor[int, 2]], color: Tensor[float3, 1], opacity: Tensor[float, 1],
    shade: Tensor[float, 2], gain: Param[float], most: Uniform[int], weight: Each[float],
) -> Sum[float]:
    row, column = sa.thread_id(0), sa.thread_id(1)
    start = first[row // 16, column // 16]
    light = float3(0.0, 0.0, 0.0)
    through = 1.0
    for k in sa.range(most, max_iters=300):
        g = order[start + k]
        alpha = min(opacity[g] * 0.5, 0.99)
        light += color[g] * (alpha * through)
        through *= 1.0 - alpha
    return sa.dot(light, light) * weight + gain * shade[row, column]
"""
ADDED, UPDATE = (
    line + "\n" for line in TEXT.splitlines() if line.startswith(("        light +=", "        through *="))
)
GAUSSIANS = (
    TEXT.replace("color: Tensor", "mean: Tensor[sa.float2, 1], conic: Tensor[float3, 1], color: Tensor")
    .replace("        alpha = min(opacity[g] * 0.5, 0.99)\n", """        d = sa.float2(column, row) - mean[g]
        q = conic[g]
        power = -0.5 * (q.x * d.x * d.x + q.z * d.y * d.y) - q.y * d.x * d.y
        alpha = min(opacity[g] * sa.exp(power), 0.99)
""")
)  # fmt: skip
COMMON = {
    "what the column decides": ("", "", ["item.conic.x * d_x * d_x", "item.conic.y * d_x"]),
    "all of a vector": ("d = sa.float2(column, row)", "d = sa.float2(column, column)", ["-0.5 * (item.conic.x *"]),
    "nothing that the row decides": ("column, row) - mean", "row, row) - mean", None),
    "nothing behind a branch": (
        "        q = conic", "        if column > 7:\n            continue\n        q = conic", None,
    ),
}  # fmt: skip
OTHERS = {
    "a break before the first read": (
        "        alpha = min",
        "        if through < 0.1:\n            break\n        alpha = min",
        "it may end early, and its state may become too small to divide",
    ),
    "another index for each element, so no tiles": ("order[start + k]", "order[start + k + column % 2]", ""),
    "another number of iterations for each element, so no tiles": ("sa.range(most,", "sa.range(min(most, row),", ""),
    "elements that belong to one thread": (
        "opacity[g] * 0.5", "opacity[g] * shade[row, column]", "it reads elements that belong to one thread",
    ),
    "one tensor": (
        "color[g]",
        "float3(1.0, 1.0, 1.0)",
        "an iteration does not read memory in one place, at indices that all states have",
    ),
    "small tiles": ("dims=2", "dims=2, tile=(8, 8)", ""),
}  # fmt: skip


def loops(tmp_path: Path, text: str, *, deterministic: bool = False) -> int:
    path = tmp_path / "f.py"
    path.write_text(text)
    return len(run_passes(load(path), deterministic=deterministic).tile_loops)


def test_share_tiles__a_list_of_a_tile__is_run_by_groups(tmp_path: Path) -> None:
    assert loops(tmp_path, TEXT) == 1
    assert loops(tmp_path, TEXT, deterministic=True) == 1
    assert loops(tmp_path, TEXT.replace(UPDATE, f"{UPDATE}        if through < 1e-4:\n            break\n")) == 1
    anywhere = TEXT.replace("sa.range(most,", "sa.range(start, start + most,").replace("order[start + k]", "order[k]")
    assert loops(tmp_path, anywhere) == 1
    for bounds in ("1, most", "1, 9"):
        assert loops(tmp_path, TEXT.replace("sa.range(most,", f"sa.group_range({bounds},")) == 1
    early = "        left = through * (1.0 - alpha)\n        if left < 1e-4:\n            break\n"
    late = TEXT.replace(UPDATE, "        through = left\n").replace(ADDED, f"{early}{ADDED}")
    assert loops(tmp_path, late) == 1
    assert loops(tmp_path, late.replace("left < 1e-4", "weight < 1e-4")) == 0


COUNTERS = {
    "counts": ("n = 0\n", "n += 1\n"),
    "counts what is seen": ("n = 0\n", "if alpha > 0.1:\n            n += 1\n"),
    "is ended by its counter": ("n = 0\n", "n += 1\n        if n >= 8 or through < 1e-4:\n            break\n"),
    "remembers an index": ("n = 0\n", "if alpha > 0.1:\n            n = g\n"),
    "remembers a condition": ("n = False\n", "n = n or alpha > 0.1\n"),
    "has the largest index": ("n = 0\n", "n = max(n, g)\n"),
}


@pytest.mark.parametrize("name", COUNTERS)
def test_share_tiles__a_list_with_a_counter__is_run_by_groups(tmp_path: Path, name: str) -> None:
    start, update = COUNTERS[name]
    floor = "        if through < 1e-4:\n            break\n" if "break" in update else ""
    text = TEXT.replace("    through = 1.0\n", f"    through = 1.0\n    {start}")
    text = text.replace(UPDATE, f"{UPDATE}{floor}        {update}").replace("* weight", "* (weight if n else 1.0)")
    text = text.replace("(weight if n else", "(weight if n > 0 else") if "False" not in start else text
    assert loops(tmp_path, text) == 1


def test_share_tiles__gradients_from_outside__are_held_by_threads(tmp_path: Path) -> None:
    assert loops(tmp_path, TEXT.replace("opacity[g] * 0.5", "opacity[g] * gain * weight")) == 1
    assert loops(tmp_path, TEXT.replace("through = 1.0", "through = gain")) == 1


@pytest.mark.parametrize(("matrices", "shared"), [(1, True), (2, False)])
def test_share_tiles__gradients_from_outside__of_up_to_64_numbers(
    tmp_path: Path, matrices: int, *, shared: bool
) -> None:
    words = ("wide", "wider")[:matrices]
    made = "".join(f"    {word} = sa.float4x4({', '.join(['weight'] * 16)})\n" for word in words)
    used = "".join(f" * {word}[k % 4][0]" for word in words)
    path = tmp_path / "f.py"
    text = TEXT.replace("    through = 1.0\n", f"    through = 1.0\n{made}").replace("] * 0.5", f"]{used}")
    path.write_text(text.replace("max_iters=300", "max_iters=30000"))
    module = run_passes(load(path))
    assert bool(module.tile_loops) == shared
    (choice,) = module.loops
    assert ("gradients of more than 64 numbers flow from it to its thread" in choice.reason) != shared


@pytest.mark.parametrize(("old", "new", "why"), OTHERS.values(), ids=OTHERS)
def test_share_tiles__other_loops__are_left_to_threads_for_a_reason(
    tmp_path: Path, old: str, new: str, why: str
) -> None:
    assert TEXT.count(old) == 1
    path = tmp_path / "f.py"
    path.write_text(TEXT.replace(old, new))
    module = run_passes(load(path))
    assert not module.tile_loops
    told = [choice.reason.partition("; each thread reads for itself: ")[2] for choice in module.loops]
    assert told == [why]


@pytest.mark.parametrize(("old", "new", "values"), COMMON.values(), ids=COMMON)
def test_common_values__of_the_elements_of_a_thread__are_computed_once(
    tmp_path: Path, old: str, new: str, values: list[str] | None
) -> None:
    path = tmp_path / "f.py"
    path.write_text(GAUSSIANS.replace(old, new) if old else GAUSSIANS)
    module = run_passes(load(path))
    (loop,) = module.tile_loops
    if values is None:
        assert loop.common == ""
        return
    text = emit_module(module).text
    common, blend = (
        re.search(rf"^F\w+ {name}\(.*?^}}", text, re.MULTILINE | re.DOTALL) for name in ("f_common", "f_blend")
    )
    assert common is not None
    assert blend is not None
    assert all(value in common[0] and value not in blend[0] for value in values), common[0]


SAID = TEXT.replace("sa.range", "sa.group_range")
SECOND = "    for k in sa.group_range(9):\n        light += color[order[start + k]] * opacity[order[start + k]]\n"
UNSHARED = {
    **{name: (old.replace("sa.range", "sa.group_range"), new.replace("sa.range", "sa.group_range"), why)
       for name, (old, new, why) in OTHERS.items() if why},
    "no tile": ("order[start + k]", "order[start + k + column % 2]", "the kernel has no tile, such as tile=(16, 16)"),
    "small tiles": ("dims=2", "dims=2, tile=(8, 8)", "a tile of 8 x 8 has fewer than 128 elements"),
    "rows": ("dims=2", 'dims=2, tile="rows"', 'the kernel has tile="rows"'),
    "steps of two": ("group_range(most,", "group_range(0, most, 2,", "it does not count up by 1"),
    "two of them": ("    return sa.dot", f"{SECOND}    return sa.dot", "the kernel has several loops"),
    "states that can't be undone": (
        "through *= 1.0 - alpha", "through = sa.sin(through - alpha)",
        "reverse mode computes its states again: through does not change by a sum or a product",
    ),
}  # fmt: skip

BODIES = {
    "one axis": ("@sa.kernel", "", "the kernel has one axis"),
    "a group that computes together": (
        "@sa.kernel(group_size=(64,))", "total = sa.group_sum(total)", "the group computes together in other ways",
    ),
    "in a branch": ("@sa.kernel(dims=2, tile=(16, 16))", "if n > 3:", "it is not at the top of the kernel"),
    "in a function": ("@sa.differentiable", "", "it is not at the top of the kernel"),
    "no gradient": ("@sa.kernel(dims=2, tile=(16, 16))", "w *= n", "no gradient flows through its state"),
}  # fmt: skip


@pytest.mark.parametrize(("head", "line", "why"), BODIES.values(), ids=BODIES)
def test_group_range__elsewhere__has_the_plain_reason(tmp_path: Path, head: str, line: str, why: str) -> None:
    of_w = "NoDiff[Each[float]]" if "no gradient" in why else "Each[float]"
    within = "    " if line.endswith(":") else ""
    text = f"""import slangad as sa
from slangad import Each, NoDiff, Uniform

{head}
def f(w: {of_w}, n: Uniform[int]) -> Each[float]:
    total = 0.0
    {line}
    {within}for k in sa.group_range(n, max_iters=300):
    {within}    total += w * k
    return total
"""
    if head == "@sa.differentiable":
        text = text.replace("Each[float]", "float").replace("Uniform[int]", "int")
        text += """
@sa.kernel(dims=2, tile=(16, 16))
def g(w: Each[float], n: Uniform[int]) -> Each[float]:
    return f(w, n)
"""
    (tmp_path / "f.py").write_text(text)
    assert [loop.reason for loop in run_passes(load(tmp_path / "f.py")).unshared_loops] == [why]


def test_group_range__that_a_tile_shares__has_no_note(tmp_path: Path) -> None:
    (tmp_path / "f.py").write_text(SAID)
    module = run_passes(load(tmp_path / "f.py"))
    assert (len(module.tile_loops), module.unshared_loops) == (1, ())


def test_group_range__beside_the_one_that_a_tile_shares__has_a_note(tmp_path: Path) -> None:
    second = SECOND.replace("group_range(9)", "group_range(0, 90, 2)")
    (tmp_path / "f.py").write_text(SAID.replace("    return sa.dot", f"{second}    return sa.dot"))
    module = run_passes(load(tmp_path / "f.py"))
    assert len(module.tile_loops) == 1
    assert [loop.reason for loop in module.unshared_loops] == ["it runs another loop of the kernel"]


FUSED = """import slangad as sa
from slangad import Each, Mean, Tensor, Uniform

@sa.kernel(dims=2, tile=(16, 16))
def shade(x: Each[float], heat: Tensor[float, 1], n: Uniform[int]) -> Each[float]:
    for k in sa.group_range(n, max_iters=300):
        x += heat[k]
    return x

@sa.kernel(dims=2, tile=(16, 16))
def error(y: Each[float]) -> Mean[float]:
    return y * y

@sa.pipeline
def both(x: Each[float], heat: Tensor[float, 1], n: Uniform[int]) -> Mean[float]:
    return error(shade(x, heat, n))
"""


def test_group_range__in_a_fused_kernel__has_the_reason(tmp_path: Path) -> None:
    (tmp_path / "f.py").write_text(FUSED)
    found = {loop.kernel: loop.reason for loop in run_passes(load(tmp_path / "f.py")).unshared_loops}
    assert found.keys() == {"shade", "shade_then_error"}
    assert found["shade_then_error"] == "a pipeline joins its kernel with another one"


def test_group_range__in_a_kernel_that_multiplies_by_a_matrix__has_the_reason(tmp_path: Path) -> None:
    text = SAID.replace("gain: Param[float]", "w: Param[sa.Array[sa.Array[float, 16], 16]]")
    text = text.replace("weight: Each[float]", "weight: Each[sa.Array[float, 16]]")
    text = text.replace("* weight + gain * shade[row, column]", "* (w @ weight)[3]")
    (tmp_path / "f.py").write_text(text)
    module = run_passes(load(tmp_path / "f.py"))
    assert not module.tile_loops
    assert [loop.reason for loop in module.unshared_loops] == ["the groups of the kernel multiply by matrices"]


@pytest.mark.parametrize(("old", "new", "why"), UNSHARED.values(), ids=UNSHARED)
def test_group_range__that_no_tile_shares__has_the_reason(tmp_path: Path, old: str, new: str, why: str) -> None:
    assert SAID.count(old) == 1
    path = tmp_path / "f.py"
    path.write_text(SAID.replace(old, new))
    found = run_passes(load(path)).unshared_loops
    assert {loop.reason for loop in found} == {why}
    assert {loop.span.line for loop in found} == {
        n for n, line in enumerate(path.read_text().splitlines(), 1) if "group_range" in line
    }
