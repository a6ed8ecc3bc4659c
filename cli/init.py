"""Start a folder from a template: the command ``slangad init``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from slangad.cli.help import HelpCommand
from slangad.cli.parameters import OneOf
from slangad.compiler.driver.new_folder import TEMPLATES

if TYPE_CHECKING:
    from slangad.cli.console import Session


@click.command("init", cls=HelpCommand)
@click.option(
    "--template",
    type=OneOf(tuple(TEMPLATES)),
    default="kernel",
    show_default=True,
    help=f"The content: {'; '.join(f'{name}, {template.doc}' for name, template in TEMPLATES.items())}.",
)
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), default=Path())
@click.pass_obj
def init_command(session: Session, folder: Path, template: str) -> None:
    """Write a folder that compiles, checks and trains, with a README and a workflow for CI.

    No file is overwritten: if one is there already, nothing is written.

    \b
      slangad init decay && cd decay
      slangad init --template cmake
    """  # noqa: D301  (click's mark for text that it must not wrap)
    from slangad.compiler.driver.new_folder import FilesExistError, write_template
    from slangad.compiler.toolchain.messages.failures import failed

    try:
        paths = write_template(template, folder)
    except FilesExistError as error:
        names = ", ".join(str(path) for path in error.paths)
        raise click.UsageError(f"Nothing is overwritten, and there is {names}. Name another folder.") from None
    except OSError as error:
        help_ = "nothing was written; name another folder"
        raise failed("SA405", f"can't write {error.filename}: {error.strerror}", help_) from None
    session.write("".join(f"{path}\n" for path in paths))
    session.say(f"{folder / 'README.md'} has the commands")
