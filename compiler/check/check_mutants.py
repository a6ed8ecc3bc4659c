"""``slangad check --mutate``: inputs go in, a report with one result for each broken derivative comes out.

Mutants of descriptions are made in the module, those of Slang files in a copy of their text; both are checked like
anything else. What can't be broken, or does not compile then, is ``SKIPPED`` with the reason.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from slangad.compiler.check.mutation.mutate_slang import MutatedText, broken_text, mutant_name
from slangad.compiler.check.mutation.surviving import why
from slangad.compiler.check.session import UnknownNameError, check, paths_in
from slangad.compiler.driver.inputs import Input
from slangad.compiler.frontends.reading.encoding import decode, read_bytes
from slangad.compiler.report.model import Result, Verdict
from slangad.compiler.toolchain.temporary import TemporaryFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from slangad.compiler.check.options import CheckOptions
    from slangad.compiler.report.model import Report

_TRIES: Final = 8
_NUMBERED: Final = re.compile(r"(?P<name>.*)_mutant_(?P<number>\d+)(?P<rest>\W.*)?", re.DOTALL)
_PLACE: Final = re.compile(r":(\d+):\d+: error")


def check_mutants(
    inputs: Sequence[Input], options: CheckOptions, progress: Callable[[int, int], None] | None = None
) -> Report:
    """Check mutants of every input.

    Raises:
        CompileError: A file can't be read.
        ToolchainError: There is no Slang or no C++ compiler.
        UnknownNameError: A name that was asked for is nowhere.
    """
    options = replace(options, said_specializations=())  # of files that are not all read at once
    described = [item for item in inputs if item.path.suffix != ".slang"]
    known = frozenset(name for item in inputs if item.path.suffix == ".slang" for name in _known(item))
    options = _with_paths([item for item in inputs if item.path.suffix == ".slang"], replace(options, known=known))
    report = check(described, options, progress)
    results, seconds = list(report.results), report.seconds
    passed = tuple(result.function for result in results if result.verdict.good)
    if passed:
        more = check(described, replace(options, probed=passed, said_ranges=()))
        results, seconds = _explained(results, more.results), seconds + more.seconds
    for item in inputs:
        if item.path.suffix == ".slang":
            made, took = _of_slang(item, options)
            results += made
            seconds += took
    return replace(report, results=tuple(results), seconds=seconds)


def _with_paths(files: Sequence[Input], options: CheckOptions) -> CheckOptions:
    """With the inputs that ranges may be said for in Slang files, if any are said."""
    if not options.said_ranges or not files:
        return options
    paths = paths_in(files, replace(options, mutate=False))
    return replace(options, said_ranges=()) if paths is None else replace(options, known_paths=paths)


def _explained(results: list[Result], probes: Sequence[Result]) -> list[Result]:
    """With the reason why mutants pass, as far as probes tell."""
    noticed = {(one.file, one.function): one.verdict.bad for one in probes if one.verdict.bad or one.verdict.good}
    told = []
    for result in results:
        own = {name: seen for (file, name), seen in noticed.items() if file == result.file}
        told.append(replace(result, reason=why(result.function, own)) if result.verdict.good else result)
    return told


def _known(item: Input) -> set[str]:
    """The names that the mutants of a Slang file may be asked for by.

    Raises:
        UnknownNameError: The input names something else.
    """
    broken = broken_text(decode(read_bytes(item.path), "utf-8", item.path).replace("\r\n", "\n"), str(item.path))
    owners = (*broken.owners.values(), *(owner for owner, _ in broken.left_alone))
    names = {name for owner in owners for name in (owner.name, owner.label)}
    for name in item.kernels:
        if name not in names and name.rpartition(".")[2] not in names:
            raise UnknownNameError(name, names)
    return names


def _of_slang(item: Input, options: CheckOptions) -> tuple[list[Result], float]:
    source = decode(read_bytes(item.path), "utf-8", item.path).replace("\r\n", "\n")
    made, without, seconds = _tried(item, source, options)
    passed = [result.function for result in made if result.verdict.good]
    if passed:
        probes, _, took = _tried(item, source, options, passed)
        made, seconds = _explained(made, probes), seconds + took
    return [*made, *_untold(item, source, broken_text(source, str(item.path), without), without, options)], seconds


def _tried(
    item: Input, source: str, options: CheckOptions, probed: Collection[str] = ()
) -> tuple[list[Result], set[int], float]:
    """What became of what is Slang, what is none, and how long it took; of mutants or of probes of some."""
    without: set[int] = set()
    seconds = 0.0
    with TemporaryFolder() as folder:
        copy = folder / item.path.name
        for _ in range(_TRIES):
            broken = broken_text(source, str(item.path), without, probed)
            if not broken.labels:
                return [], without, seconds
            copy.write_text(broken.text, encoding="utf-8")
            report = check([Input(copy)], _options(item, broken, options))
            seconds += report.seconds
            faulty = {number for result in report.results if not result.function for number in _faulty(result, broken)}
            if not faulty:
                return list(_results(item, broken, report, options)), without, seconds
            without |= faulty
    return [], set(broken_text(source, str(item.path), (), probed).labels), seconds


def _options(item: Input, broken: MutatedText, options: CheckOptions) -> CheckOptions:
    """As asked for, with ranges of functions also for their mutants."""
    more = [
        (f"{mutant_name(owner.name, number)}{path.removeprefix(name)}", low, high)
        for path, low, high in options.ranges
        for number, owner in broken.owners.items()
        for name in {owner.name, owner.label}
        if path.startswith(f"{name}.")
    ]
    include = (*options.include_dirs, str(item.path.absolute().parent))
    return replace(
        options,
        mutate=False,
        mend=False,
        only=(),
        said_ranges=(),
        ranges=(*options.ranges, *more),
        include_dirs=include,
    )


def _faulty(result: Result, broken: MutatedText) -> set[int]:
    """The mutants that the compiler complains about."""
    told = "\n".join(note for failure in result.failures for note in failure.notes)
    places = {int(place) for place in _PLACE.findall(told)} | {result.span.line}
    return {
        number
        for number, stretches in broken.lines.items()
        if any(first <= place <= last for first, last in stretches for place in places)
    }


def _results(item: Input, broken: MutatedText, report: Report, options: CheckOptions) -> Iterator[Result]:
    """What became of the mutants, under the names of what they are of."""
    file = str(item.path)
    for result in report.results:
        found = _NUMBERED.fullmatch(result.function)
        if not result.function:
            yield replace(result, file=file, verdict=Verdict.SKIPPED, function="")
        if found is None or int(found["number"]) not in broken.labels:
            continue
        number = int(found["number"])
        owner = broken.owners[number]
        label = f"{found['name']}{owner.apart}"
        if not _wanted((owner.name, owner.label, found["name"], label), item, options):
            continue
        name = f"{label}: {broken.labels[number]}"
        uncompiled = not result.verdict.good and "does not compile" in result.reason
        if uncompiled or result.verdict is Verdict.SKIPPED:
            reason = "it does not compile then" if uncompiled else result.reason
            result = replace(result, verdict=Verdict.SKIPPED, reason=reason)  # noqa: PLW2901  (as it is told)
        yield replace(result, file=file, function=name)


def _wanted(names: tuple[str, ...], item: Input, options: CheckOptions) -> bool:
    words = (*item.kernels, *options.only)
    return not words or any(name in words for name in names)


def _untold(
    item: Input, source: str, broken: MutatedText, without: set[int], options: CheckOptions
) -> Iterator[Result]:
    """What was not tried: functions that can't be broken, and ways that make no Slang."""
    every = broken_text(source, str(item.path))
    for owner, reason in broken.left_alone:
        yield Result(str(item.path), f"{owner.label}: not mutated", "function", Verdict.SKIPPED, reason=reason)
    for number in sorted(without):
        owner = every.owners[number]
        if not _wanted((owner.name, owner.label), item, options):
            continue
        name = f"{owner.label}: {every.labels[number]}"
        yield Result(str(item.path), name, "function", Verdict.SKIPPED, reason="it does not compile then")
