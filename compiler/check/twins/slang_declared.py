"""Make twins of Slang functions that freeze what their text declares to carry no gradient (see ``slang_frozen``)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from slangad.compiler.check.twins.slang_frozen import (
    LIBRARY,
    STATE,
    STOPS,
    TEXT,
    FrozenText,
    frozen_text,
    own_name,
)
from slangad.compiler.check.twins.text_twins import TextTwins
from slangad.compiler.errors.exhaustive import assert_never
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir import types
from slangad.compiler.slang_text.bodies import read_source
from slangad.compiler.slang_text.calls import names_reached, same_file
from slangad.compiler.slang_text.endings import is_slang
from slangad.compiler.slang_text.files import source_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from slangad.compiler.check.model.subject import Subject
    from slangad.compiler.frontends.reading.directives import DeclaredDerivative
    from slangad.compiler.slang_text.bodies import SlangSource

_BASE: Final = "base_"
_RECORD, _REPLAY = "check:record_text", "check:replay_text"
PRELUDE: Final = f"import {LIBRARY};\n\n"
"""Text before a module with such twins."""
_DERIVING: Final = frozenset({"bwd_diff", "fwd_diff", "__bwd_diff", "__fwd_diff"})


def has_text_twins(module: ir.Module) -> bool:
    """Return True if the text of a module needs the prelude."""
    return any(function.key == _RECORD for function in module.functions)


def libraries_of(module: ir.Module) -> dict[str, str]:
    """Return the texts that such twins import, by their names."""
    return {f"{LIBRARY}.slang": TEXT} if has_text_twins(module) else {}


def add_declared_twins(
    module: ir.Module, text: str, subjects: Iterable[Subject]
) -> tuple[TextTwins | None, frozenset[str]]:
    """Return twins of the kernels of a Slang file that use a declared part; None if no kernel does.

    Return also the kernels with a declared part that the twins do not freeze. These are those that call the derivative
    of a function with such a part, and those that macros declare, whose text nobody knows.

    Args:
        module: The module of the file.
        text: The text of the file, without parts that do not compile.
        subjects: Its functions, some with a declared derivative.
    """
    functions = {function.key: function for function in module.functions}
    files = sources_of(module, text)
    bodies = _bodies(subjects, functions)
    if not bodies and not any(STOPS & _words(source) for source in files):
        return None, frozenset()
    unplaced = frozenset(kernel.name for kernel in module.kernels if not kernel.span.line)
    deriving = frozenset(f.header.name for source in files for f in source.functions if f.words & _DERIVING)
    outs = {h.name: _outs(h.types) for source in files for h in source.scan.headers}
    structs = {definition.external for definition in module.structs}
    frozen: dict[str, FrozenText] = {}
    for source in files:
        bodies_here = {
            (line, column): body for (file, line, column), body in bodies.items() if same_file(file, source.file)
        }
        changed = frozen_text(source, bodies_here, outs, structs)
        if changed is not None:
            frozen[source.file] = changed
    names = frozenset(name for one in frozen.values() for name in one.frozen)
    passive = frozenset(name for one in frozen.values() for name in one.passive)
    doubtful = frozenset(name for one in frozen.values() for name in one.incomplete)
    reached = reached_by(module)
    themselves = {kernel.name: {functions[kernel.function].name} for kernel in module.kernels}
    touched = [k for k in module.kernels if names & reached[k.name] or passive & (reached[k.name] - themselves[k.name])]
    if not touched:
        return None, unplaced
    twins: dict[str, tuple[ir.Function, ir.Kernel]] = {}
    for kernel in touched:
        function = functions[kernel.function]
        if _returns_all(function):
            twins[kernel.name] = _frozen_kernel(function, kernel)
        elif isinstance(function.body, ir.External):
            twins[kernel.name] = _oracle_kernel(function, function.body, kernel)
    added = (*_helpers(), *(function for function, _ in twins.values()))
    texts = {Path(file).name: one.text for file, one in frozen.items()}
    made = TextTwins(
        replace(module, functions=(*module.functions, *added), kernels=tuple(kernel for _, kernel in twins.values())),
        texts,
        {name: twin.name for name, (_, twin) in twins.items()},
    )
    doubtful |= deriving
    return made, unplaced.union(k.name for k in touched if k.name not in twins or doubtful & reached[k.name])


def _words(source: SlangSource) -> frozenset[str]:
    return frozenset(token.text for token in source.tokens)


def sources_of(module: ir.Module, text: str) -> list[SlangSource]:
    """Return the Slang files of a module; ``text`` is that of the main one."""
    files = [source_of(file) for file in module.sources if is_slang(file)]
    return [read_source(text, one.file) if same_file(one.file, module.source) else one for one in files]


def _outs(written: Sequence[str]) -> tuple[int, ...]:
    """Return the numbers of the parameters that a function stores into."""
    return tuple(k for k, text in enumerate(written) if text.startswith(("out ", "inout ")))


def reached_by(module: ir.Module) -> dict[str, frozenset[str]]:
    """Return for each kernel the names of the functions through which its gradient goes."""
    reached = names_reached((kernel.span for kernel in module.kernels), module.sources)
    return {kernel.name: names for kernel, names in zip(module.kernels, reached, strict=True)}


def _returns_all(function: ir.Function) -> bool:
    """Return True if a function returns a value and stores nothing into its parameters."""
    return function.result != types.VOID and all(param.direction == "in" for param in function.params)


def _helpers() -> Iterator[ir.Function]:
    """Yield the functions that begin a record and a replay."""
    for key, value in ((_RECORD, "0"), (_REPLAY, "1")):
        text = f"{STATE}[0] = 0;\n{STATE}[1] = {value};\nreturn 0;"
        yield ir.Function(key, key.replace(":", "_"), (), types.INT, ir.SlangBody(text), differentiable=False)


def _frozen_kernel(function: ir.Function, kernel: ir.Kernel) -> tuple[ir.Function, ir.Kernel]:
    """Return a function of the sample and the moved point, and its kernel."""
    moved = tuple(replace(p, no_diff=False) for p in function.params)
    base = tuple(replace(p, name=f"{_BASE}{p.name}") for p in moved)

    def value(params: Iterable[ir.Param]) -> ir.Expr:
        return ir.Call(function.key, tuple(ir.Var(p.name, p.type) for p in params), function.result)

    body = (
        ir.Let("check_recorded", types.INT, ir.Call(_RECORD, (), types.INT)),
        ir.Let("check_here", function.result, value(base)),
        ir.Let("check_replayed", types.INT, ir.Call(_REPLAY, (), types.INT)),
        ir.Return(value(moved)),
    )
    key = f"oracle {kernel.name}"
    made = ir.Function(key, f"oracle_{kernel.name}", (*base, *moved), function.result, body, differentiable=False)
    params = tuple(ir.KernelParam(p.name, ir.Memory.EACH, p.type) for p in (*base, *moved))
    name = f"oracle_frozen_{kernel.name}"
    return made, ir.Kernel(name, key, params, kernel.results, modes=("forward",), span=kernel.span)


def _oracle_kernel(function: ir.Function, external: ir.External, kernel: ir.Kernel) -> tuple[ir.Function, ir.Kernel]:
    """Return a function of the sample and the moved point that stores into its parameters, and its kernel.

    void f(float x, inout float y)
    -> void oracle_f(float base_x, float base_y, float x, inout float y) { …; f(base_x, base_y); …; f(x, y); }
    """
    moved = tuple(replace(p, no_diff=False) for p in function.params)
    inputs = [param for param in moved if param.direction != "out"]
    base = tuple(replace(p, name=f"{_BASE}{p.name}", direction="in") for p in inputs)
    known = {param.name: one.name for param, one in zip(inputs, base, strict=True)}
    here = _call(function, external, [known.get(param.name, param.name) for param in moved])
    there = _call(function, external, [param.name for param in moved])
    back = "" if function.result == types.VOID else "return "
    text = f"{STATE}[0] = 0;\n{STATE}[1] = 0;\n{here};\n{STATE}[0] = 0;\n{STATE}[1] = 1;\n{back}{there};"
    made = ir.Function(
        f"oracle {kernel.name}",
        f"oracle_{kernel.name}",
        (*base, *moved),
        function.result,
        ir.SlangBody(text),
        differentiable=False,
    )
    params = tuple(ir.KernelParam(p.name, ir.Memory.EACH, p.type) for p in (*base, *inputs))
    name = f"oracle_frozen_{kernel.name}"
    return made, ir.Kernel(name, made.key, params, kernel.results, modes=("forward",), span=kernel.span)


def _call(function: ir.Function, external: ir.External, arguments: Sequence[str]) -> str:
    """Return the expression that calls a function of a Slang file."""
    if external.call:
        return external.call.format(*arguments)
    if not function.owner:
        return f"{external.symbol}({', '.join(arguments)})"
    method = external.symbol[external.symbol.rfind(f".{function.name}") + 1 :]
    return f"{arguments[0]}.{method}({', '.join(arguments[1:])})"


def _bodies(subjects: Iterable[Subject], functions: Mapping[str, ir.Function]) -> dict[tuple[str, int, int], str]:
    """Return the bodies of functions with a declared derivative, by the locations of their names."""
    result: dict[tuple[str, int, int], str] = {}
    for subject in subjects:
        derivative, function = subject.directives.derivative, functions.get(subject.function)
        if function is not None and derivative is not None and not isinstance(derivative, ir.ClipGradient):
            span = subject.span
            result[span.file, span.line, span.column] = _body(function, derivative)
    return result


def _body(function: ir.Function, derivative: DeclaredDerivative) -> str:
    """Return a body with the value of the function and the declared derivative."""
    names = [param.name for param in function.params if param.name != "self"]
    call = f"{own_name(function.name)}({', '.join(names)})"
    active = [param for param in function.params if types.carries_gradient(param.type) and not param.no_diff]
    match derivative:
        case ir.Surrogate(function=soft):
            value = f"{soft}({', '.join(names)})"
            return f"return {_frozen(call)} + ({value} - {_frozen(value)});"
        case ir.StraightThrough():
            like = next((p.name for p in active if p.type == function.result), active[0].name)
            return f"return {_frozen(f'{call} - {like}')} + {like};"
        case ir.Subgradient(at=at, value=slope):
            name = active[0].name
            moved = f"{slope!r} * ({name} - {_frozen(name)})"
            return f"if ({_frozen(name)} == {at!r}) return {_frozen(call)} + {moved}; return {call};"
        case ir.FiniteDifference():
            return _differences(function, derivative, active, call, names)
        case ir.ClipGradient():
            return f"return {call};"
        case _:
            assert_never(derivative)


def _differences(
    function: ir.Function, derivative: ir.FiniteDifference, active: Sequence[ir.Param], call: str, names: Sequence[str]
) -> str:
    """Return a body whose slopes are the declared differences at the sample."""
    lines: list[str] = []
    terms = [_frozen(call)]
    for param in active:
        for leaf in types.leaves(param.type):
            if leaf.type.name not in types.FLOATING:
                continue
            way = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in leaf.path)
            here, number = f"{param.name}{way}", len(lines)
            step = f"{derivative.step!r}" + (f" * max(1.0, abs({here}))" if derivative.relative else "")
            up, down = (
                f"{own_name(function.name)}({', '.join(f'{side}_{number}' if n == param.name else n for n in names)})"
                for side in ("check_up", "check_down")
            )
            lines.append(
                f"var check_up_{number} = {param.name}; check_up_{number}{way} = {here} + {step}; "
                f"var check_down_{number} = {param.name}; check_down_{number}{way} = {here} - {step}; "
                f"let check_slope_{number} = "
                f"{_frozen(f'({up} - {down}) / (check_up_{number}{way} - check_down_{number}{way})')};"
            )
            terms.append(f"check_slope_{number} * ({here} - {_frozen(here)})")
    return f"{' '.join(lines)} return {' + '.join(terms)};"


def _frozen(value: str) -> str:
    return f"check_freeze({value})"
