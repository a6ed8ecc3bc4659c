"""Make a module from lowered functions: callees before callers, structs before their users; refuse recursion."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slangad.compiler.frontends.kernel_rules.derivative_orders import refuse_higher_orders
from slangad.compiler.frontends.kernel_rules.probes import check_kernels
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.calls import custom_derivatives, needed_first
from slangad.compiler.ir.types import Array, DiffPair, Struct, Tuple, Type
from slangad.compiler.ir.walk import body_exprs, formula_keys, statements, walk_stmts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from slangad.compiler.errors.spans import Span
    from slangad.compiler.frontends.lowering.context import UsedConstant
    from slangad.compiler.frontends.reading.problems import Problems


def order_functions(functions: Mapping[str, ir.Function], problems: Problems) -> tuple[ir.Function, ...]:
    """Return callees before callers, otherwise in the given order; report a cycle at the call that closes it.

    Custom derivatives follow their function if their callees allow it.
    """
    done: dict[str, ir.Function] = {}
    path: list[str] = []

    def visit(key: str, span: Span) -> None:
        if key in done or key not in functions:
            return
        if key in path:
            cycle = [functions[k].name for k in [*path[path.index(key) :], key]]
            problems.error(
                "SA022",
                span,
                f"recursion: {' calls '.join(cycle)}",
                label="calls itself",
                help="write a loop with a bound; Slang's gradients do not support recursion",
            )
            return
        path.append(key)
        for callee, at in needed_first(functions[key], functions):
            visit(callee, at)
        path.pop()
        done[key] = functions[key]
        for derivative in custom_derivatives(functions[key]):
            if derivative in functions and all(k in done for k, _ in needed_first(functions[derivative], functions)):
                visit(derivative, functions[derivative].span)

    for key, function in functions.items():
        visit(key, function.span)
    return tuple(done.values())


def checked_order(
    functions: Mapping[str, ir.Function], kernels: Sequence[ir.Kernel], problems: Problems
) -> tuple[ir.Function, ...]:
    """Return the functions of a module, callees before callers, and check the rules for modules.

    Raises:
        CompileError: if a rule is broken.
    """
    ordered = order_functions(functions, problems)
    problems.raise_if_any()
    refuse_higher_orders(functions, kernels, problems)
    check_kernels(functions, kernels, problems)
    problems.raise_if_any()
    return ordered


def struct_types(type_: Type) -> Iterable[Struct]:
    """Yield the structs inside a type, fields before the struct that holds them."""
    match type_:
        case Struct(fields=fields):
            for field in fields:
                yield from struct_types(field.type)
            yield type_
        case Array(element=element) | DiffPair(primal=element):
            yield from struct_types(element)
        case Tuple(elements):
            for element in elements:
                yield from struct_types(element)
        case _:
            return


def used_structs(
    functions: Iterable[ir.Function],
    kernels: Iterable[ir.Kernel],
    constants: Iterable[ir.ConstantDef],
    extra: Iterable[Struct],
) -> tuple[Struct, ...]:
    """Return every struct a module mentions, fields first, each once."""
    collected: dict[Struct, None] = {}
    types: list[Type] = [*extra]
    for function in functions:
        types.extend([*(p.type for p in _params(function)), function.result])
        types.extend(e.type for e in body_exprs(statements(function)))
    types.extend(p.type for k in kernels for p in k.params)
    types.extend(r.type for k in kernels for r in k.results)
    types.extend(c.type for c in constants)
    for type_ in types:
        collected.update(dict.fromkeys(struct_types(type_)))
    return tuple(collected)


def _params(function: ir.Function) -> tuple[ir.Param, ...]:
    return function.params


def struct_defs(structs: Iterable[Struct], known: Mapping[str, ir.StructDef]) -> tuple[ir.StructDef, ...]:
    """Return the definitions of structs, with comments and locations if known."""
    return tuple(known.get(s.key, ir.StructDef(s)) for s in structs)


def used_constants(
    used: Mapping[str, UsedConstant], functions: Iterable[ir.Function], in_slang: Collection[str] = ()
) -> tuple[ir.ConstantDef, ...]:
    """Return the module constants that finished bodies refer to, in the order they were first met.

    Args:
        used: The constants that lowering met, by key.
        functions: The finished functions.
        in_slang: Keys that bodies written in Slang name.
    """
    exprs = [e for f in functions for e in body_exprs(statements(f))]
    named = {e.key for e in exprs if isinstance(e, ir.ConstantRef)}.union(in_slang)
    loops = (s for f in functions for s in walk_stmts(statements(f)) if isinstance(s, (ir.For, ir.While)))
    formulas = [*(e.formula for e in exprs if isinstance(e, ir.Const)), *(loop.limit_formula for loop in loops)]
    named |= {key for formula in formulas for key in formula_keys(formula)}
    return tuple(
        ir.ConstantDef(key, name, type_, values) for key, (name, type_, values) in used.items() if key in named
    )
