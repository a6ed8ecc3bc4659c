"""Write the help of commands: options in groups, in colour on a terminal, as wide as that.

Without a terminal the width is 80 and nothing is coloured.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, ClassVar, Final

import click

from slangad.cli.console import gets_colour

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

GROUPS: Final[dict[str, tuple[str, ...]]] = {
    "Options": (),
    "Input": ("inputs", "data", "values", "images", "random", "shapes", "ranges", "domain", "allow_nan"),
    "Training": ("steps", "batch", "optimizer", "lr", "until_loss", "checkpoint", "checkpoint_every", "resume"),
    "Verdict": ("strict", "fail_on", "min_checked", "baseline", "write_baseline"),
    "Output": (
        "output",
        "emit",
        "output_format",
        "reports",
        "plot",
        "loss",
        "namespace",
        "depfile",
        "depfile_targets",
        "plan",
        "dump_after",
        "keep",
    ),
    "Slang": ("include_dirs", "defines", "slang_flags", "specialize", "slangc", "optimization"),
    "Time and cache": ("jobs", "time_limit", "run_limit", "shard", "costs", "cache_dir", "no_cache", "force", "watch"),
    "Other": ("verbose", "quiet", "debug", "color", "version", "_click_default_help"),
}
"""The options of each group, by their parameters. What no group names is in the first one."""
COMMAND_GROUPS: Final[dict[str, tuple[str, ...]]] = {
    "Commands": (),
    "Reports and answers": ("report", "doctor", "explain", "schema", "cache"),
    "For other programs": ("completion", "cmake-dir", "worker"),
}
"""The commands of each group. What no group names is in the first one."""
LEAST_GROUPED: Final = 10
"""Options of a command that has groups. Smaller: short lists get headings."""
FIRST_COLUMN: Final = 28
"""Columns that the names of options fill at most. The texts of longer ones begin on the next line."""
_WORDS: Final = {"INTEGER RANGE": "N", "INTEGER": "N", "FLOAT RANGE": "X", "FLOAT": "X"}
"""Shorter words for values."""
WIDEST: Final = 120
"""Columns that the help fills at most. Larger: lines that are hard to read."""


class Listed:
    """A type of options whose names the help lists below the options."""

    title: ClassVar[str]

    def rows(self) -> Iterable[tuple[str, str]]:
        """Return each name with half a line about it."""
        raise NotImplementedError


class HelpFormatter(click.HelpFormatter):
    """Colours headings and options; click removes colour that the output does not take."""

    def write_heading(self, heading: str) -> None:
        """Write a heading, coloured."""
        super().write_heading(_styled(heading, bold=True, fg="yellow"))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        """Write rows of an option or command and its help, the first coloured."""
        coloured = [(_styled(name, fg="cyan"), text) for name, text in rows]
        super().write_dl(coloured, min(col_max, FIRST_COLUMN), col_spacing)


def _styled(text: str, fg: str, *, bold: bool = False) -> str:
    return click.style(text, fg=fg, bold=bold or None) if _is_coloured() else text


def _short(name: str) -> str:
    """Return an option with a short word for its value."""
    for long, short in _WORDS.items():
        name = name.replace(long, short)
    return name


def _is_coloured() -> bool:
    """Return True if help on stdout gets colour. Click shows help before it has read all options."""
    words = sys.argv[1:]
    asked = "--no-color" not in words if "--color" in words or "--no-color" in words else None
    return gets_colour(sys.stdout, asked=asked)


class HelpContext(click.Context):
    """The context of a command whose help is written so."""

    formatter_class = HelpFormatter

    def make_formatter(self) -> click.HelpFormatter:
        """Return a formatter as wide as the terminal."""
        if self.max_content_width is None:
            self.max_content_width = WIDEST
        if _is_coloured():
            self.color = True
        return super().make_formatter()


class HelpCommand(click.Command):
    """A command that shows its options in groups; a few options have one heading."""

    context_class = HelpContext

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options."""
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        every = ((param.name or "", param.get_help_record(ctx)) for param in options)
        records = [(name, (_short(record[0]), record[1])) for name, record in every if record is not None]
        groups = GROUPS if len(records) >= LEAST_GROUPED else {"Options": ()}
        _write(formatter, records, groups)
        for option in options:
            if isinstance(option.type, Listed):
                _write(formatter, [("", row) for row in option.type.rows()], {option.type.title: ()})


class HelpGroup(click.Group):
    """A group of commands that shows them in groups."""

    context_class = HelpContext

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands."""
        commands = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        width = formatter.width - 6 - max(map(len, commands), default=0)
        rows = [(name, (name, one.get_short_help_str(width))) for name, one in commands.items() if one is not None]
        _write(formatter, rows, COMMAND_GROUPS)


def _write(
    formatter: click.HelpFormatter, rows: Sequence[tuple[str, tuple[str, str]]], groups: Mapping[str, Sequence[str]]
) -> None:
    """Write named rows under the headings of their groups; those without a group under the first heading."""
    width = min(max((len(name) for _, (name, _) in rows), default=0), FIRST_COLUMN)
    first = next(iter(groups))
    titles = {name: title for title, names in groups.items() for name in names}
    for title in groups:
        inside = [(row[0].ljust(width), row[1]) for name, row in rows if titles.get(name, first) == title]
        if inside:
            with formatter.section(title):
                formatter.write_dl(inside)
