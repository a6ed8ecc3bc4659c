"""The text of the IR reads back as what was shown."""

from __future__ import annotations

import math

import pytest
from hypothesis import HealthCheck, given, settings
from support.modules import modules

from slangad.compiler.ir.nodes import Const, Function, Module, Return
from slangad.compiler.ir.text_form.printer import parse, show
from slangad.compiler.ir.text_form.tokens import ReadError
from slangad.compiler.ir.types import FLOAT


@given(modules())
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_parse__of_any_shown_module__is_that_module(module: Module) -> None:
    assert parse(show(module)) == module


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, -0.0, 1e-45, 0.1])
def test_parse__unusual_number__reads_back(value: float) -> None:
    module = Module("m", "m.py", functions=(Function("f", "f", (), FLOAT, (Return(Const(value, FLOAT)),)),))
    again = parse(show(module)).functions[0].body
    assert isinstance(again, tuple)
    assert repr(again[0].value.value) == repr(value)


def test_show__readable_example__is_this_text() -> None:
    text = """\
module m from "m.py"

function f f(x: float, n: int) -> float
    locals s: float, i: int
{
    set s = 0.0
    for i = 0 to n step 1 limit 8 bounded {
        if (s < max(x, 2.0)) {
            set s = (s + (x * cast float(i)))
        } else {
            break
        }
    }
    return (- s)
}
"""
    assert show(parse(text)) == text


def test_show__memories__is_this_text() -> None:
    text = """\
module m from "m.py"

buffer k_w k w: no_diff Tensor[float3, 2] shared

function f f(w: Tensor[float3, 2], t: Texture2D[float, repeat, nearest], o: OutTensor[float, 1]) -> float
    locals v: float3
{
    set v = w[(extent(w, 1) - 1), 0]
    set o[thread_id(0)] = probe "seen"((v + k_w[0, 1]).x)
    return (sample(t, v.xy) + t[0, 1])
}
"""
    assert show(parse(text)) == text


@pytest.mark.parametrize(
    "text", ["", "module", 'module m from "x" nonsense', 'module m from "m" function f f( -> float', "§"]
)
def test_parse__other_text__is_refused(text: str) -> None:
    with pytest.raises(ReadError):
        parse(text)
