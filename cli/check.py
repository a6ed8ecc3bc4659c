"""Check the gradients of descriptions and Slang files: the command ``slangad check``."""

from __future__ import annotations

import math
import os
import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypedDict

import click

from slangad.cli.parameters import (
    ALL_DEVICES,
    CheckedDevice,
    CommandWithWords,
    InputName,
    OneOf,
    complete_only,
    finite,
    slang_options,
    words_of_command,
)
from slangad.cli.project import add_slang_settings, is_default
from slangad.cli.reporting import ReportFile
from slangad.cli.sharding import Shard, costs_in
from slangad.compiler.check import tolerances as tol
from slangad.compiler.report.formats import FORMATS, format_of
from slangad.compiler.report.model import FAIL_ON

if TYPE_CHECKING:
    from typing_extensions import NotRequired, Unpack

    from slangad.cli.console import Session
    from slangad.compiler.check.options import CheckOptions
    from slangad.compiler.frontends.reading.directives import Directives

_FOLDER = click.Path(path_type=Path, file_okay=False)
_RANGE: Final = re.compile(r"(?P<path>[^=]+?)\s*=\s*(?P<low>[^:]+):(?P<high>.+)")
_SHAPE: Final = re.compile(r"(?P<path>(\w+\.)+\w+)\s*=\s*(?P<shape>[1-9]\d*(x[1-9]\d*){0,3})")


class CheckArguments(TypedDict):
    """The values of the command line's parameters."""

    inputs: tuple[str, ...]
    device: str
    samples: int
    seed: int
    ranges: tuple[tuple[str, float, float], ...]
    directives: tuple[tuple[str, Directives], ...]
    shapes: tuple[tuple[str, tuple[int, ...]], ...]
    only: tuple[str, ...]
    strict: bool
    fail_on: tuple[str, ...]
    min_checked: float
    baseline: Path | None
    write_baseline: Path | None
    mutate: bool
    jobs: int
    include_dirs: tuple[str, ...]
    defines: tuple[tuple[str, str], ...]
    specialize: tuple[str, ...]
    slangc: Path | None
    slang_flags: tuple[str, ...]
    mode: str | None
    order: int
    time_limit: float
    run_limit: float
    cache_dir: Path | None
    no_cache: bool
    output_format: str
    output: Path | None
    reports: tuple[tuple[str, Path], ...]
    watch: bool
    shard: tuple[int, int] | None
    costs: tuple[Path, ...]
    keep: Path | None
    from_project: NotRequired[bool]
    """True if the inputs come from the project: the command line names none."""


class SampleRange(click.ParamType[tuple[str, float, float]]):
    """``function.parameter=lowest:highest``."""

    name = "function.parameter=lo:hi"

    def convert(
        self, value: str | tuple[str, float, float], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, float, float]:
        """Parse the word."""
        if isinstance(value, tuple):
            return value
        match = _RANGE.fullmatch(value)
        try:
            low, high = (float(match[side]) for side in ("low", "high")) if match else (1.0, 0.0)
        except ValueError:
            low, high = 1.0, 0.0
        if not match or not low <= high or not math.isfinite(high - low) or "." not in match["path"]:
            self.fail(f"{value!r} is not a range such as shade.m.roughness=0.1:1, of finite numbers.", param, ctx)
        return match["path"].strip(), low, high


class SampleShape(click.ParamType[tuple[str, tuple[int, ...]]]):
    """``kernel.parameter=16x4``."""

    name = "kernel.parameter=16x4"

    def convert(
        self, value: str | tuple[str, tuple[int, ...]], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, tuple[int, ...]]:
        """Parse the word."""
        if isinstance(value, tuple):
            return value
        match = _SHAPE.fullmatch(value)
        if not match:
            self.fail(
                f"{value!r} is not a shape: write kernel.parameter, '=', and 1 to 4 extents with 'x' between them, "
                "each at least 1, such as fit.w=16x4.",
                param,
                ctx,
            )
        return match["path"], tuple(int(extent) for extent in match["shape"].split("x"))


@click.command("check", cls=CommandWithWords)
@click.argument("inputs", nargs=-1, type=InputName(), metavar="[FILE[:NAME]]...")
@click.option(
    "--device",
    default="cpu",
    type=CheckedDevice(),
    show_default=True,
    help="Device for float32 gradients; all: every one that works here.",
)
@click.option(
    "--samples", default=tol.DEFAULT_SAMPLES, type=click.IntRange(1), show_default=True, help="Samples per function."
)
@click.option("--seed", default=0, type=click.IntRange(0), show_default=True, help="Seed of the random samples.")
@click.option("--range", "ranges", multiple=True, type=SampleRange(), help="Draw a parameter's samples in this range.")
@click.option(
    "--shape",
    "shapes",
    multiple=True,
    type=SampleShape(),
    metavar="KERNEL.PARAMETER=16x4",
    help="Use this shape for the samples of a tensor or texture.",
)
@click.option(
    "--only",
    multiple=True,
    metavar="NAME",
    shell_complete=complete_only,
    help="Check this function or kernel only.",
)
@click.option("--strict", is_flag=True, help="Also fail if a gradient could not be checked.")
@click.option(
    "--fail-on",
    multiple=True,
    type=OneOf(list(FAIL_ON)),
    help="Also fail on this verdict; --strict means all of them.",
)
@click.option(
    "--min-checked",
    default=0.0,
    type=click.FloatRange(0.0, 1.0),
    metavar="SHARE",
    help="Fail if a smaller share of the functions was checked, such as 0.9.",
)
@click.option(
    "--baseline",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="Ignore the failures that this file lists.",
)
@click.option(
    "--write-baseline",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write all failures to this file, and exit with 0.",
)
@click.option(
    "--shard",
    type=Shard(),
    help="Check this part of the files, such as 2/4; auto: as the job array says. See `slangad report merge`.",
)
@click.option(
    "--costs",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="REPORT.json",
    help="Balance shards by the seconds that files took in an earlier check.",
)
@click.option("--watch", is_flag=True, help="Check again whenever an input or a file it depends on changes.")
@click.option("--mutate", is_flag=True, help="Change custom derivatives; report which changes the check misses.")
@click.option(
    "-j", "--jobs", default=os.cpu_count() or 1, type=click.IntRange(1), help="Number of processes.  [default: cores]"
)
@click.option("--mode", type=OneOf(("forward", "backward")), help="Check this mode only.  [default: both]")
@click.option(
    "--order", default=1, type=click.IntRange(1, 2), show_default=True, help="2: check products with Hessians too."
)
@slang_options
@click.option(
    "--time-limit",
    default=tol.COMPILE_LIMIT,
    type=click.FloatRange(min=0, min_open=True),
    callback=finite,
    show_default=True,
    help="Time limit of the Slang compiler for a file in seconds.",
)
@click.option(
    "--run-limit",
    default=tol.RUN_LIMIT,
    type=click.FloatRange(min=0, min_open=True),
    callback=finite,
    show_default=True,
    help="Time limit for the samples of one function in seconds.",
)
@click.option("--keep", type=_FOLDER, help="Keep the generated Slang and C++ in this folder.")
@click.option("--cache-dir", type=_FOLDER, help="Keep compiled code in this folder.")
@click.option("--no-cache", is_flag=True, help="Neither read nor write the cache.")
@click.option(
    "--format",
    "output_format",
    type=OneOf(list(FORMATS)),
    help="Report format.  [default: by the suffix of --output (.json, .xml, .sarif, .html, .svg), else text]",
)
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write the report to this file.")
@click.option(
    "--report",
    "reports",
    multiple=True,
    type=ReportFile(),
    help="Also write a report in this format to this file.",
)
@click.pass_obj
def check_command(session: Session, **arguments: Unpack[CheckArguments]) -> None:
    """Compare gradients with a float64 reference.

    FILE is a description in Python or YAML, a Slang file, or a folder of such files. FILE:NAME checks one function,
    kernel or pipeline. The exit code is 3 if a gradient is wrong.

    \b
      slangad check brdf.py                        everything in the file
      slangad check shaders/*.slang --strict       also fail if a gradient can't be checked
      slangad check f.py --only shade --range shade.m.roughness=0.1:1
      slangad check --report html=report.html      all inputs of [tool.slangad] in pyproject.toml
    """  # noqa: D301  (click's mark for text that it must not wrap)
    from slangad.cli.check_devices import check_devices
    from slangad.cli.check_run import CheckRequest, check_once, refuse_contradictions
    from slangad.cli.watch import watch

    arguments["output_format"] = arguments["output_format"] or format_of(str(arguments["output"] or ""))
    arguments["from_project"] = not arguments["inputs"]
    required_ranges = tuple(path for path, _, _ in arguments["ranges"])
    apply_project(arguments)
    refuse_contradictions(arguments)
    if arguments["device"] != "cpu" and (arguments["slangc"] or arguments["slang_flags"]):
        session.say("slangad check: --slangc and -X apply to code for the CPU; slangpy compiles for the device itself")
    options = replace(
        options_of(arguments),
        required_ranges=required_ranges,
        required_shapes=arguments["shapes"],
        required_specializations=arguments["specialize"],
    )
    if arguments["device"] == ALL_DEVICES:
        check_devices(session, CheckRequest(arguments, options))
    elif arguments["watch"]:
        watch(session, arguments, options)
    else:
        check_once(session, CheckRequest(arguments, options))


def options_of(arguments: CheckArguments) -> CheckOptions:
    """Return the check's options for the command line."""
    from slangad.compiler.check.options import CheckOptions
    from slangad.compiler.toolchain.cache import default_cache

    device, adapter = _device(arguments["device"])
    return CheckOptions(
        device=device,
        adapter=adapter,
        samples=arguments["samples"],
        seed=arguments["seed"],
        samples_from_user=not is_default("samples"),
        seed_from_user=not is_default("seed"),
        ranges=arguments["ranges"],
        directives=arguments.get("directives", ()),
        shapes=arguments["shapes"],
        only=arguments["only"],
        strict=arguments["strict"],
        fail_on=tuple(FAIL_ON[name] for name in arguments["fail_on"]),
        min_checked=arguments["min_checked"],
        mutate=arguments["mutate"],
        include_dirs=arguments["include_dirs"],
        defines=arguments["defines"],
        specialize=arguments["specialize"],
        slangc=arguments["slangc"],
        shard=arguments["shard"],
        costs=costs_in(arguments["costs"]),
        slang_flags=arguments["slang_flags"],
        mode=arguments["mode"] or "",
        order=arguments["order"],
        keep=arguments["keep"],
        time_limit=arguments["time_limit"],
        run_limit=arguments["run_limit"],
        workers=arguments["jobs"],
        cache=None if arguments["no_cache"] else default_cache(arguments["cache_dir"]),
        command=words_of(arguments),
        full_command=shlex.join(("slangad", "check", *words_of_command())),
    )


def _device(name: str) -> tuple[str, str]:
    """Return the names of the device and its adapter after opening it.

    Raises:
        ToolchainError: The device does not work.
    """
    if name in ("cpu", ALL_DEVICES):
        return "cpu", ""
    from slangad.compiler.runtime.device.open import open_device

    with open_device(name) as device:
        return device.name, device.adapter


def words_of(arguments: CheckArguments) -> str:
    """Return a command line that draws the same samples and finds the same files."""
    words = ["slangad", "check", "--seed", str(arguments["seed"])]
    if arguments["device"] != "cpu":
        words += ["--device", arguments["device"]]
    if arguments["samples"] != tol.DEFAULT_SAMPLES:
        words += ["--samples", str(arguments["samples"])]
    words += [f"--range={path}={_exact(low)}:{_exact(high)}" for path, low, high in arguments["ranges"]]
    words += [f"--shape={path}={'x'.join(str(n) for n in shape)}" for path, shape in arguments["shapes"]]
    words += [f"-I{folder}" for folder in arguments["include_dirs"]]
    words += [f"-D{name}={value}" if value else f"-D{name}" for name, value in arguments["defines"]]
    words += [word for flag in arguments["slang_flags"] for word in ("-X", flag)]
    words += [f"--specialize={text}" for text in arguments["specialize"]]
    words += [f"--slangc={arguments['slangc']}"] if arguments["slangc"] else []
    words += [f"--mode={arguments['mode']}"] if arguments["mode"] else []
    words += ["--order=2"] if arguments["order"] > 1 else []
    return shlex.join(words)


def _exact(number: float) -> str:
    """Return the shortest text that gives the same number."""
    short = f"{number:g}"
    return short if float(short) == number else repr(number)


def apply_project(arguments: CheckArguments) -> None:
    """Complete the arguments from ``[tool.slangad]``, including the inputs if the command line names none.

    Raises:
        CompileError: The settings are wrong.
    """
    from slangad.compiler.driver.settings import find_project, inputs_of

    project = find_project(Path.cwd())
    if project is None:
        return
    if not arguments["inputs"]:
        arguments["inputs"] = inputs_of(project)
        specialized = (*project.slang.specialize, *project.check.slang.specialize)
        arguments["specialize"] = (*arguments["specialize"], *specialized)
    settings = project.check
    if settings.device is not None and is_default("device"):
        arguments["device"] = settings.device
    if settings.samples is not None and is_default("samples"):
        arguments["samples"] = settings.samples
    if settings.seed is not None and is_default("seed"):
        arguments["seed"] = settings.seed
    if settings.strict is not None and is_default("strict"):
        arguments["strict"] = settings.strict
    if settings.min_checked is not None and is_default("min_checked"):
        arguments["min_checked"] = settings.min_checked
    arguments["fail_on"] = (*settings.fail_on, *arguments["fail_on"])
    arguments["ranges"] = (*settings.ranges, *arguments["ranges"])
    arguments["directives"] = settings.directives
    if settings.mode is not None and is_default("mode"):
        arguments["mode"] = settings.mode
    for slang in (settings.slang, project.slang):
        add_slang_settings(arguments, slang)
