"""Structs and factories as definitions: records, names, one type for equal arguments; and where sources are found."""

from __future__ import annotations

import ast
import dataclasses
import textwrap
import types
from pathlib import Path

import numpy as np
import pytest

import slangad as sa
from slangad import Array, float2, float3
from slangad.compiler.ir import types as ir
from slangad.compiler.lang.decorators.source import class_definition_of, definition_of, remember_source
from slangad.compiler.lang.decorators.struct import described_struct
from slangad.compiler.lang.errors import AnnotationError, DescriptionError


@sa.struct
class Light:
    position: float3
    power: float = 2.0
    tags: Array[int, 2] = dataclasses.field(default_factory=lambda: Array[int, 2](1, 2))

    def toward(self, p: float3) -> Light:
        return Light(p, self.power, self.tags)

    @staticmethod
    def white() -> Light:
        return Light(float3(1.0))


def test_struct__record__has_fields_methods_and_place() -> None:
    record = described_struct(Light)
    assert record is not None
    assert [(f.name, f.type) for f in record.fields][:2] == [("position", ir.Vector(ir.FLOAT, 3)), ("power", ir.FLOAT)]
    assert set(record.methods) == {"toward", "white"}
    assert (record.methods["toward"].static, record.methods["white"].static) == (False, True)
    assert record.methods["toward"].owner is Light
    assert record.name == "Light"
    assert record.file == __file__
    assert record.definition.tree.name == "Light"
    assert record.type.key.startswith(f"{__file__}:")
    assert described_struct(float3) is None


def test_struct__default_factory__makes_a_new_value_each_time() -> None:
    a, b = Light(float3(0)), Light(float3(0))
    a.tags[0] = 9
    assert list(b.tags) == [1, 2]
    assert Light.white().toward(float3(2)).power == 2


def _inherits() -> object:
    @sa.struct
    class Child(Light):
        x: float

    return Child


def _empty() -> object:
    @sa.struct
    class Empty:
        pass

    return Empty


def _property() -> object:
    @sa.struct
    class WithProperty:
        x: float

        @property
        def y(self) -> float:
            return self.x

    return WithProperty


def _class_method() -> object:
    @sa.struct
    class WithClassMethod:
        x: float

        @classmethod
        def y(cls) -> float:
            return 1.0

    return WithClassMethod


def _operator() -> object:
    @sa.struct
    class WithOperator:
        x: float

        def __add__(self, other: WithOperator) -> WithOperator:
            return other

    return WithOperator


def _order() -> object:
    @sa.struct
    class WrongOrder:
        x: float = 1.0
        y: float

    return WrongOrder


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (_inherits, "struct Child inherits"),
        (_empty, "struct Empty has no fields"),
        (_property, "WithProperty.y is a property"),
        (_class_method, "WithClassMethod.y is a class method"),
        (_operator, "defines __add__"),
        (_order, "field y of WrongOrder has no default"),
    ],
)
def test_struct__what_structs_cannot_have__is_refused(make: object, message: str) -> None:
    with pytest.raises(DescriptionError, match=message):
        make()


@sa.struct
class Endless:
    next: Endless


@sa.struct
class WithEach:
    x: sa.Each[float]


def test_struct__field_types_that_cannot_be__are_refused() -> None:
    with pytest.raises(AnnotationError, match="Endless contains itself"):
        _ = described_struct(Endless).type
    with pytest.raises(AnnotationError, match="declares memory"):
        _ = described_struct(WithEach).type


# --- factories -------------------------------------------------------------------------------------------------------


def layer(inputs: int, outputs: int, scale: float = 0.5, unused: str = "") -> type:
    count = inputs * outputs

    @sa.struct
    class Layer:
        weights: Array[float, count]

        def scaled(self, x: float) -> float:
            return self.weights[0] * x * scale

        def again(self) -> Layer:
            return self

    return Layer


def network(width: int) -> tuple[type, object]:
    inner = layer(width, 2)

    @sa.struct
    class Network:
        first: inner

    @sa.differentiable
    def run(n: Network, x: float) -> float:
        return n.first.scaled(x)

    @run.backward
    def run_bwd(n, x, d_out):
        return sa.zeros(Network), d_out

    return Network, run


def test_factory__equal_arguments__give_one_type() -> None:
    assert layer(4, 16) is layer(4, 16)
    assert layer(4, 16) is layer(4, 16, unused="x")
    assert layer(4, 16) is not layer(16, 4)
    assert layer(4, 16).__slangad_struct__.name == "Layer_4_16"  # the rest are defaults
    assert layer(1, 2, -1.5).__slangad_struct__.name == "Layer_1_2_m1p5"
    assert layer(1, 2, 1e-6).__slangad_struct__.name == "Layer_1_2_1em06"
    assert layer(2, 1).__slangad_struct__.type != layer(1, 2).__slangad_struct__.type


def test_factory__functions_and_nested_structs__are_one_too() -> None:
    first, run = network(3)
    second, again = network(3)
    assert first is second
    assert run is again
    assert run.emitted_name == "run_3"
    assert first.__slangad_struct__.fields[0].type.name == "Layer_3_2"
    assert network(4)[1] is not run
    assert run(first(layer(3, 2)(*[Array[float, 6](*range(1, 7))])), 2.0) == 1.0
    assert sa.bwd_diff(run)(sa.zeros(first), 2.0, 3.0)[1] == 3.0


def totals(count: int) -> object:
    Row = Array[float, count]

    def total(row: Row) -> float:
        found = 0.0
        for x in row:
            found += x
        return found

    @sa.differentiable
    def mean(row: Row) -> float:
        return total(row) / count

    return mean


def test_factory__plain_helper_with_postponed_annotations__sees_the_names_around_it() -> None:
    assert totals(2)([1, 2]) == 1.5
    assert totals(3)([1, 2, 6]) == 3.0


def by_value(value: object) -> object:
    @sa.function
    def uses() -> float:
        return 1.0 if value is None else 0.0

    return uses


@pytest.mark.parametrize(
    ("value", "suffix"),
    [
        (True, "_true"),
        ("a b", "_a_b"),
        ((1, 2.5), "_1_2p5"),
        (float3, "_float3"),
        (Light, "_Light"),
        (sa.sin, "_sin"),
        (1.0, "_1p0"),
        (1, "_1"),
    ],
)
def test_factory__name__says_the_argument(value: object, suffix: str) -> None:
    made = by_value(value)
    assert made.emitted_name == f"uses{suffix}"
    assert made is by_value(value)


def test_factory__arrays_and_vectors__compare_by_value() -> None:
    assert by_value(np.arange(3)) is by_value(np.arange(3))
    assert by_value(np.arange(3)) is not by_value(np.arange(4))
    assert by_value(float2(1, 2)) is by_value(float2(1, 2))
    assert by_value(1) is not by_value(1.0)
    assert by_value(True) is not by_value(1)


def test_factory__in_a_loop__tells_locals_apart() -> None:
    made = []
    for k in (1, 2):

        @sa.function
        def scaled(x: float) -> float:
            return x * k  # noqa: B023  (bound when decorated)

        made.append(scaled)
    assert made[0] is not made[1]
    assert made[0].emitted_name == "scaled"


def test_factory__with_other_options__is_another_function() -> None:
    def plain(x: float) -> float:
        return x

    assert sa.differentiable(plain) is not sa.differentiable(prefer="recompute")(plain)


# --- sources ---------------------------------------------------------------------------------------------------------


def test_source__of_nested_functions_and_methods__keeps_positions() -> None:
    lines = Path(__file__).read_text().splitlines()
    _, run = network(5)
    for described in (run, Light.toward, Light.white):
        tree = definition_of(described.python).tree
        assert lines[tree.lineno - 1].strip().startswith(f"def {described.name}(")
    assert class_definition_of("Layer", __file__, layer(1, 1).__slangad_struct__.line).tree.name == "Layer"


def test_source__remembered__comes_before_the_file(tmp_path: Path) -> None:
    path = str(tmp_path / "given.py")
    text = textwrap.dedent("""
        import slangad as sa

        @sa.differentiable
        def doubled(x: float) -> float:
            return x * 2.0
    """)
    remember_source(path, text)
    module = types.ModuleType("given")
    exec(compile(text, path, "exec"), module.__dict__)
    assert module.doubled(2.0) == 4.0
    definition = definition_of(module.doubled.python)
    assert (definition.path, definition.text, definition.tree.lineno) == (path, text, 5)


def test_source__changed_file__is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "changing.py"
    for factor in (2, 3):
        text = "# comment\n" * factor + f"def f(x: float) -> float:\n    return x * {factor}\n"
        path.write_text(text)
        names: dict[str, object] = {}
        exec(compile(text, str(path), "exec"), names)
        assert sa.differentiable(names["f"])(1.0) == factor


def test_source__unreadable_or_no_def__says_so() -> None:
    names: dict[str, object] = {}
    exec("def f(x: float) -> float:\n    return x", names)
    with pytest.raises(DescriptionError, match="source of f can't be read"):
        definition_of(names["f"])
    with pytest.raises(DescriptionError, match="a lambda can't be described"):
        definition_of(lambda x: x)


async def waits(x: float) -> float:
    return x


def test_source__async__is_refused() -> None:
    with pytest.raises(DescriptionError, match="async"):
        definition_of(waits)


def test_source__tree__is_that_of_the_whole_file() -> None:
    tree = definition_of(layer).tree
    assert isinstance(tree, ast.FunctionDef)
    assert definition_of(layer).tree is tree
