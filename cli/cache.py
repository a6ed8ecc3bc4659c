"""Show or empty the cache of compiled code: the command ``slangad cache``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from slangad.cli.help import HelpCommand
from slangad.cli.parameters import OneOf

if TYPE_CHECKING:
    from slangad.cli.console import Session


@click.command("cache", cls=HelpCommand)
@click.argument("action", type=OneOf(("info", "clear")), default="info")
@click.pass_obj
def cache_command(session: Session, action: str) -> None:
    """Show or empty the cache of compiled code.

    Other programs may use the cache meanwhile: they compile again what is not there.

    \b
      slangad cache info
      slangad cache clear
    """  # noqa: D301  (click's mark for text that it must not wrap)
    from slangad.compiler.toolchain.cache import default_cache

    cache = default_cache()
    if cache is None:
        raise click.UsageError("The cache is off: SLANGAD_CACHE_SIZE is 0.")
    count, size = cache.clear() if action == "clear" else cache.usage()
    entries = f"{count} entr{'y' if count == 1 else 'ies'}, {size / 2**20:.1f} MiB"
    if action == "clear":
        session.write(f"{cache.directory}: deleted {entries}\n")
    else:
        session.write(f"{cache.directory}: {entries} of at most {cache.limit / 2**20:.0f} MiB\n")
