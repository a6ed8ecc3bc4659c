"""Select the subjects that the command line names, and refuse names that no input has."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from slangad.compiler.check.model.columns import input_table
from slangad.compiler.check.model.launch_columns import anywhere_table
from slangad.compiler.check.model.names import is_launch
from slangad.compiler.check.sampling.samples import covers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from slangad.compiler.check.model.columns import Column
    from slangad.compiler.check.model.subject import Subject
    from slangad.compiler.check.options import CheckOptions
    from slangad.compiler.check.planning.description import FileDescription
    from slangad.compiler.driver.inputs import Input
    from slangad.compiler.ir.nodes import Module


class NoSuchNameError(ValueError):
    """A function, kernel or parameter that no input has.

    Attributes:
        name: It.
        near: The name that it resembles most, or nothing.
    """

    def __init__(self, name: str, known: set[str]) -> None:
        self.name, self.near = name, next(iter(get_close_matches(name, sorted(known), n=1)), "")
        super().__init__(f"None of the inputs has {name!r}." + (f" Did you mean {self.near!r}?" if self.near else ""))


def refuse_unknown_names(described: Sequence[tuple[Input, FileDescription]], options: CheckOptions) -> None:
    """Refuse names that nothing has.

    Raises:
        NoSuchNameError: A name of ``only``, of an input, or of ``required_ranges`` is unknown.
    """
    names = {name for _, one in described for name in _names(one.subjects)} | options.known_names
    for name in options.only:
        if name not in names:
            raise NoSuchNameError(name, names)
    for item, one in described:
        for name in item.kernels:
            if name not in _names(one.subjects):
                raise NoSuchNameError(name, _names(one.subjects))
    columns = {path for _, one in described for path in paths_of(one)} | options.known_paths
    uncompiled = _names(s for _, one in described for s in one.subjects if s.failure is not None)
    for path in options.required_ranges:
        if not any(covers(path, column) for column in columns) and path.rpartition(".")[0] not in uncompiled:
            raise NoSuchNameError(path, columns)


def asks_for_names(inputs: Iterable[Input], options: CheckOptions) -> bool:
    """Return True if the user names functions or parameters, which some input must have."""
    required = (options.only, options.required_ranges, options.required_shapes, options.required_specializations)
    return any(required) or any(item.kernels for item in inputs)


def wanted(item: Input, description: FileDescription, options: CheckOptions) -> list[Subject]:
    """Return the subjects of an input that are to be checked: all, or those that it or the options name."""
    asked = (*item.kernels, *options.only)
    return [
        one
        for one in description.subjects
        if (not asked or not _names([one]).isdisjoint(asked)) and item.includes(one.span)
    ]


def paths_of(description: FileDescription) -> Iterator[str]:
    """Yield ``function.parameter`` for the inputs of all subjects, under all their names."""
    for subject in description.subjects:
        for column in _columns(subject, description.module_with_twins):
            yield from (f"{name}.{column.path}" for name in subject.names)


def _names(subjects: Iterable[Subject]) -> set[str]:
    """Return the names of subjects: labels, and the names of overloads, of generic functions and of mutated ones."""
    return {name for one in subjects for name in one.names}


def _columns(subject: Subject, module: Module) -> Iterator[Column]:
    """Yield the inputs of a subject, one for all elements of an array."""
    if subject.pipeline is not None:
        yield from anywhere_table(subject.pipeline.outside).columns
    for kernel in module.kernels:
        if kernel.name == subject.kernel:
            yield from (anywhere_table if is_launch(kernel) else input_table)(kernel).columns
