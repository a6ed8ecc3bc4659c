"""Write functions that take memory and global parameters as arguments, set them, and call a function of the user.

The wrapper of ``load(uint i)``, which reads ``weights`` and adds gradients to ``gradients``:

    [BackwardDerivative(wrapper_bwd)]
    float wrapper(float[8] weights, uint i) { set weights; return load(i); }
    void wrapper_bwd(inout DifferentialPair<float[8]> weights, uint i, float d)
    {
        set weights and empty gradients;
        bwd_diff(load)(i, d);
        weights = diffPair(weights.p, the contents of gradients);
    }

A second one runs two threads before it looks at the gradients. What it finds is twice as much, if no thread loses the
additions of the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from slangad.compiler.check import tolerances as tol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from slangad.compiler.slang_text.global_parameters import GlobalParameter

PREFIX: Final = "check_memory_"
"""Begins the names of wrappers."""
RACING: Final = "check_racing_"
"""Begins the names of wrappers whose derivative runs two threads."""
_VALUE: Final = "check_d"


@dataclass(frozen=True, slots=True)
class WrappedParam:
    """A parameter of the function: its type as written, and its part in derivatives."""

    name: str
    type: str
    direction: str
    active: bool
    no_diff: bool


@dataclass(frozen=True, slots=True)
class MemoryInput:
    """Memory or a global that a wrapper sets.

    Attributes:
        number: Its number among the global parameters of the file.
        name: The name of the wrapper's parameter; empty for memory that is no input, and starts empty.
        gradient: The number of the memory of its gradient, or -1.
        scalars: The elements of that for one of its own.
        entries: The number of its elements.
    """

    parameter: GlobalParameter
    number: int
    name: str
    gradient: int = -1
    scalars: int = 1
    entries: int = tol.MEMORY_ENTRIES

    @property
    def type(self) -> str:
        """The type of the wrapper's parameter."""
        return f"{self.parameter.element}[{self.entries}]" if self.parameter.memory else self.parameter.type


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A function with the memory that it uses.

    Attributes:
        call: What to write before its arguments to call it; ``derived`` is its name in ``bwd_diff``.
        result: The type of its result as written; ``void`` if it has none.
        backward: True if it has reverse mode, and ``forward`` if it has forward mode.
        threads: True if several threads may run its derivative at once.
    """

    name: str
    call: str
    derived: str
    params: tuple[WrappedParam, ...]
    inputs: tuple[MemoryInput, ...]
    result: str
    flows: bool
    backward: bool
    forward: bool
    method: bool = False
    threads: bool = True

    @property
    def accumulates(self) -> bool:
        """True if the gradient of some memory accumulates in other memory."""
        return any(one.gradient >= 0 for one in self.inputs)


def setters(inputs: Iterable[MemoryInput]) -> Iterator[str]:
    """Yield the functions that set globals, one for each."""
    for number, i in {i.number: i for i in inputs}.items():
        one = i.parameter
        text = f"void check_set_{number}({one.type} value) {{ {one.name} = value; }}"
        if one.memory:
            storage = f"{_element(one)}, {i.entries}"
            text = f"void check_set_{number}(CheckStorage<{storage}>* s) {{ {one.name} = check_memory<{storage}>(s); }}"
        yield _in_scopes(one.scopes, text)


def wrapper_text(one: Wrapped, scopes: tuple[str, ...], comments: Sequence[str]) -> str:
    """Return a wrapper with its derivatives, and the one that runs two threads if it accumulates something."""
    texts = [_wrapper(one, PREFIX, comments, threads=1)]
    if one.accumulates and one.threads:
        texts.append(_wrapper(one, RACING, comments, threads=2))
    return _in_scopes(scopes, "\n".join(texts))


def _in_scopes(scopes: tuple[str, ...], text: str) -> str:
    opened = "".join(f"namespace {scope} {{ " for scope in scopes)
    return opened + text + " }" * len(scopes)


def _wrapper(one: Wrapped, prefix: str, comments: Sequence[str], threads: int) -> str:
    name = prefix + one.name
    attributes = [f"[BackwardDerivative({name}_bwd)]"] * one.backward + [f"[ForwardDerivative({name}_fwd)]"] * (
        one.forward and not one.accumulates
    )
    inputs = [f"{'' if i.gradient >= 0 else 'no_diff '}{i.type} {i.name}" for i in one.inputs if i.name]
    params = [f"{'no_diff ' * p.no_diff}{p.direction} {p.type} {p.name}" for p in one.params]
    returned = "" if one.result == "void" else "return "
    call = _call(one.call, [p.name for p in one.params], method=one.method)
    lines = [
        *comments,
        " ".join(attributes),
        f"{one.result} {name}({', '.join((*inputs, *params))})",
        "{",
        *(_storages(one, ())),
        *_sets(one),
        f"{returned}{call};",
        "}",
    ]
    if one.backward:
        lines += _backward(one, name, threads)
    if one.forward and not one.accumulates:
        lines += _forward(one, name)
    return "\n".join(lines) + "\n"


def _backward(one: Wrapped, name: str, threads: int) -> Iterator[str]:
    active = [i for i in one.inputs if i.gradient >= 0]
    inputs = [
        f"inout DifferentialPair<{i.type}> {i.name}" if i in active else f"{i.type} {i.name}"
        for i in one.inputs
        if i.name
    ]
    cotangent = [f"{_differential(one.result)} {_VALUE}"] if one.flows else []
    yield f"void {name}_bwd({', '.join((*inputs, *(_derived(p) for p in one.params), *cotangent))})"
    yield "{"
    yield from _storages(one, active)
    pairs = [p for p in one.params if p.active and p.direction != "out"]
    yield from (f"var check_first_{p.name} = {p.name};" for p in pairs)
    yield f"for (int check_thread = 0; check_thread < {threads}; ++check_thread)"
    yield "{"
    yield from (f"{p.name} = check_first_{p.name};" for p in pairs)
    yield from _sets(one)
    arguments = [*(p.name for p in one.params), *([_VALUE] if one.flows else [])]
    yield f"bwd_diff({one.derived})({', '.join(arguments)});"
    yield "}"
    memory = {i.number: i.parameter for i in one.inputs}
    for i in active:
        value = f"check_{i.gradient}.end({{}}){'.value' if memory[i.gradient].is_atomic else ''}"
        yield f"DifferentialPair<{i.type}>.DifferentialElementType check_gradient_{i.number};"
        yield f"for (int k = 0; k < {i.entries}; ++k)"
        if i.scalars > 1:
            yield f"for (int c = 0; c < {i.scalars}; ++c)"
            yield f"check_gradient_{i.number}[k][c] = {value.format(f'k * {i.scalars} + c')};"
        else:
            yield f"check_gradient_{i.number}[k] = {value.format('k')};"
        yield f"{i.name} = diffPair({i.name}.p, check_gradient_{i.number});"
    yield "}"


def _forward(one: Wrapped, name: str) -> Iterator[str]:
    inputs = [f"{i.type} {i.name}" for i in one.inputs if i.name]
    params = [
        f"{p.direction} DifferentialPair<{p.type}> {p.name}" if p.active else f"{p.direction} {p.type} {p.name}"
        for p in one.params
    ]
    result = f"DifferentialPair<{one.result}>" if one.flows else one.result
    yield f"{result} {name}_fwd({', '.join((*inputs, *params))})"
    yield "{"
    yield from _storages(one, ())
    yield from _sets(one)
    returned = "" if one.result == "void" else "return "
    yield f"{returned}fwd_diff({one.derived})({', '.join(p.name for p in one.params)});"
    yield "}"


def _call(name: str, arguments: Sequence[str], *, method: bool) -> str:
    if method:
        return f"{arguments[0]}.{name}({', '.join(arguments[1:])})"
    return f"{name}({', '.join(arguments)})"


def _derived(param: WrappedParam) -> str:
    """Return a parameter in the signature of a backward derivative."""
    if not param.active:
        return f"{param.direction} {param.type} {param.name}"
    if param.direction == "out":
        return f"{_differential(param.type)} {param.name}"
    return f"inout DifferentialPair<{param.type}> {param.name}"


def _differential(type_: str) -> str:
    return f"DifferentialPair<{type_}>.DifferentialElementType"


def _storages(one: Wrapped, pairs: Sequence[MemoryInput]) -> Iterator[str]:
    """Yield the variables that hold memory. Inputs among ``pairs`` have a gradient beside the value."""
    for i in one.inputs:
        if i.parameter.memory:
            yield f"CheckStorage<{_element(i.parameter)}, {i.entries}> check_{i.number} = {{}};"
            if i.name:
                yield f"check_{i.number}.held = {i.name}{'.p' if i in pairs else ''};"


def _sets(one: Wrapped) -> Iterator[str]:
    for i in one.inputs:
        value = f"__getAddress(check_{i.number})" if i.parameter.memory else i.name
        yield f"check_set_{i.number}({value});"


def _element(one: GlobalParameter) -> str:
    return f"CheckAtomic<{one.element}>" if one.is_atomic else one.element
