"""Work with reports of ``slangad check``: the command group ``slangad report``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from slangad.cli.help import HelpCommand, HelpGroup
from slangad.cli.parameters import OneOf
from slangad.cli.reporting import publish_all
from slangad.compiler.report.formats import FORMATS, format_of

if TYPE_CHECKING:
    from slangad.cli.console import Session
    from slangad.compiler.report.model import Report

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.group("report", cls=HelpGroup)
def report_command() -> None:
    """Work with reports of `slangad check`."""


@report_command.command("merge", cls=HelpCommand)
@click.argument("files", nargs=-1, required=True, type=_FILE, metavar="REPORT.json...")
@click.option("-o", "--output", "outputs", multiple=True, type=_FILE, help="Write the report to this file; repeatable.")
@click.option(
    "--format",
    "output_format",
    type=OneOf(list(FORMATS)),
    help="Report format.  [default: by the suffix of --output (.json, .xml, .sarif, .html, .svg), else text]",
)
@click.pass_obj
def merge_command(session: Session, files: tuple[Path, ...], outputs: tuple[Path, ...], output_format: str) -> None:
    """Put the JSON reports of all shards of a check together.

    The exit code is that of one run of all shards.

    \b
      slangad check shaders/ --shard 1/2 -o a.json
      slangad check shaders/ --shard 2/2 -o b.json
      slangad report merge a.json b.json -o all.html -o all.xml
    """  # noqa: D301  (click's mark for text that it must not wrap)
    from slangad.cli.check_run import summary_of
    from slangad.compiler.errors.diagnostics import CheckFailed
    from slangad.compiler.report.merge import merge_reports

    try:
        report = merge_reports([(str(file), _read(file)) for file in files])
    except ValueError as error:
        raise click.UsageError(f"{error}.") from None
    for output in outputs or (None,):
        publish_all(session, report, output_format or format_of(str(output or "")), output, (), None)
    if not report.ok:
        raise CheckFailed(summary_of(report))
    if outputs or output_format == "github":
        session.say(summary_of(report))


def _read(file: Path) -> Report:
    from slangad.compiler.report.read_json import read_report

    try:
        return read_report(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise click.UsageError(f"{file} can't be read: {error}") from None
