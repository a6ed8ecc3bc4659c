"""Convert words of the command line to checked values, and complete them in shells.

Also define the options that ``run`` and ``train`` share. The table of devices is
loaded when a word is checked or completed, not for ``--help``.
"""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypedDict

import click
from click.shell_completion import CompletionItem

from slangad.cli.help import HelpCommand, Listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from slangad.compiler.toolchain.cache import Cache


class OneOf(click.Choice[str]):
    """One of some words, in any case; the message about another word suggests the nearest one."""

    def __init__(self, words: Iterable[str]) -> None:
        super().__init__(tuple(words), case_sensitive=False)

    def get_invalid_choice_message(self, value: object, ctx: click.Context | None) -> str:
        """Return the message with the nearest word."""
        from difflib import get_close_matches

        near = get_close_matches(str(value).lower(), [str(word) for word in self.choices], n=1)
        return super().get_invalid_choice_message(value, ctx) + (f" Did you mean {near[0]!r}?" if near else "")


def _suggestion(value: str, known: Iterable[str]) -> str:
    """Return a hint at the name that is meant, else all names."""
    from difflib import get_close_matches

    from slangad.compiler.ir.targets import meant_by

    names = [*known]
    word = value.lower()
    if other := meant_by(word, names):
        return f"Did you mean {other}?"
    near = [word] if word in names else get_close_matches(word, names, n=1)
    return f"Did you mean {near[0]}?" if near else f"Choose from {', '.join(names)}."


class TargetName(Listed, click.ParamType[str]):
    """The name of a compile target, in any case."""

    name = "target"
    title = "Targets"

    def rows(self) -> list[tuple[str, str]]:
        """Return all targets."""
        from slangad.compiler.ir.targets import TARGETS

        return [(target.name, target.title) for target in TARGETS.values()]

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return a known name; suggest the nearest one otherwise."""
        from slangad.compiler.ir.targets import TARGETS

        if value.lower() in TARGETS:
            return value.lower()
        self.fail(f"there is no target {value!r}. {_suggestion(value, TARGETS)}", param, ctx)

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002  (click's signature)
        param: click.Parameter,  # noqa: ARG002  (click's signature)
        incomplete: str,
    ) -> list[CompletionItem]:
        """Return the targets whose names start with this."""
        return [CompletionItem(name, help=title) for name, title in self.rows() if name.startswith(incomplete)]


class DeviceName(Listed, click.ParamType[str]):
    """The name of a device, in any case."""

    name = "device"
    title = "Devices"

    def rows(self) -> list[tuple[str, str]]:
        """Return all devices."""
        from slangad.compiler.runtime.device.table import AUTO, DEVICES

        return [(AUTO, "a GPU that works, else the CPU"), *((name, kind.title) for name, kind in DEVICES.items())]

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return a known name."""
        from slangad.compiler.runtime.device.table import DEVICE_NAMES

        if value.lower() not in DEVICE_NAMES:
            self.fail(f"there is no device {value!r}. {_suggestion(value, DEVICE_NAMES)}", param, ctx)
        return value.lower()

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002  (click's signature)
        param: click.Parameter,  # noqa: ARG002  (click's signature)
        incomplete: str,
    ) -> list[CompletionItem]:
        """Return the devices whose names start with this."""
        return [CompletionItem(name, help=title) for name, title in self.rows() if name.startswith(incomplete)]


_OF_COMMAND: Final = f"{__name__}.words"


class CommandWithWords(HelpCommand):
    """A command that keeps the words of its command line."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the words and parse them."""
        ctx.meta[_OF_COMMAND] = tuple(args)
        return super().parse_args(ctx, args)


def words_of_command() -> tuple[str, ...]:
    """Return the words of the running command's line, without its name."""
    words: tuple[str, ...] = click.get_current_context().meta[_OF_COMMAND]
    return words


ALL_DEVICES: Final = "all"
"""The word of `slangad check --device` for every device that works."""


class CheckedDevice(DeviceName):
    """The name of a device, or ``all``."""

    def rows(self) -> list[tuple[str, str]]:
        """Return the devices that a check can run on."""
        return [*super().rows(), (ALL_DEVICES, "every device that works here")]

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return a known name."""
        return ALL_DEVICES if value.lower() == ALL_DEVICES else super().convert(value, param, ctx)


_WITH_FUNCTIONS: Final = ("check", "graph")
"""The commands whose inputs name functions, too."""


class InputName(click.ParamType[str]):
    """``FILE`` or ``FILE:KERNEL``; shells complete both."""

    name = "input"

    def shell_complete(
        self,
        ctx: click.Context,
        param: click.Parameter,  # noqa: ARG002  (click's signature)
        incomplete: str,
    ) -> list[CompletionItem]:
        """Return the file's kernels behind a colon; else let the shell complete a file name."""
        from slangad.cli.described_names import described_names

        file, colon, begun = incomplete.rpartition(":")
        if not colon:
            return [CompletionItem(incomplete, type="file")]
        names = described_names(Path(file), kernels_only=ctx.info_name not in _WITH_FUNCTIONS)
        return [CompletionItem(f"{file}:{name}") for name in names if name.startswith(begun)]


def complete_only(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001  (click's signature)
    """Return the functions and kernels of the inputs on the command line, for ``--only``."""
    from slangad.cli.described_names import described_names

    inputs = ctx.params.get("inputs") or ctx.args  # click stops before arguments if the last option lacks its value
    files = [Path(name.partition(":")[0]) for name in inputs]
    names = dict.fromkeys(name for file in files for name in described_names(file, kernels_only=False))
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


class Macro(click.ParamType[tuple[str, str]]):
    """``NAME`` or ``NAME=VALUE``."""

    name = "name[=value]"

    def convert(
        self, value: str | tuple[str, str], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        """Parse the word."""
        if isinstance(value, tuple):
            return value
        name, _, text = value.partition("=")
        if not name.isidentifier():
            self.fail(f"{name!r} is not a name. Give NAME or NAME=VALUE, such as -D SAMPLES=16.", param, ctx)
        return name, text


class SlangFlag(click.ParamType[str]):
    """An argument for the Slang compiler."""

    name = "flag"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return it; refuse those that slangad sets itself."""
        from slangad.compiler.toolchain.jobs.arguments import refused_flag

        refusal = refused_flag(value)
        if refusal:
            self.fail(f"{value}: {refusal}.", param, ctx)
        return value


class Program(click.ParamType[Path]):
    """A program, with the shell's rule: a bare name is searched on PATH, a path is a file."""

    name = "program"

    def convert(self, value: str | Path, param: click.Parameter | None, ctx: click.Context | None) -> Path:  # noqa: ARG002  (click's signature)
        """Return a bare name as it is, and a path made absolute."""
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
        """Return a known code; suggest the nearest one otherwise."""
        from slangad.compiler.errors.explain import explanations, nearest

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
        """Return the codes that start with this, with their titles."""
        from slangad.compiler.errors.explain import explanations

        start = incomplete.upper()
        return [CompletionItem(c, help=entry.title) for c, entry in explanations().items() if c.startswith(start)]


_NUMBERS: Final = {"nan": "NaN", "inf": "Infinity", "infinity": "Infinity"}
"""Spellings of special numbers, each with the spelling that JSON's reader accepts."""
_WORDS: Final = re.compile(r"\b(nan|inf|infinity)\b", re.IGNORECASE)


class NamedValue(click.ParamType[tuple[str, object]]):
    """``name=value``: a number, true or false, or a list of them."""

    name = "name=value"

    def convert(
        self, value: str | tuple[str, object], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, object]:
        """Parse the word."""
        if isinstance(value, tuple):
            return value
        name, equals, text = value.partition("=")
        try:
            number_or_list = json.loads(_WORDS.sub(lambda word: _NUMBERS[word[0].lower()], text), parse_float=_float)
        except ValueError:
            number_or_list = None
        if not name or not equals or not _is_numeric(number_or_list):
            self.fail(f"{value!r} is not name=value with a number, true, false or a list of them.", param, ctx)
        return name.strip(), number_or_list


def _is_numeric(value: object) -> bool:
    if isinstance(value, list):
        return all(map(_is_numeric, value))
    return isinstance(value, (bool, int, float, Decimal))


def _float(text: str) -> float | Decimal:
    """Return a float, or the exact number if a float would overflow; the error follows when the type is known."""
    return float(text) if math.isfinite(float(text)) else Decimal(text)


class NamedFile(click.ParamType[tuple[str, Path]]):
    """``name=FILE``."""

    name = "name=file"
    form = "name=FILE"

    def convert(
        self, value: str | tuple[str, Path], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, Path]:
        """Parse the word."""
        if isinstance(value, tuple):
            return value
        name, _, file = value.partition("=")
        if not file or not self.accepts(name.strip(), Path(file)):
            self.fail(f"{value!r} is not {self.form}.", param, ctx)
        return name.strip(), Path(file)

    def accepts(self, name: str, file: Path) -> bool:  # noqa: ARG002  (for subclasses)
        """Return True if the word may have this name and file."""
        return bool(name)


class DomainShape(click.ParamType[tuple[int, ...]]):
    """``4096`` or ``512x512``."""

    name = "n[xm[xk]]"

    def convert(
        self, value: str | tuple[int, ...], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """Parse the word."""
        if isinstance(value, tuple):
            return value
        if not re.fullmatch(r"\d+([x,]\d+){0,2}", value):
            self.fail(f"{value!r} is not a shape such as 4096 or 512x512.", param, ctx)
        return tuple(int(extent) for extent in re.split("[x,]", value))


class TensorShape(click.ParamType[tuple[str, tuple[int, ...]]]):
    """``w=16x4``."""

    name = "name=n[xm...]"

    def convert(
        self, value: str | tuple[str, tuple[int, ...]], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, tuple[int, ...]]:
        """Parse the word."""
        if isinstance(value, tuple):
            return value
        match = re.fullmatch(r"\s*(\w+)\s*=\s*(\d+(?:[x,]\d+){0,3})", value)
        if not match:
            self.fail(f"{value!r} is not a shape such as w=16x4.", param, ctx)
        return match[1], tuple(int(extent) for extent in re.split("[x,]", match[2]))


def finite(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    """Refuse NaN and infinity, which click accepts as numbers; for ``callback=``."""
    if value is not None and not math.isfinite(value):
        raise click.BadParameter(f"{value} is not a finite number.", ctx, param)
    return value


def slang_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that say how Slang compiles."""
    options = (
        click.option(
            "-I", "include_dirs", multiple=True, type=click.Path(file_okay=False),
            help="Folder with Slang imports; repeatable.",
        ),
        click.option("-D", "defines", multiple=True, type=Macro(), help="Define a macro for Slang files."),
        click.option(
            "-X", "slang_flags", multiple=True, type=SlangFlag(), metavar="FLAG",
            help="Pass this argument to Slang: -X -experimental-feature; repeatable.",
        ),
        click.option(
            "--specialize", multiple=True, metavar="FUNCTION<ARGS>",
            help="Take a generic Slang function with these arguments.",
        ),
        click.option("--slangc", type=Program(), help="Compile with this slangc instead of the built-in compiler."),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


class LaunchArguments(TypedDict):
    """The values of the parameters that ``run`` and ``train`` share."""

    values: tuple[tuple[str, object], ...]
    images: tuple[tuple[str, Path], ...]
    domain: tuple[int, ...] | None
    device: str
    deterministic: bool
    allow_nan: bool
    include_dirs: tuple[str, ...]
    defines: tuple[tuple[str, str], ...]
    time_limit: float | None
    cache_dir: Path | None
    no_cache: bool
    output_format: str


def launch_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of ``LaunchArguments`` to a command."""
    positive = click.FloatRange(min=0, min_open=True)
    folder = click.Path(path_type=Path, file_okay=False)
    options = (
        click.option("--set", "values", multiple=True, type=NamedValue(), help="Set an input: --set m.albedo=[1,1,0]."),
        click.option(
            "--image", "images", multiple=True, type=NamedFile(), help="Read an input from a picture: --image x=a.png."
        ),
        click.option("--domain", type=DomainShape(), help="Shape of the domain, if no Each input gives it."),
        click.option("--device", default="auto", type=DeviceName(), show_default=True, help="Run on this device."),
        click.option(
            "--deterministic/--no-deterministic", default=False, help="Make gradients bit-identical on every run."
        ),
        click.option("--allow-nan", is_flag=True, help="Run even if an input holds NaN."),
        click.option(
            "-I", "include_dirs", multiple=True, type=click.Path(file_okay=False), help="Folder with Slang imports."
        ),
        click.option("-D", "defines", multiple=True, type=Macro(), help="Define a macro for Slang files."),
        click.option("--time-limit", type=positive, callback=finite, help="Time limit of a CPU launch in seconds."),
        click.option("--cache-dir", type=folder, help="Keep compiled code in this folder."),
        click.option("--no-cache", is_flag=True, help="Neither read nor write the cache."),
        click.option(
            "--format", "output_format", type=OneOf(["text", "json"]), default="text",
            help="json prints one document on stdout.",
        ),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


def named_arrays(files: Iterable[Path], arguments: LaunchArguments) -> dict[str, object]:
    """Return the arrays of files, those of pictures, and the values of the command line, which win."""
    from slangad.compiler.runtime.arrays.files import read_arrays
    from slangad.compiler.runtime.arrays.images import read_images

    return {**read_arrays(files), **read_images(arguments["images"]), **dict(arguments["values"])}


def named_files(files: Iterable[Path], arguments: LaunchArguments) -> tuple[Path, ...]:
    """Return the files that ``named_arrays`` reads."""
    return *files, *(path for _, path in arguments["images"])


def named_keys(arguments: LaunchArguments) -> tuple[str, ...]:
    """Return the keys that the command line names."""
    return *(key for key, _ in arguments["values"]), *(key for key, _ in arguments["images"])


def launch_cache(arguments: LaunchArguments) -> Cache | None:
    """Return the cache of compiled code that the command line selects, or None."""
    from slangad.compiler.toolchain.cache import default_cache

    return None if arguments["no_cache"] else default_cache(arguments["cache_dir"])
