"""Print the kernels that the runtime adds to a pipeline: clear, add, convert, gather a batch, lists, and optimizers.

Gradients and the state of optimizers are float for half and float values, double for double values. Half values keep a
float master copy, since an update is mostly too small for the last digit of a half.
"""

from __future__ import annotations

from string import Template
from typing import TYPE_CHECKING, Final

from slangad.compiler.emit.entry_points.list_steps import LIST_KINDS
from slangad.compiler.emit.model import GENERATED, GROUPS_A_ROW, EmittedModule, EntryPoint, Mode, ThreadWork
from slangad.compiler.ir.optimizers import OPTIMIZERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

GROUP: Final = 256
_ROW: Final = f"({GROUPS_A_ROW} * {GROUP})"
FILE: Final = "slangad_steps.slang"
FINITE_BITS: Final = "0x7f800000"

_HEAD: Final = Template("""
[shader("compute")]
[numthreads($group, 1, 1)]
void $name(uint3 thread : SV_DispatchThreadID, uniform uint count, $parameters)
{
    uint i = thread.y * $row + thread.x;
    if (i >= count)
        return;
$body}
""")

_TOGETHER: Final = Template("""
void $element(uint i, $own)
{
$body}

[shader("compute")]
[numthreads($group, 1, 1)]
void $name(uint3 thread : SV_DispatchThreadID, $parameters)
{
    uint i = thread.y * $row + thread.x;
$calls}
""")

_STOP: Final = "    if (stop[0] != 0)\n        return;\n"

UPDATE_SETTINGS: Final[dict[str, tuple[str, ...]]] = {
    "sgd": ("lr", "momentum"),
    "adam": ("lr", "beta1", "fresh1", "beta2", "fresh2", "eps", "kept", "corrected1", "corrected2"),
}
"""What the kernel of an optimizer reads from ``settings``: so many numbers for each step of a submission. The launches
of a step are always the same; what changes from step to step is in memory, at the place that ``clock`` says."""
_KINDS: Final[dict[str, tuple[str, str]]] = {
    **LIST_KINDS,
    "zero": ("RW:T target", "    target[i] = {T}(0);\n"),
    "add": ("RO:T source, RW:S target", "    target[i] += {S}(source[i]);\n"),
    "copy": ("RO:T source, RW:S target", "    target[i] = {S}(source[i]);\n"),
    "gather": (
        "V:uint width, RO:uint first, RO:uint clock, RO:uint order, RO:T source, RW:T target",
        "    target[i] = source[order[first[clock[0]] + i / width] * width + i % width];\n",
    ),
    "record": (
        "V:{S} threshold, RO:T loss, RW:S history, RW:uint clock, RW:uint stop",
        _STOP + "    uint step = clock[0];\n    clock[0] = step + 1;\n    history[step] = {S}(loss[0]);\n"
        "    bool lost = (asuint(float(loss[0])) & " + FINITE_BITS + ") == " + FINITE_BITS + ";\n"
        "    if (lost || loss[0] < threshold)\n        stop[0] = step + 1;\n",
    ),
    "sgd": (
        "RO:S settings, RO:uint clock, RO:S gradient, RW:S velocity, RW:S master, RW:T values, RO:uint stop",
        _STOP + "{settings}    {S} moving = momentum * velocity[i] + gradient[i];\n"
        "    velocity[i] = moving;\n"
        "    {S} value = {master} - lr * moving;\n",
    ),
    "adam": (
        "RO:S settings, RO:uint clock, RO:S gradient, RW:S mean, RW:S square, RW:S master, RW:T values, RO:uint stop",
        _STOP + "{settings}    {S} g = gradient[i];\n"
        "    {S} m = beta1 * mean[i] + fresh1 * g;\n"
        "    {S} v = beta2 * square[i] + fresh2 * g * g;\n"
        "    mean[i] = m;\n"
        "    square[i] = v;\n"
        "    {S} value = kept * {master} - lr * (m / corrected1) / (sqrt(v / corrected2) + eps);\n",
    ),
}
"""Each kind: its parameters (value, read-only or written buffer) and what a thread does; T and S are scalar types."""


SHARED: Final = ("settings", "clock", "stop")
"""Buffers of which a launch for several sets of buffers has one."""


def state_scalar(scalar: str) -> str:
    """Return the scalar type of gradients and optimizer state for values of a scalar type."""
    return "double" if scalar == "double" else "float"


def entry_name(kind: str, scalar: str, other: str = "") -> str:
    """Return the entry point of a kind for a scalar type, and a second one where it has two."""
    return f"{kind}_{scalar}{f'_to_{other}' if other else ''}"


def together_name(kind: str, scalar: str, other: str = "") -> str:
    """Return the entry point that does the same for several sets of buffers."""
    return f"{entry_name(kind, scalar, other)}_together"


def emit_steps(
    wanted: Iterable[tuple[str, str, str]], together: Mapping[tuple[str, str, str], int] | None = None
) -> EmittedModule:
    """Return the module of some kinds, each with its one or two scalar types.

    Args:
        wanted: The kinds.
        together: Kinds that work on several sets of buffers at once, with the number of sets.
    """
    sets = together or {}
    names = [entry_name(*key) for key in sorted(wanted)] + [together_name(*key) for key in sorted(sets)]
    texts = [_print(*key) for key in sorted(wanted)] + [_print_together(*key, sets[key]) for key in sorted(sets)]
    group = (GROUP, 1, 1)
    points = tuple(EntryPoint(name, name, Mode.FORWARD, group, 1, (), ThreadWork.ELEMENTS) for name in names)
    return EmittedModule(FILE, f"{GENERATED}for the steps between kernels.\n{''.join(texts)}", {}, points, {}, ())


def _print(kind: str, scalar: str, other: str) -> str:
    parameters, body = _filled(kind, scalar, other)
    return _HEAD.substitute(
        group=GROUP, row=_ROW, name=entry_name(kind, scalar, other), parameters=", ".join(map(_parameter, parameters)),
        body=body,
    )  # fmt: skip


def _print_together(kind: str, scalar: str, other: str, sets: int) -> str:
    """Print a function of one set, and the entry point that calls it for each."""
    parameters, body = _filled(kind, scalar, other)
    shared = [one for one in parameters if one[2] in SHARED]
    own = [one for one in parameters if one[2] not in SHARED]
    element = f"{entry_name(kind, scalar, other)}_element"
    bound, calls = [_parameter(one) for one in shared], ""
    for n in range(sets):
        bound += [f"uniform uint count{n}", *(_parameter((form, type_, f"{name}{n}")) for form, type_, name in own)]
        names = ", ".join(name if name in SHARED else f"{name}{n}" for _, _, name in parameters)
        calls += f"    if (i < count{n})\n        {element}(i, {names});\n"
    return _TOGETHER.substitute(
        group=GROUP, row=_ROW, name=together_name(kind, scalar, other), element=element, body=body, calls=calls,
        own=", ".join(_parameter(one).removeprefix("uniform ") for one in parameters), parameters=", ".join(bound),
    )  # fmt: skip


def buffers_of(kind: str, scalar: str) -> tuple[int, int]:
    """Return the numbers of buffers that a kind shares between sets, and that it has for each set."""
    names = [name for _, _, name in _filled(kind, scalar, "")[0]]
    shared = sum(name in SHARED for name in names)
    return shared, len(names) - shared


def _filled(kind: str, scalar: str, other: str) -> tuple[list[tuple[str, str, str]], str]:
    """Return the parameters of a kind, each as form, type and name, and its body, for scalar types."""
    state = other or state_scalar(scalar)
    parameters, body = _KINDS[kind]
    master = scalar == "half"
    if kind in {row.kernel for row in OPTIMIZERS.values()}:
        body += "    master[i] = value;\n    values[i] = half(value);\n" if master else "    values[i] = value;\n"
        parameters = parameters if master else parameters.replace("RW:S master, ", "")
    words = {"T": scalar, "S": state, "master": "master[i]" if master else "values[i]"}
    words["settings"] = _read_settings(UPDATE_SETTINGS.get(kind, ()), state)
    found = []
    for parameter in parameters.split(", "):
        form, _, rest = parameter.format(**words).partition(":")
        type_, name = rest.split()
        found.append((form, words.get(type_, type_), name))
    return found, body.format(**words)


def _read_settings(names: Sequence[str], scalar: str) -> str:
    """Return the statements that read the settings of the step; ``record`` has counted it already."""
    reads = (f"    {scalar} {name} = settings[at + {number}];\n" for number, name in enumerate(names))
    return "".join((f"    uint at = {len(names)} * (clock[0] - 1);\n", *reads))


def _parameter(parameter: tuple[str, str, str]) -> str:
    form, type_, name = parameter
    if form == "V":
        return f"uniform {type_} {name}"
    return f"uniform {'RW' if form == 'RW' else ''}StructuredBuffer<{type_}> {name}"
