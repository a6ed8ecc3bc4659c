"""Refuse a ``--shape`` that no subject can have: an unknown parameter, or too few or too many axes."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, NamedTuple

from slangad.compiler.check.model.names import broken_of, is_launch
from slangad.compiler.check.twins.index_ranges import rank_of
from slangad.compiler.ir.nodes import Memory
from slangad.compiler.report.figures import listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from slangad.compiler.check.model.subject import Subject
    from slangad.compiler.ir.nodes import Kernel, Module

_EXAMPLES = {1: "16", 2: "16x4", 3: "8x4x2", 4: "8x4x2x2"}


class RequestedShapeError(ValueError):
    """A shape that no subject can have.

    Attributes:
        path: The parameter, with the name of its kernel or pipeline: ``fit.w``.
        why: The reason.
        axes: The number of axes that it has; 0 if nothing of this path has a shape.
    """

    def __init__(self, path: str, shape: Sequence[int], why: str, axes: int = 0) -> None:
        self.path, self.why, self.axes = path, why, axes
        remedy = f" Say --shape {path}={_EXAMPLES.get(axes, '16')}." if axes else ""
        super().__init__(f"--shape {path}={'x'.join(map(str, shape))}: {why}{remedy}")


class _Shaped(NamedTuple):
    """A parameter with a shape: its number of axes, and the location of its declaration."""

    axes: int
    place: str


def refuse_shapes(shapes: Iterable[tuple[str, tuple[int, ...]]], subjects: Sequence[tuple[Subject, Module]]) -> None:
    """Refuse shapes that none of these subjects, each with its module, can have.

    Raises:
        RequestedShapeError: There is one. The message names it, its parameter and a valid shape.
    """
    known = {path: shaped for subject, module in subjects for path, shaped in _shaped(subject, module)}
    for path, shape in shapes:
        if path not in known:
            raise RequestedShapeError(path, shape, _unknown(path, known, subjects))
        axes, place = known[path]
        if len(shape) != axes:
            have = f"{axes} axis" if axes == 1 else f"{axes} axes"
            raise RequestedShapeError(path, shape, f"{path} ({place}) has {have}, not {len(shape)}.", axes)


def _unknown(path: str, known: Mapping[str, _Shaped], checked: Sequence[tuple[Subject, Module]]) -> str:
    """Return the reason why a path has no shape, and the paths that have one."""
    name, _, param = path.rpartition(".")
    shaped = [other for other in known if other.rpartition(".")[0] == name]
    near = get_close_matches(path, shaped or list(known), n=1)
    found = [one for one in checked if broken_of(one[0].name) == name]
    if not found:
        why = f"nothing that is checked is called {name!r}"
    elif param in _shared(*found[0]):
        why = f"all threads share one {param!r}, and its type gives its size"
    elif shaped:
        why = f"{path!r} is no tensor or texture of it"
    elif found[0][0].kind == "function":
        why = f"{name!r} is checked one call at a time, so nothing in it has a shape"
    else:
        why = f"{name!r} has no tensor or texture, so nothing in it has a shape"
    there = f"Did you mean {near[0]}?" if near else _listed(shaped or list(known))
    return f"{why}. {there}"


def _shared(subject: Subject, module: Module) -> set[str]:
    """Return the parameters of a launch of which all threads share one value."""
    launches = (k for k in module.kernels if k.name == subject.kernel and is_launch(k))
    return {p.name for k in launches for p in k.params if p.memory in (Memory.PARAM, Memory.UNIFORM)}


def _listed(paths: Sequence[str]) -> str:
    if not paths:
        return "Nothing that is checked has a shape."
    return f"These have shapes: {listed(paths, 8)}."


def _shaped(subject: Subject, module: Module) -> Iterator[tuple[str, _Shaped]]:
    """Yield the parameters with a shape: tensors, textures, and those with an element for each thread of a launch."""
    name = broken_of(subject.name)
    if subject.pipeline is not None:
        stages = [kernel for kernel in module.kernels if kernel.name in subject.pipeline.kernels]
        dims = {kernel.dims for kernel in stages if any(p.memory is Memory.EACH for p in kernel.params)}
        for param in subject.pipeline.outside.params:
            axes = _axes(param.memory, param.type, min(dims, default=1))
            if axes:
                yield f"{name}.{param.name}", _Shaped(axes, str(subject.span))
        return
    for kernel in module.kernels:
        if kernel.name == subject.kernel and is_launch(kernel):
            yield from _of_launch(name, kernel, subject)


def _of_launch(name: str, kernel: Kernel, subject: Subject) -> Iterator[tuple[str, _Shaped]]:
    for param in kernel.params:
        axes = _axes(param.memory, param.type, kernel.dims)
        if axes:
            place = param.span if param.span.line else subject.span
            yield f"{name}.{param.name}", _Shaped(axes, str(place))


def _axes(memory: Memory, type_: object, dims: int) -> int:
    return dims if memory is Memory.EACH else rank_of(type_)
