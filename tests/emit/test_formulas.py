"""Formulas of named constants in emitted Slang are the numbers that they were when the file was loaded."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from slangad.compiler.driver.compile import compile_inputs
from slangad.compiler.driver.inputs import parse_inputs
from slangad.compiler.driver.model import Options

CASE = Path(__file__).parents[1] / "cases/constants/formulas/input.py"
NUMBERS = {"HALF_WIDTH": "8", "MASK": "0b1010", "RATE": "0.25"}


@pytest.mark.toolchain
def test_formulas__of_named_constants__compile_to_what_their_numbers_do(tmp_path: Path) -> None:
    text = CASE.read_text(encoding="utf-8")
    plain = re.sub(r"^\w+ = [\w.]+\n", "", text, flags=re.MULTILINE)
    for name, number in NUMBERS.items():
        plain = re.sub(rf"\b{name}\b", number, plain)
    codes = []
    for folder, source in (("named", text), ("plain", plain)):
        path = tmp_path / folder / "input.py"
        path.parent.mkdir()
        path.write_text(source, encoding="utf-8")
        options = Options(targets=("spirv", "wgsl", "cuda", "metal", "hlsl", "glsl", "cpp"))
        (compiled,) = compile_inputs(parse_inputs([str(path)]), options)
        codes.append({output.name: output.data for output in compiled.outputs if output.kind == "artefact"})
        assert (b"HALF_WIDTH" in compiled.slang.emitted.text.encode()) == (folder == "named")
    named, numbered = codes
    assert len(named) > 30
    assert {name: code for name, code in named.items() if numbered[name] != code} == {}
