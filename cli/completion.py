"""Print the script by which a shell completes slangad's command lines: the command ``slangad completion``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from slangad.cli.help import HelpCommand
from slangad.cli.parameters import OneOf

if TYPE_CHECKING:
    from slangad.cli.console import Session


@click.command("completion", cls=HelpCommand)
@click.argument("shell", type=OneOf(("bash", "zsh", "fish")))
@click.pass_context
def completion_command(ctx: click.Context, shell: str) -> None:
    """Print the script that completes words in a shell.

    It completes commands, options, targets, devices, kernels and codes.

    \b
      eval "$(slangad completion bash)"                     in ~/.bashrc; zsh likewise in ~/.zshrc
      slangad completion fish > ~/.config/fish/completions/slangad.fish
    """  # noqa: D301  (click's mark for text that it must not wrap)
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None  # noqa: S101  (click has these three)
    session: Session = ctx.obj
    session.write(kind(ctx.find_root().command, {}, "slangad", "_SLANGAD_COMPLETE").source())
