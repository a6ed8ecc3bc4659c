"""Kernels are compiled from the part of a file's text that they reach, as from the whole text."""

from __future__ import annotations

import pytest

from slangad.compiler.emit.model import EmittedModule, EntryParameter, EntryPoint, Mode, ParameterRole
from slangad.compiler.ir.types import FLOAT
from slangad.compiler.runtime.device.reached_text import compile_reached
from slangad.compiler.slang_text.reach import Reach
from slangad.compiler.toolchain.jobs.request import CompileJob, CompileResult

pytestmark = pytest.mark.toolchain

TEXT = """
uniform float gain;
StructuredBuffer<float> offsets;

[BackwardDerivative(slope)]
float twice(float x) { return SCALE * x; }

void slope(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, gain * d); }

[Differentiable]
float scaled(float x) { return twice(x); }

[shader("compute")] [numthreads(64, 1, 1)]
void scale(uint3 t : SV_DispatchThreadID, uniform RWStructuredBuffer<float> x)
{
    DifferentialPair<float> pair = diffPair(x[t.x], 0.0);
    bwd_diff(scaled)(pair, 1.0);
    x[t.x] = pair.d;
}

[shader("compute")] [numthreads(64, 1, 1)]
void shift(uint3 t : SV_DispatchThreadID, uniform RWStructuredBuffer<float> x) { x[t.x] += offsets[t.x]; }
"""


def compiled(entries: tuple[str, ...], text: str = TEXT, bound: tuple[EntryParameter, ...] = ()) -> CompileResult:
    points = tuple(EntryPoint(name, name, Mode.FORWARD, (64, 1, 1), 1, bound) for name in ("scale", "shift"))
    emitted = EmittedModule("test.slang", text, {}, points, {}, ())
    job = CompileJob("test.slang", text, entries, ("cpp",), defines=(("SCALE", "2.0"),), whole=True)
    return compile_reached(job, emitted, None)


def parameters(result: CompileResult) -> set[str]:
    reflected = result.reflection_text("cpp") or ""
    return {name for name in ("gain", "offsets") if f'"{name}"' in reflected}


@pytest.mark.parametrize(
    ("entries", "memory"),
    [(("scale",), {"gain"}), (("shift",), {"offsets"}), (("scale", "shift"), {"gain", "offsets"})],
)
def test_kernels__compiled_from_what_they_reach__have_their_memory_alone(entries, memory) -> None:
    result = compiled(entries)
    assert result.ok
    assert parameters(result) == memory


def test_parameter__that_a_kernel_binds_and_does_not_name__stays() -> None:
    role = ParameterRole.EXTENTS
    bound = EntryParameter("offsets", role, "x", (), FLOAT, (), "StructuredBuffer<float>", "read", shared=True)
    assert parameters(compiled(("scale",), bound=(bound,))) == {"gain", "offsets"}


def test_part__that_slang_refuses__gives_way_to_the_whole_text(monkeypatch) -> None:
    monkeypatch.setattr(Reach, "slices", lambda *_: {"test.slang": "a part that is no Slang"})
    result = compiled(("scale",))
    assert result.ok
    assert parameters(result) == {"gain", "offsets"}


def test_error__of_a_kernel__is_where_it_is_in_the_whole_text() -> None:
    text = TEXT.replace("offsets[t.x]", "missing")
    (error,) = (message for message in compiled(("shift",), text).messages if message.is_error)
    assert error.line == text.splitlines().index(next(line for line in text.splitlines() if "missing" in line)) + 1
