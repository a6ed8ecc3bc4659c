"""Compile descriptions and Slang files: the command ``slangad compile``.

It writes Slang, artefacts, reflection, manifests and depfiles.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import click

from slangad.cli.help import HelpCommand
from slangad.cli.parameters import InputName, OneOf, TargetName, finite, slang_options
from slangad.cli.project import apply_project

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from typing_extensions import NotRequired, Unpack

    from slangad.cli.console import Session
    from slangad.compiler.driver.inputs import Input
    from slangad.compiler.driver.model import CompiledInput, Destination, Emit, Options
    from slangad.compiler.driver.up_to_date import CurrentInput
    from slangad.compiler.emit.model import EntryPoint
    from slangad.compiler.ir.nodes import Module

DEFAULT_MODES = ("forward", "backward", "jvp")
MODES = (*DEFAULT_MODES, "hvp")


class CompileArguments(TypedDict):
    """The values of the command line's parameters."""

    inputs: tuple[str, ...]
    targets: tuple[str, ...]
    output: str
    namespace: str
    emit: tuple[Emit, ...]
    modes: tuple[str, ...]
    jobs: int
    watch: bool
    optimization: int
    deterministic: bool
    pack_buffers: bool | None
    slangc: Path | None
    slang_flags: tuple[str, ...]
    include_dirs: tuple[str, ...]
    defines: tuple[tuple[str, str], ...]
    specialize: tuple[str, ...]
    depfile: Path | None
    depfile_targets: tuple[str, ...]
    dump_after: tuple[str, ...]
    time_limit: float | None
    cache_dir: Path | None
    no_cache: bool
    force: bool
    plan: str | None
    output_format: str
    own_targets: NotRequired[bool]
    """True if the targets that a description names win over ``targets``: the command line has no -t."""
    from_project: NotRequired[bool]
    """True if the inputs come from the project: the command line names none."""


def _namespace(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    if not re.fullmatch(r"[A-Za-z]\w*(::[A-Za-z]\w*)*", value, re.ASCII):
        raise click.BadParameter(f"{value!r} is not a C++ namespace, such as 'render::kernels'.")
    return value


_FILE = click.Path(path_type=Path, dir_okay=False)
_FOLDER = click.Path(path_type=Path, file_okay=False)
_FORMATS = OneOf(["text", "json"])


@click.command("compile", cls=HelpCommand)
@click.argument("inputs", nargs=-1, type=InputName(), metavar="[FILE[:KERNEL]]...")
@click.option(
    "-t", "--target", "targets", multiple=True, type=TargetName(), help="Compile for this target.  [default: spirv]"
)
@click.option(
    "-o", "--output", default="build", type=click.Path(), show_default=True, help="Output folder; - writes to stdout."
)
@click.option(
    "--emit",
    multiple=True,
    type=OneOf(["slang", "functions", "lines", "ir", "artefacts", "header", "library", "rust", "typescript"]),
    help="Write this kind of output: functions is Slang without kernels, which other Slang can import, lines is Slang "
    "with #line directives, header a C++ header, library a C++ source file with its header, rust and typescript are "
    "modules with all that launches need.  "
    "[default: slang, artefacts]",
)
@click.option(
    "--namespace",
    default="slangad",
    show_default=True,
    callback=_namespace,
    help="C++ namespace of kernels in headers and libraries.",
)
@click.option(
    "--mode", "modes", multiple=True, type=OneOf(MODES), help="Compile this mode only.  [default: all but hvp]"
)
@click.option(
    "-j", "--jobs", default=os.cpu_count() or 1, type=click.IntRange(1), help="Compiler processes.  [default: cores]"
)
@click.option("-O", "optimization", default=1, type=click.IntRange(0, 3), show_default=True, help="Optimisation level.")
@slang_options
@click.option("--deterministic/--no-deterministic", default=False, help="Make gradients bit-identical on every run.")
@click.option(
    "--pack-buffers/--no-pack-buffers",
    default=None,
    help="WGSL: bind read-only buffers of one element type as one.  [default: where there are more than 8]",
)
@click.option("--watch", is_flag=True, help="Compile again whenever an input or a file it depends on changes.")
@click.option("--depfile", type=_FILE, help="Also write a depfile for all inputs to this file.")
@click.option(
    "--depfile-target", "depfile_targets", multiple=True, type=click.Path(), help="Use this target name in depfiles."
)
@click.option("--dump-after", multiple=True, metavar="PASS", help="Print the IR after this pass (or all) to stderr.")
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0, min_open=True),
    callback=finite,
    help="Time limit of the Slang compiler in seconds.",
)
@click.option("--cache-dir", type=_FOLDER, help="Keep compiled code in this folder.")
@click.option("--no-cache", is_flag=True, help="Neither read nor write the cache.")
@click.option("--force", is_flag=True, help="Compile inputs that are up to date too.")
@click.option("--plan", type=click.Choice(["ninja"]), help="Write build.ninja: an edge for every kernel and target.")
@click.option("--format", "output_format", type=_FORMATS, default="text", help="json prints one document on stdout.")
@click.pass_obj
def compile_command(session: Session, **arguments: Unpack[CompileArguments]) -> None:
    """Compile descriptions to Slang and GPU code.

    FILE is a description in Python or YAML, or a Slang file with differentiable functions.
    FILE:KERNEL compiles one kernel. Without -t the target is spirv.

    \b
      slangad compile brdf.py                         SPIR-V and Slang into build/
      slangad compile brdf.py -t cuda -t wgsl -o out  CUDA and WGSL
      slangad compile brdf.py -o -                    the Slang text on stdout
      slangad compile                                 all inputs of [tool.slangad] in pyproject.toml
    """  # noqa: D301  (click's mark for text that it must not wrap)
    if arguments["output_format"] == "json":
        session.document = {}
    arguments["own_targets"] = not arguments["targets"]
    arguments["from_project"] = not arguments["inputs"]
    apply_project(arguments)
    _check_usage(arguments)
    if arguments["plan"]:
        from slangad.cli.plan import write_plan

        write_plan(session, arguments, _options_of(session, arguments))
    elif arguments["output"] == "-":
        print_output(session, arguments)
    elif arguments["watch"]:
        from slangad.cli.watch import watch

        watch(session, arguments)
    else:
        compile_once(session, arguments)


def _check_usage(arguments: CompileArguments) -> None:
    if not arguments["inputs"]:
        raise click.UsageError(
            "Nothing to compile: name a file, as in `slangad compile brdf.py`, or list inputs under [tool.slangad] in\n"
            "pyproject.toml."
        )
    if arguments["watch"] and (arguments["output"] == "-" or arguments["output_format"] == "json"):
        raise click.UsageError("--watch can't be used with -o - or with --format json.")
    if arguments["plan"] and (arguments["output"] == "-" or arguments["watch"]):
        raise click.UsageError("--plan can't be used with -o - or --watch.")
    if arguments["output"] == "-" and arguments["output_format"] == "json":
        raise click.UsageError("-o - and --format json both write to stdout: give one of them.")


def compile_once(session: Session, arguments: CompileArguments) -> tuple[str, ...]:
    """Compile the inputs that are not up to date, write their outputs, and return all files that inputs depend on.

    Raises:
        CompileError: An input was rejected for all targets, and nothing is written; or the other targets are written.
        ToolchainError: Slang failed, and nothing is written; or a target's tool is missing, and the others are written.
    """
    from slangad.compiler.driver.inputs import parse_inputs
    from slangad.compiler.driver.up_to_date import CurrentInput
    from slangad.compiler.driver.write import write_outputs
    from slangad.compiler.errors.diagnostics import CompileError, ToolchainError

    options = _options_of(session, arguments)
    destination = _destination_of(arguments)
    inputs = parse_inputs(arguments["inputs"], included=False)
    results = _results(session, inputs, options, destination, force=arguments["force"] or session.verbosity > 0)
    compiled = [one for one in results if not isinstance(one, CurrentInput)]
    current = [one for one in results if isinstance(one, CurrentInput)]
    written = write_outputs(results, options, destination)
    if session.document is not None:
        session.document["output"] = arguments["output"]
        session.document["files"] = [Path(path).as_posix() for path in written.files]
        session.document["inputs"] = [json.loads(text) for text in written.inputs]
    session.show([*(note for one in current for note in one.notes), *(w for one in compiled for w in one.warnings)])
    for one in compiled:
        if not one.slang.description.kernels:
            session.say(f"{one.slang.source} has no kernel: only its Slang is written")
        _print_accumulation(session, one)
        _print_loops(session, one)
    session.say(
        _summary(compiled, current, arguments["output"], with_artefacts=bool(options.targets)) + session.elapsed()
    )
    failures = list(dict.fromkeys(failure for one in compiled for failure in one.failures))
    refusals = [refusal for one in compiled for refusal in one.refusals]
    if refusals:
        raise CompileError([*refusals, *failures])
    if failures:
        raise ToolchainError(failures)
    return tuple(dict.fromkeys(source for one in results for source in one.sources))


def _results(
    session: Session, inputs: Sequence[Input], options: Options, destination: Destination, *, force: bool
) -> list[CompiledInput | CurrentInput]:
    """Compile the inputs that are not up to date; all with ``force``, or if two have a name in common."""
    from slangad.compiler.driver.up_to_date import current_inputs, has_clash

    current = {} if force else current_inputs(inputs, options, destination)
    stale = [item for item in inputs if item not in current]
    if not stale:
        return list(current.values())
    from slangad.compiler.driver.compile import compile_inputs

    with session.progress("compiling") as progress:
        headers = destination.has_headers
        compiled = compile_inputs(stale, options, progress, headers=headers)
        if current and has_clash(compiled, current.values(), in_cpp=destination.is_in_cpp(options)):
            return list(compile_inputs(inputs, options, progress, headers=headers))
    fresh = dict(zip(stale, compiled, strict=True))
    return [current.get(item) or fresh[item] for item in inputs]


def print_output(session: Session, arguments: CompileArguments) -> None:
    """Print one output on stdout: the Slang text, unless targets or ``--emit`` select another one."""
    from slangad.compiler.driver.compile import compile_inputs
    from slangad.compiler.driver.inputs import parse_inputs
    from slangad.compiler.driver.model import LANGUAGES
    from slangad.compiler.driver.write import wanted_outputs
    from slangad.compiler.errors.diagnostics import CompileError, ToolchainError

    default: tuple[Emit, ...] = ("artefacts",) if arguments["targets"] else ("slang",)
    emit = arguments["emit"] or default
    inputs = parse_inputs(arguments["inputs"], included=False)
    if len(emit) > 1 or len(inputs) > 1:
        raise click.UsageError(
            "-o - prints one output: name one file and at most one --emit, or give an output folder."
        )
    arguments["emit"] = emit
    (one,) = compile_inputs(inputs, _options_of(session, arguments))
    if one.refusals:
        raise CompileError(one.refusals)
    if one.failures:
        raise ToolchainError(one.failures)
    kinds = {"artefacts": "artefact", "library": "source", **dict.fromkeys(("lines", "functions"), "slang")}
    kinds |= dict.fromkeys(LANGUAGES, "header")
    kind = kinds.get(emit[0], emit[0])
    outputs = [output for output in wanted_outputs(one, frozenset(emit), arguments["namespace"]) if output.kind == kind]
    if len(outputs) != 1:
        raise click.UsageError(
            f"-o - prints one output, and this gives {len(outputs)}: name one FILE:KERNEL, one --mode and one -t."
        )
    session.show(one.warnings)
    session.write(outputs[0].data)


def _options_of(session: Session, arguments: CompileArguments) -> Options:
    """Return the compiler's options for the command line."""
    from slangad.compiler.driver.model import Options
    from slangad.compiler.toolchain.cache import default_cache
    from slangad.compiler.toolchain.jobs.request import DEFAULT_TIME_LIMIT

    emit = frozenset(arguments["emit"] or ("artefacts",))
    targets = (*arguments["targets"], *(("cpp",) if "library" in emit else ())) or ("spirv",)
    return Options(
        targets=tuple(dict.fromkeys(targets)) if emit - {"slang", "functions", "lines", "ir"} else (),
        own_targets=arguments.get("own_targets", not arguments["targets"]) and "library" not in emit,
        modes=arguments["modes"] or DEFAULT_MODES,
        include_dirs=arguments["include_dirs"],
        defines=arguments["defines"],
        specialize=arguments["specialize"],
        optimization=arguments["optimization"],
        deterministic=arguments["deterministic"],
        pack_buffers=arguments["pack_buffers"],
        slangc=arguments["slangc"],
        slang_flags=arguments["slang_flags"],
        workers=arguments["jobs"],
        time_limit=arguments["time_limit"] or DEFAULT_TIME_LIMIT,
        cache=None if arguments["no_cache"] else default_cache(arguments["cache_dir"]),
        dump=_dumper(session, arguments["dump_after"]),
        keep_ir="ir" in arguments["emit"],
        keep_spans=bool({"lines", "functions"}.intersection(arguments["emit"])),
    )


def _destination_of(arguments: CompileArguments) -> Destination:
    from slangad.compiler.driver.model import Destination

    return Destination(
        folder=Path(arguments["output"]),
        emit=frozenset(arguments["emit"] or ("slang", "artefacts")),
        depfile=arguments["depfile"],
        depfile_targets=arguments["depfile_targets"],
        namespace=arguments["namespace"],
    )


def _dumper(session: Session, wanted: Sequence[str]) -> Callable[[str, Module], None] | None:
    """Return a function that prints the IR after the wanted passes, or None."""
    if not wanted:
        return None
    from slangad.compiler.ir.text_form.printer import show
    from slangad.compiler.passes.order import PASS_NAMES

    unknown = [name for name in wanted if name not in (*PASS_NAMES, "all")]
    if unknown:
        raise click.UsageError(f"There is no pass {unknown[0]!r}. Choose from {', '.join(PASS_NAMES)} or all.")

    def dump(name: str, module: Module) -> None:
        if name in wanted or "all" in wanted:
            session.say(f"// {module.source} after {name}\n{show(module)}", level=-9)

    return dump


def _print_accumulation(session: Session, one: CompiledInput) -> None:
    """Print, with -v, how the gradient of each parameter is added up, and what groups of how many threads do."""
    if session.verbosity < 1:
        return
    from slangad.compiler.emit.entry_points.accumulations import SCATTERED, WORDS, means, products
    from slangad.compiler.emit.model import ThreadWork
    from slangad.compiler.ir.targets import macros_for

    for kernel in one.slang.kernels:
        for name, way in kernel.accumulation.items():
            decided = kernel.deciding.get(name, "")
            no_product = f"no product: {decided}"
            reasons = {"matrix": f"not in half: {decided}", "shared": no_product, "sum": no_product}
            expression, semicolon, more = decided.partition("; ")
            why = f"; {reasons.get(way, f'{expression} decides{semicolon}{more}')}" if decided else ""
            session.say(f"{kernel.name}.{name}: {way} ({WORDS[way]}{why})", level=1)
        for entry in one.slang.entries:
            if entry.kernel == kernel.name and entry.work is ThreadWork.STRIDED:
                session.say(f"{entry.name}: {_work_of_groups(entry, kernel.block)}", level=1)
    ways = {way for kernel in one.slang.kernels for way in kernel.accumulation.values()}
    for title, asked, words_of in (
        ("shared, together and scatter", SCATTERED, means),
        ("products of matrix", ("matrix",), partial(products, in_half=False)),
        ("products of half_matrix", ("half_matrix",), partial(products, in_half=True)),
    ):
        targets_by_words: dict[str, list[str]] = {}
        for target in one.targets if ways.intersection(asked) else ():
            targets_by_words.setdefault(words_of(macros_for(target, one.slang.defined)), []).append(target)
        for words, targets in targets_by_words.items():
            session.say(f"{title} on {', '.join(targets)}: {words}", level=1)


def _work_of_groups(entry: EntryPoint, block: tuple[int, ...]) -> str:
    """Return what the groups of an entry point do, of how many threads, and how they walk the domain."""
    work = {
        "multiplies matrices": entry.products > 0,
        "computes together": bool(block),
        "adds up": entry.adds_up,
    }
    kind, extents = ("tiles", entry.tile) if entry.tile else ("blocks", block)
    walk = (
        f"that walk the domain in {kind} of {' x '.join(map(str, extents))}" if len(extents) > 1 else "along one axis"
    )
    walk += f", {entry.elements} elements a thread" if entry.elements > 1 else ""
    done = " and ".join(words for words, is_done in work.items() if is_done)
    return f"{done} in groups of {entry.group_size[0]} threads {walk}"


def _print_loops(session: Session, one: CompiledInput) -> None:
    """Print, with -v, how reverse mode gets the states of each loop, what each thread keeps, and why.

    One loop may have several ways: kernels call copies of functions for their memory.
    """
    at = Counter((choice.span.file, choice.span.line, choice.span.column) for choice, _ in one.slang.loops)
    for choice, kernels in one.slang.loops:
        none = "keeps what Slang needs of every iteration" if choice.way == "keep" else "keeps nothing"
        kept = f"keeps {choice.kept} bytes" if choice.kept else none
        place = f"{choice.span.file}:{choice.span.line}"
        several = at[choice.span.file, choice.span.line, choice.span.column] > 1
        where = f" in {', '.join(kernels)}" if kernels and several else ""
        where = " in no kernel" if one.slang.kernels and not kernels else where
        session.say(f"{place}: loop of {choice.function}{where}: {choice.way}, {kept} ({choice.reason})", level=1)


def _summary(
    compiled: Sequence[CompiledInput], current: Sequence[CurrentInput], output: str, *, with_artefacts: bool
) -> str:
    """Return one line: the numbers of kernels and artefacts, the output folder, and what was not compiled again."""
    kernels = sum(len(one.slang.kernels) for one in compiled) + sum(len(one.kernels) for one in current)
    artefacts = sum(output.kind == "artefact" for one in compiled for output in one.outputs)
    total = len(compiled) + len(current)
    cached = sum(one.cached for one in compiled)
    notes = ((len(current), "up to date"), (cached, "from the cache"))
    note = "".join(f", {number} of {total} {words}" for number, words in notes if number)
    artefacts += sum(one.artefacts for one in current)
    made = f", {_count(artefacts, 'artefact')}" if with_artefacts else ""
    return f"{_count(kernels, 'kernel')}{made} in {output}{note}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
