"""Draw what carries gradient in a function, kernel or pipeline: the command ``slangad graph``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from slangad.cli.help import HelpCommand
from slangad.cli.parameters import InputName, OneOf
from slangad.compiler.report.graph_formats import GRAPH_FORMATS

if TYPE_CHECKING:
    from slangad.cli.console import Session

_SUFFIXES = {".dot": "dot", ".gv": "dot", ".svg": "svg", ".mmd": "mermaid", ".md": "mermaid"}


@click.command("graph", cls=HelpCommand)
@click.argument("kernel", type=InputName(), metavar="FILE[:NAME]")
@click.option("--mode", default="forward", type=OneOf(("forward", "backward")), show_default=True,
              help="backward: the arrows of gradients point from results to inputs.")  # fmt: skip
@click.option("--depth", default=1, type=click.IntRange(1), show_default=True,
              help="2 draws the functions that are called too, and so on.")  # fmt: skip
@click.option("--format", "graph_format", type=OneOf(tuple(GRAPH_FORMATS)),
              help="The format.  [default: by the suffix of -o, else mermaid]")  # fmt: skip
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file.")
@click.pass_obj
def graph_command(
    session: Session, kernel: str, mode: str, depth: int, graph_format: str | None, output: Path | None
) -> None:
    """Draw the derivative graph of a function, kernel or pipeline.

    Nodes are inputs and lines of source. Solid arrows carry gradient. Dashed ones carry none, and say why. Custom
    derivatives and probes are marked.

    \b
      slangad graph brdf.py:shade -o shade.svg
      slangad graph brdf.py --mode backward --depth 2 --format dot
    """  # noqa: D301  (click's mark for text that it must not wrap)
    from slangad.compiler.api.graph import graph_of_file
    from slangad.compiler.driver.write_files import write_files

    chosen = graph_format or _SUFFIXES.get(output.suffix.lower() if output else "", "mermaid")
    if output and not graph_format and output.suffix.lower() not in _SUFFIXES:
        raise click.UsageError(f"-o {output}: name it .svg, .dot or .mmd, or give --format.")
    text = GRAPH_FORMATS[chosen](graph_of_file(kernel, depth=depth, backward=mode == "backward"))
    if output is None:
        session.write(text)
    else:
        write_files({output: text.encode()})
        session.say(f"{output}: {chosen}")
