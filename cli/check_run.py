"""Run one check for ``slangad check``, and publish its report."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from slangad.cli.console import MOST_NAMES
from slangad.cli.reporting import LiveRows, publish_all, write_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from slangad.cli.check import CheckArguments
    from slangad.cli.console import Session
    from slangad.compiler.check.options import CheckOptions
    from slangad.compiler.driver.inputs import Input
    from slangad.compiler.report.model import BaselineEntry, Report


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """One check: the values of the command line's parameters, and the options that follow from them.

    Attributes:
        quiet: Print no rows while the check runs.
    """

    arguments: CheckArguments
    options: CheckOptions
    quiet: bool = False


def refuse_contradictions(arguments: CheckArguments) -> None:
    """Refuse options that exclude each other."""
    if arguments["mutate"] and (arguments["reports"] or arguments["output_format"] not in ("text", "json")):
        raise click.UsageError("--mutate reports as text or JSON only.")
    if arguments["mutate"] and (arguments["baseline"] or arguments["write_baseline"]):
        raise click.UsageError("--mutate has no baseline.")
    if arguments["mutate"] and arguments["shard"]:
        raise click.UsageError("--mutate has no shards.")
    if arguments["mutate"] and arguments["keep"]:
        raise click.UsageError("--mutate keeps no generated files.")
    if not arguments["inputs"]:
        raise click.UsageError("Nothing to check: name a file, or list inputs under [tool.slangad] in pyproject.toml.")


def check_once(session: Session, request: CheckRequest, reads: Callable[[Iterable[str]], None] | None = None) -> None:
    """Check all inputs and publish the report.

    Args:
        session: The session.
        request: The files and functions to check.
        reads: Called with the files that results depend on.

    Raises:
        CheckFailed: The check fails.
    """
    from slangad.compiler.errors.diagnostics import CheckFailed
    from slangad.compiler.report import baseline

    arguments = request.arguments
    known = _known(arguments["baseline"])
    _refuse_folder(arguments["keep"])
    inputs = files_of(arguments)
    _say_without_second_order(session, arguments, inputs)
    report, rows = checked(session, request, inputs, reads)
    if arguments["mutate"]:
        _report_mutants(session, report, arguments)
        return
    if arguments["baseline"] is not None:
        selected = bool(arguments["only"]) or any(item.kernels for item in inputs)
        report = baseline.with_baseline(report, known, arguments["baseline"], selected=selected)
    publish_all(session, report, arguments["output_format"], arguments["output"], arguments["reports"], rows)
    if arguments["write_baseline"] is not None:
        write_text(session, baseline.text_of(report, arguments["write_baseline"]), arguments["write_baseline"])
        session.say(f"{summary_of(report)}; written to {arguments['write_baseline']}")
        return
    if not report.ok:
        is_shown = arguments["output"] is None and arguments["output_format"] == "text"
        raise CheckFailed("" if is_shown and sys.stdout.isatty() and sys.stderr.isatty() else summary_of(report))
    if arguments["output"] is not None or arguments["output_format"] != "text":
        session.say(summary_of(report))


def checked(
    session: Session,
    request: CheckRequest,
    inputs: tuple[Input, ...],
    reads: Callable[[Iterable[str]], None] | None,
) -> tuple[Report, LiveRows | None]:
    """Return the report, and the rows that are printed already."""
    from slangad.compiler.check.check_mutants import check_mutants
    from slangad.compiler.check.model.observer import CheckObserver
    from slangad.compiler.check.planning.selection import NoSuchNameError
    from slangad.compiler.check.session import check
    from slangad.compiler.check.subjects.requested_shapes import RequestedShapeError

    rows: LiveRows | None = None
    examine = check_mutants if request.arguments["mutate"] else check
    with session.progress("checking") as progress:
        observer = CheckObserver()
        if progress is not None:
            observer = replace(observer, progress=progress)
        if reads is not None:
            observer = replace(observer, reads=reads)
        if not request.quiet and _prints_rows(request.arguments):
            rows = LiveRows(session, progress)
            observer = replace(observer, planned=rows.plan, decided=rows.show)
        try:
            return examine(inputs, request.options, observer), rows
        except (NoSuchNameError, RequestedShapeError) as error:
            raise click.UsageError(str(error)) from None


def _say_without_second_order(session: Session, arguments: CheckArguments, inputs: Sequence[Input]) -> None:
    """Name the files for which ``--order 2`` has no effect."""
    from slangad.compiler.report.figures import listed
    from slangad.compiler.slang_text.endings import is_slang

    if arguments["order"] > 1:
        names = [str(item.path) for item in inputs if is_slang(item.path)]
        if names:
            shown = listed(names, MOST_NAMES)
            session.say(f"--order 2 has no effect on Slang files ({shown}): Slang crashes on most second derivatives")


def _known(file: Path | None) -> frozenset[BaselineEntry]:
    """Return the entries of the baseline; refuse a file that is none."""
    from slangad.compiler.report.baseline import read_baseline

    try:
        return frozenset() if file is None else read_baseline(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise click.UsageError(f"{str(file)!r} is not a baseline: {error}. Write one with --write-baseline.") from None


def _refuse_folder(folder: Path | None) -> None:
    """Refuse a folder that cannot be written to."""
    try:
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise click.UsageError(
            f"--keep {str(folder)!r}: {error.strerror}. Name a folder that can be written."
        ) from None


def _prints_rows(arguments: CheckArguments) -> bool:
    """Return True if rows can be printed as they are decided: as text, on stdout, and final."""
    on_stdout = arguments["output"] is None and arguments["output_format"] == "text"
    return on_stdout and not arguments["mutate"] and arguments["baseline"] is None


def files_of(arguments: CheckArguments) -> tuple[Input, ...]:
    """Return the inputs of the command line; refuse those that are no files."""
    from slangad.compiler.driver.inputs import parse_inputs

    inputs = parse_inputs(arguments["inputs"])
    for item in inputs:
        if item.path.is_dir():
            raise click.UsageError(f"No file in the folder {str(item.path)!r} describes a differentiable function.")
        if not item.path.is_file():
            raise click.UsageError(f"There is no file {str(item.path)!r}.")
    return inputs


def _report_mutants(session: Session, report: Report, arguments: CheckArguments) -> None:
    """Report the surviving mutants; ``--strict`` allows none.

    Raises:
        CheckFailed: A mutant survived under ``--strict``.
    """
    from slangad.compiler.check.mutation.surviving import line_of, mutants_of, mutation_lines, place_in, survivors
    from slangad.compiler.errors.diagnostics import CheckFailed
    from slangad.compiler.report import json
    from slangad.compiler.report.model import Verdict

    alive = survivors(report)
    if arguments["output_format"] == "json":
        mutants = [
            {
                "file": one.file,
                "mutant": one.function,
                "killed": one.verdict.bad,
                "verdict": one.verdict.value,
                "line": place_in(one)[0],
                "text": line_of(one),
                "why": "" if one.verdict.bad else one.reason,
            }
            for one in mutants_of(report)
        ]
        not_mutated = [
            {"file": one.file, "name": one.function, "reason": one.reason}
            for one in report.results
            if one.verdict is Verdict.SKIPPED
        ]
        killed = len(mutants) - len(alive)
        content = {"seed": report.seed, "killed": killed, "mutants": mutants, "not_mutated": not_mutated}
        text = json.document(content)
    else:
        text = "".join(f"{line}\n" for line in mutation_lines(report))
    write_text(session, text, arguments["output"])
    if arguments["output"] is not None:
        count = len(mutants_of(report))
        session.say(f"slangad check: {count - len(alive)} of {count} mutants killed")
    if alive and arguments["strict"]:
        raise CheckFailed(f"slangad check: {len(alive)} mutants survived")


def summary_of(report: Report) -> str:
    """Return the last line of a check."""
    from slangad.compiler.report.check_text import summary

    return f"slangad check: {summary(report)}"
