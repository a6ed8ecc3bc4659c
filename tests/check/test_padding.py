"""Padding of structs in buffers needs no gradient; a field that a result depends on does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slangad.compiler.check.reference.padding import field_of
from slangad.compiler.report.model import Leg, NoteKind, Verdict

if TYPE_CHECKING:
    from check.conftest import Checked

TEXT = """
struct Splat : IDifferentiable
{
    float3 scale;
    float _pad0;
    float density;
}
StructuredBuffer<Splat> splats;
RWStructuredBuffer<Splat> gradients;

[BackwardDerivative(fetch_bwd)] Splat fetch(uint i) { return splats[i]; }
void fetch_bwd(uint i, Splat d)
{
    InterlockedAdd(gradients[i].scale.x, d.scale.x);
    InterlockedAdd(gradients[i].scale.y, d.scale.y);
    InterlockedAdd(gradients[i].scale.z, d.scale.z);
    InterlockedAdd(gradients[i].density, d.density);
}
[BackwardDerivative(used_bwd)] float used(uint i) { return splats[i].density * splats[i]._pad0; }
void used_bwd(uint i, float d) { InterlockedAdd(gradients[i].density, d * splats[i]._pad0); }

[BackwardDerivative(forgets_bwd)] Splat forgets(uint i) { return splats[i]; }
void forgets_bwd(uint i, Splat d)
{
    InterlockedAdd(gradients[i].scale.x, d.scale.x);
    InterlockedAdd(gradients[i].scale.y, d.scale.y);
    InterlockedAdd(gradients[i].density, d.density);
}

[BackwardDerivative(copied_bwd)] Splat copied(Splat x) { return x; }
void copied_bwd(inout DifferentialPair<Splat> x, Splat d)
{
    d._pad0 = 0.0;
    x = diffPair(x.p, d);
}
"""
NOTE = "no gradient reaches 'splats._pad0', which is padding by its name"


def test_check__padding_without_gradient__is_excused_with_a_note(checked_once: Checked) -> None:
    results = checked_once(TEXT, ".slang", samples=32)
    fetch = results["fetch"]
    assert fetch.verdict is Verdict.PASS
    assert NOTE in [note.message for note in fetch.notes if note.kind is NoteKind.MISSING]


def test_check__other_fields_and_padding_that_is_used__are_not_excused(checked_once: Checked) -> None:
    results = checked_once(TEXT, ".slang", samples=32)
    entries = {
        name: {f.column for f in results[name].failures if f.leg is Leg.REVERSE}
        for name in ("used", "forgets", "copied")
    }
    assert {column.rpartition(".")[2] for column in entries["used"]} == {"_pad0"}
    assert {column.rpartition("]")[2] for column in entries["forgets"]} == {".scale.z"}
    assert entries["copied"] == {"x._pad0"}


def test_field_of__components_and_indices__are_no_fields() -> None:
    paths = ("data[2].pad", "data[2].pad.x", "x.y", "pad[3]", "s.pad[1]")
    assert [field_of(path) for path in paths] == ["pad", "pad", "", "", "pad"]
