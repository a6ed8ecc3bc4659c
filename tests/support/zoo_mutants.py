"""Right functions broken on purpose: each mutant is a function of the zoo with a derivative that is not its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from support.zoo_animals import HEAD
from support.zoo_functions import RIGHT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from support.zoo_animals import Animal

FLOATING = ("float", "float2", "float3", "float4", "float2x2", "float2x3", "float3x3")
SCALED = ("float", "float2", "float3", "float4", "float2x2", "float2x3", "float3x3")


@dataclass(frozen=True)
class Mutant:
    """A wrong function: of what, how, and its text."""

    animal: Animal
    kind: str
    text: str

    @property
    def name(self) -> str:
        """Its name in the description."""
        return f"{self.animal.name}_{self.kind}"


def mutants(animal: Animal) -> Iterator[Mutant]:
    """All mutants of one function that differ from it."""
    makers = (_scaled, _shifted, _swapped, _ignored, _branched, _indexed, _transposed, _stale, _by_integer)
    for maker in makers:
        for kind, lines in maker(animal):
            if f"{animal.name}_{kind}" not in SAME:
                yield Mutant(animal, kind, _text(animal, kind, lines))
    for kind, (old, new) in animal.breaks.items():
        assert old in animal.backward, (animal.name, old)
        yield Mutant(
            animal, f"own_{kind}", animal.text_as(f"{animal.name}_own_{kind}", animal.backward.replace(old, new))
        )


def module_of(animals: Iterable[Animal], broken: Iterable[Mutant] = ()) -> str:
    """A description with functions and mutants."""
    return HEAD + "\n\n".join([*(animal.text for animal in animals), *(mutant.text for mutant in broken)])


def differentiable(animal: Animal) -> dict[str, str]:
    """The parameters whose gradients can be changed by arithmetic, with their types."""
    return {name: type_ for name, type_ in animal.types.items() if type_ in FLOATING}


def carrying(animal: Animal) -> list[str]:
    """The parameters that ``bwd_diff`` gives a gradient for, in order."""
    passive = ("int", "bool")
    return [n for n, t in animal.types.items() if t not in passive and not t.startswith("NoDiff")]


def _text(animal: Animal, kind: str, lines: list[str]) -> str:
    params = ", ".join(part.strip() for part in animal.params.split(";"))
    names = ", ".join(animal.types)
    body = "\n".join(f"    {line}" for line in lines)
    ranges = f"ranges={animal.ranges!r}" if animal.ranges else ""
    name = f"{animal.name}_{kind}"
    return (
        f"@sa.differentiable({ranges})\ndef {name}({params}) -> {animal.result}:\n"
        f"    return {animal.name}({names})\n\n\n"
        f"@{name}.backward\ndef {name}_bwd({names}, d_out):\n{body}\n"
    )


def _gradients(animal: Animal, arguments: str = "", seed: str = "d_out") -> str:
    names = ", ".join(f"d_{n}" for n in carrying(animal))
    return f"{names} = sa.bwd_diff({animal.name})({arguments or ', '.join(animal.types)}, {seed})"


def _returned(animal: Animal, changes: dict[str, str]) -> str:
    return "return " + ", ".join(changes.get(n, f"d_{n}") for n in carrying(animal))


def _live(animal: Animal) -> list[str]:
    return [n for n in differentiable(animal) if n not in animal.flat]


def _scaled(animal: Animal) -> Iterator[tuple[str, list[str]]]:
    if "struct" in animal.name:
        return
    for name in _live(animal)[:2]:
        for kind, change in (
            ("sign", f"-1.0 * d_{name}"),
            ("thousandth", f"d_{name} * 1.001"),
            ("double", f"d_{name} * 2.0"),
            ("missing", f"d_{name} * 0.0"),
        ):
            yield f"{kind}_{name}", [_gradients(animal), _returned(animal, {name: change})]


def _shifted(animal: Animal) -> Iterator[tuple[str, list[str]]]:
    scalars = [n for n in _live(animal) if animal.types[n] == "float"]
    if scalars and animal.result == "float" and "tiny" not in animal.name:
        name = scalars[-1]
        yield f"extra_{name}", [_gradients(animal), _returned(animal, {name: f"d_{name} * 1.5 + 0.25 * d_out"})]


def _swapped(animal: Animal) -> Iterator[tuple[str, list[str]]]:
    live = differentiable(animal)
    pairs = [(a, b) for a in live for b in live if a < b and live[a] == live[b]]
    if pairs and not animal.symmetric:
        a, b = pairs[0]
        yield f"swapped_{a}_{b}", [_gradients(animal), _returned(animal, {a: f"d_{b}", b: f"d_{a}"})]


def _ignored(animal: Animal) -> Iterator[tuple[str, list[str]]]:
    if animal.result == "float" and _live(animal):
        yield "seedless", [_gradients(animal, seed="1.0"), _returned(animal, {})]


def _branched(animal: Animal) -> Iterator[tuple[str, list[str]]]:
    scalars = [n for n in _live(animal) if animal.types[n] == "float"]
    if scalars:
        name = scalars[0]
        low, high = animal.ranges.get(name, (-1.0, 1.0))
        edge = low + 0.8 * (high - low)
        lines = [_gradients(animal), f"g = d_{name}", f"if {name} > {edge!r}:", "    g = g * 1.25"]
        yield f"branch_{name}", [*lines, _returned(animal, {name: "g"})]


def _indexed(animal: Animal) -> Iterator[tuple[str, list[str]]]:
    for name, type_ in differentiable(animal).items():
        if name in animal.flat:
            continue
        if type_ in ("float3", "float4", "float2"):
            last = "xyzw"[int(type_[-1]) - 1]
            yield (
                f"index_{name}",
                [_gradients(animal), f"g = d_{name}", f"g.{last} = g.{last} * 1.01", _returned(animal, {name: "g"})],
            )
        if "x" in type_:
            yield (
                f"index_{name}",
                [_gradients(animal), f"g = d_{name}", "g[1, 0] = g[1, 0] * 1.01", _returned(animal, {name: "g"})],
            )
    for name, type_ in animal.types.items():
        if type_.startswith("sa.Array[float") and name in carrying(animal):
            yield (
                f"index_{name}",
                [_gradients(animal), f"g = d_{name}", "g[2] = g[2] * 1.01", _returned(animal, {name: "g"})],
            )
            yield (
                f"forgotten_{name}",
                [_gradients(animal), f"g = d_{name}", "g[1] = 0.0", _returned(animal, {name: "g"})],
            )


def _transposed(animal: Animal) -> Iterator[tuple[str, list[str]]]:
    for name, type_ in differentiable(animal).items():
        if type_ in ("float2x2", "float3x3"):
            yield f"transposed_{name}", [_gradients(animal), _returned(animal, {name: f"sa.transpose(d_{name})"})]


def _stale(animal: Animal) -> Iterator[tuple[str, list[str]]]:
    """The derivative at another place: what comes of a value that was overwritten, or of a step too early."""
    scalars = [n for n in _live(animal) if animal.types[n] == "float"]
    if not scalars or animal.name in LINEAR:
        return
    name = scalars[0]
    low, high = animal.ranges.get(name, (-1.0, 1.0))
    moved = f"{name} + {0.02 * (high - low)!r}"
    arguments = ", ".join(moved if n == name else n for n in animal.types)
    yield f"stale_{name}", [_gradients(animal, arguments), _returned(animal, {})]


def _by_integer(animal: Animal) -> Iterator[tuple[str, list[str]]]:
    whole = [n for n, t in animal.types.items() if t == "int"]
    live = [n for n in _live(animal) if animal.types[n] in SCALED]
    if whole and live:
        name = live[0]
        lines = [_gradients(animal), f"g = d_{name}", f"if {whole[0]} == 2:", "    g = g * 1.5"]
        yield f"integer_{name}", [*lines, _returned(animal, {name: "g"})]


SAME = frozenset(
    (
        *("clamped_arc_branch_x", "clamped_branch_x", "saturated_branch_x", "smooth_edge_branch_x", "narrow_branch_x"),
        *("rounded_stale_y", "stepped_stale_y", "truncated_stale_y", "threshold_stale_x", "rows_index_m"),
        *("raised_stale_y", "whole_quotient_stale_y", "counted_up_stale_y", "all_in_stale_y", "nearly_tied_stale_x"),
        *("quadratic_form_transposed_m", "stopped_stale_x", "array_of_structs_integer_x"),
    )
)
"""What would be no mutants: the gradient is zero where changed, the same elsewhere, symmetric; or no integer is 2."""

LINEAR = frozenset(
    (
        *("blend", "fraction", "angles", "folds", "absolute", "largest", "smallest_of_three", "clamped", "saturated"),
        *("relu", "leaky", "diamond", "nested_folds", "sawtooth", "cancelled", "difference_of_squares", "broken_off"),
        *("until", "passive", "huge_inputs", "hinge", "mixed_scales", "modulo", "remainder"),
    )
)
"""Functions whose derivative is the same at a place nearby, or nearly everywhere."""


def all_mutants() -> list[Mutant]:
    """Every mutant of the zoo."""
    return [mutant for animal in RIGHT for mutant in mutants(animal)]
