"""Run the ``slangad`` command and return its exit code; import a command's module only when it is used."""

from __future__ import annotations

import os
from functools import partial
from importlib import import_module

import click

from slangad import __version__
from slangad.cli.console import Session
from slangad.cli.distributed import first_rank_speaks
from slangad.cli.help import HelpGroup
from slangad.cli.outcome import clean_up_when_terminated, leave, outcome

COMMANDS = {
    "compile": "slangad.cli.compile:compile_command",
    "run": "slangad.cli.run:run_command",
    "train": "slangad.cli.train:train_command",
    "check": "slangad.cli.check:check_command",
    "graph": "slangad.cli.graph:graph_command",
    "report": "slangad.cli.report:report_command",
    "doctor": "slangad.cli.doctor:doctor_command",
    "init": "slangad.cli.init:init_command",
    "schema": "slangad.cli.schema:schema_command",
    "worker": "slangad.cli.worker:worker_command",
    "cmake-dir": "slangad.cli.cmake_dir:cmake_dir_command",
    "cache": "slangad.cli.cache:cache_command",
    "completion": "slangad.cli.completion:completion_command",
    "explain": "slangad.cli.explain:explain_command",
}


class LazyGroup(HelpGroup):
    """The group of all commands. It converts every outcome to an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  (click's signature)
        """Return the names of all commands, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  (click's)
        """Import and return the command of this name."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name].partition(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)  # noqa: S101  (the table above is ours)
        if not any(param.name in ("verbose", "quiet") for param in command.params):
            command.params += _verbosity()
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command; suggest the nearest name for an unknown one."""
        name = args[0]
        if name in COMMANDS or name.startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        from difflib import get_close_matches

        near = get_close_matches(name, COMMANDS, n=1)
        raise click.UsageError(f"No such command {name!r}.{f' Did you mean {near[0]!r}?' if near else ''}", ctx)

    def invoke(self, ctx: click.Context) -> None:
        """Run the command and exit with the code of its outcome."""
        ctx.exit(outcome(ctx.ensure_object(Session), partial(self._invoke, ctx)))

    def _invoke(self, ctx: click.Context) -> None:
        """Run the command; say which commands have an option that it lacks."""
        try:
            super().invoke(ctx)
        except click.NoSuchOption as error:
            commands = ((name, self.get_command(ctx, name)) for name in COMMANDS)
            having = [name for name, command in commands if command and _has_option(command, error.option_name)]
            if not having:
                raise
            message = f"No such option {error.option_name!r}. It is an option of `slangad {having[0]}`."
            raise click.UsageError(message, error.ctx) from None


def _has_option(command: click.Command, name: str) -> bool:
    return any(name in (*param.opts, *param.secondary_opts) for param in command.params)


def _verbosity() -> list[click.Option]:
    """Return the options that may stand before or after a command's name."""

    def count_up(ctx: click.Context, param: click.Parameter, count: int) -> None:
        ctx.ensure_object(Session).verbosity += count if param.name == "verbose" else -count

    return [
        click.Option(("-v", "--verbose"), count=True, expose_value=False, callback=count_up, help="Print more."),
        click.Option(("-q", "--quiet"), count=True, expose_value=False, callback=count_up, help="Print less."),
    ]


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "SLANGAD"},
)
@click.option("-v", "--verbose", count=True, help="Print more; repeatable.")
@click.option("-q", "--quiet", count=True, help="Print less: no summary, no warnings.")
@click.option("--color/--no-color", default=None, help="Use colour.  [default: on terminals, unless NO_COLOR]")
@click.option("--debug", is_flag=True, help="Show the traceback of an internal error.")
@click.version_option(__version__, message="slangad %(version)s")
@click.pass_context
def cli(ctx: click.Context, verbose: int, quiet: int, *, color: bool | None, debug: bool) -> None:
    """Compile, run, train and check differentiable functions and kernels for every GPU API.

    Exit codes: 0 success, 1 rejected program, 2 wrong command line, 3 failed gradient check, 4 toolchain or device
    missing or failed, 70 defect of slangad.
    """
    session = ctx.ensure_object(Session)
    session.verbosity, session.color, session.debug = verbose - quiet, color, debug


def main() -> None:
    """Run the command line of this process."""
    clean_up_when_terminated()
    if "_SLANGAD_COMPLETE" in os.environ:
        import_module("slangad.cli.completion")  # it has the script of bash
    try:
        with first_rank_speaks():
            cli.main(prog_name="slangad")
    except SystemExit as ended:
        leave(ended.code)
        raise
