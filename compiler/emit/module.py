"""Print a whole module as one Slang file: header, imports, structs, constants, functions, kernels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import slangad
from slangad.compiler.emit.entry_points.kernels import modes_of, print_kernel
from slangad.compiler.emit.library import GROUPS, libraries_of, memory_libraries, sum_libraries
from slangad.compiler.emit.memory.blocks import BlockNames, BlockSums
from slangad.compiler.emit.memory.buffers import Accessors
from slangad.compiler.emit.memory.matrices import EntryNames, MatrixNames, MatrixSums, bias_sums, matrix_sums
from slangad.compiler.emit.memory.probes import ProbePrinter, name_probes, probes_of
from slangad.compiler.emit.memory.shared import SharedPrinter, name_shared
from slangad.compiler.emit.memory.tensors import TensorPrinter, kept_buffers, name_memory
from slangad.compiler.emit.memory.textures import TexturePrinter
from slangad.compiler.emit.model import GENERATED, EmittedModule, EntryPoint, Mode, summing_group
from slangad.compiler.emit.print.context import ModuleNames
from slangad.compiler.emit.print.derivatives import print_any, print_gradient
from slangad.compiler.emit.print.differentials import converted_types, print_converters
from slangad.compiler.emit.print.formulas import spelled
from slangad.compiler.emit.print.functions import print_doc
from slangad.compiler.emit.print.gathers import print_gather
from slangad.compiler.emit.print.method_wrappers import name_wrappers, print_wrappers
from slangad.compiler.emit.print.tables import entry_type, print_row_functions, sizes_of, slang_words, tables_of
from slangad.compiler.emit.text.literals import literal
from slangad.compiler.emit.text.names import NameScope
from slangad.compiler.emit.text.types import TypeSpeller
from slangad.compiler.emit.text.writer import Writer
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir import types
from slangad.compiler.ir.layers import Layer, layers_of, residents_of
from slangad.compiler.ir.walk import body_exprs, formula_keys, statements

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from slangad.compiler.emit.entry_points.entry import MemoryPrinter
    from slangad.compiler.emit.memory.tensors import MemoryNames


_REMARKS: Final = {
    "slangad_linear": (
        " // numbers in <>: rows, columns, sizes of blocks, threads of a group; 1 if a wave holds vectors, products as "
        "tiles; 3 terms, 1 in half; where a group's memory keeps the matrix, or the room for vectors"
    ),
}
"""What stands after the import of a library."""


def emit_module(module: ir.Module, *, flat_tables: bool = True) -> EmittedModule:
    """Return the module as Slang; all passes must have run."""
    scope = NameScope(module.taken)
    names = name_module(module, scope, flat_tables=flat_tables)
    writer = Writer()
    accessors = Accessors(scope)
    memory = tuple(_memory_printers(module, names, accessors))
    any_in_step = any(kernel.in_step for kernel in module.kernels)
    probes = tuple(
        ProbePrinter(*probe, names.probes[probe], names.spell, accessors, any_in_step) for probe in probes_of(module)
    )
    modes = {
        kernel.name: modes_of(kernel, names.functions[kernel.function], module.buffers) for kernel in module.kernels
    }
    shared = tuple(SharedPrinter(held, names.memory[held.key], names.spell) for held in module.shared)
    entries_text, entries = _print_kernels(names, module, scope, accessors, (*memory, *shared, *probes), modes)
    needed = (*memory_libraries(entries), *sum_libraries(module), *([GROUPS] if any_in_step else []))
    libraries = libraries_of(module, needed)
    _print_header(writer, module, libraries)
    _print_structs(names, writer, module)
    print_converters(names, writer, converted_types(module))
    _print_constants(names, writer, _used(module))
    for printer in memory:
        printer.print(writer, modes[printer.buffer.kernel])
    for held in shared:
        held.print(writer, modes[held.memory.kernel])
    for probe in probes:
        probe.print(writer)
    _print_functions(names, writer, module, memory, modes)
    print_wrappers(names, writer, module, modes)
    print_row_functions(names, writer, module)
    accessors.print_functions(writer)
    writer.append(entries_text)
    return EmittedModule(
        file_name=module.file_name or f"{module.name}.slang",
        text=writer.text,
        libraries=libraries,
        entry_points=entries,
        names=_public_names(module, names),
        mapped=writer.mapped,
    )


def name_module(module: ir.Module, scope: NameScope, *, flat_tables: bool = True) -> ModuleNames:
    """Return names for every declaration: the user's first, in module order; members after names that they may hide."""
    structs = {d.struct.key: d.external or scope.give(f"struct {d.struct.key}", d.struct.name) for d in module.structs}
    constants = {c.key: scope.give(f"constant {c.key}", c.name) for c in module.constants}
    free = {f.key: _function_name(f, scope) for f in module.functions if not f.owner}
    members = {d.struct.key: _member_scope(d, module, (*constants.values(), *free.values())) for d in module.structs}
    fields = {d.struct.key: _field_names(d, members[d.struct.key]) for d in module.structs}
    methods = {f.key: _function_name(f, members[f.owner]) for f in module.functions if f.owner}
    functions = {**free, **methods}
    return ModuleNames(
        functions={f.key: f for f in module.functions},
        structs=structs,
        fields=fields,
        constants=constants,
        function_names=functions,
        gradients={key: scope.fresh(f"{functions[key]}_gradient") for key in _gradients_asked(module)},
        to_differential=scope.fresh("to_differential"),
        from_differential=scope.fresh("from_differential"),
        spell=TypeSpeller(structs),
        external=frozenset(d.struct.key for d in module.structs if d.external),
        taken=module.taken,
        memory={
            **{b.key: name_memory(scope, b) for b in module.buffers},
            **{s.key: name_shared(scope, s) for s in module.shared},
        },
        probes=name_probes(scope, module),
        wrappers=name_wrappers(module, scope),
        integers=_integers(module),
        layers=layers_of(module),
        tables=_row_functions(module, constants, scope) if flat_tables else {},
    )


def _row_functions(module: ir.Module, constants: Mapping[str, str], scope: NameScope) -> dict[str, tuple[str, ...]]:
    """Return names for the functions that return what a table of tables has at no index, at one, and so on."""
    return {
        table.key: tuple(
            scope.fresh(f"{constants[table.key]}_{'row' if given else 'whole'}")
            for given in range(len(sizes_of(table.type)))
        )
        for table in tables_of(module)
    }


def _integers(module: ir.Module) -> dict[str, int]:
    """Return the values of the integer constants, by key."""
    return {c.key: int(c.values[0]) for c in module.constants if c.type == types.INT}


def _member_scope(definition: ir.StructDef, module: ir.Module, outside: tuple[str, ...]) -> NameScope:
    """Return the names of a struct's members, which hide functions outside from its methods."""
    if any(f.owner == definition.struct.key for f in module.functions):
        return NameScope(outside)
    return NameScope((), ())


def _field_names(definition: ir.StructDef, scope: NameScope) -> dict[str, str]:
    names = [f.name for f in definition.struct.fields]
    return {name: name if definition.external else scope.give(name, name) for name in names}


def _function_name(function: ir.Function, scope: NameScope) -> str:
    if isinstance(function.body, ir.External):
        return function.body.symbol
    return scope.give(f"function {function.key}", function.name)


def _gradients_asked(module: ir.Module) -> dict[str, types.Type]:
    """Return the functions whose gradients are used as values, with the type of the gradients."""
    asked: dict[str, types.Type] = {}
    for function in module.functions:
        for expr in body_exprs(statements(function)):
            if isinstance(expr, ir.BackwardCall):
                asked[expr.function] = expr.type
    return asked


def _public_names(module: ir.Module, names: ModuleNames) -> dict[str, str]:
    return {**names.structs, **names.constants, **names.function_names, **{k.name: k.name for k in module.kernels}}


def _print_header(writer: Writer, module: ir.Module, libraries: Iterable[str]) -> None:
    writer.line(f"{GENERATED}{slangad.__version__} from {module.source}.")
    for line in module.doc:
        writer.comment(line)
    writer.gap()
    for path in module.slang_includes:
        writer.line(f'#include "{path}"')
    for library in libraries:
        name = library.removesuffix(".slang")
        writer.line(f"import {name};{_REMARKS.get(name, '')}")
    for path in module.slang_imports:
        writer.line(f'import "{path}";')


def _print_structs(names: ModuleNames, writer: Writer, module: ir.Module) -> None:
    used = _used_structs(module)
    for definition in module.structs:
        if definition.external or (module.functions and definition.struct.key not in used):
            continue
        writer.gap()
        print_doc(writer, definition.doc)
        with writer.origin(definition.span):
            _print_struct(names, writer, definition, module)


def _used_structs(module: ir.Module) -> set[str]:
    """Return the keys of the structs that functions and kernels use, also in Slang, and of those in their fields."""
    exprs = (e for f in module.functions for e in body_exprs(statements(f)))
    pending = [
        *(t for f in module.functions for t in (f.result, *(p.type for p in f.params))),
        *(buffer.type for buffer in module.buffers),
        *(e.type for e in exprs),
    ]
    owners = {f.owner for f in module.functions}
    words = slang_words(module)
    pending += [d.struct for d in module.structs if d.struct.key in owners or d.struct.name in words]
    used: set[str] = set()
    while pending:
        match pending.pop():
            case types.Struct(key=key, fields=fields) if key not in used:
                used.add(key)
                pending += [field.type for field in fields]
            case types.Array(element=inner) | types.DiffPair(primal=inner) | types.Tensor(element=inner):
                pending.append(inner)
            case types.Tuple(elements):
                pending += elements
            case _:
                pass
    return used


def _print_struct(names: ModuleNames, writer: Writer, definition: ir.StructDef, module: ir.Module) -> None:
    struct = definition.struct
    conforms = " : IDifferentiable" if types.carries_gradient(struct) else ""
    writer.line(f"struct {names.structs[struct.key]}{conforms}")
    with writer.block():
        for field in struct.fields:
            no_diff = "no_diff " if field.no_diff and types.carries_gradient(field.type) else ""
            writer.line(f"{no_diff}{names.spell.declare(field.type, names.field(struct, field.name))};")
        for function in module.functions:
            if function.owner == struct.key:
                writer.gap()
                print_any(names, writer, function)


def _used(module: ir.Module) -> tuple[ir.ConstantDef, ...]:
    """Return the constants without ints that the passes have left no name of."""
    exprs = [e for f in module.functions for e in body_exprs(statements(f))]
    used = {e.key for e in exprs if isinstance(e, ir.ConstantRef)}
    integers = _integers(module)
    spelt = (spelled(e, integers) for e in exprs if isinstance(e, ir.Const) and e.formula is not None)
    used |= {key for formula in spelt for key in formula_keys(formula)}
    words = slang_words(module)
    return tuple(c for c in module.constants if c.type != types.INT or c.key in used or c.name in words)


def _print_constants(names: ModuleNames, writer: Writer, constants: tuple[ir.ConstantDef, ...]) -> None:
    writer.gap()
    for constant in constants:
        type_ = constant.type
        if constant.key in names.tables:
            type_ = types.Array(entry_type(type_), math.prod(sizes_of(type_)))
        declared = names.spell.declare(type_, names.constants[constant.key])
        with writer.origin(constant.span):
            writer.line(f"static const {declared} = {_initial(type_, list(constant.values))};")


def _initial(type_: types.Type, values: list[int | float | bool]) -> str:
    """Return the initialiser of a constant, consuming its scalars from the front."""
    match type_:
        case types.Scalar():
            return literal(values.pop(0), type_)
        case types.Vector(element, size):
            return f"{element.name}{size}({', '.join(literal(values.pop(0), element) for _ in range(size))})"
        case types.Matrix(element, rows, columns):
            row = types.Vector(element, columns)
            return f"{element.name}{rows}x{columns}({', '.join(_initial(row, values) for _ in range(rows))})"
        case types.Array(element, size):
            return "{" + ", ".join(_initial(element, values) for _ in range(size)) + "}"
        case _:
            raise TypeError(f"a constant cannot be {type_}")


def _print_functions(
    names: ModuleNames,
    writer: Writer,
    module: ir.Module,
    memory: tuple[TensorPrinter | TexturePrinter, ...],
    modes: Mapping[str, tuple[Mode, ...]],
) -> None:
    tensors = {m.buffer.key: m for m in memory if isinstance(m, TensorPrinter)}
    added = {loop.item for loop in module.tile_loops}
    dims = {kernel.function: kernel.dims for kernel in module.kernels}
    asked = _gradients_asked(module)
    for function in _with_derivatives_near(module):
        if not function.owner and not isinstance(function.body, ir.External):
            writer.gap()
            if function.role.reads_memory:
                print_gather(names, writer, function, tensors, modes, added=function.key in added)
            else:
                print_any(names, writer, function, dims.get(function.key, 0))
        if function.key in asked:
            writer.gap()
            print_gradient(names, writer, function, asked[function.key])


def _with_derivatives_near(module: ir.Module) -> Iterator[ir.Function]:
    """Yield every function, each followed by its derivatives."""
    for function in module.functions:
        if function.role is ir.Role.PLAIN or function.role.reads_memory:
            yield function
            yield from (f for f in module.functions if f.of == function.key)


def _memory_printers(
    module: ir.Module, names: ModuleNames, accessors: Accessors
) -> Iterator[TensorPrinter | TexturePrinter]:
    exprs = [e for f in module.functions for e in body_exprs(statements(f))]
    numbers = kept_buffers(module)
    matrices = _matrices(module, names, exprs)
    for buffer in module.buffers:
        memory_name, kept = names.memory[buffer.key], numbers.get(buffer.key)
        if isinstance(buffer.type, types.Tensor):
            matrix = matrices.get(buffer.key)
            in_step = any(kernel.in_step for kernel in module.kernels if kernel.name == buffer.kernel)
            reads = frozenset(e.type for e in exprs if isinstance(e, ir.Read) and _is_of(e, buffer))
            block = _block_sums(module, buffer, memory_name) if buffer.block else None
            yield TensorPrinter(
                buffer, buffer.type, memory_name, names.spell, accessors, kept, matrix, block, in_step, reads
            )  # fmt: skip
        else:
            uses = {type(e) for e in exprs if isinstance(e, (ir.Read, ir.Sample)) and _is_of(e, buffer)}
            yield TexturePrinter(buffer, buffer.type, memory_name, ir.Sample in uses, ir.Read in uses, kept)


def _block_sums(module: ir.Module, buffer: ir.Buffer, names: MemoryNames) -> BlockSums:
    """Return the sums of a tensor whose elements belong to groups."""
    kernel = next(k for k in module.kernels if k.name == buffer.kernel)
    parts = BlockNames(names.gradient, names.extents, names.at, names.first, names.sums, names.begin, names.end)
    return BlockSums(buffer, parts, summing_group(kernel.group_size))


def _matrices(module: ir.Module, names: ModuleNames, exprs: Iterable[ir.Expr]) -> dict[str, MatrixSums]:
    """Return the matrices and biases of products by the keys of their buffers."""
    pairs = ((e.source, e.bias) for e in exprs if isinstance(e, ir.Linear))
    biases = {m.name: b.name for m, b in pairs if isinstance(m, ir.Var) and isinstance(b, ir.Var)}
    result: dict[str, MatrixSums] = {}
    of_biases = {biases[b.key]: b for b in module.buffers if b.key in biases}
    matrices = [b for b in module.buffers if b.accumulation.is_matrix and b.key not in of_biases]
    residents = {
        k.name: residents_of([b for b in matrices if b.kernel == k.name], summing_group(k.group_size))
        for k in module.kernels
    }
    for buffer in sorted(module.buffers, key=lambda b: b.key not in of_biases):
        if buffer.accumulation.is_matrix:
            kernel = next(k for k in module.kernels if k.name == buffer.kernel)
            memory_name = names.memory[buffer.key]
            parts = MatrixNames(
                memory_name.values, memory_name.tangent, memory_name.gradient, memory_name.times, memory_name.holder
            )
            if buffer.key in of_biases:
                result[buffer.key] = bias_sums(buffer, kernel, parts, of_biases[buffer.key])
                continue
            layer = names.layers.get(buffer.key, Layer())
            before = _entry_names(names, layer.before) if layer.before else None
            bias = result.get(biases.get(buffer.key, ""))
            result[buffer.key] = matrix_sums(buffer, kernel, parts, layer, bias, before, residents[kernel.name])
    return result


def _entry_names(names: ModuleNames, key: str) -> EntryNames:
    """Return the names of a function of an array and of its derivatives."""
    policy = names.functions[key].derivative
    assert isinstance(policy, ir.Custom)  # noqa: S101  (map_entries made the function)
    keys = (key, policy.backward, policy.forward)
    return EntryNames(*(names.function_names[one] for one in keys if one))


def _is_of(access: ir.Read | ir.Sample, buffer: ir.Buffer) -> bool:
    return isinstance(access.source, ir.Var) and access.source.name == buffer.key


def _print_kernels(
    names: ModuleNames,
    module: ir.Module,
    scope: NameScope,
    accessors: Accessors,
    memory: tuple[MemoryPrinter, ...],
    modes: Mapping[str, tuple[Mode, ...]],
) -> tuple[Writer, tuple[EntryPoint, ...]]:
    """Return the text of all entry points, and their descriptions."""
    entries = Writer()
    points: list[EntryPoint] = []
    tile_loops = {loop.kernel: loop for loop in module.tile_loops}
    for kernel in module.kernels:
        used = tuple(m for m in memory if m.used_by(module, kernel))
        entry_names = {mode: scope.fresh(f"{kernel.name}_{mode.value}") for mode in modes[kernel.name]}
        loop = tile_loops.get(kernel.name)
        points += print_kernel(names, entries, kernel, entry_names, accessors, used, scope.fresh, loop)
    return entries, tuple(points)
