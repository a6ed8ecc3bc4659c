"""Print what works on this machine and how to install the rest: the command ``slangad doctor``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from slangad.cli.help import HelpCommand
from slangad.cli.parameters import OneOf, Program

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from slangad.cli.console import Session
    from slangad.compiler.runtime.device.inventory import Check, Inventory

MEGABYTE = 1 << 20


@click.command("doctor", cls=HelpCommand)
@click.option("--slangc", type=Program(), help="Test this slangc instead of the built-in compiler.")
@click.option(
    "--format", "output_format", type=OneOf(["text", "json"]), default="text", help="json prints one document."
)
@click.pass_obj
def doctor_command(session: Session, slangc: Path | None, output_format: str) -> None:
    """Test compilers, tools, targets and devices.

    The report says how to install those that are missing.
    The exit code is 4 if a target fails that needs only slangad's dependencies.
    """
    from slangad.compiler.errors.diagnostics import Diagnostic, ToolchainError
    from slangad.compiler.runtime.device.inventory import take_inventory

    if output_format == "json":
        session.document = {}
    with session.progress("trying targets and devices"):
        inventory = take_inventory(slangc)
    if session.document is not None:
        session.document |= _fields(inventory)
    else:
        session.write("".join(f"{line}\n" for line in _lines(inventory)))
    if not inventory.usable:
        help_ = "install slangad again: `pip install --force-reinstall slangad`"
        raise ToolchainError([Diagnostic("SA244", "the Slang compiler does not work here", help=help_)])


def _lines(inventory: Inventory) -> Iterator[str]:
    for title, checks in _sections(inventory).items():
        yield title
        width = max(len(check.name) for check in checks)
        for check in checks:
            yield f"  {'ok' if check.works else '--'}  {check.name:<{width}}  {check.detail}".rstrip()
            if not check.works and check.remedy:
                yield f"      {'':<{width}}  {check.remedy}"
    directory, used, limit = inventory.cache
    yield "cache"
    yield f"  {directory}: {used / MEGABYTE:.1f} of {limit / MEGABYTE:.0f} MiB"


def _sections(inventory: Inventory) -> dict[str, tuple[Check, ...]]:
    return {
        "versions": inventory.versions,
        "tools": inventory.tools,
        "targets": inventory.targets,
        "devices": inventory.devices,
    }


def _fields(inventory: Inventory) -> dict[str, object]:
    directory, used, limit = inventory.cache
    lists = {title: [_record(check) for check in checks] for title, checks in _sections(inventory).items()}
    return {**lists, "cache": {"path": str(directory), "bytes": used, "limit": limit}}


def _record(check: Check) -> dict[str, object]:
    remedy = {} if check.works else {"remedy": check.remedy}
    return {"name": check.name, "works": check.works, "detail": check.detail, **remedy}
