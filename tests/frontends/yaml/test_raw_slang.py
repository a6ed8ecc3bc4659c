"""Bodies in Slang: they compile, differentiate, and Slang's errors in them point at their words in the YAML file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.cpu import checker

from slangad.compiler.driver.compile import compile_inputs
from slangad.compiler.driver.inputs import Input
from slangad.compiler.driver.model import Options
from slangad.compiler.errors.diagnostics import CompileError
from slangad.compiler.frontends import load

if TYPE_CHECKING:
    from pathlib import Path

    from slangad.compiler.errors.diagnostics import Diagnostic

HEAD = "slangad: 1\nkernels:\n  k:\n    params: {x: each float}\n    returns: each float\n"


def write(folder: Path, text: str) -> Path:
    path = folder / "input.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def refused(folder: Path, text: str) -> tuple[Diagnostic, ...]:
    with pytest.raises(CompileError) as caught:
        compile_inputs([Input(write(folder, text))], Options(targets=("cpp",), workers=1))
    return caught.value.diagnostics


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("body", "line", "column"),
    [
        ("slang: return x * wrong;", 6, 23),
        ("slang: |\n      // a comment\n      float y = x;\n\n      return y * wrong;", 10, 18),
        ("slang: |2\n        if (x > 0.0)\n          return wrong;\n      return x;", 8, 18),
        ('slang: "float y = x;\\nreturn y * \\x77rong;"', 6, 38),
        ("slang: 'return x *\n\n      wrong;'", 8, 7),
    ],
)
def test_raw_slang__with_an_unknown_name__slang_error_points_at_it(
    tmp_path: Path, body: str, line: int, column: int
) -> None:
    first, *_ = refused(tmp_path, f"{HEAD}    {body}\n")
    assert "wrong" in first.message
    assert (first.span.line, first.span.column) == (line, column)


@pytest.mark.toolchain
def test_raw_slang__called_from_a_body__differentiates_right(tmp_path: Path) -> None:
    text = """
slangad: 1
constants: {SLOPE: 0.25}
structs:
  Curve:
    fields: {a: float, b: float3}
    methods:
      at:
        params: {x: float}
        returns: float
        slang: |
          return this.a * sin(x) + dot(this.b, float3(x, x * x, 1.0));
functions:
  leaky:
    params: {x: float}
    returns: float
    slang: |
      if (x > 0.0)
          return x;
      return SLOPE * x;
  powers:
    params: {x: float3}
    returns: float
    slang: |
      float total = 0.0;
      for (int i = 0; i < 3; ++i)
          total += pow(abs(x[i]) + 0.5, float(i + 1));
      return total;
kernels:
  run:
    params: {c: each Curve, x: each float}
    returns: each float
    body: |
      return c.at(x) * leaky(x) + powers(c.b)
"""
    module = load(write(tmp_path, text))
    rng = np.random.default_rng(3)
    given = {"c_a": rng.normal(size=9), "c_b": rng.normal(size=(9, 3)), "x": rng.normal(size=9)}
    checker(module).check("run", {name: value.astype(np.float32) for name, value in given.items()})


def test_raw_slang__longer_than_a_line__is_printed_as_it_is(tmp_path: Path) -> None:
    from slangad.compiler.emit import emit_module
    from slangad.compiler.passes import run_passes

    line = "return x" + " + x" * 60 + "; // to the end"
    module = load(write(tmp_path, f"{HEAD}    slang: |\n      {line}\n      # not a comment in Slang\n"))
    text = emit_module(run_passes(module)).text
    assert f"    {line}\n    # not a comment in Slang\n" in text
