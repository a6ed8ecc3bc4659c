"""What a gradient check found, as frozen data: ``check`` makes a ``Report``, each format of ``report`` shows it.

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
"""Of the report; grows when a field changes its meaning or goes away."""

Number = float | int | bool
Kind = Literal["function", "kernel", "pipeline", "declaration"]


class Verdict(str, Enum):
    """What became of one function, kernel or pipeline."""

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
    """One comparison; the name says what was held against what."""

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
    """The derivative against the one that was declared: a surrogate, a clip, nothing at all."""
    ACCUMULATION = "accumulation"
    """Gradient buffers that hold something already, indices that collide."""
    JOINED = "joined"
    """A pipeline with neighbouring stages joined, as it is run, against every stage by itself."""
    REPEAT = "repeat"
    """Two runs of the same launch against each other."""
    COMPILE = "compile"
    """Whether the compilers and the device take it at all."""


class LegState(str, Enum):
    """What came of a leg."""

    AGREES = "agrees"
    DISAGREES = "disagrees"
    UNDECIDED = "undecided"
    MISSING = "missing"
    """There is no such mode to test; the detail says why."""


@dataclass(frozen=True, slots=True)
class LegResult:
    """One leg of one function.

    Attributes:
        compared: Numbers that were compared.
        worst: The largest distance in units of its tolerance, of those compared; at most 1 where it agrees.
        detail: Why it is missing or undecided; empty otherwise.
    """

    leg: Leg
    state: LegState
    compared: int = 0
    worst: float = 0.0
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Value:
    """One scalar of an input, result or cotangent, by the path users write: ``m.albedo[1]``, ``v.x``, ``result``."""

    path: str
    value: Number


@dataclass(frozen=True, slots=True)
class Curve:
    """Estimates of one derivative over the step they were made with, largest step first; an axis of a picture.

    ``errors`` is how far each is from what the derivative function gave, so that a log-log picture needs no more.
    """

    steps: tuple[float, ...]
    estimates: tuple[float, ...]
    errors: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Jacobian:
    """The derivative of every result by every input at one sample; rows are results, columns are inputs.

    Attributes:
        found: What the leg gave.
        expected: What the oracle says, NaN where it can't tell.
        error: Half the width of the oracle's error bar.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    found: tuple[tuple[float, ...], ...]
    expected: tuple[tuple[float, ...], ...]
    error: tuple[tuple[float, ...], ...]

    @property
    def difference(self) -> tuple[tuple[float, ...], ...]:
        """Found minus expected."""
        return tuple(
            tuple(f - e for f, e in zip(found, expected, strict=True))
            for found, expected in zip(self.found, self.expected, strict=True)
        )


class SampleState(str, Enum):
    """What came of one sample."""

    COMPARED = "compared"
    KINK = "kink"
    """It lies at a kink, and was held against the one-sided derivatives."""
    JUMP = "jump"
    """The function jumps there, so there is no derivative to compare with."""
    NOT_FINITE = "not finite"
    UNDECIDED = "undecided"
    UNGUARDED = "unguarded"
    """A derivative is not finite at a degenerate input without a declared range; the value is finite."""
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class Sample:
    """One input of the function and what was found there.

    Attributes:
        number: From 0; the same seed gives the same.
        origin: How it was chosen: ``random``, ``tie``, ``zero``, ``equal indices``, ``bound`` and so on.
        jacobian: Of reverse mode in float64 (of forward mode where there is no reverse one), with the oracle's.
        forward: What forward mode found, in the shape of the Jacobian; empty where there is none.
        float32: What the device found in float32, in the shape of the Jacobian; empty where it was not asked.
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
class Failure:
    """One thing that is wrong; a function has one for each leg that disagrees, the worst sample of each.

    Attributes:
        verdict: What this failure alone makes of the function.
        message: One line: what is wrong.
        sample: Where; None if it is not about a sample.
        cotangent: The weights of the results where the comparison is not of one entry; empty otherwise.
        row: The result concerned, column: the input concerned; empty if it is no entry of the Jacobian.
        expected: With ``error``, half the width of its bar: what it should be.
        bounds: At a kink, the lowest and highest value that is right.
        found: What it is.
        cause: The likely cause, where one fits: ``the sign is wrong``.
        curve: How the oracle came to ``expected``.
        reproduce: The command that shows just this.
        span: The derivative that is wrong, and in it the likeliest statement; nowhere if only the function is known.
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
    """What a note is about."""

    KINK = "kink"
    JUMP = "jump"
    STOP = "stop"
    """Where a gradient ends: ``int(x)``, ``no_diff``, a parameter that gets none though the result depends on it."""
    INTENT = "intent"
    """What was declared about the derivative, and what it was therefore held against."""
    MISSING = "missing"
    """A leg that does not exist, so that something rests on less evidence."""
    SAMPLES = "samples"
    """Something about the samples: not finite, undecided."""


@dataclass(frozen=True, slots=True)
class Note:
    """Something worth knowing that is not wrong; ``sample`` is the number of the sample it was seen at."""

    kind: NoteKind
    message: str
    sample: int | None = None


@dataclass(frozen=True, slots=True)
class Generated:
    """A place in the Slang that slangad made, the related location of a result.

    Attributes:
        file: The name of the file, no path: the check keeps no such file.
        text: The line there.
    """

    file: str
    line: int
    text: str = ""


@dataclass(frozen=True, slots=True)
class Counts:
    """How many samples came to what; ``entries`` are numbers of Jacobians that were held against the oracle."""

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
    """A number of samples that were not compared, and why."""

    samples: int
    reason: str


@dataclass(frozen=True, slots=True)
class Float32:
    """How far derivatives were tested in float32.

    Attributes:
        device: Where it ran, by the name of ``--device``.
        samples: Those of which an entry was compared with float64.
        entries: Numbers of their Jacobians that were.
        left: The other samples.
    """

    device: str
    samples: int
    entries: int = 0
    left: tuple[LeftAside, ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """One function, kernel or pipeline; or a declaration of a Slang file that does not compile.

    Attributes:
        file: The user's file as it was named.
        function: Its name there; of overloads with the types of their parameters, so that no other result of the file
            has it.
        span: Where it stands there.
        reason: One line: why it is not PASS; empty for PASS.
        samples: All of them, with all their numbers.
        seconds: How long its numbers took; compiling is shared by the file.
        seed: Of its random samples.
        known: Everything that is wrong with it is in the baseline.
        float32: How far float32 was tested; None where it was not, and then its leg says why.
        because: The wrong functions that its derivative is made from; its own failures follow from theirs.
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

    @property
    def told(self) -> tuple[Failure, ...]:
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
    """How many of the functions, kernels and pipelines were really checked.

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
    own = [one for one in results if one.function and one.kind != "declaration"]
    verdicts = [one.verdict for one in own]
    ran = sum(one.ran for one in own)
    skipped, inconclusive = verdicts.count(Verdict.SKIPPED), verdicts.count(Verdict.INCONCLUSIVE)
    return Coverage(ran, len(own), skipped, inconclusive, len(own) - ran - skipped - inconclusive)


@dataclass(frozen=True, slots=True, order=True)
class BaselineEntry:
    """One thing that is known to be wrong.

    Attributes:
        file: Relative to the folder of the baseline.
        function: As in its result; empty if the file itself can't be read.
        leg: The leg that disagrees; empty if none does.
    """

    file: str
    function: str
    verdict: str
    leg: str


@dataclass(frozen=True, slots=True)
class Report:
    """A whole check.

    Attributes:
        version: Of slangad.
        device: Where float32 ran, by the name of ``--device``.
        toolchain: What was used, as name and version or path: ``slang``, ``c++``, the device.
        samples: How many a function gets at least.
        seconds: From start to end.
        command: The command line that makes this report again.
        fail_on: Further verdicts that make the check fail.
        min_checked: The least share of the functions that must be checked.
        baseline: The file that lists what is known; empty if there is none.
        gone: Entries of the baseline that no longer occur.
        shard: The part of the check that this is, such as ``2/4``; empty if it is all of it.
        notes: Files with what is to be known of each: import folders that no option names.
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
            problems.append("nothing was checked, though there are differentiable functions")
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
