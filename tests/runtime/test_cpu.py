"""Emitted C++ on the CPU: parameters of every type arrive, every thread runs once, results are right."""

from __future__ import annotations

import itertools
import math
import tempfile
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.limits import small_files
from support.shared_builds import build_each_time

from slangad.compiler.errors.diagnostics import ToolchainError
from slangad.compiler.runtime.device import cxx as cxx_module
from slangad.compiler.runtime.device.cpu_kernels import load_module
from slangad.compiler.runtime.device.cxx import CxxCompiler, RejectionError, build_shared_library, find_cxx
from slangad.compiler.runtime.device.layout import dtype_of
from slangad.compiler.toolchain.cache import Cache

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from slangad.compiler.runtime.device.cpu_kernels import CpuModule

pytestmark = pytest.mark.toolchain

ODD = """
struct Inner { float2 uv; bool flag; half h; }
struct Big { Inner inner[2]; float3x2 m; double d; int16_t s; uint64_t q; bool3 b3; }
uniform float scale;
StructuredBuffer<int> table;

[shader("compute")] [numthreads(4, 2, 1)]
void odd(uint3 tid : SV_DispatchThreadID, uniform bool b, uniform Big big, uniform float2x3 m, uniform half3 h,
    uniform float3 rows[4], uniform RWStructuredBuffer<Big> copy, uniform RWByteAddressBuffer raw,
    uniform StructuredBuffer<bool> flags, uniform RWStructuredBuffer<float2x3> matrices,
    uniform RWStructuredBuffer<float> sums)
{
    if (tid.x != 0 || tid.y != 0)
        return;
    copy[1] = big;
    matrices[0] = m * scale;
    raw.Store(4, 77u);
    sums[0] = float(h.x + h.y * 2.0h) + rows[2].y + big.inner[1].uv.y + float(big.q);
    sums[1] = b && flags[1] && !flags[0] && big.b3.z ? 1.0 : 0.0;
    sums[2] = float(table[2]) + big.m[2][1];
}
"""


def test_launch__parameters_of_every_type__arrive(build: Callable[..., CpuModule]) -> None:
    module = build(ODD, "odd")
    (kind,) = [p["type"] for p in module.entries["odd"]["parameters"] if p["name"] == "big"]
    copy = np.zeros(2, dtype_of(kind))
    inner = [{"uv": [1, 2], "flag": True, "h": 0.5}, {"uv": (3, 4), "flag": False, "h": 1.5}]
    big = {"inner": inner, "m": np.arange(6).reshape(3, 2), "d": 3.25, "s": -7, "q": 2**20, "b3": [0, 0, 1]}
    sums, raw, matrices = np.zeros(3, np.float32), np.zeros(8, np.uint8), np.zeros((1, 2, 3), np.float32)
    module.launch(
        "odd",
        (1, 1, 1),
        {
            "copy": copy,
            "raw": raw,
            "flags": np.array([False, True]),
            "matrices": matrices,
            "sums": sums,
            "table": np.array([1, 2, 3], np.int32),
        },
        {
            "b": True,
            "big": big,
            "m": [[1, 2, 3], [4, 5, 6]],
            "h": [1.0, 2.0, 3.0],
            "rows": np.full((4, 3), 9.0),
            "scale": 2.0,
        },
    )
    assert sums.tolist() == [5 + 9 + 4 + 2**20, 1.0, 3 + 5]
    assert raw.tolist() == [0, 0, 0, 0, 77, 0, 0, 0]
    assert matrices.tolist() == [[[2, 4, 6], [8, 10, 12]]]
    assert copy[1]["inner"]["uv"].tolist() == [[1, 2], [3, 4]]
    assert copy[1]["inner"]["h"].tolist() == [0.5, 1.5]
    assert (copy[1]["d"], copy[1]["s"], copy[1]["q"]) == (3.25, -7, 2**20)
    assert copy[1]["b3"].tolist() == [False, False, True]


COUNT = """
[shader("compute")] [numthreads(8, 4, 2)]
void count(uint3 tid : SV_DispatchThreadID, uniform uint3 size, uniform RWStructuredBuffer<int> visits)
{
    if (all(tid < size))
        visits[(tid.z * size.y + tid.y) * size.x + tid.x] += 1;
}
"""


def test_launch__any_size__runs_every_thread_once(build: Callable[..., CpuModule]) -> None:
    module = build(COUNT, "count")
    sizes = [(1, 1, 1), (8, 4, 2), (9, 5, 3), (1000, 3, 1), (1, 300, 2), (0, 1, 1)]
    for size, workers in itertools.product(sizes, [1, 3, None]):
        visits = np.zeros(math.prod(size), np.int32)
        module.launch("count", size, {"visits": visits}, {"size": size}, workers=workers)
        assert np.all(visits == 1), (size, workers)


GRADIENT = """
[Differentiable] float f(float x, float k) { return sin(x * k) / (1.0 + x * x); }

[shader("compute")] [numthreads(64, 1, 1)]
void forward(uint3 t : SV_DispatchThreadID, uniform uint n, uniform float k, uniform StructuredBuffer<float> x,
    uniform RWStructuredBuffer<float> y) { if (t.x < n) y[t.x] = f(x[t.x], k); }

[shader("compute")] [numthreads(64, 1, 1)]
void backward(uint3 t : SV_DispatchThreadID, uniform uint n, uniform float k, uniform StructuredBuffer<float> x,
    uniform RWStructuredBuffer<float> d_x)
{
    if (t.x >= n) return;
    var p = diffPair(x[t.x]);
    var q = diffPair(k);
    bwd_diff(f)(p, q, 1.0);
    d_x[t.x] = p.d;
}
"""


def test_launch__gradient__is_the_analytic_one(build: Callable[..., CpuModule]) -> None:
    module = build(GRADIENT, "forward", "backward")
    x = np.linspace(-3, 3, 10_001, dtype=np.float32)
    y, d_x = np.zeros_like(x), np.zeros_like(x)
    module.launch("forward", (len(x), 1, 1), {"x": x, "y": y}, {"n": len(x), "k": 1.5})
    module.launch("backward", (len(x), 1, 1), {"x": x, "d_x": d_x}, {"n": len(x), "k": 1.5})
    wide = x.astype(np.float64)
    np.testing.assert_allclose(y, np.sin(wide * 1.5) / (1 + wide**2), rtol=1e-5, atol=1e-6)
    slope = 1.5 * np.cos(wide * 1.5) / (1 + wide**2) - np.sin(wide * 1.5) * 2 * wide / (1 + wide**2) ** 2
    np.testing.assert_allclose(d_x, slope, rtol=1e-5, atol=1e-6)
    strided = np.zeros_like(y)
    module.launch("forward", (100, 1, 1), {"x": x[::2], "y": strided}, {"n": 100, "k": 1.5})
    np.testing.assert_array_equal(strided[:100], y[:200:2])


GLOBALS = """
Texture2D<float4> unread;
SamplerState how;
cbuffer Other { float2 also; float4 unread_too; }
StructuredBuffer<float> read;

[shader("compute")] [numthreads(1, 1, 1)]
void copies(uniform RWStructuredBuffer<float> y) { y[0] = read[0]; }
"""


def test_launch__globals_that_can_not_be_passed_and_are_not_read__do_not_matter(
    build: Callable[..., CpuModule],
) -> None:
    y = np.zeros(1, np.float32)
    build(GLOBALS, "copies").launch("copies", (1, 1, 1), {"y": y, "read": np.array([2.5], np.float32)}, {})
    assert y.tolist() == [2.5]


def test_launch__wrong_arguments__are_refused(build: Callable[..., CpuModule]) -> None:
    module = build(GRADIENT, "forward")
    x = np.zeros(4, np.float32)
    right = {"n": 4, "k": 1.0}
    with pytest.raises(KeyError, match="z given but no parameter"):
        module.launch("forward", (4, 1, 1), {"x": x, "y": x, "z": x}, right)
    with pytest.raises(KeyError, match="y given but"):
        module.launch("forward", (4, 1, 1), {"x": x}, right)
    with pytest.raises(TypeError, match="buffer x needs float32, not float64"):
        module.launch("forward", (4, 1, 1), {"x": x.astype(np.float64), "y": x}, right)
    with pytest.raises(TypeError, match="writable and C-contiguous"):
        module.launch("forward", (4, 1, 1), {"x": x, "y": np.zeros(8, np.float32)[::2]}, right)


def test_load__library_that_can_not_be_written_or_loaded__leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with small_files(1000), pytest.raises(OSError, match="File too large"):
        load_module(5000 * b"x", "{}")
    with pytest.raises(OSError, match="slangad-"):
        load_module(b"x", "{}")
    assert list(tmp_path.iterdir()) == []


def test_build__rejected_text__shows_the_compilers_errors(cxx: CxxCompiler) -> None:
    with pytest.raises(ToolchainError) as caught:
        build_shared_library(b"int f() { return nothing; }")
    (problem,) = caught.value.diagnostics
    assert problem.code == "SA246"
    assert any("nothing" in note for note in problem.notes)


def test_build__same_text__comes_from_the_cache(
    cxx: CxxCompiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = Cache(tmp_path)
    first = build_shared_library(b'extern "C" int f() { return 1; }', cache=cache)
    monkeypatch.setattr(cxx_module, "_build", None)
    assert build_shared_library(b'extern "C" int f() { return 1; }', cache=cache) == first


@pytest.fixture
def _real_builds(monkeypatch: pytest.MonkeyPatch) -> None:
    build_each_time(monkeypatch)


PRELUDE = b"""#ifndef PRELUDE
#define PRELUDE
inline int one() { return 1; }

#endif"""
"""A text that ends as Slang's prelude does."""


@pytest.mark.usefixtures("_real_builds")
def test_build__prelude__is_read_once_and_changes_nothing(cxx: CxxCompiler, tmp_path: Path) -> None:
    text = PRELUDE + b'\nextern "C" int f() { return one() + __LINE__; }\n'
    cache = Cache(tmp_path)
    assert build_shared_library(text, cache=cache) == build_shared_library(text)
    is_gcc = "clang" not in cxx.described()
    assert entries_of(tmp_path).count(b"gpch") == is_gcc
    before = len(entries_of(tmp_path))
    build_shared_library(text + b"// another\n", cache=cache)
    assert len(entries_of(tmp_path)) == before + 1


@pytest.mark.usefixtures("_real_builds")
def test_build__prelude_of_another_compiler__is_read_as_text(cxx: CxxCompiler, tmp_path: Path) -> None:
    text, cache = PRELUDE + b'\nextern "C" int f() { return one(); }\n', Cache(tmp_path)
    cache.put(cxx_module._key(b"precompiled|" + PRELUDE, cxx, 1, native=False), b"gpch of another compiler")
    assert build_shared_library(text, cache=cache) == build_shared_library(text)


@pytest.mark.usefixtures("_real_builds")
def test_build__error_after_the_prelude__has_the_line_of_the_text(cxx: CxxCompiler, tmp_path: Path) -> None:
    text = PRELUDE + b"\n\nint f() { return nothing; }\n"
    with pytest.raises(RejectionError) as caught:
        build_shared_library(text, cache=Cache(tmp_path))
    line = text[: text.index(b"nothing")].count(b"\n") + 1
    assert f"kernel.cpp:{line}" in caught.value.output.replace("(", ":")


def entries_of(folder: Path) -> list[bytes]:
    """What the values in a cache begin with."""
    cache = Cache(folder)
    return [(cache.get(path.parent.name + path.name) or b"")[:4] for path in folder.glob("??/*")]


def test_find_cxx__environment__wins_and_none_is_told(monkeypatch: pytest.MonkeyPatch, cxx: CxxCompiler) -> None:
    monkeypatch.setenv("CXX", f"{cxx.command[0]} -g")
    assert find_cxx() == CxxCompiler((cxx.command[0], "-g"))
    monkeypatch.delenv("CXX")
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(cxx_module, "find_spec", lambda name: None)
    assert find_cxx() is None
    with pytest.raises(ToolchainError, match="SA245"):
        build_shared_library(b"")
