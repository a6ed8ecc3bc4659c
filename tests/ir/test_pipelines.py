"""Pipelines in the IR: their text reads back, and what does not fit is found."""

from __future__ import annotations

import dataclasses

import pytest

import slangad as sa
from slangad.compiler.frontends.yaml.sections import OPTIMIZER
from slangad.compiler.frontends.yaml.shape import Record
from slangad.compiler.ir.optimizers import OPTIMIZERS
from slangad.compiler.ir.text_form.printer import parse, show
from slangad.compiler.ir.verify.module import verify

TEXT = """\
module m from "m.py"

function halve halve(image: Tensor[float, 2]) -> float
{
    return image[thread_id(0), thread_id(1)]
}

function loss loss(x: float, no_diff scale: float) -> float
{
    return (x * scale)
}

kernel halve halve dims 2 group (8, 8) {
    param image: tensor Tensor[float, 2]
    result "result": each float
}

kernel loss loss dims 2 group (8, 8) {
    param x: each float
    param no_diff scale: uniform float
    result "result": mean float
}

pipeline fit {
    doc "Fits."
    param image: tensor Tensor[float, 2]
    stage halve(image) -> small domain (128, (image[1] / 2))
    stage loss(small, [2.0]) -> error
    result "result": mean float of error
    optimizer adam 0.02 0.9 0.999 1e-08 0.0 0.0
    apart
}
"""


def test_parse__pipeline__is_what_was_shown() -> None:
    module = parse(TEXT)
    assert show(module) == TEXT
    assert verify(module) == []
    assert module.pipelines[0].optimizer is not None
    assert module.pipelines[0].optimizer["beta2"] == 0.999


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("stage loss(small", "stage lost(small", "'lost', which is not there"),
        ("loss(small", "loss(large", "'large' before it is there"),
        ("loss(small, [2.0])", "loss(small)", "other parameters or results"),
        ("loss(small, [2.0])", "loss(small, [2.0, 1.0])", "scale of loss does not fit"),
        ("loss(small, [2.0])", "loss(small, image)", "scale of loss does not fit"),
        ("-> error", "-> small", "two values 'small'"),
        ("of error", "of small", "returns no 'small'"),
        ("domain (128, (image[1] / 2))", "domain (128)", "2 dimensions"),
        ("adam 0.02", "adam", "wrong optimizer"),
    ],
)
def test_verify__faulty_pipeline__is_found(before: str, after: str, message: str) -> None:
    assert before in TEXT
    found = verify(parse(TEXT.replace(before, after)))
    assert message in found[0].message
    assert found[0].code == "SA905"


def test_optimizers__ir_python_and_yaml__have_the_same_settings() -> None:
    shapes = {key.name: key.shape for key in OPTIMIZER.keys}
    assert list(shapes) == [*OPTIMIZERS]
    for kind, settings in ((sa.SGD, "sgd"), (sa.Adam, "adam"), (sa.AdamW, "adamw")):
        usual = {f.name: None if f.default is dataclasses.MISSING else f.default for f in dataclasses.fields(kind)}
        assert usual == OPTIMIZERS[settings].usual
        shape = shapes[settings]
        assert isinstance(shape, Record)
        assert [key.name for key in shape.keys] == [*usual]
        for key, value in zip(shape.keys, usual.values(), strict=True):
            said = "" if value is None else f"Default: {value:g}.".replace("1e-08", "1e-8")
            assert said in key.doc
