"""What type checkers see of ``sa``: described programs check, and wrong calls of them don't."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = """
    from __future__ import annotations

    import math

    import slangad as sa
    from slangad import Each, NoDiff, Param, Sum, float2, float3, float3x3


    @sa.struct
    class Material:
        albedo: float3
        roughness: float = 0.5

        def bright(self, k: float) -> Material:
            return Material(self.albedo * k, self.roughness)

        @sa.differentiable
        def area(self, scale: float = 2.0) -> float:
            return scale * self.roughness * 2.0


    @sa.differentiable
    def shade(m: Material, light: float3, normal: NoDiff[float3]) -> float:
        return sa.dot(m.albedo, float3(0.3, 0.6, 0.1)) * max(sa.dot(light, normal), 0.0)


    @sa.differentiable(derivative=sa.finite_difference(step=1e-3))
    def curve(x: float, k: float) -> tuple[float, float3]:
        v = float3(x)
        v.xz = float2(k, k)
        v = -v * 2.0 + k
        y: float = sa.sin(x) + math.cos(k) + v.x + v[1]
        h = sa.half(0.5) * 2.0
        if sa.any(v > 0.0):
            y = sa.lerp(y, 1.0, 0.5)
        return y + float(h), sa.normalize(float3x3(1.0) @ v)


    @shade.backward
    def shade_bwd(m: Material, light: float3, normal: float3, d_out: float) -> tuple[Material, float3]:
        return m.bright(d_out), light * d_out


    @sa.kernel(group_size=32)
    def fit(light: Each[float3], target: NoDiff[Each[float]], m: Param[Material]) -> Sum[float]:
        r = shade(m, light, float3(0.0, 1.0, 0.0)) - target
        for i in sa.range(3, unroll=True):
            r += light[i]
        for i in sa.group_range(3):
            r += light[i]
        while sa.max_iters(8) and r < 3.0:
            r = r * 2.0
        return r * r


    material = Material(float3(1.0))
    value: float = shade(material, float3(0.0), normal=float3(1.0))
    area: float = material.area(scale=3.0)
    gradients = sa.bwd_diff(shade)(material, float3(0.0), float3(1.0), 1.0)
    pair = sa.fwd_diff(curve)(sa.diff_pair(1.0, 1.0), sa.diff_pair(2.0, 0.0))
"""
MISTAKES = {
    "shade(1.0, float3(0.0), float3(1.0))": "arg-type",
    "shade(material)": "call-arg",
    "material.area('a')": "arg-type",
    "Material()": "call-arg",
    "sa.dot(1.0, float3(0.0)).x": "arg-type",
    "sa.cross(float2(0.0), float2(1.0))": "type-var",
    "float3(1.0) + 'a'": "operator",
}


def check(program: str, folder: Path) -> str:
    file = folder / "program.py"
    file.write_text(textwrap.dedent(program))
    # CI runs mypy before the tests: the same settings, from the same folder, find its cache
    command = [sys.executable, "-m", "mypy", "--strict", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert not done.stderr, done.stderr
    return done.stdout


def test_checker__on_a_described_program__finds_nothing(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    assert check(PROGRAM, tmp_path).startswith("Success")


def test_checker__on_mistakes__finds_each(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    lines = textwrap.dedent(PROGRAM).rstrip().splitlines()
    output = check("\n".join([*lines, *MISTAKES]), tmp_path)
    found = {int(line): code for line, code in re.findall(r":(\d+): error: .*\[([\w-]+)\]", output)}
    assert found == {len(lines) + 1 + i: code for i, code in enumerate(MISTAKES.values())}
