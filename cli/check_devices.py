"""Run one check on every device of the machine: ``slangad check --device all``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from slangad.cli.check_run import CheckRequest, checked, files_of
from slangad.cli.reporting import write_text

if TYPE_CHECKING:
    from pathlib import Path

    from slangad.cli.check import CheckArguments
    from slangad.cli.console import Session

_REFUSED = ("mutate", "shard", "baseline", "write_baseline", "watch", "keep")
"""Options of one check on one device."""


def check_devices(session: Session, request: CheckRequest) -> None:
    """Check all inputs on every device and publish the matrix.

    The samples and float64 numbers are those of one seed, so they are the same for every device.

    Raises:
        CheckFailed: The check fails on some device.
    """
    from slangad.cli.check import words_of
    from slangad.compiler.errors.diagnostics import CheckFailed
    from slangad.compiler.report.matrix import Matrix, render_matrix, summary
    from slangad.compiler.runtime.device.drivers import devices_here

    arguments, options = request.arguments, request.options
    wanted = _outputs(arguments)
    inputs = files_of(arguments)
    devices = devices_here()
    working = [one for one in devices if not one.reason]
    columns = []
    for device in working:
        command = words_of({**arguments, "device": device.name})
        adapter = "" if device.name == "cpu" else device.adapter
        here = replace(options, device=device.name, adapter=adapter, command=command)
        with device.selected():
            report, _ = checked(session, CheckRequest(arguments, here, quiet=True), inputs, None)
        columns.append((device.label, report))
    matrix = Matrix(
        tuple(columns),
        tuple((one.label, one.adapter) for one in working),
        tuple((one.label, one.reason) for one in devices if one.reason),
    )
    for name, output in wanted:
        write_text(session, render_matrix(matrix, name), output)
    if not matrix.ok:
        raise CheckFailed(f"slangad check: {summary(matrix)}")


def _outputs(arguments: CheckArguments) -> list[tuple[str, Path | None]]:
    """Return the format and file of each wanted matrix; refuse options that have none."""
    from slangad.compiler.report.matrix import FORMATS

    for name in _REFUSED:
        if arguments[name]:  # type: ignore[literal-required]  # the names above
            raise click.UsageError(f"--{name.replace('_', '-')} is for one device: omit it, or name a device.")
    outputs = [*arguments["reports"], (arguments["output_format"], arguments["output"])]
    for name, _ in outputs:
        if name not in FORMATS:
            raise click.UsageError(f"--device all writes {', '.join(FORMATS)}; name a device for {name}.")
    return outputs
