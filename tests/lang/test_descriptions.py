"""Decorators, policies, annotations: what they record, what they refuse."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Literal

import numpy as np
import pytest

import slangad as sa
from slangad import Array, Each, Mean, NoDiff, Param, Sum, Tensor, Texture2D, Uniform, float3, float4x4
from slangad.compiler.ir import types as ir
from slangad.compiler.lang.decorators.functions import DescribedFunction, describe
from slangad.compiler.lang.decorators.policies import ClipGradient, FiniteDifference, Subgradient
from slangad.compiler.lang.decorators.signature import signature_of
from slangad.compiler.lang.errors import AnnotationError, DescriptionError
from slangad.compiler.lang.types.annotations import (
    Memory,
    TextureOptions,
    ir_type,
    memory_annotation,
    result_annotation,
)


def f(x: float) -> float:
    return x


def test_differentiable__bare_and_with_keywords__records() -> None:
    bare = sa.differentiable(f)
    assert isinstance(bare, DescribedFunction)
    assert (bare.python, bare.name, bare.differentiable, bare.policy) == (f, "f", True, None)
    made = sa.differentiable(derivative=sa.finite_difference(1e-3), prefer="recompute", ranges={"x": (0, 2)})(f)
    assert made.policy == FiniteDifference(1e-3, relative=False)
    assert (made.prefer, made.ranges) == ("recompute", {"x": (0.0, 2.0)})
    assert sa.function(f).differentiable is False


@pytest.mark.parametrize(
    ("decorate", "message"),
    [
        (lambda: sa.differentiable(derivate=1)(f), "unknown keyword derivate="),
        (lambda: sa.differentiable(derivative=0.1)(f), "derivative= of f is not a policy"),
        (lambda: sa.differentiable(prefer="speed")(f), "prefer= of f is 'speed'"),
        (lambda: sa.differentiable(ranges={"x": 1})(f), "ranges= of f"),
        (lambda: sa.differentiable(ranges={"x": (1, 0)})(f), "ranges= of f goes from its highest"),
        (lambda: sa.differentiable(ranges={"x": (0.0, math.inf)})(f), "'x' in ranges= of f is not of finite numbers"),
        (lambda: sa.differentiable(ranges={"x": (-(10**400), 0)})(f), "is not of finite numbers: -inf to 0"),
        (lambda: sa.differentiable(ranges=(0, 1))(f), "ranges= of f"),
        (lambda: sa.differentiable(3), "3 is not a function"),
        (lambda: sa.function(derivative=sa.straight_through())(f), "not differentiated"),
        (lambda: sa.finite_difference(0.0), "step= of sa.finite_difference is 0.0, not positive"),
        (lambda: sa.finite_difference("a"), "not a finite number"),
        (sa.clip_gradient, "takes a limit or a norm"),
        (lambda: sa.clip_gradient(1.0, norm=2.0), "takes a limit or a norm"),
        (lambda: sa.clip_gradient(-1.0), "not positive"),
        (lambda: sa.clip_gradient(1.0, of=sa.clip_gradient(2.0)), "another policy"),
        (lambda: sa.subgradient(at=float("inf"), value=0), "at= of sa.subgradient"),
        (lambda: sa.surrogate(1), "sa.surrogate needs a function"),
        (lambda: sa.surrogate(sa.function(f)), "the surrogate 'f' is not differentiable"),
        (lambda: sa.pipeline(optimiser=1)(f), "unknown keyword optimiser="),
        (lambda: sa.pipeline(optimizer=1)(f), "optimizer= of f"),
        (lambda: sa.range(3, max_iters=0), "not at least 1"),
        (lambda: sa.max_iters(2.5), "not an integer"),
        (lambda: sa.extern("a b", "x.slang", "(x: float) -> float"), "needs a name and a .slang file"),
        (lambda: sa.extern("a", "x.slang", "x: float"), "the signature of a"),
        (lambda: sa.extern("a", "x.slang", "(x) -> float"), "is no parameter"),
        (lambda: sa.extern("a", "x.slang", "(x: flo at) -> float"), "is no type"),
        (lambda: sa.extern("a", "x.slang", "(x: floof) -> float").parameters(), "unknown name 'floof'"),
    ],
)
def test_descriptions__that_make_no_sense__say_what_and_help(decorate: object, message: str) -> None:
    with pytest.raises(DescriptionError, match=message):
        decorate()


def test_policies__are_frozen_records() -> None:
    assert sa.clip_gradient(1e6, of=sa.finite_difference(step=0.1)) == ClipGradient(limit=1e6, of=FiniteDifference(0.1))
    assert sa.subgradient(at=0, value=0.5) == Subgradient(0.0, 0.5)


def test_own_derivatives__recorded_and_not_twice() -> None:
    g = sa.differentiable(f)

    @g.backward
    def g_bwd(x, d_out):
        return d_out

    assert g.backward_function is g_bwd
    assert g.forward_function is None
    with pytest.raises(DescriptionError, match="f already has a backward derivative, g_bwd"):

        @g.backward
        def again(x, d_out):
            return d_out

    with pytest.raises(DescriptionError, match="must be above a def"):
        g.forward(g)


def test_annotations__forms__are_records() -> None:
    assert NoDiff[Each[float3]] == Each[NoDiff[float3]] == Memory("each", float3, no_diff=True)
    assert memory_annotation(float) == Memory("value", float)
    assert NoDiff[float] == Memory("value", float, no_diff=True)
    assert Tensor[float, 2] == Memory("tensor", float, rank=2)
    assert Tensor[NoDiff[float], Literal[3]] == Memory("tensor", float, no_diff=True, rank=3)
    assert (Param[float].memory, Uniform[float].memory, Sum[float].memory, Mean[float].memory) == (
        "param", "uniform", "sum", "mean",
    )  # fmt: skip
    assert Texture2D[float3, "repeat"] == sa.texture(float3, address="repeat")
    assert Texture2D[float3, "nearest", "mirror"].options == TextureOptions("mirror", "nearest")
    assert result_annotation(tuple[Each[float], Sum[int]]).parts == (Each[float], Sum[int])
    assert result_annotation(None).parts == ()


@sa.struct
class Inner:
    weights: Array[float3, 2]


@pytest.mark.parametrize(
    ("annotation", "type_"),
    [
        (float, ir.FLOAT), (int, ir.INT), (bool, ir.BOOL), (sa.uint, ir.UINT), (sa.half, ir.HALF),
        (sa.double, ir.DOUBLE),
        (None, ir.VOID), (float3, ir.Vector(ir.FLOAT, 3)), (sa.half2, ir.Vector(ir.HALF, 2)),
        (float4x4, ir.Matrix(ir.FLOAT, 4, 4)), (sa.double2x3, ir.Matrix(ir.DOUBLE, 2, 3)),
        (Array[int, 5], ir.Array(ir.INT, 5)), (Array[Array[float, 2], Literal[3]], ir.Array(ir.Array(ir.FLOAT, 2), 3)),
        (tuple[float, float3], ir.Tuple((ir.FLOAT, ir.Vector(ir.FLOAT, 3)))),
        (sa.DiffPair[float], ir.DiffPair(ir.FLOAT)),
    ],
)  # fmt: skip
def test_ir_type__of_every_kind_of_annotation(annotation: object, type_: ir.Type) -> None:
    assert ir_type(annotation) == type_


def test_ir_type__of_a_struct__has_its_fields() -> None:
    type_ = ir_type(Inner)
    assert isinstance(type_, ir.Struct)
    assert type_.fields == (ir.Field("weights", ir.Array(ir.Vector(ir.FLOAT, 3), 2)),)


@pytest.mark.parametrize(
    ("annotation", "message"),
    [
        (str, "str is not a type"),
        (list[float], "write Array"),
        (np.ndarray, "sa.Tensor"),
        (tuple[float, ...], "names each element"),
        (Each[float], "belongs to kernels"),
        (NoDiff[float], "goes around the type of a parameter"),
        (Array, "write Array"),
        (object, "decorate the class with @sa.struct"),
        (3, "3 is not a type"),
        (sa.DiffPair[int], "no gradient"),
    ],
)
def test_ir_type__of_something_else__says_what_to_write(annotation: object, message: str) -> None:
    with pytest.raises(AnnotationError, match=message):
        ir_type(annotation)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Array[float, 0], "not at least 1"),
        (lambda: Array[float, 1.5], "not an integer"),
        (lambda: Array[float], "an element type and a length"),
        (lambda: Tensor[float, 9], "not 1 to 4"),
        (lambda: Each[Param[float]], "declares memory twice"),
        (lambda: sa.texture(float, address="wrap"), "address is 'wrap'"),
        (lambda: sa.texture(float, filter="cubic"), "filter is 'cubic'"),
    ],
)
def test_annotation_forms__misused__are_refused(make: object, message: str) -> None:
    with pytest.raises(AnnotationError, match=message):
        make()


def unannotated(x, y: float) -> float:
    return y


def misspelt(x: flaot) -> float:  # noqa: F821
    return x


def no_result(x: float):
    return x


def star(*x: float) -> float:
    return 0.0


@pytest.mark.parametrize(
    ("function", "parameter", "message"),
    [
        (unannotated, "x", "parameter x of unannotated has no annotation"),
        (misspelt, "x", "unknown name 'flaot'"),
        (no_result, "return", "no_result has no result annotation"),
        (star, "x", "takes \\*x"),
    ],
)
def test_signature__annotation_missing_or_wrong__names_it(function: object, parameter: str, message: str) -> None:
    with pytest.raises(AnnotationError, match=message) as caught:
        signature_of(describe(function))
    assert caught.value.parameter == parameter


def test_misspelt__name__is_suggested() -> None:
    with pytest.raises(AnnotationError, match="float"):
        signature_of(describe(misspelt))


def test_extern__signature__is_read_in_its_file() -> None:
    signature = "(m: Inner, k: no_diff Array[float, 3], v: float3) -> tuple[float, float3]"
    made = sa.extern("ggx", "bsdf.slang", signature)
    assert [(p.name, p.no_diff) for p in made.parameters()] == [("m", False), ("k", True), ("v", False)]
    assert made.parameters()[0].type == ir_type(Inner)
    assert made.result() == ir.Tuple((ir.FLOAT, ir.Vector(ir.FLOAT, 3)))
    assert made.path.name == "bsdf.slang"
    assert str(made.path.parent) == __file__.rpartition("/")[0]


def test_numpy__is_not_loaded_by_describing() -> None:
    program = """
import sys
import slangad as sa
from slangad import Each, float3

@sa.struct
class M:
    a: float3
    b: float = 0.5
    def f(self, x: float) -> float:
        return x

@sa.differentiable(derivative=sa.finite_difference(step=1e-3))
def f(m: M) -> float:
    return m.b

@f.backward
def f_bwd(m, d_out):
    return M(float3(0), d_out)

@sa.kernel
def k(x: Each[float]) -> Each[float]:
    return x

M.__slangad_struct__.type
assert "numpy" not in sys.modules, "numpy was loaded"
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_public__every_name__is_there() -> None:
    from slangad.compiler.lang import public

    assert len(set(public.__all__)) == len(public.__all__)
    for name in public.__all__:
        assert getattr(sa, name) is getattr(public, name)
