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
    from collections.abc import Iterable, Sequence

GROUP: Final = 64
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


def state_scalar(scalar: str) -> str:
    """Return the scalar type of gradients and optimizer state for values of a scalar type."""
    return "double" if scalar == "double" else "float"


def entry_name(kind: str, scalar: str, other: str = "") -> str:
    """Return the entry point of a kind for a scalar type, and a second one where it has two."""
    return f"{kind}_{scalar}{f'_to_{other}' if other else ''}"


def emit_steps(wanted: Iterable[tuple[str, str, str]]) -> EmittedModule:
    """Return the module of some kinds, each with its one or two scalar types."""
    names = {entry_name(*key): key for key in sorted(wanted)}
    texts = [_print(*key) for key in names.values()]
    group = (GROUP, 1, 1)
    points = tuple(EntryPoint(name, name, Mode.FORWARD, group, 1, (), ThreadWork.ELEMENTS) for name in names)
    return EmittedModule(FILE, f"{GENERATED}for the steps between kernels.\n{''.join(texts)}", {}, points, {}, ())


def _print(kind: str, scalar: str, other: str) -> str:
    state = other or state_scalar(scalar)
    parameters, body = _KINDS[kind]
    master = scalar == "half"
    if kind in {row.kernel for row in OPTIMIZERS.values()}:
        body += "    master[i] = value;\n    values[i] = half(value);\n" if master else "    values[i] = value;\n"
        parameters = parameters if master else parameters.replace("RW:S master, ", "")
    words = {"T": scalar, "S": state, "master": "master[i]" if master else "values[i]"}
    words["settings"] = _read_settings(UPDATE_SETTINGS.get(kind, ()), state)
    return _HEAD.substitute(
        group=GROUP, row=f"({GROUPS_A_ROW} * {GROUP})",
        name=entry_name(kind, scalar, other),
        parameters=", ".join(_parameter(p.format(**words), words) for p in parameters.split(", ")),
        body=body.format(**words),
    )  # fmt: skip


def _read_settings(names: Sequence[str], scalar: str) -> str:
    """Return the statements that read the settings of the step; ``record`` has counted it already."""
    reads = (f"    {scalar} {name} = settings[at + {number}];\n" for number, name in enumerate(names))
    return "".join((f"    uint at = {len(names)} * (clock[0] - 1);\n", *reads))


def _parameter(text: str, words: dict[str, str]) -> str:
    kind, _, rest = text.partition(":")
    type_, name = rest.split()
    type_ = words.get(type_, type_)
    if kind == "V":
        return f"uniform {type_} {name}"
    return f"uniform {'RW' if kind == 'RW' else ''}StructuredBuffer<{type_}> {name}"
