"""Comment lines above functions say where to draw samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from slangad.compiler.errors.diagnostics import CompileError

if TYPE_CHECKING:
    from pathlib import Path

    from support.slang_files import Loader

    from slangad.compiler.ir.nodes import Module

pytestmark = pytest.mark.toolchain

STRUCT = "struct M : IDifferentiable { float roughness; float table[3]; }\n"


def ranges(module: Module) -> dict[str, list[tuple[str, float, float]]]:
    return {f.name: [(r.path, r.low, r.high) for r in f.ranges] for f in module.functions}


def test_ranges__parameters_and_their_parts__are_read(load_slang: Loader, tmp_path: Path) -> None:
    file = tmp_path / "ranged.slang"
    file.write_text(
        STRUCT
        + "// Not about ranges.\n// range: x -1 1e3\n/// range: m.roughness 0.1 1\n[Differentiable]\n"
        + "// range: m.table[2] 2 3\n// range: v.y -.5 0.5\n// range: a[0][1] 0 1\n"
        + "float f(float x, M m, float3 v, float2x2 a) { return x * m.roughness * v.y * a[0][1]; }\n"
        + "// range: x 7 8\n\n[Differentiable] float g(float x) { return x; }\n"
    )
    assert ranges(load_slang(file)) == {
        "f": [
            ("x", -1.0, 1e3),
            ("m.roughness", 0.1, 1.0),
            ("m.table[2]", 2.0, 3.0),
            ("v.y", -0.5, 0.5),
            ("a[0][1]", 0.0, 1.0),
        ],
        "g": [],
    }


def test_ranges__of_a_method__can_name_its_object(load_slang: Loader) -> None:
    found = ranges(load_slang("structs.slang"))
    assert found["shade"] == [("light", 0.5, 1.0)]


@pytest.mark.parametrize(
    ("line", "code", "columns"),
    [
        ("// range: z 0 1", "SA064", (11, 12)),
        ("// range: m.rough 0 1", "SA064", (11, 18)),
        ("// range: m.table[3] 0 1", "SA064", (11, 21)),
        ("// range: x 1 0", "SA085", (13, 14)),
        ("// range: x 0 inf", "SA085", (15, 18)),
        ("// range: x -1e308 1e308", "SA085", (13, 19)),
        ("// range: x zero 1", "SA085", (13, 17)),
        ("// range: x 0", "SA085", (1, 14)),
        ("// range:", "SA085", (1, 10)),
    ],
)
def test_ranges__that_mean_nothing__are_errors_at_the_word(
    load_slang: Loader, tmp_path: Path, line: str, code: str, columns: tuple[int, int]
) -> None:
    file = tmp_path / "wrong.slang"
    file.write_text(f"{STRUCT}{line}\n[Differentiable] float f(float x, M m) {{ return x * m.roughness; }}\n")
    with pytest.raises(CompileError) as caught:
        load_slang(file)
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.span.line) == (code, 2)
    assert (diagnostic.span.column, diagnostic.span.end_column) == columns
