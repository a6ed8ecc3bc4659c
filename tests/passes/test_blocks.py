"""Which blocks of the domain have elements of their own, with near misses; what groups do with them."""

from __future__ import annotations

import itertools
import math
import random
from typing import TYPE_CHECKING

import pytest

from slangad.compiler.emit import emit_module
from slangad.compiler.emit.entry_points.accumulations import accumulations, deciding
from slangad.compiler.emit.model import Mode
from slangad.compiler.frontends import load
from slangad.compiler.ir.text_form.printer import parse, show
from slangad.compiler.passes import run_passes
from slangad.compiler.passes.disjoint_elements import disjoint_elements
from slangad.compiler.passes.name_tensors import name_tensors

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from slangad.compiler.ir.nodes import Buffer, Module

HEAD = """import slangad as sa
from slangad import Each, NoDiff, OutTensor, Param, Sum, Tensor, Uniform, float2

@sa.differentiable
def look(w: Tensor[float, 2], r: int, c: int) -> float:
    return w[r, c]

@sa.kernel(dims=2)
def f(x: Each[float], k: NoDiff[Each[int]], n: Uniform[int], w: Tensor[float, 2], v: Tensor[float, 3]) -> Sum[float]:
    i, j = sa.thread_id(0), sa.thread_id(1)
    across = (sa.thread_count(1) + 15) // 16
    s = 0.0
"""
LINE = (
    HEAD.replace("(dims=2)", "")
    .replace("i, j = sa.thread_id(0), sa.thread_id(1)", "i = sa.thread_id(0)")
    .replace("    across = (sa.thread_count(1) + 15) // 16\n", "")
)


def passed(folder: Path, body: str, head: str = HEAD, *, deterministic: bool = False) -> Module:
    file = folder / "blocks.py"
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    file.write_text(f"{head}{lines}    return s * x\n")
    return run_passes(load(file), None, deterministic=deterministic)


def tensor(module: Module, name: str) -> Buffer:
    return next(buffer for buffer in module.buffers if buffer.param == name)


PROVEN = {
    "a curve": ("for m in range(8):\n    s += v[i // 16, j // 16, m]", "v", (16, 16), [(0, 1), (0, 1), (0, 8)]),
    "turned": ("s += w[j // 4, i // 8]", "w", (8, 4), [(0, 1), (0, 1)]),
    "chosen": ("s += v[i // 8, j // 8, min(max(k, 0), 3)]", "v", (8, 8), [(0, 1), (0, 1), (0, 4)]),
    "clamped": ("s += v[i // 8, j // 8, sa.clamp(k, 1, 3)]", "v", (8, 8), [(0, 1), (0, 1), (1, 3)]),
    "a remainder": ("s += v[i // 8, j // 8, k % 5]", "v", (8, 8), [(0, 1), (0, 1), (0, 5)]),
    "steps": ("s += w[i // 8 * 3 + 2, j // 8 * 2] + w[i // 8 * 3, j // 8 * 2 + 1]", "w", (8, 8), [(0, 3), (0, 2)]),
    "in reverse": ("s += w[i // 8 * 3 - 1, j // 8]", "w", (8, 8), [(-1, 1), (0, 1)]),
    "row by row": ("s += w[(i // 4 * across + j // 16) * 4 + k % 4, 0]", "w", (4, 16), [(0, 4), (0, 1)]),
    "twice divided": ("s += w[i // 4 // 2, (j // 4 * 4 + k % 4) // 4]", "w", (8, 4), [(0, 1), (0, 1)]),
    "called": ("s += look(w, i // 16, j // 16)", "w", (16, 16), [(0, 1), (0, 1)]),
    "from a block on": (
        "r = i // 8 * 4\nfor m in sa.range(r, r + 4, max_iters=9):\n    s += w[m, j // 8]",
        "w", (8, 8), [(0, 4), (0, 1)],
    ),
    "a bound of its own": (
        "for m in sa.range(n, max_iters=6):\n    s += v[i // 16, j // 16, m]", "v", (16, 16), [(0, 1), (0, 1), (0, 6)]
    ),
    "either": ("c = 1\nif x > 0.5:\n    c = 4\ns += v[i // 8, j // 8, c]", "v", (8, 8), [(0, 1), (0, 1), (1, 4)]),
    "not all threads": ("if x > 0.5:\n    s += w[i // 16, j // 16]", "w", (16, 16), [(0, 1), (0, 1)]),
    "long blocks": ("s += w[i // 512, j // 2]", "w", (512, 2), [(0, 1), (0, 1)]),
}  # fmt: skip


@pytest.mark.parametrize("name", PROVEN)
def test_blocks__with_elements_of_their_own__are_found(tmp_path: Path, name: str) -> None:
    body, param, blocks, reach = PROVEN[name]
    module = passed(tmp_path, body)
    found = tensor(module, param)
    assert (found.accumulation.value, found.block) == ("block", blocks)
    assert [(axis.low, axis.extent) for axis in found.block_axes] == reach
    assert parse(show(module)).buffers == module.buffers
    assert {e.tile for e in emit_module(module).entry_points if e.mode is Mode.BACKWARD and not e.part} == {blocks}


MANY = "two blocks may read one element"
MISSES = {
    "a range that is longer than the step": ("for m in range(5):\n    s += w[i // 16 * 4 + m, j // 16]", MANY),
    "neighbours": ("s += w[i // 16, j // 16] * w[i // 16 + 1, j // 16]", MANY),
    "different blocks": ("s += w[i // 16, j // 16] * w[i // 32, j // 16]", "its reads have different steps"),
    "turned once": ("s += w[i // 16, j // 16] * w[j // 16, i // 16]", "its reads have different steps"),
    "rows of unknown length": ("s += w[i // 16 * n + j // 16, 0]", ""),
    "rows of nine": ("s += w[i // 16 * 9 + j // 16, 0]", MANY),
    "rows of as many as fit": ("s += w[i // 16 * (sa.thread_count(1) // 16) + j // 16, 0]", ""),
    "rows of other blocks": ("s += w[i // 16 * across + j // 8, 0]", MANY),
    "columns in rows": ("s += w[i // 16 + j // 16 * across, 0]", MANY),
    "backwards": ("s += w[-(i // 16), j // 16]", MANY),
    "all blocks of a row": ("s += w[i // 16, 0]", ""),
    "clamped block": ("s += w[min(i // 16, n), j // 16]", ""),
    "a block that wraps around": ("s += w[i // 16 % 4, j // 16]", ""),
    "any element": ("s += w[i // 16, j // 16 + k]", ""),
    "below a bound": ("s += v[i // 16, j // 16, min(k, 3)]", ""),
    "shifted": ("s += w[(i + 1) // 16, j // 16]", ""),
    "from memory": ("s += w[int(x), j // 16]", ""),
    "in two values": ("c = i // 16\nif x > 0.5:\n    c = 0\ns += w[c, j // 16]", ""),
    "a counter": ("c = 0\nfor m in range(3):\n    c += 1\n    s += v[i // 16, j // 16, c]", ""),
    "through a float": ("s += w[int(float(i // 16)), j // 16]", ""),
    "a range that wraps around": ("s += w[i // 16, j // 16 + 2147483647 + k % 2 - 2147483647]", ""),
    "a parameter that is set": ("if x > 0.5:\n    k = 1\ns += v[i // 16, j // 16, k]", ""),
    "a parameter that counts": ("s += v[i // 16, j // 16, k]\nfor k in range(2):\n    s += v[i // 16, j // 16, k]", ""),
    "too many elements": ("s += w[i // 64, j // 32]", "blocks of 64 x 32 have more than 1024 elements"),
    "too many numbers": (
        "for m in range(65):\n    s += v[i // 16, j // 16, m]", "a block has 65 numbers of it, more than 64",
    ),
    "beside another tile": ("s += w[i // 16, j // 16] * v[k, 0, 0] * v[i // 16, 0, 0]", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", MISSES)
def test_blocks__that_may_share_an_element__add_up_otherwise(tmp_path: Path, name: str) -> None:
    body, why = MISSES[name]
    module = passed(tmp_path, body)
    ways = accumulations(module, module.kernels[0])
    used = "v" if "v[" in body and "w[" not in body else "w"
    if name == "beside another tile":
        assert (ways["w"], ways["v"]) == ("block", "scatter")
        return
    assert ways[used] in ("together", "scatter")
    if why and ways[used] == "together":
        assert deciding(module, module.kernels[0])[used].endswith(f"; not block: {why}")
    assert not any(buffer.block for buffer in module.buffers)


TILES = {
    "(16, 16)": ("block", ""),
    "(8, 4)": ("block", ""),
    "(4, 32)": ("scatter", "a tile of 4 x 32 is not inside a block of 16 x 16"),
    "(32, 8)": ("together", "a tile of 32 x 8 is not inside a block of 16 x 16"),
    "'rows'": ("scatter", "the kernel asks for rows"),
}


@pytest.mark.parametrize("tile", TILES)
def test_tile__of_the_kernel__lies_inside_a_block(tmp_path: Path, tile: str) -> None:
    module = passed(tmp_path, "s += w[i // 16, j // 16]", HEAD.replace("dims=2", f"dims=2, tile={tile}"))
    kernel = module.kernels[0]
    assert accumulations(module, kernel)["w"] == TILES[tile][0]
    assert deciding(module, kernel).get("w", "").partition("; not block: ")[2] == TILES[tile][1]


def test_threads__with_elements_of_their_own__add_plainly(tmp_path: Path) -> None:
    for body, way in (
        ("for m in range(4):\n    s += w[4 * i + m, 0]", "own"),
        ("for m in range(5):\n    s += w[4 * i + m, 0]", "scatter"),
        ("s += w[2 * i, 0] + w[2 * i + 1, 3]", "own"),
        ("s += w[i, 0] + w[i, 1]", "own"),
        ("s += w[i * i, 0]", "scatter"),
        ("s += w[int(sa.half(i)), 0]", "scatter"),
        ("s += w[int(sa.uint(i)), 0]", "own"),
    ):
        module = passed(tmp_path, body, LINE)
        assert accumulations(module, module.kernels[0])["w"] == way, body


def test_list__of_a_tile__keeps_its_loop(tmp_path: Path) -> None:
    """Of two tensors one has elements of its own for each block; the loop over the other is that of a tile."""
    body = "g = i // 16 * 3 + j // 16\nfor m in sa.range(n, max_iters=300):\n    s += w[m + g, 0] * x\n"
    module = passed(tmp_path, f"{body}s += v[i // 16, j // 16, 0]")
    kernel = module.kernels[0]
    assert accumulations(module, kernel)["w"] == accumulations(module, kernel)["v"] == "together"
    assert deciding(module, kernel)["v"].endswith("; not block: tiles add up another tensor together")


def test_block__needs_nothing_for_deterministic_sums(tmp_path: Path) -> None:
    body = "for m in range(8):\n    s += v[i // 16, j // 16, m] * w[k, 0]"
    plain, exact = (passed(tmp_path, body, deterministic=d) for d in (False, True))
    ways = accumulations(exact, exact.kernels[0])
    assert (ways["v"], ways["w"]) == ("block", "exact")
    (entry,) = (e for e in emit_module(plain).entry_points if e.mode is Mode.BACKWARD and e.part == "w")
    assert {p.parameter for p in entry.parameters} == {"w"}


def test_text__of_a_block__has_no_atomics_and_a_gradient_of_floats(tmp_path: Path) -> None:
    head = HEAD.replace("n: Uniform[int], w: Tensor[float, 2]", "n: Uniform[int], w: Tensor[float2, 2]")
    text = emit_module(passed(tmp_path, "s += w[i // 16, j // 16 * 2 + k % 2].x", head)).text
    assert "RWStructuredBuffer<float> f_w_grad;" in text
    assert "f_w_first = int2(block.x, 2 * block.y);" in text
    assert "f_w_sums[1 + at] += d_out.y;" in text
    assert "sa.scatter" not in text
    assert "import slangad_tensors;" not in text


SIZES = (1, 2, 3, 4)
DOMAINS = ((7, 9), (4, 13), (12, 5))
RANDOM = 200


def number(rng: random.Random, axis: int) -> str:
    """Return a random number of a block, or what looks like one."""
    name, size = "ij"[axis], rng.choice(SIZES)
    whole = f"({name} // {size})"
    return rng.choice((whole, whole, whole, f"({name} // 2 // {size})", f"(({name} + {rng.randrange(2)}) // {size})"))


def offset(rng: random.Random) -> str:
    """Return a random integer that differs between threads, in a range or in none."""
    size = rng.choice(SIZES)
    low, high = rng.randrange(-1, 2), rng.randrange(1, 4)
    return rng.choice((
        f"k % {size}", f"min(max(k, {low}), {high})", f"({low} if x > 0.5 else k % {size})", f"{size}", "0",
        f"(2 * (k % {size}) - {low})", f"min(k, {high})",
    ))  # fmt: skip


def index_pair(rng: random.Random) -> tuple[str, str]:
    """Return two indices of which blocks read different ones, or nearly so."""
    first = rng.randrange(2)
    a, b, step = number(rng, first), number(rng, 1 - first), rng.randrange(1, 7)
    size = rng.choice(SIZES)
    count = f"((sa.thread_count({1 - first}) + {size - rng.choice((1, 1, 1, 2))}) // {size})"
    return rng.choice((
        (f"{a} * {step} + {offset(rng)}", f"{rng.randrange(1, 4)} * {b} + {offset(rng)}"),
        (f"{a} * {step} + {offset(rng)}", f"({b} * {step} + {offset(rng)}) // {step}"),
        (f"({a} * {count} + {b}) * {step} + {offset(rng)}", offset(rng)),
        (f"{count} * {a} * {step} + {b} * {rng.randrange(1, 4)} + {offset(rng)}", "0"),
        (f"{a} * {step} + {b} + {offset(rng)}", b),
    ))  # fmt: skip


def elements(index: str, domain: tuple[int, int]) -> Iterator[tuple[tuple[int, int], int]]:
    """Yield each location of a domain with every value that an index may have there."""
    code = compile(index.replace("sa.thread_count", "count"), "", "eval")
    for i, j, k, x in itertools.product(range(domain[0]), range(domain[1]), range(-2, 8), (0.0, 1.0)):
        yield (i, j), eval(code, {"i": i, "j": j, "k": k, "x": x, "count": domain.__getitem__})


def test_proofs__of_random_indices__hold_in_every_domain(tmp_path: Path) -> None:
    rng = random.Random(1)
    pairs = [index_pair(rng) for _ in range(RANDOM)]
    head = "import slangad as sa\nfrom slangad import Each, NoDiff, Sum, Tensor\n"
    kernel = (
        "\n@sa.kernel(dims=2)\ndef f{n}(x: Each[float], k: NoDiff[Each[int]], w: Tensor[float, 2]) -> Sum[float]:\n"
        "    i, j = sa.thread_id(0), sa.thread_id(1)\n    return x * w[{a}, {b}]\n"
    )
    file = tmp_path / "random_blocks.py"
    file.write_text(head + "".join(kernel.format(n=n, a=a, b=b) for n, (a, b) in enumerate(pairs)))
    module = load(file)
    named = name_tensors(module)
    proven = 0
    for n, (kernel_, indices) in enumerate(zip(named.kernels, pairs, strict=True)):
        found = disjoint_elements(named, kernel_, f"f{n}.w")
        if isinstance(found, str):
            continue
        proven += 1
        for domain in DOMAINS:
            counts = [-(-extent // size) for extent, size in zip(domain, found.blocks, strict=True)]
            owners: dict[tuple[int, ...], tuple[int, ...]] = {}
            for (place, a), (_, b) in zip(elements(indices[0], domain), elements(indices[1], domain), strict=True):
                block = tuple(p // size for p, size in zip(place, found.blocks, strict=True))
                assert owners.setdefault((a, b), block) == block, (indices, found, domain)
                for value, axis in zip((a, b), found.axes, strict=True):
                    steps = (block[s.axis] * s.times * math.prod(counts[c] for c in s.across) for s in axis.steps)
                    assert 0 <= value - axis.low - sum(steps) < axis.extent, (indices, found, domain)
    assert proven >= RANDOM // 10
