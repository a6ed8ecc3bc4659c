"""Print what a diagnostic code means, with a wrong and a right example: the command ``slangad explain``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from slangad.cli.help import HelpCommand
from slangad.cli.parameters import CodeName

if TYPE_CHECKING:
    from slangad.cli.console import Session


@click.command("explain", cls=HelpCommand)
@click.argument("code", required=False, type=CodeName())
@click.option("--list", "list_all", is_flag=True, help="List all codes with their titles.")
@click.pass_obj
def explain_command(session: Session, code: str | None, *, list_all: bool) -> None:
    """Explain a diagnostic code, for example SA012."""
    from slangad.compiler.errors.explain import as_text, explanations

    table = explanations()
    if list_all:
        session.write("".join(f"{known}  {entry.title}\n" for known, entry in table.items()))
    elif code is None:
        raise click.UsageError("Name a code, as in `slangad explain SA012`, or give --list.")
    else:
        session.write(as_text(code))
