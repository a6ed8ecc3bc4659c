"""Print the script by which a shell completes slangad's command lines: the command ``slangad completion``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click.shell_completion import BashComplete, add_completion_class

from slangad.cli.help import HelpCommand
from slangad.cli.parameters import OneOf

if TYPE_CHECKING:
    from slangad.cli.console import Session


class _Bash(BashComplete):
    """Bash takes a colon for the end of a word. The script hands on whole words and returns what follows the colon."""

    source_template = """\
%(complete_func)s() {
    local IFS=$'\\n' response line="${COMP_LINE:0:COMP_POINT}" words last cut=""
    IFS=' ' read -r -a words <<< "$line"
    [[ $line == *' ' ]] && words+=('')
    last=$((${#words[@]} - 1))
    [[ ${words[last]} == *:* && $COMP_WORDBREAKS == *:* ]] && cut="${words[last]%%:*}:"

    response=$(env COMP_WORDS="${words[*]}" COMP_CWORD=$last %(complete_var)s=bash_complete $1)

    for completion in $response; do
        IFS=',' read type value <<< "$completion"
        if [[ $type == 'dir' ]]; then
            COMPREPLY=()
            compopt -o dirnames
        elif [[ $type == 'file' ]]; then
            COMPREPLY=()
            compopt -o default
        elif [[ $type == 'plain' ]]; then
            COMPREPLY+=("${value#"$cut"}")
        fi
    done

    return 0
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""


add_completion_class(_Bash)


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
