"""Products on Metal's matrix units: the emitted texts compute values and gradients near those of float64 on a CPU.

No Metal compiler and no GPU sees the texts. Headers stand for Metal's (tests/support/metal). They refuse much of what
Metal would refuse or leave undefined, and tests say what.
"""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest
from support.metal_texts import build, launch, run

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Project

pytestmark = pytest.mark.toolchain

ASKED = ("-t", "metal", "-D", "SLANGAD_SIMDGROUPS")
GOLDEN = Path(__file__).with_name("simdgroups.metal")
COUNT = 700
"""Elements: neither of the two groups of 256 threads has whole turns."""
GROUPS = 2
TOLERANCE = 1e-6
"""By norm. The largest error was 4.6e-7."""

NETWORK = """
import slangad as sa
from slangad import Array, Each, Param

Net = sa.nn.MLP({sizes}, "tanh", bias={bias})

@sa.kernel(group_size={group})
def results(x: Each[Array[float, {inputs}]], net: Param[Net]) -> Each[Array[float, {outputs}]]:
    return net(x)
"""
STACK = """
import slangad as sa
from slangad import Array, Each, Param

@sa.struct
class Net:
    w: Array[Array[Array[float, 16], 16], 3]

@sa.kernel
def results(x: Each[Array[float, 16]], net: Param[Net]) -> Each[Array[float, 16]]:
    y = sa.copy(x)
    for k in range(3):
        y = net.w[k] @ y
    return y
"""
Arrays = dict[str, np.ndarray]


class Network(NamedTuple):
    sizes: tuple[int, ...]
    bias: bool = True
    group: int = 256

    @property
    def text(self) -> str:
        sizes = self.sizes
        return NETWORK.format(
            sizes=[*sizes], bias=self.bias, group=self.group, inputs=sizes[0], outputs=sizes[-1]
        )  # fmt: skip

    def weights(self) -> Arrays:
        rng, net = np.random.default_rng(1), {}
        for k, (n, m) in enumerate(pairwise(self.sizes), start=1):
            net[f"l{k}_w"] = (rng.uniform(-1, 1, (m, n)) * (3 / n) ** 0.5).astype("f4")
            if self.bias:
                net[f"l{k}_b"] = rng.uniform(-0.5, 0.5, m).astype("f4")
        return net


NETWORKS = [
    Network((16, 16, 16, 3)),
    Network((16, 17, 3)),
    Network((9, 24, 24, 3), bias=False, group=64),
    Network((16, 32, 3), bias=False),
    Network((16, 64, 64, 3)),
    Network((33, 40, 65, 24, 8)),
]
"""The last one has matrices that are too large for tiles between others."""


def reference(network: Network, net: Arrays, x: np.ndarray, cotangent: np.ndarray) -> Arrays:
    """The result and the gradients in float64."""
    inputs, last = [x.astype(np.float64)], len(network.sizes) - 1
    for k in range(1, last + 1):
        z = inputs[-1] @ net[f"l{k}_w"].T.astype(np.float64) + net.get(f"l{k}_b", np.zeros(1))
        inputs.append(np.tanh(z) if k < last else z)
    found, moved = {"result": inputs[last]}, cotangent.astype(np.float64)
    for k in range(last, 0, -1):
        if k < last:
            moved = moved * (1 - inputs[k] ** 2)
        found[f"net_l{k}_w_grad"] = moved.T @ inputs[k - 1]
        if network.bias:
            found[f"net_l{k}_b_grad"] = moved.sum(0)
        moved = moved @ net[f"l{k}_w"].astype(np.float64)
    return found | {"x_grad": moved}


def computed(
    project: Project, folder: Path, description: str, net: Arrays, x: np.ndarray, cotangent: np.ndarray
) -> Arrays:
    """The result and the gradients by the Metal texts of kernel ``results``, in two orders of threads."""
    project.write("described.py", description)
    project.run("compile", "described.py", *ASKED, "--mode", "forward", "--mode", "backward")
    (kernel,) = project.manifest()["inputs"][0]["kernels"]
    assert kernel["products"]["metal"].startswith("float: on matrix units")
    entries = {entry["name"]: entry for entry in kernel["entry_points"]}
    texts = {name: project.files()[f"described.{name.replace('_', '.')}.metal"].decode() for name in entries}
    assert "simdgroup_multiply_accumulate" in texts["results_backward"]
    threads = {name: entry["group_size"][0] for name, entry in entries.items()}
    with ThreadPoolExecutor() as pool:
        built = dict(zip(texts, pool.map(lambda n: build(texts[n], n, threads[n], folder), texts), strict=True))
    totals = entries["results_backward"]["totals"]
    arrays = {f"results_net_{name}": value for name, value in net.items()} | {"x": x, "result_cotangent": cotangent}
    unknown = {"result": np.full_like(cotangent, np.nan), "x_grad": np.full_like(x, np.nan)}
    arrays |= unknown | {"partials": np.full((GROUPS, totals), np.nan)}
    arrays |= {f"net_{name}_grad": np.zeros_like(value) for name, value in net.items()}
    found: list[Arrays] = []
    for backwards in (False, True):
        after = dict(arrays)
        for name in ("results_forward", "results_backward", "results_backward_totals"):
            groups = -(-totals // 32) if "totals" in name else GROUPS
            after |= launch(
                built[name], entries[name], after, {"count": COUNT, "parts": GROUPS}, groups, backwards=backwards
            )
        found.append({name: after[name] for name in after if name == "result" or name.endswith("_grad")})
    assert [name for name in found[0] if found[0][name].tobytes() != found[1][name].tobytes()] == []
    return found[0]


def errors(found: Arrays, wanted: Arrays) -> Arrays:
    assert found.keys() == wanted.keys()
    return {name: np.linalg.norm(found[name] - wanted[name]) / np.linalg.norm(wanted[name]) for name in wanted}


@pytest.mark.parametrize("network", NETWORKS, ids=lambda network: "-".join(map(str, network.sizes)))
def test_text__of_a_network__computes_value_and_gradients(
    project: Project, tmp_path: Path, tool: Callable[[str], str], network: Network
) -> None:
    tool("clang++")
    rng, net = np.random.default_rng(2), network.weights()
    x = rng.uniform(-1, 1, (COUNT, network.sizes[0])).astype("f4")
    cotangent = rng.normal(size=(COUNT, network.sizes[-1])).astype("f4")
    found = errors(computed(project, tmp_path, network.text, net, x, cotangent), reference(network, net, x, cotangent))
    assert max(found.values()) < TOLERANCE, found


def test_text__of_matrices_that_a_loop_chooses__adds_to_each(
    project: Project, tmp_path: Path, tool: Callable[[str], str]
) -> None:
    tool("clang++")
    rng = np.random.default_rng(3)
    w = (rng.normal(size=(3, 16, 16)) / 4).astype("f4")
    x, cotangent = (rng.normal(size=(COUNT, 16)).astype("f4") for _ in range(2))
    vectors = [x.astype(np.float64)]
    for k in range(3):
        vectors.append(vectors[k] @ w[k].T)
    moved, sums = cotangent.astype(np.float64), np.zeros((3, 16, 16))
    for k in (2, 1, 0):
        sums[k], moved = moved.T @ vectors[k], moved @ w[k]
    wanted = {"result": vectors[3], "x_grad": moved, "net_w_grad": sums}
    found = errors(computed(project, tmp_path, STACK, {"w": w}, x, cotangent), wanted)
    assert max(found.values()) < TOLERANCE, found


SUMMED = """
import slangad as sa
from slangad import Array, Each, Mean, Param

Net = sa.nn.MLP([8, 64, 1])

@sa.kernel
def results(x: Each[Array[float, 8]], scale: Param[float], net: Param[Net]) -> Mean[float]:
    return scale * net(x)[0]
"""


@pytest.mark.parametrize("more", [(), ("--deterministic",)])
def test_text__of_a_kernel_with_other_sums__keeps_to_the_memory_of_a_group(
    project: Project, more: tuple[str, ...]
) -> None:
    project.write("described.py", SUMMED)
    project.run("compile", "described.py", *ASKED, *more)
    for name, data in project.files().items():
        if name.endswith(".metal"):
            arrays = re.findall(r"threadgroup array<(\w+), int\((\d+)\)> \w+;", data.decode())
            assert len(arrays) == len(re.findall(r"^ *threadgroup \w+", data.decode(), re.MULTILINE))
            assert 0 < sum({"float4": 16, "float": 4, "uint": 4}[type_] * int(n) for type_, n in arrays) <= 32768


def test_text__is_the_one_of_the_golden_file(project: Project, request: pytest.FixtureRequest) -> None:
    project.write("described.py", Network((16, 16)).text)
    project.run("compile", "described.py", *ASKED, "--mode", "backward")
    text = project.files()["described.results.backward.metal"].decode()
    assert "simdgroup_multiply_accumulate" in text
    if request.config.getoption("--update"):
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8"), "simdgroups.metal changed: review it, then pytest --update"


def test_compile__without_the_macro__has_no_simdgroup_matrices(project: Project) -> None:
    project.write("described.py", Network((16, 16)).text)
    said = project.run("-v", "compile", "described.py", "-t", "metal", "-t", "hlsl", "-t", "wgsl", "-o", "plain").stderr
    assert "products of matrix on metal, hlsl, wgsl: float: code for this target does not know" in said
    asked = ("-v", "compile", "described.py", *ASKED, "-t", "hlsl", "-t", "wgsl")
    said = project.run(*asked).stderr
    assert "products of matrix on metal: float: on matrix units, in groups of up to 256 threads" in said
    assert "products of matrix on hlsl, wgsl: float: code for this target does not know" in said
    plain, units = project.files("plain"), project.files()
    differ = {name for name in plain if plain[name] != units[name] and name.endswith((".metal", ".hlsl", ".wgsl"))}
    assert differ == {f"described.results.{mode}.metal" for mode in ("forward", "backward", "jvp")}
    assert not [name for name, data in plain.items() if name.endswith(".metal") and b"simdgroup_" in data]


HEADER = """#include <metal_stdlib>
using namespace metal;
#include <metal_simdgroup_matrix>
[[kernel]] void wrong(uint3 place [[thread_position_in_threadgroup]], float device* x [[buffer(0)]], uint constant* which [[buffer(1)]])
{
    threadgroup array<float4, int(64)> stage;
    thread simdgroup_float8x8 tile;
    thread float own[64];
    stage[place[0]] = float4(1.0);
"""  # noqa: E501  (as Slang writes it)
LOAD = "simdgroup_load(tile, (threadgroup float*)(&stage[int(0)]), ulong(8U));"
BARRIER = "threadgroup_barrier(mem_flags::mem_threadgroup);"
REFUSED = {
    "simdgroup_load(tile, &stage[int(0)], ulong(8U));": "no matching function",
    "simdgroup_load(tile, x, ulong(8U));": "no matching function",
    "simdgroup_load(tile, own, ulong(8U));": "no matching function",
    "tile[0] = 1.0;": "does not provide a subscript operator",
    "simdgroup_multiply_accumulate(tile, tile, tile, simdgroup_float8x8());": "no matching function",
    "stage[0].x = float(min(1, 2U));": "ambiguous",
    "(&own)->x = 1.0;": "not a structure",
    "double more = 1.0; more += *x;": "implicit conversion increases floating-point precision",
}
ENDED = [
    (f"{BARRIER} {LOAD}", ""),
    (LOAD, "without a barrier"),
    (f"simdgroup_barrier(mem_flags::mem_threadgroup); {LOAD.replace('int(0)', 'int(44)')}", "without a barrier"),
    (f"simdgroup_barrier(mem_flags::mem_none); {LOAD}", "without a barrier"),
    (f"{BARRIER} {LOAD} stage[place[0]] = float4(2.0);", "without a barrier"),
    (f"{BARRIER} if (place[0] < 16U) {{ {LOAD} }}", "wait elsewhere or have ended"),
    (f"if (place[0] < 32U) {{ {BARRIER} }}", "differ in place or arguments"),
    ("if (place[0] < 32U) { return; }", "wait elsewhere or have ended"),
    (f"{BARRIER} {LOAD.replace('int(0)', 'place[0] / 16')}", "differ in place or arguments"),
    (f"{BARRIER} {LOAD.replace('int(0)', 'int(52)')}", "beyond the group's memory"),
    ("stage[place[0] + 1U] = float4(1.0);", "beyond an array"),
    ("simdgroup_multiply_accumulate(tile, tile, tile, tile);", "before it is written"),
    ("x[1] = 1.0;", "beyond a buffer"),
]


def test_headers__of_texts_that_metal_refuses__do_not_compile(tmp_path: Path, tool: Callable[[str], str]) -> None:
    tool("clang++")
    with pytest.raises(AssertionError) as refusal:
        build("\n".join((HEADER, *REFUSED, "}\n")), "wrong", 64, tmp_path)
    first = len(HEADER.splitlines()) + 2
    for line, why in enumerate(REFUSED.values(), start=first):
        (said,) = re.findall(rf"wrong\.cpp:{line}:\d+: error: (.*)", str(refusal.value))
        assert why in said


def test_headers__of_what_metal_leaves_undefined__end_the_program(tmp_path: Path, tool: Callable[[str], str]) -> None:
    tool("clang++")
    cases = (f"    if (*which == {k}U) {{ {text} }}" for k, (text, _) in enumerate(ENDED))
    program = build("\n".join((HEADER, *cases, BARRIER, "*x = stage[place[0]].x;", "}\n")), "wrong", 64, tmp_path)
    for k, (text, why) in enumerate(ENDED):
        buffers = [b"\0" * 4, k.to_bytes(4, "little")]
        if not why:
            assert np.frombuffer(run(program, buffers, 1)[0], "f4") == 1, text
            continue
        with pytest.raises(AssertionError, match=why):
            run(program, buffers, 1)


def test_headers__of_too_much_memory_of_a_group__end_the_program(tmp_path: Path, tool: Callable[[str], str]) -> None:
    tool("clang++")
    more = "threadgroup array<float4, int(2048)> more;\n}\n"
    with pytest.raises(AssertionError, match="more memory of a group than 32 KB"):
        run(build(f"{HEADER}    {more}", "wrong", 64, tmp_path), [b"\0" * 4, b"\0" * 4], 1)
