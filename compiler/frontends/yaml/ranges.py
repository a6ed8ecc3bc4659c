"""The section ``check``: samples and seeds, ranges by ``function.parameter``, shapes by ``kernel.parameter``.

Ranges and shapes are added to those of functions and kernels.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from slangad.compiler.frontends.reading.parameter_paths import part_type, steps_of
from slangad.compiler.frontends.reading.problems import did_you_mean
from slangad.compiler.frontends.yaml.kernels import shape_of
from slangad.compiler.frontends.yaml.literals import bounds
from slangad.compiler.frontends.yaml.nodes import MappingNode, ScalarNode, entries_of
from slangad.compiler.ir.nodes import Range, Sampling

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from slangad.compiler.frontends.yaml.kernels import DeclaredKernel
    from slangad.compiler.frontends.yaml.world import Routine, YamlWorld


def add_check_ranges(world: YamlWorld, kernels: list[DeclaredKernel]) -> None:
    """Add the ranges of the section ``check`` to the functions, methods and kernels they name."""
    check = world.document.root.get("check")
    for key, value in entries_of(check.get("ranges") if isinstance(check, MappingNode) else None):
        interval = bounds(value, world.problems)
        if interval is not None:
            _add(world, kernels, key, interval)
    for key, value in entries_of(check.get("shapes") if isinstance(check, MappingNode) else None):
        _add_shape(world, kernels, key, shape_of(value))


def read_sampling(world: YamlWorld, kernels: list[DeclaredKernel]) -> Iterator[Sampling]:
    """Yield the number and seed of samples: of everything, and of each named object."""
    check = world.document.root.get("check")
    keys = {kernel.routine.signature.name: kernel.routine.signature.key for kernel in kernels}
    for word in ("samples", "seed"):
        setting = check.get(word) if isinstance(check, MappingNode) else None
        if isinstance(setting, ScalarNode) and isinstance(setting.value, int):
            yield _sampling("", word, setting.value)
        for key, value in entries_of(setting if isinstance(setting, MappingNode) else None):
            of = _key_of(world, key, keys)
            if of and isinstance(value, ScalarNode) and isinstance(value.value, int):
                yield _sampling(of, word, value.value)


def _sampling(of: str, word: str, number: int) -> Sampling:
    return Sampling(of, samples=number) if word == "samples" else Sampling(of, seed=number)


def _key_of(world: YamlWorld, key: ScalarNode, kernels: Mapping[str, str]) -> str:
    """Return the key of a function, method or kernel, or the name of a pipeline; None after a report."""
    first, _, rest = key.text.partition(".")
    routine = world.methods.get((first, rest)) if rest else world.functions.get(first)
    if routine is not None:
        return routine.signature.key
    known = [*world.functions, *world.kernels, *(f"{struct}.{name}" for struct, name in world.methods)]
    if key.text in kernels or key.text in known:
        return kernels.get(key.text, key.text)
    near = did_you_mean(key.text[:64], known)
    what = f"there is no function '{key.text[:64]}'"
    world.problems.error("SA064", key.span, what, label="unknown", help=near)
    return ""


def _add_shape(world: YamlWorld, kernels: list[DeclaredKernel], key: ScalarNode, shape: tuple[int, ...]) -> None:
    name, _, param = key.text.partition(".")
    at = next((k for k, kernel in enumerate(kernels) if kernel.routine.signature.name == name), None)
    if at is None:
        if name not in world.kernels:
            near = did_you_mean(name[:64], [*world.kernels])
            world.problems.error("SA064", key.span, f"there is no kernel '{name[:64]}'", label="unknown", help=near)
        return
    known = [p.name for p in kernels[at].params]
    if param not in known:
        message = f"kernel '{name}' has no parameter '{param[:64]}'"
        world.problems.error("SA064", key.span, message, help=did_you_mean(param[:64], known))
        return
    kernels[at] = replace(kernels[at], shapes=(*kernels[at].shapes, (param, shape)))


def _add(world: YamlWorld, kernels: list[DeclaredKernel], key: ScalarNode, interval: tuple[float, float]) -> None:
    first, *rest = steps_of(key.text)
    by_name = {k.routine.signature.name: i for i, k in enumerate(kernels)}
    if first in by_name:
        kernel = kernels[by_name[first]]
        kernels[by_name[first]] = replace(kernel, routine=_with_range(world, kernel.routine, key, rest, interval))
    elif world.functions.get(first) is not None:
        routine = world.functions[first]
        assert routine is not None  # noqa: S101  (asked in the line before)
        world.functions[first] = _with_range(world, routine, key, rest, interval)
    elif first in world.structs and rest and world.methods.get((first, rest[0])) is not None:
        routine = world.methods[first, rest[0]]
        assert routine is not None  # noqa: S101  (as above)
        world.methods[first, rest[0]] = _with_range(world, routine, key, rest[1:], interval)
    elif first in world.structs:
        if world.structs[first].type is not None and (first, *rest[:1]) not in world.methods:
            world.problems.error("SA064", key.span, f"'{first}' has no such method", help="struct.method.parameter")
    elif first not in world.functions and first not in world.kernels:
        near = did_you_mean(first[:64], [*world.functions, *world.kernels])
        world.problems.error("SA064", key.span, f"there is no function '{first[:64]}'", label="unknown", help=near)


def _with_range(
    world: YamlWorld, routine: Routine, key: ScalarNode, steps: list[str], interval: tuple[float, float]
) -> Routine:
    types = {p.name: p.type for p in routine.signature.all_params}
    path = "".join(s if s.startswith("[") else f".{s}" for s in steps).lstrip(".")
    if part_type(world.problems, key.span, path, types) is None:
        return routine
    kept = [r for r in routine.ranges if r.path != path]
    return replace(routine, ranges=(*kept, Range(path, *interval)))
