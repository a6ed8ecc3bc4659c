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
    from collections.abc import Iterable

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
_ADAM: Final = (
    "V:{S} lr, V:{S} beta1, V:{S} fresh1, V:{S} beta2, V:{S} fresh2, V:{S} eps, V:{S} kept, V:{S} corrected1, "
    "V:{S} corrected2, RO:S gradient, RW:S mean, RW:S square, RW:S master, RW:T values, RO:uint stop"
)
_KINDS: Final[dict[str, tuple[str, str]]] = {
    **LIST_KINDS,
    "zero": ("RW:T target", "    target[i] = {T}(0);\n"),
    "add": ("RO:T source, RW:S target", "    target[i] += {S}(source[i]);\n"),
    "copy": ("RO:T source, RW:S target", "    target[i] = {S}(source[i]);\n"),
    "gather": (
        "V:uint width, V:uint first, RO:uint order, RO:T source, RW:T target",
        "    target[i] = source[order[first + i / width] * width + i % width];\n",
    ),
    "record": (
        "V:uint step, V:{S} threshold, RO:T loss, RW:S history, RW:uint stop",
        _STOP + "    history[step] = {S}(loss[0]);\n"
        "    bool lost = (asuint(float(loss[0])) & " + FINITE_BITS + ") == " + FINITE_BITS + ";\n"
        "    if (lost || loss[0] < threshold)\n        stop[0] = step + 1;\n",
    ),
    "sgd": (
        "V:{S} lr, V:{S} momentum, RO:S gradient, RW:S velocity, RW:S master, RW:T values, RO:uint stop",
        _STOP + "    {S} moving = momentum * velocity[i] + gradient[i];\n"
        "    velocity[i] = moving;\n"
        "    {S} value = {master} - lr * moving;\n",
    ),
    "adam": (
        _ADAM,
        _STOP + "    {S} g = gradient[i];\n"
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
    return _HEAD.substitute(
        group=GROUP, row=f"({GROUPS_A_ROW} * {GROUP})",
        name=entry_name(kind, scalar, other),
        parameters=", ".join(_parameter(p.format(**words), words) for p in parameters.split(", ")),
        body=body.format(**words),
    )  # fmt: skip


def _parameter(text: str, words: dict[str, str]) -> str:
    kind, _, rest = text.partition(":")
    type_, name = rest.split()
    type_ = words.get(type_, type_)
    if kind == "V":
        return f"uniform {type_} {name}"
    return f"uniform {'RW' if kind == 'RW' else ''}StructuredBuffer<{type_}> {name}"
