"""``slangad explain CODE``: a code goes in, what it means and what to do comes out on stdout."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from slangad.cli.console import Session


def _complete_code(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from slangad.compiler.explanations import explanations

    return [
        CompletionItem(code, help=entry.title)
        for code, entry in explanations().items()
        if code.startswith(incomplete.upper())
    ]


@click.command("explain")
@click.argument("code", required=False, shell_complete=_complete_code)
@click.option("--list", "list_all", is_flag=True, help="List all codes with their titles.")
@click.pass_obj
def explain_command(session: Session, code: str | None, *, list_all: bool) -> None:
    """Explain an error code at length, for example SA012."""
    from slangad.compiler.explanations import explanations, nearest

    table = explanations()
    if list_all:
        session.product("".join(f"{known}  {entry.title}\n" for known, entry in table.items()))
        return
    if code is None:
        raise click.UsageError("Name a code, as in `slangad explain SA012`, or give --list.")
    entry = table.get(code.strip("[]").upper())
    if entry is None:
        near = nearest(code)
        hint = f"Did you mean {near} ({table[near].title})?" if near else "`slangad explain --list` shows all."
        raise click.UsageError(f"There is no code {code}. {hint}")
    session.product(f"{code.strip('[]').upper()}: {entry.title}\n\n{entry.text.strip()}\n")
