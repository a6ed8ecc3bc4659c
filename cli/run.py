"""``slangad run``: a description and arrays go in; results, gradients or tangents of a kernel or pipeline come out."""

from __future__ import annotations

import io
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from slangad.cli.parameters import InputName, LaunchArguments, TensorShape, launch_cache, launch_options
from slangad.cli.project import is_deterministic

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from typing_extensions import Unpack

    from slangad.cli.console import Session
    from slangad.compiler.api.program import Program
    from slangad.compiler.runtime.arrays.modes import RunMode
    from slangad.compiler.runtime.arrays.prepare import Prepared
    from slangad.compiler.runtime.arrays.signature import Signature
    from slangad.compiler.runtime.arrays.summary import Outputs
    from slangad.compiler.runtime.pipeline.run_kernel import KernelPlan
    from slangad.compiler.runtime.pipeline.runnable import Chain

_FILE = click.Path(path_type=Path, dir_okay=False)
MODES = ("forward", "backward", "jvp", "jtjvp")


class RunArguments(LaunchArguments):
    """What the command line said."""

    kernel: str
    mode: str
    inputs: tuple[Path, ...]
    output: str | None
    random: int | None
    shapes: tuple[tuple[str, tuple[int, ...]], ...]
    specialize: tuple[str, ...]


@click.command("run")
@click.argument("kernel", type=InputName(), metavar="FILE[:NAME]")
@click.option("--mode", default="forward", type=click.Choice(MODES), show_default=True, help="What to compute.")
@click.option("-i", "--inputs", multiple=True, type=_FILE, help="Take arrays from this .npz file; later ones win.")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, allow_dash=True),
    help="Write what comes out to this .npz file; - is stdout.",
)
@click.option("--random", type=click.IntRange(0), metavar="SEED", help="Draw the inputs that are not given.")
@click.option(
    "--shape", "shapes", multiple=True, type=TensorShape(), help="How large --random draws a tensor: --shape w=16x4"
)
@click.option(
    "--specialize", multiple=True, metavar="FUNCTION<ARGS>", help="Make a generic function of a Slang file so."
)
@launch_options
@click.pass_obj
def run_command(session: Session, **arguments: Unpack[RunArguments]) -> None:
    """Run a kernel or pipeline of a description on a device.

    forward computes the results; backward the gradients of the inputs, for given cotangents of the results (ones
    unless given); jvp the change of the results along given tangents; jtjvp the Gauss-Newton product of them.

    \b
      slangad run brdf.py --random 0 --domain 1024             try it on random inputs
      slangad run brdf.py:fit -i in.npz -o out.npz             results
      slangad run brdf.py:fit --mode backward -i in.npz -o grad.npz --set exposure=2.0
    """  # noqa: D301  (click's mark for text to be left as it is)
    if arguments["shapes"] and arguments["random"] is None:
        raise click.UsageError("--shape says how large --random draws a tensor: give --random SEED too.")
    if arguments["output_format"] == "json":
        session.document = {}
        if arguments["output"] == "-":
            raise click.UsageError("-o - and --format json both want stdout.")
    outputs = _run(session, arguments)
    _write(session, arguments, outputs)


def _run(session: Session, arguments: RunArguments) -> Outputs:
    """Read, check, compile, run; nothing is written yet."""
    from slangad.compiler.runtime.arrays.modes import RunMode
    from slangad.compiler.runtime.arrays.summary import Outputs
    from slangad.compiler.runtime.device.devices import open_device
    from slangad.compiler.runtime.pipeline.narrowing import narrowed_gradients
    from slangad.compiler.runtime.pipeline.run_kernel import run_kernel
    from slangad.compiler.runtime.pipeline.runnable import Chain

    mode = RunMode(arguments["mode"])
    program, plan = _plan(arguments)
    if isinstance(plan, Chain):
        return _run_chain(session, arguments, program, plan)
    plan.require(mode)
    prepared = _prepare(arguments, plan, mode)
    session.show(prepared.notes)
    with session.progress("running"), open_device(arguments["device"], limit=arguments["time_limit"]) as device:
        loaded = program.load_on(device, plan.entry_names(mode))
        arrays = run_kernel(device, loaded, plan, mode, prepared)
        session.show(narrowed_gradients([plan], mode, device.name))
        session.say(f"{plan.signature.name} {mode.value} on {device.name} ({device.adapter})", level=1)
        return Outputs(plan.signature.name, mode.value, device.name, device.adapter, prepared.domain, arrays)


def _run_chain(session: Session, arguments: RunArguments, program: Program, chain: Chain) -> Outputs:
    """The same for a pipeline."""
    from slangad.compiler.emit.model import Mode
    from slangad.compiler.runtime.arrays.modes import RunMode
    from slangad.compiler.runtime.arrays.prepare import refuse_nan
    from slangad.compiler.runtime.arrays.summary import Outputs
    from slangad.compiler.runtime.device.devices import open_device
    from slangad.compiler.runtime.pipeline.narrowing import narrowed_gradients
    from slangad.compiler.runtime.pipeline.run import prepare_chain, run_chain, signature_of

    mode, name = RunMode(arguments["mode"]), chain.pipeline.name
    with _explained(arguments, chain.signature):
        _refuse_unused(arguments, signature_of(chain), mode)
        given = prepare_chain(chain, mode, _given(arguments, chain.signature, mode), arguments["domain"])
    session.show(given.prepared.notes)
    if not arguments["allow_nan"]:
        refuse_nan(given.prepared, given.cotangents)
    with session.progress("running"), open_device(arguments["device"], limit=arguments["time_limit"]) as device:
        loaded = program.load_on(device, chain.entry_names((Mode.FORWARD, *mode.steps)))
        arrays = run_chain(device, loaded, chain, mode, given, program.source.cache)
        session.show(narrowed_gradients(chain.kernels.values(), mode, device.name))
        session.say(f"{name} {mode.value} on {device.name} ({device.adapter})", level=1)
        return Outputs(name, mode.value, device.name, device.adapter, given.prepared.domain, arrays)


def _plan(arguments: RunArguments) -> tuple[Program, KernelPlan | Chain]:
    from slangad.compiler.api.program import chosen, kernels_of, read_program
    from slangad.compiler.check.subjects.global_memory import refuse_globals
    from slangad.compiler.driver.compile import Options
    from slangad.compiler.driver.inputs import parse_inputs

    options = Options(
        targets=(),
        include_dirs=arguments["include_dirs"],
        defines=arguments["defines"],
        specialize=arguments["specialize"],
        cache=launch_cache(arguments),
        deterministic=is_deterministic(said=arguments["deterministic"]),
    )
    program = read_program(parse_inputs([arguments["kernel"]])[0], options)
    wanted = chosen(program)
    refuse_globals(program.module, kernels_of(wanted))
    return program, wanted


def _prepare(arguments: RunArguments, plan: KernelPlan, mode: RunMode) -> Prepared:
    from slangad.compiler.runtime.arrays.prepare import prepare, refuse_nan

    with _explained(arguments, plan.signature):
        _refuse_unused(arguments, plan.signature, mode)
        prepared = prepare(plan.signature, mode, _given(arguments, plan.signature, mode), arguments["domain"])
    if not arguments["allow_nan"]:
        refuse_nan(prepared)
    return prepared


def _refuse_unused(arguments: RunArguments, signature: Signature, mode: RunMode) -> None:
    """Refuse what --set gives and the mode has no use for; files may be for several modes."""
    from slangad.compiler.runtime.arrays.prepare import refuse_unused

    refuse_unused(signature, mode, dict(arguments["values"]), f"in mode {mode.value}")


def _given(arguments: RunArguments, signature: Signature, mode: RunMode) -> dict[str, object]:
    """What files and the command line give, and what is drawn for the rest if that is asked for."""
    from slangad.compiler.runtime.arrays.files import read_arrays
    from slangad.compiler.runtime.pipeline.random_inputs import draw_missing

    given: dict[str, object] = {**read_arrays(arguments["inputs"]), **dict(arguments["values"])}
    if arguments["random"] is None:
        return given
    shapes = dict(arguments["shapes"])
    _refuse_shapes(shapes, signature, given)
    return draw_missing(signature, mode, given, arguments["domain"], arguments["random"], shapes)


def _refuse_shapes(shapes: Mapping[str, tuple[int, ...]], signature: Signature, given: Collection[str]) -> None:
    """Refuse shapes of what has none of its own, has other axes, or is given."""
    tensors = {value.name: value for value in signature.parameters if value.is_tensor}
    for name, shape in shapes.items():
        if name not in tensors:
            there = ", ".join(tensors) or "none"
            raise click.UsageError(f"--shape {name}: {signature.name} has no such tensor or texture. It has: {there}.")
        if len(shape) != tensors[name].axes:
            raise click.UsageError(f"--shape {name}: it has {tensors[name].axes} axes, not {len(shape)}.")
        if any(part.key in given for part in tensors[name].parts):
            raise click.UsageError(f"--shape {name}: it is given, and so not drawn.")


@contextmanager
def _explained(arguments: RunArguments, signature: Signature) -> Iterator[None]:
    """Says what --random lacks to draw what is missing."""
    from slangad.compiler.runtime.arrays.prepare import InputError
    from slangad.compiler.runtime.pipeline.random_inputs import explain_undrawn

    try:
        yield
    except InputError as error:
        if arguments["random"] is None:
            raise
        raise explain_undrawn(error, signature) from None


def _write(session: Session, arguments: RunArguments, outputs: Outputs) -> None:
    """Put the arrays where they are wanted, and say what they are."""
    from slangad.compiler.runtime.arrays.files import save_arrays, write_arrays
    from slangad.compiler.runtime.arrays.summary import infinite, lines, record

    session.show(infinite(outputs))
    output = arguments["output"]
    if output == "-":
        stream = io.BytesIO()
        write_arrays(stream, outputs.arrays)
        session.product(stream.getvalue())
    elif output is not None:
        read = (arguments["kernel"].partition(":")[0], *map(str, arguments["inputs"]))
        save_arrays(Path(output), outputs.arrays, read)
    if session.document is not None:
        session.document |= record(outputs)
        session.document["output"] = output
    for line in lines(outputs):
        session.say(line)
