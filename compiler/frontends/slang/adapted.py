"""Adapt functions that Slang cannot differentiate by name, or with values that cannot lie in buffers.

A kernel calls an adapted function through a wrapper: ``a + b``, ``w.shade(x)``, ``f(Kind(k), x)``, or ``f(w, x)`` with
a type that conforms to the interface of ``w``.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice, product
from typing import TYPE_CHECKING, Final

from slangad.compiler.emit.memory.buffers import chosen_case
from slangad.compiler.frontends.slang.functions import Candidate
from slangad.compiler.frontends.slang.locations import FunctionLocation
from slangad.compiler.frontends.slang.reflected import DeclaredParam

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from slangad.compiler.frontends.slang.arguments import Surroundings
    from slangad.compiler.frontends.slang.locations import SourceFiles
    from slangad.compiler.frontends.slang.reflected import DeclaredStruct, Json, ReflectedModule
    from slangad.compiler.slang_text.headers import Header

_OPERATORS: Final = frozenset({"+", "-", "*", "/"})
_NUMBER: Final = re.compile(r"(half|float|double|int|uint|bool)([2-4]?)")
_EXTENSION: Final = "extension "
_SELF: Final = "self_"


def types_needed(declared: ReflectedModule, files: SourceFiles) -> tuple[str, ...]:
    """Return the structs whose fields functions need: of extensions, of types behind interfaces, and base structs."""
    names = [_target(header) for header in files.unreflected]
    names += [base for name in files.surroundings.own_structs for base in sorted(files.surroundings.base_structs(name))]
    for function in declared.functions:
        for param in function.params:
            names += _behind(param, files.surroundings)
    return tuple(dict.fromkeys(name for name in names if name))


def defaults_needed(declared: ReflectedModule, files: SourceFiles) -> tuple[tuple[str, Header], ...]:
    """Return the methods that types inherit from interfaces of the file, as ``Type.method``, each with its header."""
    known = {function.qualified for function in declared.functions}
    return tuple(
        (f"{name}.{header.name}", header)
        for header in files.main.headers
        if header.path[-1:] and header.path[-1] in files.surroundings.interfaces
        if "Differentiable" in header.attributes
        for name in files.surroundings.conforming(header.path[-1])
        if f"{name}.{header.name}" not in known and f"{name.partition('<')[0]}.{header.name}" not in known
    )


def default_methods(declared: ReflectedModule, needed: Iterable[tuple[str, Header]]) -> Iterator[Candidate]:
    """Yield the methods that types inherit from interfaces."""
    for text, header in needed:
        for one in declared.asked.get(text, ()):
            if one.differentiable and one.owner:
                place = FunctionLocation(header.span, header)
                yield Candidate(one, text, place, call=_method(one.name, len(one.params)))


def extension_methods(declared: ReflectedModule, files: SourceFiles) -> Iterator[Candidate]:
    """Yield the methods of extensions that are not generic, as functions whose first parameter is the object."""
    waiting = list(declared.extensions)
    for header in files.unreflected:
        target = _target(header)
        like = (one for one in waiting if (one.name, tuple(p.name for p in one.params)) == (header.name, header.params))
        function = next(like, None)
        record = _record(target, declared) if target else None
        if function is None or record is None:
            continue
        waiting.remove(function)
        name, count = f"{target}.{header.name}", len(function.params)
        if function.static:
            call = f"{name}({', '.join(f'{{{k}}}' for k in range(count))})"
            yield Candidate(function, name, FunctionLocation(header.span, header), call=call)
            continue
        struct = declared.structs.get(target)
        passive = (struct is not None and struct.differential is None) or "NoDiffThis" in header.attributes
        this = DeclaredParam(_SELF, record, passive, "inout" if function.mutating else "in")
        made = replace(function, params=(this, *function.params), static=True)
        yield Candidate(made, name, FunctionLocation(header.span, header), call=_method(header.name, count))


def adapted(
    candidate: Candidate, files: SourceFiles, structs: Mapping[str, DeclaredStruct], most: int
) -> list[Candidate]:
    """Return a function for values that can lie in buffers: of enums as integers, of interfaces as each type.

    Args:
        candidate: The function.
        files: The files of the module.
        structs: The structs that are known.
        most: The most functions to return.
    """
    declared = candidate.declared
    columns = [list(_choices(param, files.surroundings, structs)) for param in declared.params]
    if all(column == [(param.type, "$")] for param, column in zip(declared.params, columns, strict=True)):
        return [candidate]
    method = bool(declared.owner) and not declared.static
    start = candidate.symbol.rfind(f".{declared.name}") + 1 if method else 0
    called = f"{'{0}.' if method else ''}{candidate.symbol[start:]}"
    made = []
    for row in islice(product(*columns), most):
        values = (form.replace("$", f"{{{k + method}}}") for k, (_, form) in enumerate(row))
        params = tuple(
            replace(p, type=record, no_diff=p.no_diff or _is_passive(p, files.surroundings))
            for p, (record, _) in zip(declared.params, row, strict=True)
        )
        call = f"{called}({', '.join(values)})"
        made.append(replace(candidate, declared=replace(declared, params=params), call=call))
    return made or [candidate]


def operator(candidate: Candidate) -> Candidate | None:
    """Return an operator as a function; None if it is none of arithmetic."""
    name, count, header = candidate.declared.name, len(candidate.declared.params), candidate.place.header
    prefix = count == 1 and header is not None and "__prefix" in header.words
    if name not in _OPERATORS or not (prefix or count == 2) or candidate.declared.owner:
        return None
    symbol = f"operator{name}"
    call = f"{{0}} {name} {{1}}" if count == 2 else f"{name}{{0}}"
    return replace(candidate, declared=replace(candidate.declared, name=symbol), symbol=symbol, call=call)


def _choices(
    param: DeclaredParam, surroundings: Surroundings, structs: Mapping[str, DeclaredStruct]
) -> Iterator[tuple[Json, str]]:
    """Yield types that can replace that of a parameter, each with the value to pass: ``$`` is the kernel's."""
    name = param.type.get("name", "")
    if param.direction != "in" or param.type["kind"] not in ("other", "enum"):
        yield param.type, "$"
    elif param.type["kind"] == "enum":
        cases = [f"{name}.{case}" for case in param.type["cases"]]
        yield {"kind": "scalar", "scalar": "int", "count": len(cases)}, chosen_case(cases, "$")
    elif name in surroundings.interfaces:
        yield from (({"kind": "struct", "name": one}, "$") for one in _behind(param, surroundings) if one in structs)
    else:
        yield param.type, "$"


def _is_passive(param: DeclaredParam, surroundings: Surroundings) -> bool:
    """Return True if the interface of a parameter is not differentiable, so that values behind it have no gradient."""
    name = param.type.get("name", "")
    return name in surroundings.interfaces and not surroundings.inherits(name, "IDifferentiable")


def _behind(param: DeclaredParam, surroundings: Surroundings) -> list[str]:
    """Return the types that conform to the interface of a parameter."""
    name = param.type.get("name", "")
    return list(surroundings.conforming(name)) if name in surroundings.interfaces else []


def _target(header: Header) -> str:
    last = header.path[-1]
    return last.removeprefix(_EXTENSION) if last.startswith(_EXTENSION) else ""


def _record(name: str, declared: ReflectedModule) -> Json | None:
    """Return the type of a name as reflection has it."""
    number = _NUMBER.fullmatch(name)
    if number is None:
        return {"kind": "struct", "name": name} if name in declared.structs else None
    if not number[2]:
        return {"kind": "scalar", "scalar": number[1]}
    return {"kind": "vector", "scalar": number[1], "count": int(number[2])}


def _method(name: str, count: int) -> str:
    return f"{{0}}.{name}({', '.join(f'{{{k + 1}}}' for k in range(count))})"
