"""Types of command-line parameters: words go in, checked values come out, and shells get something to complete.

The tables behind them are loaded when a word is checked or completed, not for ``--help``.
"""

from __future__ import annotations

from pathlib import Path

import click
from click.shell_completion import CompletionItem


class TargetName(click.ParamType[str]):
    """The name of a compile target."""

    name = "target"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Accept a known name; suggest the nearest otherwise."""
        from difflib import get_close_matches

        from slangad.compiler.toolchain.targets import TARGETS

        if value in TARGETS:
            return value
        near = get_close_matches(value, TARGETS, n=1)
        hint = f"Did you mean {near[0]}?" if near else f"Choose from {', '.join(TARGETS)}."
        self.fail(f"there is no target {value!r}. {hint}", param, ctx)

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002  (click's signature)
        param: click.Parameter,  # noqa: ARG002  (click's signature)
        incomplete: str,
    ) -> list[CompletionItem]:
        """The targets whose names start like this."""
        from slangad.compiler.toolchain.targets import TARGETS

        return [CompletionItem(t.name, help=t.title) for t in TARGETS.values() if t.name.startswith(incomplete)]


class DeviceName(click.ParamType[str]):
    """The name of a device."""

    name = "device"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Accept a known name."""
        from slangad.compiler.runtime.devices import AUTO, DEVICES

        if value not in (AUTO, *DEVICES):
            self.fail(f"there is no device {value!r}. Choose from {', '.join((AUTO, *DEVICES))}.", param, ctx)
        return value

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002  (click's signature)
        param: click.Parameter,  # noqa: ARG002  (click's signature)
        incomplete: str,
    ) -> list[CompletionItem]:
        """The devices whose names start like this."""
        from slangad.compiler.runtime.devices import AUTO, DEVICES

        rows = {AUTO: "a GPU that works, else the CPU"} | {name: kind.title for name, kind in DEVICES.items()}
        return [CompletionItem(name, help=title) for name, title in rows.items() if name.startswith(incomplete)]


class InputName(click.ParamType[str]):
    """``FILE`` or ``FILE:KERNEL``; shells complete the file."""

    name = "input"

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002  (click's signature)
        param: click.Parameter,  # noqa: ARG002  (click's signature)
        incomplete: str,
    ) -> list[CompletionItem]:
        """Let the shell complete a file name."""
        return [CompletionItem(incomplete, type="file")]


class Macro(click.ParamType[tuple[str, str]]):
    """``NAME`` or ``NAME=VALUE``."""

    name = "name[=value]"

    def convert(
        self, value: str | tuple[str, str], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        """Take the word apart."""
        if isinstance(value, tuple):
            return value
        name, _, text = value.partition("=")
        if not name.isidentifier():
            self.fail(f"{name!r} is not a name.", param, ctx)
        return name, text


class Program(click.ParamType[Path]):
    """A program, as a shell takes it: a bare name is looked up on PATH, anything else is a file."""

    name = "program"

    def convert(self, value: str | Path, param: click.Parameter | None, ctx: click.Context | None) -> Path:  # noqa: ARG002  (click's signature)
        """Keep what tells ``./slangc`` from ``slangc``."""
        path = Path(value)
        return path if isinstance(value, Path) or path.name == value else path.absolute()

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002  (click's signature)
        param: click.Parameter,  # noqa: ARG002  (click's signature)
        incomplete: str,
    ) -> list[CompletionItem]:
        """Let the shell complete a file name."""
        return [CompletionItem(incomplete, type="file")]


class CodeName(click.ParamType[str]):
    """A diagnostic code, in any case, with or without brackets."""

    name = "code"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Accept a known code; suggest the nearest otherwise."""
        from slangad.compiler.explanations import explanations, nearest

        code = value.strip("[]").upper()
        if code in explanations():
            return code
        near = nearest(code)
        hint = f"Did you mean {near} ({explanations()[near].title})?" if near else "`slangad explain --list` shows all."
        self.fail(f"there is no code {value}. {hint}", param, ctx)

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002  (click's signature)
        param: click.Parameter,  # noqa: ARG002  (click's signature)
        incomplete: str,
    ) -> list[CompletionItem]:
        """The codes that start like this, with their titles."""
        from slangad.compiler.explanations import explanations

        start = incomplete.upper()
        return [CompletionItem(c, help=entry.title) for c, entry in explanations().items() if c.startswith(start)]
