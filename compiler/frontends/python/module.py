"""The Python front end: file -> executed module -> reachable functions -> lowered bodies -> ``Module``."""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from slangad.compiler.errors.diagnostics import CompileError, Diagnostic
from slangad.compiler.errors.spans import Span
from slangad.compiler.frontends.lowering import assembly
from slangad.compiler.frontends.lowering.body import BodySource, lower_body, role_of
from slangad.compiler.frontends.lowering.entities import RefusedEntity
from slangad.compiler.frontends.lowering.functions import custom_derivative, kernel_function, plain_function
from slangad.compiler.frontends.python.annotations import Annotations
from slangad.compiler.frontends.python.derivatives import CustomFunction, custom_functions, derivative_of
from slangad.compiler.frontends.python.externals import external_of
from slangad.compiler.frontends.python.kernels import DescribedKernel, try_declare
from slangad.compiler.frontends.python.load import ExecutedFile, load_file
from slangad.compiler.frontends.python.pipelines import describe_pipeline
from slangad.compiler.frontends.python.sampling import sampling_kernel
from slangad.compiler.frontends.python.signatures import DescribedSource, annotations_for
from slangad.compiler.frontends.python.world import PythonScope, PythonWorld
from slangad.compiler.frontends.reading.paths import import_path, shown_path
from slangad.compiler.frontends.reading.problems import Problems
from slangad.compiler.ir import nodes as ir
from slangad.compiler.lang.decorators.external import ExternalFunction
from slangad.compiler.lang.decorators.functions import DescribedFunction
from slangad.compiler.lang.decorators.kernels import KernelObject, PipelineObject
from slangad.compiler.lang.decorators.resolve import scope_of
from slangad.compiler.lang.decorators.struct import DescribedStruct, described_struct
from slangad.compiler.lang.errors import DescriptionError
from slangad.compiler.lang.types.annotations import described_type

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slangad.compiler.frontends.python.live import LiveDescription
    from slangad.compiler.frontends.reading.locations import SourceLocations
    from slangad.compiler.ir.pipelines import Pipeline


@dataclass(frozen=True, slots=True)
class _Origin:
    """The source of a module: the objects of a file in the order of their definitions, or a live object.

    Attributes:
        path: The describing file.
        name: The stem of the emitted file.
        objects: The objects.
        imported: The files that the description imported.
        doc: The module's comment.
    """

    path: str
    name: str
    objects: tuple[object, ...]
    imported: tuple[str, ...] = ()
    doc: tuple[str, ...] = ()


def load_python(path: Path) -> ir.Module:
    """Load a description written in Python.

    Raises:
        CompileError: with all its errors.
    """
    loaded = load_file(path)
    origin = _Origin(loaded.path, path.stem, tuple(_own_objects(loaded)), loaded.imported, _doc(loaded.module.__doc__))
    try:
        module = _module_of(PythonWorld(loaded.path, Problems()), origin)
    except _NothingDescribedError as error:
        raise CompileError(loaded.refused.diagnostics or error.diagnostics) from None
    except CompileError as error:
        raise loaded.refused.with_later(error.diagnostics) from None
    if loaded.refused.diagnostics:
        raise CompileError(loaded.refused.diagnostics)
    return module


def load_live(live: LiveDescription) -> ir.Module:
    """Load a decorated object of the running program, with everything that it reaches.

    Raises:
        CompileError: with all its errors.
    """
    world = PythonWorld(live.file, Problems())
    module = _module_of(world, _Origin(live.file, live.name, (live.object,)), live.sampled)
    live.reads[:] = world.reads
    return module


def _module_of(world: PythonWorld, origin: _Origin, sampled: frozenset[str] | None = None) -> ir.Module:
    """Return the module of objects; ``sampled`` adds a kernel that calls the only one of them, a function."""
    kernels = _reach(world, origin)
    pipelines = _pipelines(world, origin, kernels)
    functions, lowered_kernels = _lower_all(world, kernels)
    world.problems.raise_if_any()
    if not functions:
        raise _nothing(origin.path)
    if sampled is not None:
        lowered_kernels.append(sampling_kernel(next(iter(world.functions.values())).signature, sampled))
    ordered = assembly.checked_order(functions, lowered_kernels, world.problems)
    module = _module(world, origin, ordered, lowered_kernels)
    return replace(module, pipelines=pipelines, sampling=tuple(_sampling(world, origin, kernels)))


class _NothingDescribedError(CompileError):
    """A file has no function, kernel or struct of slangad's."""


def _nothing(path: str) -> _NothingDescribedError:
    return _NothingDescribedError([
        Diagnostic(
            "SA005", "nothing is described in this file", Span(path, 1, 1, 1, 1),
            help="decorate a function with @sa.differentiable or @sa.kernel",
        )
    ])  # fmt: skip


def _reach(world: PythonWorld, origin: _Origin) -> list[DescribedKernel]:
    """Declare all described objects of the file; the functions they use are reached when they are lowered."""
    kernels: list[DescribedKernel] = []
    names: dict[str, KernelObject[object]] = {}
    for value in origin.objects:
        match value:
            case KernelObject():
                declared = try_declare(world, value)
                if declared is not None and _is_new(world, names, declared):
                    kernels.append(declared)
            case DescribedFunction():
                _reach_function(world, value)
            case ExternalFunction():
                world.external(value)
            case DescribedStruct():
                world.struct(value)
            case _:
                continue
    return kernels


def _pipelines(world: PythonWorld, origin: _Origin, kernels: list[DescribedKernel]) -> tuple[Pipeline, ...]:
    """Return the pipelines; kernels that only they use are declared and added."""
    known: dict[int, DescribedKernel | None] = {id(k.object): k for k in kernels}
    names = {k.object.emitted_name: k.object for k in kernels}

    def declare(value: KernelObject[object]) -> DescribedKernel | None:
        if id(value) not in known:
            made = try_declare(world, value)
            known[id(value)] = made if made is not None and _is_new(world, names, made) else None
            kernels.extend(k for k in [known[id(value)]] if k is not None)
        return known[id(value)]

    pipelines = [value for value in origin.objects if isinstance(value, PipelineObject)]
    made = [describe_pipeline(world, value, declare) for value in pipelines]
    for pipeline in made:
        if pipeline is not None and pipeline.name in names:
            message = f"there is a kernel named '{pipeline.name}' too"
            world.problems.error("SA006", pipeline.span, message, help="rename one")
    return tuple(pipeline for pipeline in made if pipeline is not None)


def _reach_function(world: PythonWorld, value: DescribedFunction[..., object]) -> None:
    entity = world.function(value)
    if isinstance(entity, RefusedEntity) and not entity.reported:
        span = Span(value.location.file, value.location.line, 1, value.location.line, 2)
        world.problems.error(entity.code, span, entity.message, help=entity.help)


def _own_objects(loaded: ExecutedFile) -> Iterator[object]:
    """Yield the described objects of a file in the order of their definitions, each once, without imported ones."""
    result: dict[int, tuple[int, object]] = {}
    for value in vars(loaded.module).values():
        item = described_struct(described_type(value)) or value
        file, line = _location_of(item)
        if file == loaded.path:
            result.setdefault(id(item), (line, item))
    for _, item in sorted(result.values(), key=lambda placed: placed[0]):
        yield item


def _location_of(item: object) -> tuple[str, int]:
    match item:
        case KernelObject() | DescribedFunction() | PipelineObject():
            return item.python.__code__.co_filename, item.python.__code__.co_firstlineno
        case ExternalFunction():
            return item.location.file, item.location.line
        case DescribedStruct():
            return item.file, item.line
        case _:
            return "", 0


def _is_new(world: PythonWorld, names: dict[str, KernelObject[object]], declared: DescribedKernel) -> bool:
    name = declared.object.emitted_name
    if name not in names:
        names[name] = declared.object
        return True
    span = declared.locations.name_span(declared.definition.tree)
    first = names[name].python.__code__
    world.problems.error(
        "SA006",
        span,
        f"there are two kernels named '{name}'",
        label="the second",
        help=f"rename one; the other one is at {first.co_filename}:{first.co_firstlineno}",
    )
    return False


def _lower_all(world: PythonWorld, kernels: list[DescribedKernel]) -> tuple[dict[str, ir.Function], list[ir.Kernel]]:
    """Lower kernels and every function reached, until nothing new is reached."""
    functions: dict[str, ir.Function] = {}
    done = [_lower_kernel(world, k, functions) for k in kernels]
    lower_reached(world, functions)
    for value, signature in world.externals.values():
        functions[signature.key] = external_of(value, signature)
    functions.update(world.constants.powers)
    order = [*world.constants.powers, *world.functions, *functions]
    return {k: functions[k] for k in dict.fromkeys(order) if k in functions}, done


def lower_reached(world: PythonWorld, functions: dict[str, ir.Function]) -> None:
    """Lower every function that is reached, and what its body reaches, into ``functions``."""
    while world.waiting:
        described = world.functions[world.waiting.pop(0)]
        function = _lower_function(world, described)
        functions[function.key] = function
        for custom in custom_functions(world, described):
            derivative = _lower_custom(world, described, custom)
            functions[derivative.key] = derivative


def _source(tree: ast.FunctionDef, locations: SourceLocations) -> BodySource:
    last = tree.end_lineno or tree.lineno
    return BodySource(
        locations, tree.body, locations.name_span(tree), tree.body[0].lineno - _leading(tree, locations), last
    )


def _leading(tree: ast.FunctionDef, locations: SourceLocations) -> int:
    """Return the number of lines of comments between the signature and the first statement."""
    line, count = tree.body[0].lineno - 1, 0
    while line > tree.lineno and locations.line_text(line).lstrip().startswith("#"):
        line, count = line - 1, count + 1
    return count


def _sampling(world: PythonWorld, origin: _Origin, kernels: list[DescribedKernel]) -> Iterator[ir.Sampling]:
    """Yield the settings of samples of functions, kernels and pipelines."""
    samplings = [(key, described.object.sampling) for key, described in world.functions.items()]
    samplings += [(declared.signature.key, declared.object.sampling) for declared in kernels]
    samplings += [(value.name, value.sampling) for value in origin.objects if isinstance(value, PipelineObject)]
    yield from (ir.Sampling(of, *sampling) for of, sampling in samplings if sampling != (None, None))


def _doc(value: object) -> tuple[str, ...]:
    text = inspect.cleandoc(value) if isinstance(value, str) else ""
    return tuple(text.split("\n")) if text else ()


def _lower_function(world: PythonWorld, described: DescribedSource) -> ir.Function:
    value, signature = described.object, described.signature
    scope = PythonScope(
        world, value.python, described.locations, annotations_for(world.problems, value, described.locations)
    )
    source = _source(described.definition.tree, described.locations)
    body = lower_body(source, scope, signature, role_of(signature), world.constants, world.problems)
    derivative = derivative_of(world, described)
    return plain_function(
        signature, body.statements, derivative, value.prefer, value.precision,
        doc=_doc(value.__doc__), ranges=_ranges(value), span=source.name_span,
    )  # fmt: skip


def _ranges(value: DescribedFunction[..., object] | KernelObject[object]) -> tuple[ir.Range, ...]:
    return tuple(ir.Range(path, low, high) for path, (low, high) in value.ranges.items())


def _lower_custom(world: PythonWorld, described: DescribedSource, custom: CustomFunction) -> ir.Function:
    names = annotations_for(world.problems, described.object, custom.locations).names
    annotations = Annotations(custom.locations, world.problems, custom.function.__globals__, names)
    scope = PythonScope(world, custom.function, custom.locations, annotations)
    source = _source(custom.definition.tree, custom.locations)
    role = role_of(custom.signature, custom.role)
    body = lower_body(source, scope, custom.signature, role, world.constants, world.problems)
    return custom_derivative(
        described.signature, custom.signature, custom.role, body.statements,
        doc=_doc(custom.function.__doc__), span=source.name_span,
    )  # fmt: skip


def _lower_kernel(world: PythonWorld, declared: DescribedKernel, functions: dict[str, ir.Function]) -> ir.Kernel:
    value, signature = declared.object, declared.signature
    names = scope_of(value.python, value.frame_locals, None)
    annotations = Annotations(declared.locations, world.problems, value.python.__globals__, names)
    scope = PythonScope(world, value.python, declared.locations, annotations)
    source = _source(declared.definition.tree, declared.locations)
    role = role_of(signature, dims=value.dims)
    body = lower_body(source, scope, signature, role, world.constants, world.problems)
    doc = _doc(value.__doc__)
    functions[signature.key] = kernel_function(
        signature, declared.params, body.statements, doc=doc, ranges=_ranges(value), span=source.name_span
    )
    return ir.Kernel(
        signature.name, signature.key, declared.params, declared.results, value.dims, value.group_size,
        doc, source.name_span, shapes=tuple(value.shapes.items()), tile=value.tile,
    )  # fmt: skip


def _module(
    world: PythonWorld, origin: _Origin, functions: tuple[ir.Function, ...], kernels: list[ir.Kernel]
) -> ir.Module:
    constants = assembly.used_constants(world.constants.used, functions)
    known = struct_defs(world)
    structs = assembly.used_structs(functions, kernels, constants, (r.type for r in world.structs.values()))
    externals = [value for value, _ in world.externals.values()]
    imports = tuple(dict.fromkeys(import_path(e.path, origin.path) for e in externals))
    sources = other_sources(world) | set(origin.imported)
    sources |= {shown_path(e.path) for e in externals}
    source = origin.path if Path(origin.path).is_file() else origin.name  # equal cells give equal Slang
    return ir.Module(
        origin.name, source, assembly.struct_defs(structs, known), constants, functions, tuple(kernels),
        imports, tuple(sorted(sources)), tuple(sorted(world.bound.items())), origin.doc,
    )  # fmt: skip


def other_sources(world: PythonWorld) -> set[str]:
    """Return the files of the functions and structs that are reached, without the describing file."""
    # the text of a network (nn/layers.py) is made when it is asked for: it has no file
    return {shown_path(Path(s)) for s in world.sources if s != world.file and Path(s).is_file()}


def struct_defs(world: PythonWorld) -> dict[str, ir.StructDef]:
    """Return the definitions of the structs that are reached, by key."""
    return {key: _struct_def(world, record) for key, record in world.structs.items()}


def _struct_def(world: PythonWorld, record: DescribedStruct) -> ir.StructDef:
    try:
        doc = ast.get_docstring(record.definition.tree)
    except DescriptionError:
        doc = None
    initial = tuple(ir.Initial(path, values) for path, values in record.initial.items())
    return ir.StructDef(record.type, _doc(doc), world.struct_span(record), initial=initial)
