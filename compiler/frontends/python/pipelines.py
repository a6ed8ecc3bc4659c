"""Pipelines of a Python description: parameters and results from annotations, stages from the body."""

from __future__ import annotations

import ast
import builtins
import inspect
from dataclasses import dataclass, fields
from types import ModuleType
from typing import TYPE_CHECKING

from slangad.compiler.errors.spans import Span
from slangad.compiler.frontends.lowering import vocabulary
from slangad.compiler.frontends.lowering.entities import RefusedEntity, ValueEntity
from slangad.compiler.frontends.lowering.pipelines import BinEntity, CalledKernel, PipelineHead, lower_pipeline
from slangad.compiler.frontends.python.annotations import Annotations
from slangad.compiler.frontends.python.kernels import kernel_params, kernel_results
from slangad.compiler.frontends.python.live import NameRead
from slangad.compiler.frontends.python.signatures import argument_span
from slangad.compiler.frontends.reading.locations import SourceLocations
from slangad.compiler.ir.pipelines import Optimizer
from slangad.compiler.lang.decorators import lists
from slangad.compiler.lang.decorators.kernels import KernelObject, PipelineObject
from slangad.compiler.lang.decorators.resolve import closure_of, scope_of
from slangad.compiler.lang.decorators.source import definition_of
from slangad.compiler.lang.errors import DescriptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FunctionType

    from slangad.compiler.frontends.lowering.pipelines import PipelineMeaning
    from slangad.compiler.frontends.python.kernels import DescribedKernel
    from slangad.compiler.frontends.python.world import PythonWorld
    from slangad.compiler.frontends.reading.problems import Problems
    from slangad.compiler.ir.pipelines import Pipeline


@dataclass(frozen=True, slots=True)
class PythonPipelineScope:
    """The names of a body: its closure and its module. A kernel is declared at its first call."""

    world: PythonWorld
    function: FunctionType
    declare: Callable[[KernelObject[object]], DescribedKernel | None]

    def meaning(self, node: ast.expr) -> PipelineMeaning | None:
        """Return the meaning of a name or ``module.name``."""
        is_known, value = self._value(node)
        if not is_known:
            return None
        self.world.reads.append(NameRead.now(lambda: self._value(node)[1]))
        if isinstance(value, KernelObject):
            described = self.declare(value)
            if described is None:
                return RefusedEntity(f"'{value.name}' was refused", reported=True)
            return CalledKernel(described.signature.name, described.params, described.results, value.dims)
        if value is lists.bin:
            return BinEntity()
        if isinstance(value, (int, float, tuple)) or vocabulary.meaning_of(value) is None:
            self.world.bound[ast.unparse(node)] = vocabulary.constant_text(value)
            return ValueEntity(value)
        name = ast.unparse(node)
        remedy = f"give the value a name before the pipeline: VALUE = {name}(…)" if isinstance(value, type) else ""
        return RefusedEntity(f"'{name}' is no kernel", remedy)

    def _value(self, node: ast.expr) -> tuple[bool, object]:
        match node:
            case ast.Name(id=name):
                for names in (closure_of(self.function), self.function.__globals__, vars(builtins)):
                    if name in names:
                        return True, names[name]
            case ast.Attribute(value=inner, attr=name):
                is_known, owner = self._value(inner)
                if is_known and isinstance(owner, ModuleType) and hasattr(owner, name):
                    return True, getattr(owner, name)
            case _:
                pass
        return False, None

    def names(self) -> Sequence[str]:
        """Return the names to suggest."""
        return [*closure_of(self.function), *self.function.__globals__]


def describe_pipeline(
    world: PythonWorld, value: PipelineObject[object], declare: Callable[[KernelObject[object]], DescribedKernel | None]
) -> Pipeline | None:
    """Return a pipeline; None after all its errors were reported."""
    try:
        definition = definition_of(value.python)
    except DescriptionError as error:
        world.report(error, Span(value.location.file, value.location.line, 1, value.location.line, 2), "SA038")
        return None
    locations, tree = SourceLocations(definition.path, definition.text), definition.tree
    before = len(world.problems)
    _refuse_signature(tree, locations, world.problems)
    names = scope_of(value.python, value.frame_locals, None)
    annotations = Annotations(locations, world.problems, value.python.__globals__, names)
    params = kernel_params(world, value.python, tree, annotations)
    results = kernel_results(world, value.python, tree, annotations, optional=True)
    if len(world.problems) != before or results is None or params is None:
        return None
    where = locations.span(tree.returns) if tree.returns is not None else locations.name_span(tree)
    doc = inspect.cleandoc(value.__doc__).split("\n") if value.__doc__ else []
    head = PipelineHead(
        value.name,
        params,
        results,
        where,
        _optimizer(value.optimizer),
        value.fuse,
        tuple(doc),
        locations.name_span(tree),
    )
    return lower_pipeline(head, tree.body, locations, PythonPipelineScope(world, value.python, declare), world.problems)


def _optimizer(value: object) -> Optimizer | None:
    """Return the IR's optimizer for a user's ``sa.Adam(…)``."""
    if value is None:
        return None
    values = tuple(float(getattr(value, f.name)) for f in fields(value))  # type: ignore[arg-type]  # one of three dataclasses
    return Optimizer(type(value).__name__.lower(), values)


def _refuse_signature(tree: ast.FunctionDef, locations: SourceLocations, problems: Problems) -> None:
    arguments = tree.args
    for star in (arguments.vararg, arguments.kwarg):
        if star is not None:
            problems.error("SA045", argument_span(locations, star), "a pipeline names its parameters")
    for default in (*arguments.defaults, *(d for d in arguments.kw_defaults if d is not None)):
        help_ = "give the value when it is run, or in the kernel call"
        problems.error("SA045", locations.span(default), "a pipeline's parameters have no defaults", help=help_)
