"""Run a kernel or pipeline on a device: the command ``slangad run``.

It reads arrays and writes results, gradients or tangents.
"""

from __future__ import annotations

import io
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from slangad.cli.help import HelpCommand
from slangad.cli.parameters import (
    InputName,
    LaunchArguments,
    OneOf,
    TensorShape,
    launch_cache,
    launch_options,
    named_arrays,
    named_files,
    named_keys,
)
from slangad.cli.project import is_deterministic

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from typing_extensions import Unpack

    from slangad.cli.console import Session
    from slangad.compiler.api.program import RunnableProgram
    from slangad.compiler.driver.model import Options
    from slangad.compiler.runtime.arrays.modes import RunMode
    from slangad.compiler.runtime.arrays.prepare import Prepared
    from slangad.compiler.runtime.arrays.signature import KernelSignature
    from slangad.compiler.runtime.arrays.summary import Outputs
    from slangad.compiler.runtime.pipeline.run_kernel import KernelPlan
    from slangad.compiler.runtime.pipeline.runnable import RunnablePipeline

_FILE = click.Path(path_type=Path, dir_okay=False)
MODES = ("forward", "backward", "jvp", "jtjvp", "hvp")


class RunArguments(LaunchArguments):
    """The values of the command line's parameters."""

    kernel: str
    mode: str
    inputs: tuple[Path, ...]
    output: str | None
    random: int | None
    shapes: tuple[tuple[str, tuple[int, ...]], ...]
    specialize: tuple[str, ...]


@click.command("run", cls=HelpCommand)
@click.argument("kernel", type=InputName(), metavar="FILE[:NAME]")
@click.option("--mode", default="forward", type=OneOf(MODES), show_default=True, help="Compute in this mode.")
@click.option("-i", "--inputs", multiple=True, type=_FILE, help="Read arrays from this .npz file; a later file wins.")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, allow_dash=True),
    help="Write the output arrays to this .npz file, or a picture to this .png file; - writes to stdout.",
)
@click.option("--random", type=click.IntRange(0), metavar="SEED", help="Draw missing inputs at random with this seed.")
@click.option("--shape", "shapes", multiple=True, type=TensorShape(), help="Shape of a random tensor: --shape w=16x4.")
@click.option(
    "--specialize", multiple=True, metavar="FUNCTION<ARGS>", help="Run a generic Slang function with these arguments."
)
@launch_options
@click.pass_obj
def run_command(session: Session, **arguments: Unpack[RunArguments]) -> None:
    """Run a kernel or pipeline on a device.

    The mode forward computes results. The mode backward computes gradients of the inputs for given cotangents of the
    results (default: ones). The mode jvp computes the change of the results along given tangents. The mode jtjvp
    computes their Gauss-Newton product, the mode hvp the product of the Hessian with them.

    \b
      slangad run brdf.py --random 0 --domain 1024             random inputs
      slangad run brdf.py:fit -i in.npz -o out.npz             arrays from and to files
      slangad run brdf.py:fit --mode backward -i in.npz -o grad.npz --set exposure=2.0
    """  # noqa: D301  (click's mark for text that it must not wrap)
    from slangad.compiler.runtime.arrays.images import check_output

    if arguments["output_format"] == "json":
        session.document = {}
        if arguments["output"] == "-":
            raise click.UsageError("-o - and --format json both write to stdout: give one of them.")
    if arguments["output"] not in (None, "-"):
        check_output(Path(arguments["output"]))
    file, _, name = arguments["kernel"].rpartition(":")
    is_entry = bool(file) and name in _user_entries(Path(file))
    outputs = (_run_user_entry if is_entry else _run)(session, arguments)
    _write(session, arguments, outputs)


def _run(session: Session, arguments: RunArguments) -> Outputs:
    """Return the output arrays: read, check, compile and run."""
    from slangad.compiler.runtime.arrays.modes import RunMode
    from slangad.compiler.runtime.arrays.summary import Outputs
    from slangad.compiler.runtime.device.open import open_device
    from slangad.compiler.runtime.pipeline.narrowing import narrowed_gradients
    from slangad.compiler.runtime.pipeline.run_kernel import run_kernel
    from slangad.compiler.runtime.pipeline.runnable import RunnablePipeline

    mode = RunMode(arguments["mode"])
    program, plan = _plan(arguments)
    if isinstance(plan, RunnablePipeline):
        return _run_pipeline(session, arguments, program, plan)
    if mode is not RunMode.HVP:
        plan.require(mode)
    prepared = _prepare(arguments, plan, mode)
    session.show(prepared.notes)
    if mode is RunMode.HVP:
        return _run_product(session, arguments, program, plan, prepared, {})
    with session.progress("running"), open_device(arguments["device"], limit=arguments["time_limit"]) as device:
        loaded = program.load_on(device, plan.entry_names(mode))
        arrays = run_kernel(device, loaded, plan, mode, prepared)
        session.show(narrowed_gradients([plan], mode, device.name))
        session.say(f"{plan.signature.name} {mode.value} on {device.name} ({device.adapter})", level=1)
        return Outputs(plan.signature.name, mode.value, device.name, device.adapter, prepared.domain, arrays)


def _run_product(
    session: Session,
    arguments: RunArguments,
    program: RunnableProgram,
    found: KernelPlan | RunnablePipeline,
    prepared: Prepared,
    cotangents: Mapping[str, Any],
) -> Outputs:
    """Return the product with the Hessian of a kernel or pipeline."""
    from slangad.compiler.runtime.arrays.summary import Outputs
    from slangad.compiler.runtime.device.open import open_device

    product, name = program.product(found), found.signature.name
    with session.progress("running"), open_device(arguments["device"], limit=arguments["time_limit"]) as device:
        loaded = program.load_on(device, product.entry_names)
        arrays = product.run(device, loaded, prepared, cotangents, program.source.cache)
        session.say(f"{name} hvp on {device.name} ({device.adapter})", level=1)
        return Outputs(name, "hvp", device.name, device.adapter, prepared.domain, arrays)


def _user_entries(file: Path) -> tuple[str, ...]:
    from slangad.compiler.driver.user_entries import user_entries

    return user_entries(file)


def _run_user_entry(session: Session, arguments: RunArguments) -> Outputs:
    """Return the output arrays of an entry point that the file contains."""
    from slangad.compiler.api.user_entry import read_entry, run_entry
    from slangad.compiler.runtime.arrays.summary import Outputs
    from slangad.compiler.runtime.device.model import BuildOptions
    from slangad.compiler.runtime.device.open import open_device
    from slangad.compiler.slang_text.search import folders_of

    file, _, name = arguments["kernel"].rpartition(":")
    if arguments["mode"] != "forward":
        raise click.UsageError(f"{name} is an entry point of the file, and runs as it is: --mode does not apply.")
    if arguments["random"] is not None:
        raise click.UsageError(f"{name} is an entry point of the file: --random can't draw its buffers.")
    inputs: dict[str, object] = named_arrays(arguments["inputs"], arguments)
    with session.progress("running"), open_device(arguments["device"], limit=arguments["time_limit"]) as device:
        options = _options_of(arguments)
        entry = read_entry(Path(file), name, options, device.name)
        source = BuildOptions(folders_of(Path(file), options.include_dirs), options.defines, options.cache)
        threads, arrays = run_entry(device, entry, source, inputs, arguments["domain"], dict(arguments["shapes"]))
        session.say(f"{name} on {device.name} ({device.adapter})", level=1)
        return Outputs(name, "forward", device.name, device.adapter, threads, arrays)


def _run_pipeline(
    session: Session, arguments: RunArguments, program: RunnableProgram, runnable: RunnablePipeline
) -> Outputs:
    """Return the output arrays of a pipeline."""
    from slangad.compiler.emit.model import Mode
    from slangad.compiler.runtime.arrays.modes import RunMode
    from slangad.compiler.runtime.arrays.prepare import refuse_nan
    from slangad.compiler.runtime.arrays.summary import Outputs
    from slangad.compiler.runtime.device.open import open_device
    from slangad.compiler.runtime.pipeline.narrowing import narrowed_gradients
    from slangad.compiler.runtime.pipeline.run import prepare_pipeline, run_pipeline, signature_of

    mode, name = RunMode(arguments["mode"]), runnable.pipeline.name
    with _explained(arguments, runnable.signature):
        _refuse_unused(arguments, signature_of(runnable), mode)
        inputs = prepare_pipeline(
            runnable, mode, _input_arrays(arguments, runnable.signature, mode), arguments["domain"]
        )
    session.show(inputs.prepared.notes)
    if not arguments["allow_nan"]:
        refuse_nan(inputs.prepared, inputs.cotangents)
    if mode is RunMode.HVP:
        return _run_product(session, arguments, program, runnable, inputs.prepared, inputs.cotangents)
    with session.progress("running"), open_device(arguments["device"], limit=arguments["time_limit"]) as device:
        loaded = program.load_on(device, runnable.entry_names((Mode.FORWARD, *mode.steps)))
        arrays = run_pipeline(device, loaded, runnable, mode, inputs, program.source.cache)
        session.show(narrowed_gradients(runnable.kernels.values(), mode, device.name))
        session.say(f"{name} {mode.value} on {device.name} ({device.adapter})", level=1)
        return Outputs(name, mode.value, device.name, device.adapter, inputs.prepared.domain, arrays)


def _plan(arguments: RunArguments) -> tuple[RunnableProgram, KernelPlan | RunnablePipeline]:
    from slangad.compiler.api.program import chosen, kernels_of, read_program
    from slangad.compiler.check.subjects.source_facts import refuse_globals
    from slangad.compiler.driver.inputs import parse_inputs

    if arguments["shapes"] and arguments["random"] is None:
        raise click.UsageError("--shape is for tensors that --random draws: give --random SEED too.")
    program = read_program(parse_inputs([arguments["kernel"]])[0], _options_of(arguments))
    wanted = chosen(program)
    refuse_globals(program.module, kernels_of(wanted))
    return program, wanted


def _options_of(arguments: RunArguments) -> Options:
    from slangad.compiler.driver.model import Options

    return Options(
        targets=(),
        modes=("hvp",) if arguments["mode"] == "hvp" else ("forward", "backward", "jvp"),
        include_dirs=arguments["include_dirs"],
        defines=arguments["defines"],
        specialize=arguments["specialize"],
        cache=launch_cache(arguments),
        deterministic=is_deterministic(option=arguments["deterministic"]),
    )


def _prepare(arguments: RunArguments, plan: KernelPlan, mode: RunMode) -> Prepared:
    from slangad.compiler.runtime.arrays.prepare import prepare, refuse_nan

    with _explained(arguments, plan.signature):
        _refuse_unused(arguments, plan.signature, mode)
        prepared = prepare(plan.signature, mode, _input_arrays(arguments, plan.signature, mode), arguments["domain"])
    if not arguments["allow_nan"]:
        refuse_nan(prepared)
    return prepared


def _refuse_unused(arguments: RunArguments, signature: KernelSignature, mode: RunMode) -> None:
    """Refuse arrays of --set that the mode does not use; files may hold arrays for several modes."""
    from slangad.compiler.runtime.arrays.prepare import refuse_unused

    refuse_unused(signature, mode, named_keys(arguments), f"in mode {mode.value}")


def _input_arrays(arguments: RunArguments, signature: KernelSignature, mode: RunMode) -> dict[str, object]:
    """Return the arrays of files and the command line, and random arrays for the missing ones under --random."""
    from slangad.compiler.runtime.pipeline.random_inputs import draw_missing

    inputs: dict[str, object] = named_arrays(arguments["inputs"], arguments)
    if arguments["random"] is None:
        return inputs
    shapes = dict(arguments["shapes"])
    _refuse_shapes(shapes, signature, inputs)
    return draw_missing(signature, mode, inputs, arguments["domain"], arguments["random"], shapes)


def _refuse_shapes(shapes: Mapping[str, tuple[int, ...]], signature: KernelSignature, keys: Collection[str]) -> None:
    """Refuse a shape for a name that is no tensor, has other axes, or is given."""
    tensors = {value.name: value for value in signature.parameters if value.is_tensor}
    for name, shape in shapes.items():
        if name not in tensors:
            names = ", ".join(tensors) or "none"
            raise click.UsageError(f"--shape {name}: {signature.name} has no such tensor or texture. It has: {names}.")
        if len(shape) != tensors[name].axes:
            raise click.UsageError(f"--shape {name}: it has {tensors[name].axes} axes, not {len(shape)}.")
        if any(part.key in keys for part in tensors[name].parts):
            raise click.UsageError(f"--shape {name}: it is given, so --random does not draw it.")


@contextmanager
def _explained(arguments: RunArguments, signature: KernelSignature) -> Iterator[None]:
    """Extend errors about missing arrays by what --random needs to draw them."""
    from slangad.compiler.runtime.arrays.prepare import InputError
    from slangad.compiler.runtime.pipeline.random_inputs import explain_undrawn

    try:
        yield
    except InputError as error:
        if arguments["random"] is not None:
            raise explain_undrawn(error, signature) from None
        first, *rest = error.diagnostics
        if first.code != "SA410" or first.help:
            raise
        axes = "x".join(("1024", "64", "16")[signature.dims - 1 :][:1] * signature.dims)
        help_ = f"give -i FILE.npz, or draw them: --random 0 --domain {axes}"
        if arguments["inputs"] or arguments["values"]:
            help_ = "give it with -i or --set, or draw what is missing: --random 0"
        raise InputError([replace(first, help=help_), *rest]) from None


def _write(session: Session, arguments: RunArguments, outputs: Outputs) -> None:
    """Write the output arrays and print their table."""
    from slangad.compiler.runtime.arrays.files import save_together, write_arrays
    from slangad.compiler.runtime.arrays.images import array_writer
    from slangad.compiler.runtime.arrays.summary import infinite, lines, record

    session.show(infinite(outputs))
    output = arguments["output"]
    if output == "-":
        stream = io.BytesIO()
        write_arrays(stream, outputs.arrays)
        session.write(stream.getvalue())
    elif output is not None:
        read = (arguments["kernel"].partition(":")[0], *map(str, named_files(arguments["inputs"], arguments)))
        save_together({Path(output): array_writer(Path(output), outputs.arrays)}, read)
    if session.document is not None:
        session.document |= record(outputs)
        session.document["output"] = output
    for line in lines(outputs):
        session.say(line)
