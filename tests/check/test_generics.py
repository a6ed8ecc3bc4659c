"""Generic functions of Slang files are checked without ``--specialize``, with arguments that suit the files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from slangad.compiler.errors.diagnostics import CompileError
from slangad.compiler.frontends.slang.arguments import Surroundings, thinned
from slangad.compiler.frontends.slang.generics import tokens_of
from slangad.compiler.frontends.slang.instances import chosen_instances
from slangad.compiler.frontends.slang.reflected import DeclaredFunction, ReflectedModule
from slangad.compiler.report.model import Verdict

if TYPE_CHECKING:
    from pathlib import Path

    from check.conftest import Checked

PROGRAM = """
import other;
interface IWarp { [Differentiable] float warp(float x); }
interface ISoftWarp : IWarp {}
interface INever { [Differentiable] float never(float x); }
enum Kind { Plain, Squared }
struct Scale : ISoftWarp, IDifferentiable { float k; [Differentiable] float warp(float x) { return k * x; } }
struct Square : IWarp { [Differentiable] float warp(float x) { return x * x; } }
struct Sum<let N : int> : IDifferentiable
{
    float a[N];
    [Differentiable] float at(float x)
    {
        float s = 0;
        [ForceUnroll] for (int i = 0; i < N; ++i) s += a[i] * x;
        return s;
    }
    [Differentiable] T twice<T : IFloat>(T x) { return x + x; }
}
[Differentiable] float flag<let B : bool>(float x) { return B ? x * x : x; }
[Differentiable] float counted<let N : uint>(float x[N]) { return x[N - 1] * 2; }
[Differentiable] T old<T : __BuiltinFloatingPointType, int N>(T x) { return x * T(N); }
__generic<T : __BuiltinFloatingPointType> [Differentiable] T older(T x) { return x * x; }
[Differentiable] vector<float, N> scaled<let N : int>(vector<float, N> x) { return x * 2; }
[Differentiable] float texture<let N : int>(Texture2D<float> t, float x) { return x * N; }
[Differentiable] float used<let N : int>(float x) { return N * x; }
[Differentiable] float kind<let K : Kind>(float x) { return K == Kind.Plain ? x : x * x; }
[Differentiable] T same<T : IDifferentiable>(T x) { return x; }
[Differentiable] float warped<T>(T w, float x) where T : IWarp { return w.warp(x) * 2; }
[Differentiable] float both<T : IFar, let B : bool>(T w, float x) { return B ? w.far(x) : x; }
[Differentiable] float never<T : INever>(T w, float x) { return w.never(x); }
float user(float x) { return used<7>(x); }
"""
ADAPTED = """
interface IWarp : IDifferentiable
{
    [Differentiable] float warp(float x);
    [Differentiable] float twice(float x) { return 2.0 * warp(x); }
}
interface INever { }
interface IPlain { [Differentiable] float at(float x); }
struct Line : IWarp, IPlain
{
    float k;
    [Differentiable] float warp(float x) { return k * x; }
    [Differentiable] float at(float x) { return k * x; }
}
struct Square : IWarp
{
    [Differentiable] float warp(float x) { return x * x; }
    [Differentiable] override float twice(float x) { return x; }
}
struct Dual : IDifferentiable { float a; float b; }
[Differentiable] Dual operator*(Dual x, Dual y) { return { x.a * y.a, x.b * y.a + x.a * y.b }; }
[Differentiable] __prefix Dual operator-(Dual x) { return { -x.a, -x.b }; }
extension Line
{
    [Differentiable] float more(float x) { return warp(x) + 1.0; }
    [mutating] [Differentiable] void grow(float x) { k *= x; }
    [Differentiable] static float fixed(float x) { return x * x; }
}
extension float { [Differentiable] float plus(float y) { return this + y * y; } }
extension<T : IWarp> T { [Differentiable] float every(float x) { return x * warp(x); } }
extension<T : INever> T { [Differentiable] float unknown(float x) { return x; } }
namespace inner
{
    struct Elu<T : __BuiltinFloatingPointType, let W : int>
    {
        T a;
        [Differentiable] T act(T x) { return a * x * x; }
    }
    typealias IReal = __BuiltinFloatingPointType;
    extension<T : IReal, int W> Elu<T, W>
    {
        [BackwardDifferentiable] T[W + 1] forward(T x[W + 1])
        {
            T y[W + 1];
            [ForceUnroll] for (int i = 0; i < W + 1; ++i) y[i] = act(x[i]);
            return y;
        }
        [Differentiable] static vector<T, W> fixed(vector<T, W> x) { return x * x; }
    }
    float uses(Elu<float, 3> e) { return e.a; }
    float uses(Elu<half, 4> e) { return e.a; }
    float uses(Elu<float, 2> e) { return e.a; }
}
extension Line { [Differentiable] T scaled<T : __BuiltinFloatingPointType, let N : int>(T x) { return x * T(N) * x; } }
enum Kind : uint { A, B, C }
enum Odd { A = 3, B = 7 }
[Differentiable] float exists(IPlain w, float x) { return w.at(x); }
[Differentiable] float odd(Odd w, float x) { return w == Odd.B ? x * x : x; }
[BackwardDerivative(cased_bwd)] [Differentiable] float cased(Kind w, float x) { return w == Kind.C ? x * x : x; }
void cased_bwd(Kind w, inout DifferentialPair<float> x, float d) { x = diffPair(x.p, w == Kind.C ? x.p * d : d); }
"""
REFUSED = """
[Differentiable] float large<let N : int>(float x) { static_assert(N > 2, "N is small"); return x * N; }
[Differentiable] float huge<let N : int>(float x) { static_assert(N > 64, "N is small"); return x * N; }
"""
OTHER = """
interface IFar { [Differentiable] float far(float x); }
struct Far : IFar, IDifferentiable { float k; [Differentiable] float far(float x) { return k * x; } }
"""
WRONG = """
[BackwardDerivative(power_bwd)]
[Differentiable] float power<let N : int>(float x)
{
    float s = 1;
    [ForceUnroll] for (int i = 0; i < N; ++i) s *= x;
    return s;
}
void power_bwd<let N : int>(inout DifferentialPair<float> x, float g)
{
    float s = N == 3 ? 2 * g * N : g * N;
    [ForceUnroll] for (int i = 0; i < N - 1; ++i) s *= x.p;
    x = diffPair(x.p, s);
}
[BackwardDerivative(always_bwd)]
[Differentiable] float always<let B : bool>(float x) { return B ? x * x : x; }
void always_bwd<let B : bool>(inout DifferentialPair<float> x, float g) { x = diffPair(x.p, 0.25 * g); }
[Differentiable] float caller(float x) { return always<true>(x) * 2; }
"""


def test_check__generic_functions__have_arguments_that_suit_the_files(checked: Checked, tmp_path: Path) -> None:
    (tmp_path / "other.slang").write_text(OTHER)
    results = checked(PROGRAM, ".slang", samples=16)
    passed = [name for name, result in results.items() if result.verdict is Verdict.PASS]
    assert passed == [
        *("Scale.warp", "Square.warp"),
        *(f"Sum<{n}>.at" for n in range(1, 5)),
        *(f"Sum<{n}>.twice<float>" for n in range(1, 5)),
        *("flag<false>", "flag<true>"),
        *(f"counted<{n}>" for n in range(1, 5)),
        *(f"old<float, {n}>" for n in range(1, 5)),
        *("older<float>", "scaled<2>", "scaled<3>", "scaled<4>", *(f"texture<{n}>" for n in range(1, 5))),
        *("used<7>", "kind<Kind.Plain>", "kind<Kind.Squared>"),
        *("same<float>", "same<Scale>"),
        *("warped<Scale>", "warped<Square>", "both<Far, false>", "both<Far, true>"),
    ]
    skipped = {name: result.reason for name, result in results.items() if name not in passed}
    reason = "it is generic, and no type in its files fits: give one, as in --specialize 'never<YOUR_TYPE>'"
    assert skipped.pop("never") == reason
    assert not skipped


def test_check__methods_and_values_that_need_a_wrapper__are_checked(checked: Checked) -> None:
    results = checked(ADAPTED, ".slang", samples=16)
    passed = {name for name, result in results.items() if result.verdict is Verdict.PASS}
    assert passed == {
        *("Line.warp", "Line.at", "Line.twice", "Square.warp", "Square.twice", "operator*", "operator-"),
        *("Line.more", "Line.grow", "Line.fixed", "float.plus", "exists", "Line.every", "Square.every", "odd"),
        *(f"inner.Elu<float, {n}>.{name}" for name in ("act", "forward", "fixed") for n in (2, 3)),
        *("inner.Elu<half, 4>.act", "inner.Elu<half, 4>.forward", "inner.Elu<half, 4>.fixed"),
        *("inner.Elu<float, 1>.forward", "inner.Elu<float, 4>.forward", "inner.Elu<float, 4>.fixed"),
        *(f"Line.scaled<float, {n}>" for n in range(1, 5)),
    }
    assert results["cased"].verdict is Verdict.FAIL
    failure = results["cased"].failures[0]
    assert (failure.column, failure.found) == ("x", pytest.approx(failure.expected / 2))
    assert {name for name, result in results.items() if result.verdict is Verdict.SKIPPED} == {"unknown"}


def test_check__arguments_that_slang_refuses__are_left_out(checked: Checked) -> None:
    results = checked(REFUSED, ".slang", samples=16)
    assert [name for name, result in results.items() if result.verdict is Verdict.PASS] == ["large<3>", "large<4>"]
    (left,) = [result for result in results.values() if result.verdict is not Verdict.PASS]
    assert (left.function, left.verdict) == ("huge", Verdict.SKIPPED)
    assert "Slang refuses it for 'huge<1>': Slang: static assertion failed, N is small" in left.reason


def test_check__a_mistake_in_a_generic_function__is_named_with_its_arguments(checked: Checked) -> None:
    results = checked(WRONG, ".slang", samples=16)
    wrong = {name: result.because for name, result in results.items() if result.verdict is not Verdict.PASS}
    assert wrong == {
        "power<3>": (),
        "always<false>": (),
        "always<true>": ("always<false>",),
        "caller": ("always<false>",),
    }
    assert set(checked(WRONG, ".slang", samples=16, only=("always",))) == {"always<false>", "always<true>"}
    ranged = checked(WRONG, ".slang", samples=16, only=("power<2>",), ranges=(("power.x", 2.0, 3.0),))
    assert all(2 <= sample.inputs[0].value <= 3 for sample in ranged["power<2>"].samples)


def test_check__arguments_that_the_user_gives__are_the_only_ones(checked: Checked) -> None:
    results = checked(WRONG, ".slang", samples=16, only=("power",), specialize=("power<2>", "always<true>"))
    assert set(results) == {"power<2>"}


HARMONICS = """
namespace harmonics
{
    [BackwardDifferentiable] vector<float, Dim> decode<let Dim : int, let Most : int>(no_diff int degree,
        vector<float, Dim> c[Most])
    { vector<float, Dim> r = c[0]; if (Most >= 2 && degree > 0) r += c[1] * c[1]; return r; }
}
public struct Row<int Size> : IDifferentiable
{
    public float data[Size];
    [Differentiable] public float first(float x) { return data[0] * x; }
}
"""
USES_HARMONICS = """
#include "harmonics.slang"
static const int Count = 2;
uniform float time;
public struct Layer<int Wide> { public Row<Wide> row() { Row<Wide> r; return r; } }
float3 all(int degree, float3 c[Count]) { return harmonics::decode<3, Count>(degree, c); }
[BackwardDerivative(wave_bwd)] float wave<int N>(float x) { return sin(x * time * float(N)); }
void wave_bwd<int N>(inout DifferentialPair<float> x, float d)
{ x = diffPair(x.p, cos(x.p * time * float(N)) * FACTOR * float(N) * d); }
[Differentiable] float waves<int N>(float x) { return wave<N>(x) + x * time; }
float user(float x) { return waves<2>(x) + waves<3>(x) + wave<2>(x); }
"""


def test_check__generic_parameters_of_included_functions_and_types__are_read_from_their_declarations(
    checked: Checked, tmp_path: Path
) -> None:
    (tmp_path / "harmonics.slang").write_text(HARMONICS)
    results = checked(USES_HARMONICS.replace("FACTOR", "time"), ".slang", samples=16)
    assert {name for name, one in results.items() if one.verdict is Verdict.PASS} == {*results}
    assert {*results} == {
        *("harmonics.decode<3, Count>", *(f"Row<{n}>.first" for n in range(1, 5))),
        *("wave<2>", "waves<2>", "waves<3>"),
    }


def test_check__a_mistake_in_an_instance_that_reads_a_global__is_found(checked: Checked, tmp_path: Path) -> None:
    (tmp_path / "harmonics.slang").write_text(HARMONICS)
    results = checked(USES_HARMONICS.replace("FACTOR", "2.0 * time"), ".slang", samples=16)
    assert results["wave<2>"].verdict is Verdict.FAIL
    assert results["waves<2>"].verdict is Verdict.FAIL
    failure = results["wave<2>"].failures[0]
    assert (failure.column, failure.found) == ("x", pytest.approx(failure.expected * 2))


def test_thinned__rows_with_many_columns__keep_every_value() -> None:
    rows = [(a, b, c) for a in "abcd" for b in "123" for c in "xy"]
    kept = thinned(rows, 8)
    assert len(kept) <= 8
    assert [sorted(set(column)) for column in zip(*kept, strict=True)] == [[*"abcd"], [*"123"], [*"xy"]]
    assert thinned(rows[:8], 8) == tuple(rows[:8])


def test_chosen_instances__of_many_functions__are_fewer_for_each() -> None:
    def read(names: tuple[str, ...]) -> ReflectedModule:
        if "f1<3>" in names:
            raise CompileError([])
        function = DeclaredFunction("f", (), "", "f<>", static=True, mutating=False, params=(), result={})
        return ReflectedModule((), (), dict.fromkeys(names, (function,)), {})

    functions = [({f"f{k}<{n}>": (str(n),) for n in range(8)},) for k in range(4)]
    chosen = chosen_instances(functions, read, (8, 10))
    assert len(chosen.names) == 8
    assert len(chosen.unused) == 31 - 8
    assert "f1<3>" not in (*chosen.names, *chosen.unused)
    assert len(chosen_instances(functions, read, (8, 100)).names) == 31


def test_surroundings__generic_types_that_need_each_other__end() -> None:
    text = "interface I {} struct Box<T : I> : I { T x; } struct A : I {} float f<T : I>(T x) { return 0; }"
    used, _ = Surroundings(tokens_of([text])).candidates("f<>", None)
    assert [*used] == ["f<Box<A>>", "f<A>"]
