"""Define the results of a gradient check as frozen data: ``check`` makes a ``Report``, and each format shows it.

Nothing here computes derivatives. Numbers are Python floats and may be NaN or infinite; a format that can't show those
spells them out. Everything a verdict rests on is in here, so that JSON can carry it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final, Literal

from slangad.compiler.errors.spans import NOWHERE, Span

if TYPE_CHECKING:
    from collections.abc import Iterable

SCHEMA: Final = 1
"""The version of the report. It grows when a field changes its meaning or is removed."""

_NONE_CHECKED: Final = "nothing was checked, though there are differentiable functions"
_ALL_SKIPPED: Final = "nothing was checked: every function was skipped"
Number = float | int | bool
Kind = Literal["function", "kernel", "pipeline", "declaration"]


class Verdict(str, Enum):
    """The verdict about one function, kernel or pipeline."""

    PASS = "PASS"  # noqa: S105  (not a password)
    FAIL = "FAIL"
    KINK_OK = "KINK_OK"
    KINK_BAD = "KINK_BAD"
    PRECISION = "PRECISION"
    NONDETERMINISTIC = "NONDETERMINISTIC"
    INCONCLUSIVE = "INCONCLUSIVE"
    SKIPPED = "SKIPPED"
    EXPECTED_FAIL = "EXPECTED_FAIL"
    UNGUARDED = "UNGUARDED"

    @property
    def good(self) -> bool:
        """Return True if everything that was looked at is right."""
        return self in (Verdict.PASS, Verdict.KINK_OK)

    @property
    def bad(self) -> bool:
        """Return True if something is wrong, strict or not."""
        return not (self.good or self in FAIL_ON.values() or self is Verdict.EXPECTED_FAIL)

    @property
    def unchecked(self) -> bool:
        """Return True if nothing is known."""
        return self in (Verdict.INCONCLUSIVE, Verdict.SKIPPED)

    @property
    def right(self) -> bool:
        """Return True if nothing is wrong and enough was compared to know."""
        return self.good or self is Verdict.UNGUARDED


FAIL_ON: Final = {one.value.lower(): one for one in (Verdict.UNGUARDED, Verdict.INCONCLUSIVE, Verdict.SKIPPED)}
"""Verdicts that make a check fail only if the user asks for it, by their names there."""


class Leg(str, Enum):
    """One comparison. The name says which two things are compared."""

    REVERSE = "reverse"
    """Reverse mode in float64 against differences."""
    FORWARD = "forward"
    """Forward mode in float64 against differences."""
    TRANSPOSE = "forward-reverse"
    """Forward mode against reverse mode: <Jv, w> = <v, J'w>."""
    PRIMAL = "primal"
    """The value that forward mode computes against the function alone."""
    FLOAT32 = "float32"
    """Values and derivatives in float32 on the device against those in float64."""
    BOUND = "bound"
    """Loops against their declared bounds."""
    INTENT = "intent"
    """The derivative against the declared one: a surrogate, a clip, none."""
    ACCUMULATION = "accumulation"
    """Sums into gradient buffers: buffers that are not 0 before, equal indices of threads."""
    JOINED = "joined"
    """A pipeline with joined neighbouring stages, as it runs, against the same stages in separate kernels."""
    REPEAT = "repeat"
    """Two runs of the same launch against each other."""
    COMPILE = "compile"
    """The compilers and the device accept the function."""


class LegState(str, Enum):
    """The outcome of a leg."""

    AGREES = "agrees"
    DISAGREES = "disagrees"
    UNDECIDED = "undecided"
    MISSING = "missing"
    """The function has no such mode; the detail gives the reason."""


@dataclass(frozen=True, slots=True)
class LegResult:
    """One leg of one function.

    Attributes:
        compared: The number of compared values.
        worst: The largest distance of compared values, in units of the tolerance; at most 1 if the leg agrees.
        detail: The reason why the leg is missing or undecided; empty otherwise.
    """

    leg: Leg
    state: LegState
    compared: int = 0
    worst: float = 0.0
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Value:
    """One scalar of an input, result or cotangent, with its path for users: ``m.albedo[1]``, ``v.x``, ``result``."""

    path: str
    value: Number


@dataclass(frozen=True, slots=True)
class Curve:
    """Estimates of one derivative by step size, largest step first: the data of a plot.

    ``errors`` are the distances of the estimates from the derivative under test, for a log-log plot.
    """

    steps: tuple[float, ...]
    estimates: tuple[float, ...]
    errors: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Jacobian:
    """The derivative of every result by every input at one sample; rows are results, columns are inputs.

    Attributes:
        found: The values of the leg.
        expected: The reference; NaN where it has no value.
        error: Half the width of the reference's error bar.
        low: The least right value of entries at kinks, NaN elsewhere; ``high`` is the largest. Empty without kinks.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    found: tuple[tuple[float, ...], ...]
    expected: tuple[tuple[float, ...], ...]
    error: tuple[tuple[float, ...], ...]
    low: tuple[tuple[float, ...], ...] = ()
    high: tuple[tuple[float, ...], ...] = ()

    @property
    def difference(self) -> tuple[tuple[float, ...], ...]:
        """Found minus expected."""
        return tuple(
            tuple(f - e for f, e in zip(found, expected, strict=True))
            for found, expected in zip(self.found, self.expected, strict=True)
        )


class SampleState(str, Enum):
    """The outcome of one sample."""

    COMPARED = "compared"
    KINK = "kink"
    """The sample is at a kink, and was compared with the one-sided derivatives."""
    JUMP = "jump"
    """The function jumps there, so there is no derivative to compare with."""
    NOT_FINITE = "not finite"
    UNDECIDED = "undecided"
    UNGUARDED = "unguarded"
    """A derivative is not finite at a degenerate input without a declared range; the value is finite."""
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class Sample:
    """One input of the function, with the results and derivatives there.

    Attributes:
        number: The number, from 0; equal for equal seeds.
        origin: The way it was chosen: ``random``, ``tie``, ``zero``, ``equal indices``, ``bound`` and so on.
        jacobian: The one of reverse mode in float64, or of forward mode without a reverse one, and the reference.
        forward: The values of forward mode, in the shape of the Jacobian; empty if there are none.
        float32: The values of the device in float32, in the shape of the Jacobian; empty if it did not run.
    """

    number: int
    origin: str
    state: SampleState
    inputs: tuple[Value, ...]
    results: tuple[Value, ...] = ()
    jacobian: Jacobian | None = None
    forward: tuple[tuple[float, ...], ...] = ()
    float32: tuple[tuple[float, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Slice:
    """One result and its derivative along one input, while all other inputs keep the values of a sample.

    Attributes:
        row: The result, as column is the input.
        sample: The number of the sample; ``at`` is the value of the input there.
        positions: Values of the input, in order.
        values: The result at the positions.
        found: Its derivative by the input, in reverse mode or else in forward mode.
        below: Its slope measured from the left; ``above`` from the right. They differ at kinks.
    """

    row: str
    column: str
    sample: int
    at: float
    positions: tuple[float, ...]
    values: tuple[float, ...]
    found: tuple[float, ...]
    below: tuple[float, ...]
    above: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Failure:
    """One disagreement. A function has one for each leg that disagrees, at the worst sample of the leg.

    Attributes:
        verdict: The verdict of the function if this were its only failure.
        message: The disagreement in one line.
        sample: The sample; None if the failure is not about one.
        cotangent: The weights of the results, unless one entry is compared; empty then.
        row: The result, as column is the input; both are empty unless the failure is about an entry.
        expected: The expected value. ``error`` is half the width of its error bar.
        bounds: The lowest and highest right value, at a kink.
        found: The actual value.
        cause: The likely cause, if one fits: ``the sign is wrong``.
        curve: The estimates that led to ``expected``.
        reproduce: The command that shows this failure alone.
        span: The likeliest statement in the wrong derivative; nowhere if only the function is known.
    """

    leg: Leg
    verdict: Verdict
    message: str
    sample: Sample | None = None
    cotangent: tuple[Value, ...] = ()
    row: str = ""
    column: str = ""
    expected: float | None = None
    error: float | None = None
    bounds: tuple[float, float] | None = None
    found: float | None = None
    cause: str = ""
    curve: Curve | None = None
    jacobian: Jacobian | None = None
    reproduce: str = ""
    notes: tuple[str, ...] = ()
    span: Span = NOWHERE

    @property
    def ratio(self) -> float | None:
        """Found over expected; None if either is missing or the ratio is undefined."""
        if self.found is None or not self.expected:
            return None
        return self.found / self.expected


class NoteKind(str, Enum):
    """The subject of a note."""

    KINK = "kink"
    JUMP = "jump"
    STOP = "stop"
    """The end of a gradient: ``int(x)``, ``no_diff``, a parameter without gradient that the result depends on."""
    INTENT = "intent"
    """A declaration about the derivative, and the reference that follows from it."""
    MISSING = "missing"
    """A leg that does not exist, so there is less evidence."""
    SAMPLES = "samples"
    """A remark about samples: not finite, undecided."""


@dataclass(frozen=True, slots=True)
class Note:
    """A remark that is no failure. ``sample`` is the number of its sample."""

    kind: NoteKind
    message: str
    sample: int | None = None


@dataclass(frozen=True, slots=True)
class Generated:
    """A location in the generated Slang that belongs to a result.

    Attributes:
        file: The name of the file, without a path: the check does not keep the file.
        text: The line.
    """

    file: str
    line: int
    text: str = ""


@dataclass(frozen=True, slots=True)
class Counts:
    """The number of samples by outcome. ``entries`` counts the entries of Jacobians that were compared."""

    drawn: int = 0
    compared: int = 0
    kinks: int = 0
    jumps: int = 0
    not_finite: int = 0
    undecided: int = 0
    entries: int = 0
    unguarded: int = 0


@dataclass(frozen=True, slots=True)
class LeftAside:
    """A number of samples that were not compared, and the reason."""

    samples: int
    reason: str


@dataclass(frozen=True, slots=True)
class Float32:
    """The coverage of derivatives in float32.

    Attributes:
        device: The device that ran it, by its name for ``--device``.
        samples: The number of samples with an entry that was compared with float64.
        entries: The number of compared entries of their Jacobians.
        left: The other samples, by reason.
    """

    device: str
    samples: int
    entries: int = 0
    left: tuple[LeftAside, ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """One function, kernel or pipeline; or a declaration of a Slang file that does not compile.

    Attributes:
        file: The file, as the user named it.
        function: The name of the function; for overloads with the types of the parameters. It is unique in the file.
        span: The location of the function in the file.
        reason: The reason why it is not PASS, in one line; empty for PASS.
        samples: All samples, with all their values.
        slices: The function and its derivative along some of its inputs, for pictures.
        seconds: The time for its samples, without compiling, which all functions of the file share.
        seed: The seed of its random samples.
        known: True if the baseline lists all its failures.
        float32: The coverage of float32; None if it was not tested. Its leg gives the reason.
        because: The wrong functions that its derivative is made from; their failures cause those of this one.
        cached: True if it was kept from an earlier check of the same files with the same options.
    """

    file: str
    function: str
    kind: Kind
    verdict: Verdict
    span: Span = NOWHERE
    generated: Generated | None = None
    reason: str = ""
    legs: tuple[LegResult, ...] = ()
    failures: tuple[Failure, ...] = ()
    notes: tuple[Note, ...] = ()
    counts: Counts = Counts()
    samples: tuple[Sample, ...] = field(default=(), repr=False)
    seconds: float = 0.0
    because: tuple[str, ...] = ()
    seed: int = 0
    float32: Float32 | None = None
    known: bool = False
    cached: bool = False
    slices: tuple[Slice, ...] = field(default=(), repr=False)

    @property
    def shown_failures(self) -> tuple[Failure, ...]:
        """The failures to show to people, without expected ones and those that other functions cause."""
        return () if self.because or self.verdict is Verdict.EXPECTED_FAIL else self.failures

    def fails(self, *, strict: bool, fail_on: tuple[Verdict, ...] = ()) -> bool:
        """Return True if it makes the check fail."""
        return self.verdict.bad or self.verdict in (FAIL_ON.values() if strict else fail_on)

    @property
    def ran(self) -> bool:
        """Return True if its derivatives were compared with something: it compiled, ran, and gave enough numbers."""
        tried = not self.verdict.unchecked
        return tried and not (self.failures and all(failure.leg is Leg.COMPILE for failure in self.failures))


@dataclass(frozen=True, slots=True)
class Coverage:
    """The number of checked functions, kernels and pipelines, and of all.

    Attributes:
        checked: Their derivatives were compared, right or wrong.
        functions: All that are differentiable, whatever became of them.
        skipped: Those with the verdict SKIPPED.
        inconclusive: Those with the verdict INCONCLUSIVE.
        broken: Those that do not compile, or do not run to an end.
    """

    checked: int
    functions: int
    skipped: int
    inconclusive: int
    broken: int

    @property
    def share(self) -> float:
        """Return the checked part of all functions; 1 if there are none."""
        return self.checked / self.functions if self.functions else 1.0


def coverage_of(results: Iterable[Result]) -> Coverage:
    """Return the number of checked functions. Files and declarations that do not compile do not count."""
    functions = [one for one in results if one.function and one.kind != "declaration"]
    verdicts = [one.verdict for one in functions]
    ran = sum(one.ran for one in functions)
    skipped, inconclusive = verdicts.count(Verdict.SKIPPED), verdicts.count(Verdict.INCONCLUSIVE)
    return Coverage(ran, len(functions), skipped, inconclusive, len(functions) - ran - skipped - inconclusive)


@dataclass(frozen=True, slots=True, order=True)
class BaselineEntry:
    """One thing that is known to be wrong.

    Attributes:
        file: Relative to the folder of the baseline.
        function: The name in the result; empty if the file can't be read.
        leg: The leg that disagrees; empty if none does.
    """

    file: str
    function: str
    verdict: str
    leg: str


@dataclass(frozen=True, slots=True)
class FileCost:
    """The time that one file took.

    Attributes:
        seconds: With everything that was compiled. Results from the cache count with the time of their own check.
    """

    file: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Report:
    """The report of a check.

    Attributes:
        version: The version of slangad.
        device: The device for float32, by its name for ``--device``.
        toolchain: The tools, each with its version or path: ``slang``, ``c++``, the device.
        samples: The least number of samples of a function.
        seconds: The time from start to end.
        command: The command line that repeats the check.
        fail_on: Further verdicts that make the check fail.
        min_checked: The least share of the functions that must be checked.
        baseline: The file that lists the known failures; empty if there is none.
        gone: Entries of the baseline that no longer occur.
        shard: The number of this part of the check, such as ``2/4``; empty if the check is not split.
        split: A hash of the files of all shards and their texts, equal for the shards of one run; empty if the check is
            not split.
        files: The files of all shards, in order; none if the check is not split.
        costs: The time of each file, by which ``--costs`` balances shards.
        notes: Files, each with a remark: import folders that no option names.
    """

    version: str
    seed: int
    device: str
    samples: int
    results: tuple[Result, ...]
    toolchain: tuple[tuple[str, str], ...] = ()
    strict: bool = False
    seconds: float = 0.0
    command: str = ""
    notes: tuple[tuple[str, str], ...] = ()
    schema: int = SCHEMA
    fail_on: tuple[Verdict, ...] = ()
    min_checked: float = 0.0
    baseline: str = ""
    gone: tuple[BaselineEntry, ...] = ()
    shard: str = ""
    split: str = ""
    files: tuple[str, ...] = ()
    costs: tuple[FileCost, ...] = ()

    @property
    def failing(self) -> tuple[Verdict, ...]:
        """The verdicts that make the check fail."""
        optional = FAIL_ON.values() if self.strict else self.fail_on
        return tuple(verdict for verdict in Verdict if verdict.bad or verdict in optional)

    def would_fail(self, result: Result) -> bool:
        """Return True if a result makes the check fail without the baseline."""
        return result.fails(strict=self.strict, fail_on=self.fail_on)

    def fails(self, result: Result) -> bool:
        """Return True if a result makes the check fail: its verdict does, and the baseline does not know it."""
        return self.would_fail(result) and not result.known

    @property
    def failed(self) -> tuple[Result, ...]:
        """The results that make the check fail."""
        return tuple(result for result in self.results if self.fails(result))

    @property
    def coverage(self) -> Coverage:
        """The number of checked functions, and of all."""
        return coverage_of(self.results)

    @property
    def problems(self) -> tuple[str, ...]:
        """The problems that make the check fail besides its results, a line each."""
        done, problems = self.coverage, []
        if self.shard:  # the shards are judged together
            return ()
        if done.functions and not done.checked:
            problems.append(_ALL_SKIPPED if done.skipped == done.functions else _NONE_CHECKED)
        elif done.share < self.min_checked:
            share = f"only {done.share:.0%} of the functions were checked"
            problems.append(f"{share}, and --min-checked is {self.min_checked:g}")
        if self.strict and self.gone:
            problems.append(f"entries of {self.baseline} no longer occur: write it again with --write-baseline")
        return tuple(problems)

    @property
    def ok(self) -> bool:
        """Return True if the check passes."""
        return not self.failed and not self.problems

    def count(self, verdict: Verdict) -> int:
        """Return the number of results with a verdict."""
        return sum(result.verdict is verdict for result in self.results)
