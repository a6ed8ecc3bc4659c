"""Make the plan of each subject from options, declarations, and modes that did not build."""

from __future__ import annotations

import re
import shlex
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.legs.lost_gradients import without_gradient
from slangad.compiler.check.model.names import broken_of
from slangad.compiler.check.model.plan import SubjectPlan
from slangad.compiler.check.sampling.samples import constants_in, covers
from slangad.compiler.check.subjects.slang_integers import ended_by, integers_in, numbers_named
from slangad.compiler.check.subjects.slang_numbers import named_numbers, spelled_code
from slangad.compiler.check.twins.one_lane import lane_note
from slangad.compiler.emit.model import Mode
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir import types
from slangad.compiler.ir.walk import body_exprs, statements
from slangad.compiler.report.figures import listed
from slangad.compiler.report.model import Generated, Note, NoteKind
from slangad.compiler.runtime.pipeline.narrowing import narrowed_message
from slangad.compiler.slang_text.calls import codes_of
from slangad.compiler.slang_text.endings import is_slang
from slangad.compiler.slang_text.files import text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from slangad.compiler.check.build.libraries import Built
    from slangad.compiler.check.model.integers import Integers
    from slangad.compiler.check.model.subject import Subject
    from slangad.compiler.check.options import CheckOptions
    from slangad.compiler.check.twins.declared import TwinModule
    from slangad.compiler.emit.model import EmittedModule
    from slangad.compiler.errors.spans import Span
    from slangad.compiler.slang_text.calls import FunctionCode

ASKED_MODES: Final = {"forward": Mode.JVP, "backward": Mode.BACKWARD}
"""Modes of ``--mode``."""


def make_plan(
    subject: Subject, path: Path, program: tuple[TwinModule, EmittedModule], f64: Built, options: CheckOptions
) -> SubjectPlan:
    """Return the plan of one subject.

    Args:
        subject: The subject.
        path: Its file.
        program: The module with twins, and its Slang.
        f64: The float64 build.
        options: The user's options.
    """
    twins, emitted = program
    samples, seed = _sampling(subject, twins.module, options)
    function = next((f for f in twins.module.functions if f.key == subject.function), None)
    codes = _codes(function, subject, twins.module)
    ranges = (*subject.ranges, *_requested_ranges(subject, options))
    refusals = {r.mode: r.reason for r in f64.refusals if r.kernel == subject.kernel}
    missing = [(Mode(mode), reason) for mode, reason in subject.missing]
    missing += [(Mode(mode), reason) for mode, reason in refusals.items() if mode and mode != "forward"]
    linear = not twins.clipped & _kernels(subject)
    asked = options.mode or subject.directives.mode
    if asked and linear:  # a clip is checked in both modes together
        known = {mode for mode, _ in missing}
        reason = f"--mode {asked}" if options.mode else f"declared `mode {asked}`"
        others = (mode for mode in (Mode.BACKWARD, Mode.JVP) if mode is not ASKED_MODES[asked])
        missing += [(mode, reason) for mode in others if mode not in known]
    return SubjectPlan(
        subject,
        _file_of(subject, path),
        _generated(subject, emitted),
        samples,
        seed,
        ranges,
        _constants(function, subject, path, codes, twins.module)[: tol.CONSTANTS_MOST],
        tuple(missing),
        (
            *((Note(NoteKind.MISSING, subject.brought),) if subject.brought else ()),
            *_notes(function, subject, twins),
            *_untried(function, subject, path, ranges),
            *_narrowed(subject, emitted, options.device),
            *_lanes(codes, waving=bool(twins.of(subject.kernel)[-1])),
        ),
        command=_command(subject, path, options, (samples, seed)),
        linear=linear,
        clip=subject.policy if isinstance(subject.policy, ir.ClipGradient) else None,
        shapes=tuple(_shapes(subject, twins, options)),
        integers=_integers(function, subject, path, codes, twins.module),
        device=options.device,
        tolerance=subject.directives.tolerance,
        limit=_limit(subject),
        unclear=_is_unclear(subject, twins, f64),
        run_limit=options.run_limit,
        without_gradient=_without_gradient(subject, twins),
        numbered=_is_numbered(function),
    )


def kernels_without_reverse(subjects: Iterable[Subject], twins: TwinModule, options: CheckOptions) -> frozenset[str]:
    """Return the kernels of subjects whose derivative by reverse mode is not compared."""
    return frozenset(
        kernel
        for subject in subjects
        if "forward" in (options.mode, subject.directives.mode)
        or Mode.BACKWARD.value in dict(subject.missing)
        or twins.clipped & _kernels(subject)
        for kernel in (*_kernels(subject), subject.launch)
    )


def _kernels(subject: Subject) -> set[str]:
    """Return the kernels that are checked for a subject."""
    return {subject.kernel, *(subject.pipeline.kernels if subject.pipeline else ())}


def _limit(subject: Subject) -> float | None:
    """Return the declared clip of a Slang function."""
    derivative = subject.directives.derivative
    return derivative.limit if isinstance(derivative, ir.ClipGradient) else None


def _is_unclear(subject: Subject, twins: TwinModule, f64: Built) -> bool:
    """Return True if a Slang function reaches a declared part that no twin freezes."""
    twin = twins.frozen.get(subject.kernel, "") if subject.facts else ""
    built = any(entry.kernel == twin for library in f64.libraries for entry in library.entries)
    return subject.kernel in twins.unclear or bool(twin and not built)


def _without_gradient(subject: Subject, twins: TwinModule) -> tuple[tuple[str, str], ...]:
    """Return the parameters of a function, checked thread by thread, that have no gradient because of their struct."""
    if twins.of(subject.kernel)[2]:
        return ()
    params = next((kernel.params for kernel in twins.module.kernels if kernel.name == subject.kernel), ())
    return without_gradient(params, subject.facts)


def _sampling(subject: Subject, module: ir.Module, options: CheckOptions) -> tuple[int, int]:
    """Return the number of samples and the seed: of the command line, else of the subject, its file, the project."""
    key = subject.name if subject.pipeline else subject.function
    declared = [one for of in ("", key) for one in module.sampling if one.of == of]
    samples = (
        options.samples if options.samples_from_user else _last([one.samples for one in declared], options.samples)
    )
    seed = options.seed if options.seed_from_user else _last([one.seed for one in declared], options.seed)
    return samples, seed


def _last(declared: Iterable[int | None], otherwise: int) -> int:
    known = [number for number in declared if number is not None]
    return known[-1] if known else otherwise


def _command(subject: Subject, path: Path, options: CheckOptions, drawn: tuple[int, int]) -> str:
    """Return the command that checks this subject alone, with the same samples."""
    samples, seed = drawn
    if not path.is_file():  # a cell of a notebook, or a program on standard input
        return f"{subject.name}.check(samples={samples}, seed={seed})"
    command = re.sub(r"(?<= --seed )\d+", str(seed), options.command)
    if samples != options.samples:
        command = re.sub(r" --samples \d+", "", command) + f" --samples {samples}"
    return f"{command} {shlex.quote(str(path))} --only {shlex.quote(subject.label)}"


def _is_numbered(function: ir.Function | None) -> bool:
    """Return False if no thread asks for its number, or for how many there are."""
    if function is None or not isinstance(function.body, tuple):
        return True
    return any(isinstance(e, (ir.ThreadId, ir.ThreadCount)) for e in body_exprs(function.body))


def _codes(function: ir.Function | None, subject: Subject, module: ir.Module) -> tuple[FunctionCode, ...]:
    """Return the code that the gradient of a Slang function uses; empty for a described function."""
    is_external = function is not None and isinstance(function.body, ir.External)
    return codes_of(subject.span, module.sources) if is_external else ()


def _integers(
    function: ir.Function | None, subject: Subject, path: Path, codes: Sequence[FunctionCode], module: ir.Module
) -> Integers:
    """Return the integers worth a try; those of a Slang function are read from its text."""
    if function is None or not isinstance(function.body, ir.External):
        return subject.integers
    return integers_in(_text(subject, path), _integer_inputs(function), codes, numbers_named(_slang_texts(module)))


def _slang_texts(module: ir.Module) -> Iterator[str]:
    return (text_of(source) for source in module.sources if is_slang(source))


def _untried(
    function: ir.Function | None, subject: Subject, path: Path, ranges: tuple[ir.Range, ...]
) -> Iterator[Note]:
    """Yield notes on integers of a Slang function that end loops and may be larger in use than in samples."""
    if function is None or not isinstance(function.body, ir.External):
        return
    for name, last, bound in ended_by(_text(subject, path), _integer_inputs(function)):
        if last >= tol.UNDECLARED_INTEGERS[1] and not any(covers(declared.path, name) for declared in ranges):
            loop = f"'{name}' ends a loop of [MaxIters({bound})] and has no declared range"
            text = f"{loop}: larger values were not tried"
            yield Note(NoteKind.SAMPLES, text)


def _narrowed(subject: Subject, emitted: EmittedModule, device: str) -> Iterator[Note]:
    """Yield a note if gradients of doubles have only the digits of float on the device."""
    kernels = (subject.kernel, subject.launch, *(subject.pipeline.kernels if subject.pipeline else ()))
    narrowed = narrowed_message((entry for entry in emitted.entry_points if entry.kernel in kernels), device)
    if narrowed and device != "cpu":
        yield Note(NoteKind.MISSING, f"digits of double; {narrowed}")


def _lanes(codes: Sequence[FunctionCode], *, waving: bool) -> Iterator[Note]:
    """Yield a note on operations of several threads."""
    if text := lane_note({token.text for code in codes for token in code.tokens}, waving=waving):
        yield Note(NoteKind.MISSING, text)


def _integer_inputs(function: ir.Function) -> tuple[str, ...]:
    """Return the paths of the integers that a function takes."""
    return tuple(path for p in function.params for path in _integer_paths(p.type, p.name))


def _integer_paths(type_: types.Type, name: str) -> Iterator[str]:
    """Yield the integers of a value: itself, or fields of a struct."""
    if type_ in (types.INT, types.UINT):
        yield name
    elif isinstance(type_, types.Struct):
        for field in type_.fields:
            yield from _integer_paths(field.type, f"{name}.{field.name}")


_SHOWN: Final = 8
"""Instances of a generic function that a note names."""


def _notes(function: ir.Function | None, subject: Subject, twins: TwinModule) -> Iterator[Note]:
    """Yield notes on declarations that limit what the check can show."""
    if subject.directives.tolerance:
        yield Note(NoteKind.INTENT, f"derivatives may differ by a relative {subject.directives.tolerance:g}")
    if subject.unclipped:
        yield Note(NoteKind.INTENT, "checked without the clips of its callees, which are checked separately")
    if subject.untried:
        yield Note(NoteKind.MISSING, f"not tried: {listed(subject.untried, _SHOWN)}")
    if function is None:
        return
    for line in dict.fromkeys(e.span.line for e in body_exprs(statements(function)) if _truncates(e)):
        where = f" in line {line}" if line else ""
        yield Note(NoteKind.STOP, f"the conversion to int{where} ends the gradient")
    if isinstance(subject.policy, ir.Custom) and subject.policy.forward is None:
        reason = "forward mode is not tested: it is derived from the custom backward function"
        yield Note(NoteKind.MISSING, reason)
    if subject.kernel in twins.clipped:
        yield Note(NoteKind.INTENT, "a clip limits gradients in reverse mode: the reference checks forward mode only")
    elif (limit := _limit(subject)) is not None:
        yield Note(NoteKind.INTENT, f"reverse mode is compared with the reference clipped to ±{limit:g}")
    elif subject.kernel in twins.frozen:
        yield Note(NoteKind.INTENT, _declared(twins.declaring.get(subject.kernel, ())))


def _declared(spans: Sequence[Span]) -> str:
    """Return the sentence on declared parts; where only a library has some, as ``sa.nn``, it names their locations."""
    from slangad.compiler.frontends.python.load import is_library

    if not spans or not all(span.file and is_library(span.file) for span in spans):
        return "compared with the declared derivative, not with the derivative of the function"
    where = dict.fromkeys(f"{PurePath(span.file).name}:{span.line}" for span in spans)
    shown = listed(tuple(where), _SHOWN)
    return f"a library that it uses declares parts without gradient ({shown}): the reference keeps them constant"


def _truncates(expr: ir.Expr) -> bool:
    """Return True if a float that may carry a gradient becomes an integer."""
    if isinstance(expr, ir.Cast):
        return (
            types.is_floating(expr.operand.type)
            and types.is_integral(expr.type)
            and not isinstance(expr.operand, ir.Const)
        )
    return isinstance(expr, ir.Intrinsic) and expr.name.endswith("_to_int")


def _generated(subject: Subject, emitted: EmittedModule) -> Generated | None:
    """Return the location where the Slang of a subject starts."""
    lines = [m.line for m in emitted.mapped if m.span == subject.span]
    if not lines or not subject.kernel:
        return None
    numbered = list(enumerate(emitted.text.splitlines(), 1))[min(lines) - 1 :]
    line, text = next((k, text.strip()) for k, text in numbered if not text.strip().startswith(("[", "//")))
    return Generated(emitted.file_name, line, text)


def _shapes(subject: Subject, twins: TwinModule, options: CheckOptions) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield declared and requested shapes; those that are requested come last, since they override the others."""
    if subject.pipeline is None:
        yield from next((kernel.shapes for kernel in twins.module.kernels if kernel.name == subject.kernel), ())
    else:
        yield from subject.pipeline.shapes
    for path, shape in options.shapes:
        name, _, parameter = path.rpartition(".")
        if name == broken_of(subject.name):
            yield parameter, shape


def _requested_ranges(subject: Subject, options: CheckOptions) -> Iterator[ir.Range]:
    """Yield the ranges of a subject on the command line."""
    owners = sorted((f"{name}." for name in subject.names), key=len)
    for path, low, high in options.ranges:
        for owner in owners:
            if path.startswith(owner):
                yield ir.Range(path[len(owner) :], low, high)


def _constants(
    function: ir.Function | None, subject: Subject, path: Path, codes: Sequence[FunctionCode], module: ir.Module
) -> tuple[float, ...]:
    """Return the numbers of a function, then those of its derivatives and callees.

    Where the callees are unknown, as in a description, the numbers of the text behind it take their place.
    """
    body = () if function is None else body_exprs(statements(function))
    values = [float(e.value) for e in body if isinstance(e, ir.Const) and not isinstance(e.value, bool)]
    named = named_numbers(_slang_texts(module)) if codes else {}
    texts = tuple(spelled_code(codes, named)) or (_text(subject, path),)
    return tuple(dict.fromkeys((*values, *(number for text in texts for number in constants_in(text)))))


def _file_of(subject: Subject, path: Path) -> str:
    """Return the file of a subject: an included file, a part of the module, or the input itself."""
    return subject.span.file or str(path)


def _text(subject: Subject, path: Path) -> str:
    """Return the lines of a file from a subject on."""
    start = max(0, subject.span.line - 1)
    lines = text_of(_file_of(subject, path)).splitlines()[start : start + tol.TEXT_LINES]
    return "\n".join(line for line in lines if "range:" not in line)
