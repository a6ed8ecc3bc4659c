"""``slangad check --mutate``: break custom derivatives and check the mutants, one result for each.

Mutants of descriptions are made in the module, mutants of Slang files in a copy of their text. A derivative that can't
be broken, or a mutant that does not compile, is skipped with the reason.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.model.outcomes import CheckOutcome, Reason
from slangad.compiler.check.mutation.mutate_slang import MutatedText, Owner, broken_text, mutant_name
from slangad.compiler.check.mutation.surviving import corrects, why
from slangad.compiler.check.planning.selection import NoSuchNameError
from slangad.compiler.check.session import check, paths_in
from slangad.compiler.check.verdict.decide import redecided, verdict_of
from slangad.compiler.driver.inputs import Input
from slangad.compiler.frontends.reading.encoding import decode, read_bytes
from slangad.compiler.report.model import Result
from slangad.compiler.slang_text.endings import is_slang
from slangad.compiler.slang_text.search import folders_of
from slangad.compiler.toolchain.temporary import TemporaryFolder

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from slangad.compiler.check.model.observer import CheckObserver
    from slangad.compiler.check.options import CheckOptions
    from slangad.compiler.report.model import Report

_UNCOMPILED: Final = Reason(CheckOutcome.NOT_MUTATED, "it does not compile then")
_CORRECTED: Final = Reason(CheckOutcome.NOT_MUTATED, "the derivative is wrong without this change: correct it first")
_NUMBERED: Final = re.compile(r"(?P<name>.*)_mutant_(?P<number>\d+)(?P<rest>\W.*)?", re.DOTALL)
_PLACE: Final = re.compile(r":(\d+):\d+: error")


def check_mutants(inputs: Sequence[Input], options: CheckOptions, observer: CheckObserver | None = None) -> Report:
    """Check mutants of every input.

    Raises:
        CompileError: A file can't be read.
        ToolchainError: There is no Slang or no C++ compiler.
        NoSuchNameError: A name that was asked for is nowhere.
    """
    options = replace(options, required_specializations=())  # of files that are not all read at once
    described = [item for item in inputs if not is_slang(item.path)]
    known = frozenset(name for item in inputs if is_slang(item.path) for name in _known(item))
    options = _with_paths([item for item in inputs if is_slang(item.path)], replace(options, known_names=known))
    report = check(described, options, observer)
    results, seconds = list(report.results), report.seconds
    passed = tuple(result.function for result in results if result.verdict.right)
    if passed:
        more = check(described, replace(options, probed=passed, required_ranges=()))
        results, seconds = _explained(results, more.results), seconds + more.seconds
    for item in inputs:
        if is_slang(item.path):
            mutants, took = _of_slang(item, options)
            results += mutants
            seconds += took
    return replace(report, results=tuple(results), seconds=seconds)


def _with_paths(files: Sequence[Input], options: CheckOptions) -> CheckOptions:
    """Return the options with the paths in Slang files that ranges may name, if there are ranges."""
    if not options.required_ranges or not files:
        return options
    paths = paths_in(files, replace(options, mutate=False))
    return replace(options, required_ranges=()) if paths is None else replace(options, known_paths=paths)


def _explained(results: list[Result], probes: Sequence[Result]) -> list[Result]:
    """Return the results with the reason why mutants pass, as far as probes show it.

    Mutants that correct a wrong derivative count as not made.
    """
    noticed = {(one.file, one.function): one.verdict.bad for one in probes if one.verdict.bad or one.verdict.right}
    explained = []
    for result in results:
        of_file = {name: seen for (file, name), seen in noticed.items() if file == result.file}
        if result.verdict.right and corrects(result.function, of_file):
            explained.append(redecided(result, _CORRECTED))
        else:
            explained.append(replace(result, reason=why(result.function, of_file)) if result.verdict.right else result)
    return explained


def _known(item: Input) -> set[str]:
    """Return the names by which the user may ask for mutants of a Slang file.

    Raises:
        NoSuchNameError: The input names something else.
    """
    broken = broken_text(decode(read_bytes(item.path), "utf-8", item.path).replace("\r\n", "\n"), str(item.path))
    owners = (*broken.owners.values(), *(owner for owner, _ in broken.left_alone))
    names = {name for owner in owners for name in (owner.name, owner.label)}
    for name in item.kernels:
        if name not in names and name.rpartition(".")[2] not in names:
            raise NoSuchNameError(name, names)
    return names


def _of_slang(item: Input, options: CheckOptions) -> tuple[list[Result], float]:
    """Return the results of all mutants of a Slang file, and the seconds it took."""
    source = decode(read_bytes(item.path), "utf-8", item.path).replace("\r\n", "\n")
    mutants, without, seconds = _tried(item, source, options)
    passed = [result.function for result in mutants if result.verdict.right]
    if passed:
        probes, _, took = _tried(item, source, options, passed)
        mutants, seconds = _explained(mutants, probes), seconds + took
    return [
        *mutants,
        *_not_tried(item, source, broken_text(source, str(item.path), without), without, options),
    ], seconds


def _tried(
    item: Input, source: str, options: CheckOptions, probed: Collection[str] = ()
) -> tuple[list[Result], set[int], float]:
    """Return the results of mutants, or of probes of some; the mutants that do not compile; and the seconds it took."""
    every = broken_text(source, str(item.path), (), probed)
    without = {number for number, owner in every.owners.items() if not _may_be_wanted(owner, item, options)}
    seconds = 0.0
    with TemporaryFolder() as folder:
        copy = folder / item.path.name
        for _ in range(tol.MUTANT_ROUNDS):
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
    return [], set(every.labels), seconds


def _options(item: Input, broken: MutatedText, options: CheckOptions) -> CheckOptions:
    """Return the options for a copy of a Slang file; ranges of functions hold for their mutants too."""
    more = [
        (f"{mutant_name(owner.name, number)}{path.removeprefix(name)}", low, high)
        for path, low, high in options.ranges
        for number, owner in broken.owners.items()
        for name in {owner.name, owner.label}
        if path.startswith(f"{name}.")
    ]
    folder, *others = folders_of(item.path, options.include_dirs)
    return replace(
        options,
        mutate=False,
        included=False,
        repair=False,
        only=(),
        required_ranges=(),
        ranges=(*options.ranges, *more),
        include_dirs=(*others, folder),
    )


def _faulty(result: Result, broken: MutatedText) -> set[int]:
    """Return the mutants that the compiler rejects."""
    messages = "\n".join(note for failure in result.failures for note in failure.notes)
    lines = {int(line) for line in _PLACE.findall(messages)} | {result.span.line}
    return {
        number
        for number, stretches in broken.lines.items()
        if any(first <= line <= last for first, last in stretches for line in lines)
    }


def _results(item: Input, broken: MutatedText, report: Report, options: CheckOptions) -> Iterator[Result]:
    """Yield the results of mutants, under the names of the functions that they are made of."""
    file = str(item.path)
    for result in report.results:
        mutant = _NUMBERED.fullmatch(result.function)
        if not result.function:
            yield replace(redecided(result, Reason(CheckOutcome.NOT_MUTATED, result.reason)), file=file, function="")
        if mutant is None or int(mutant["number"]) not in broken.labels:
            continue
        number = int(mutant["number"])
        owner = broken.owners[number]
        label = f"{mutant['name']}{owner.apart}"
        if not _wanted((owner.name, owner.label, mutant["name"], label), item, options):
            continue
        name = f"{label}: {broken.labels[number]}"
        if not result.verdict.good and "does not compile" in result.reason:
            result = redecided(result, _UNCOMPILED)  # noqa: PLW2901  (as it is shown)
        yield replace(result, file=file, function=name)


def _wanted(names: tuple[str, ...], item: Input, options: CheckOptions) -> bool:
    asked = (*item.kernels, *options.only)
    return not asked or any(name in asked for name in names)


def _may_be_wanted(owner: Owner, item: Input, options: CheckOptions) -> bool:
    """Return True unless the user asks for others; names that the user gives may begin with a struct."""
    asked = (*item.kernels, *options.only)
    return not asked or any(name.endswith((owner.name, owner.label)) for name in asked)


def _not_tried(
    item: Input, source: str, broken: MutatedText, without: set[int], options: CheckOptions
) -> Iterator[Result]:
    """Yield results of functions that can't be broken, and of mutants that do not compile."""
    every = broken_text(source, str(item.path))
    for owner, reason in broken.left_alone:
        yield _not_mutated(item, f"{owner.label}: not mutated", Reason(CheckOutcome.NOT_MUTATED, reason))
    for number in sorted(without):
        owner = every.owners[number]
        if not _wanted((owner.name, owner.label), item, options):
            continue
        name = f"{owner.label}: {every.labels[number]}"
        yield _not_mutated(item, name, _UNCOMPILED)


def _not_mutated(item: Input, name: str, reason: Reason) -> Result:
    return Result(str(item.path), name, "function", verdict_of(reason.outcome), reason=reason.words)
