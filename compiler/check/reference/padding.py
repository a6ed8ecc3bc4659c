"""Excuse the padding of structs: a custom derivative need not pass on its gradient.

A struct in a buffer may have a field that only fills space. A function that returns the struct copies the field, and
the derivative that accumulates the gradients of the other fields leaves it out. That is not wrong. The field is known
by its name. The copy alone is excused: other results that depend on the field are compared.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np

from slangad.compiler.check.model.columns import owner_of
from slangad.compiler.check.model.findings import State
from slangad.compiler.report.model import Leg

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from slangad.compiler.check.model.arrays import Floats
    from slangad.compiler.check.model.columns import Column
    from slangad.compiler.check.model.findings import Findings

_PADDING: Final = re.compile(r"_*(?:padding|pad|unused|reserved|dummy)_*\d*", re.IGNORECASE)
_NO_FIELD: Final = re.compile(r"\[\d+\]$|(?<=\w)\.[xyzw]$")
"""The index or component at the end of a path."""


def excuse_padding(
    memory: Collection[str],
    inputs: Sequence[Column],
    results: Sequence[Column],
    jacobians: Mapping[Leg, Floats],
    findings: Findings,
) -> None:
    """Mark entries of padding that is copied as right, if reverse mode gives the field no gradient at any sample.

    Args:
        memory: The memory with a gradient in other memory.
        inputs: The differentiable inputs.
        results: The differentiable results.
        jacobians: The Jacobians by mode.
        findings: The state of every entry. It gets the names of the fields.
    """
    if Leg.REVERSE not in findings.states:
        return
    states, jacobian = findings.states[Leg.REVERSE], jacobians[Leg.REVERSE]
    fields = [field_of(column.path) for column in inputs]
    outputs = [field_of(column.path) for column in results]
    for name in dict.fromkeys(filter(_PADDING.fullmatch, fields)):
        of = [k for k, field in enumerate(fields) if field == name and owner_of(inputs[k].path) in memory]
        copies = [k for k, field in enumerate(outputs) if field == name]
        entries = np.ix_(range(len(states)), copies, of)
        if of and (states[entries] >= State.KINK_BAD).any() and not jacobian[:, :, of].any():
            states[entries] = np.where(states[entries] == State.UNSEEN, State.UNSEEN, State.OK)
            owners = dict.fromkeys(owner_of(inputs[k].path) for k in of)
            findings.padding += tuple(f"{owner}.{name}" for owner in owners)


def field_of(path: str) -> str:
    """Return the last field of a path: ``pad`` of ``data[2].pad``, and of ``data[2].pad.x``; empty if there is none."""
    shorter = _NO_FIELD.sub("", path)
    return shorter.rpartition(".")[2] if "." in shorter else ""
