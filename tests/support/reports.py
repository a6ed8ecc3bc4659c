"""Reports of checks made by hand: every verdict, and whatever a format might choke on."""

from __future__ import annotations

from dataclasses import replace
from math import inf, nan

from slangad.compiler.errors.spans import Span
from slangad.compiler.report.model import (
    Counts,
    Curve,
    Failure,
    Float32,
    Generated,
    Jacobian,
    LeftAside,
    Leg,
    LegResult,
    LegState,
    Note,
    NoteKind,
    Report,
    Result,
    Sample,
    SampleState,
    Slice,
    Value,
    Verdict,
)

HOSTILE = (
    "]]>",
    "<script>alert(1)</script>",
    "%0A::error::no",
    "\n::error file=x::no",
    "a\r\nb",
    "nul\x00 bell\x07 escape\x1b[31m",
    "\ud800 half",
    "\ufffe\uffff",
    "日本語 ñ 🦀 \u202egnp",
    "|pipe `tick` ```fence\n```",
    "@nobody #1 <img src=x onerror=alert(1)>",
    "&amp; \" ' < >",
    "-->",
    "#{a} $b @{c} @@",
    "",
)
"""Strings that mean something to some format."""


def jacobian(found: tuple[float, ...] = (0.5, 2.0, 0.0), expected: tuple[float, ...] = (0.5, 1.0, 0.0)) -> Jacobian:
    """One of two rows; the second is right."""
    columns = tuple(f"v.{letter}" for letter in "xyzuvw"[: len(found)])
    right = tuple(-1.5 * value for value in expected)
    bars = (1e-9,) * len(found)
    return Jacobian(("result[0]", "result[1]"), columns, (found, right), (expected, right), (bars, bars))


def sample(number: int = 3, state: SampleState = SampleState.WRONG) -> Sample:
    """One sample with an input of three scalars."""
    inputs = (
        Value("v.x", 0.1),
        Value("v.y", 0.7000000000000001),
        Value("v.z", -1.0),
        Value("n", 3),
        Value("b", True),
    )
    results = (Value("result[0]", 1.25), Value("result[1]", -3.5))
    return Sample(number, "random", state, inputs, results, jacobian(), ((1.0, 2.0), (3.0, 4.0)), ((1.0, 2.0),))


def curve(found: float = 2.0, expected: float = 1.0) -> Curve:
    """Differences that converge to the expected value until rounding takes over."""
    steps = tuple(0.3 / 4.0**power for power in range(16))
    estimates = tuple(expected + 0.4 * step**2 + (-1) ** power * 2e-16 / step for power, step in enumerate(steps))
    return Curve(steps, estimates, tuple(abs(found - estimate) for estimate in estimates))


def slice_along(factor: float = 2.0) -> Slice:
    """One through |v.y|, whose derivative is wrong by a factor."""
    at = tuple(number / 8 - 1.0 for number in range(17))
    signs = tuple(-1.0 if x < 0.0 else 1.0 for x in at)
    below = tuple(-1.0 if x <= 0.0 else 1.0 for x in at)
    found = tuple(factor * sign for sign in signs)
    return Slice("result[0]", "v.y", 3, 0.75, at, tuple(map(abs, at)), found, below, signs)


def failure(verdict: Verdict = Verdict.FAIL, leg: Leg = Leg.REVERSE) -> Failure:
    """A derivative that is twice what it should be."""
    return Failure(
        leg,
        verdict,
        "the derivative of result[0] by v.y is wrong",
        sample(),
        (Value("result[0]", 1.0), Value("result[1]", 0.0)),
        "result[0]",
        "v.y",
        1.0,
        1e-9,
        (0.5, 1.5) if verdict is Verdict.KINK_BAD else None,
        2.0,
        "a factor of 2",
        curve(),
        jacobian(),
        "slangad check samples/brdf.py --only shade --seed 0",
        ("seen at 12 of 64 samples",),
    )


LEGS = (
    LegResult(Leg.REVERSE, LegState.AGREES, 120, 0.02),
    LegResult(Leg.FORWARD, LegState.AGREES, 120, 0.01),
    LegResult(Leg.TRANSPOSE, LegState.AGREES, 64, 0.3),
    LegResult(Leg.FLOAT32, LegState.AGREES, 120, 0.2),
)


def result(
    verdict: Verdict = Verdict.PASS, name: str = "shade", file: str = "samples/brdf.py", line: int = 12
) -> Result:
    """One of each verdict, with what usually comes with it."""
    wrong = (LegResult(Leg.REVERSE, LegState.DISAGREES, 120, 1e9), *LEGS[1:])
    reasons = {
        Verdict.INCONCLUSIVE: "no sample is finite",
        Verdict.SKIPPED: "generic: say which with --specialize",
    }
    return Result(
        file,
        name,
        "function",
        verdict,
        Span(file, line, 5, line, 10),
        Generated("brdf.slang", 31),
        "" if verdict.good else reasons.get(verdict, "reverse mode disagrees with differences"),
        () if verdict is Verdict.SKIPPED else wrong if verdict.bad else LEGS,
        (failure(verdict),) if verdict.bad else (),
        (Note(NoteKind.KINK, "max(x, 0) at x = 0", 3),) if verdict is Verdict.KINK_OK else (),
        Counts() if verdict is Verdict.SKIPPED else Counts(64, 60, 3, 1, 0, 0, 360),
        () if verdict is Verdict.SKIPPED else (sample(),),
        0.12,
        float32=None if verdict is Verdict.SKIPPED else Float32("cpu", 60, 360, (LeftAside(4, "at a kink or a jump"),)),
        slices=() if verdict is Verdict.SKIPPED else (slice_along(2.0 if verdict.bad else 1.0),),
    )


def report(*results: Result, strict: bool = False) -> Report:
    """A report of these results."""
    tools = (("slang", "2026.12"), ("c++", "g++ 12.2.0"))
    command = "slangad check samples/brdf.py --seed 0"
    return Report("0.2.0", 0, "cpu", 64, results, tools, strict, 1.5, command)


def every_verdict(*, strict: bool = False) -> Report:
    """One result of each verdict, in two files."""
    results = tuple(
        result(
            verdict,
            f"f{number}_{verdict.value.lower()}",
            "samples/a.py" if number < 4 else "samples/b/c.yaml",
            number + 1,
        )
        for number, verdict in enumerate(Verdict)
    )
    return report(*results, strict=strict)


def extreme() -> Report:
    """Numbers that no picture can show and empty things."""
    numbers = (nan, inf, -inf, 1e300, -1e-300, 0.0)
    bad = Jacobian(("r",), tuple("abcdef"), (numbers,), (numbers[::-1],), ((nan, inf, 0.0, 1e300, -1.0, 1e-320),))
    curves = (
        Curve((), (), ()),
        Curve((1.0,), (nan,), (nan,)),
        Curve((1e300, 1.0, 1e-300, 0.0), (inf, -inf, 1e300, 0.0), (inf, inf, 1e300, 0.0)),
        Curve((1.0, 0.1), (1.0, 1.0), (0.0, 0.0)),
    )
    wide = tuple(Value(f"t[{index}]", float(index)) for index in range(500))
    failures = [
        replace(failure(), curve=each, jacobian=bad, expected=value, found=-value, error=value)
        for each in curves
        for value in numbers
    ]
    failures += [
        Failure(Leg.COMPILE, Verdict.FAIL, ""),
        replace(failure(), sample=replace(sample(), inputs=wide), jacobian=Jacobian((), (), (), (), ())),
        replace(failure(), jacobian=large()),
    ]
    values = tuple(Value(f"v[{index}]", number) for index, number in enumerate(numbers))
    odd = replace(slice_along(), positions=numbers, values=numbers, found=numbers, below=numbers, above=numbers[::-1])
    strange = replace(result(), slices=(odd,), samples=(replace(sample(), inputs=values, results=()),), seconds=nan)
    nowhere = Result("", "", "pipeline", Verdict.INCONCLUSIVE)
    broken = replace(result(Verdict.FAIL, "x" * 300), failures=tuple(failures), seconds=inf)
    bare = replace(result(Verdict.FAIL, "bare"), failures=(), reason="")
    return replace(report(strange, nowhere, broken, bare), seconds=nan)


def large(rows: int = 40, columns: int = 90) -> Jacobian:
    """One with more entries than fit on a page."""
    names = tuple(f"in_{index}" for index in range(columns))
    values = tuple(tuple((row - column) / 7.0 for column in range(columns)) for row in range(rows))
    bars = tuple((1e-6,) * columns for _ in range(rows))
    return Jacobian(tuple(f"out_{index}" for index in range(rows)), names, values, values, bars)


def hostile() -> Report:
    """Every text of the report is one that means something to some format."""
    results = []
    for number, text in enumerate(HOSTILE):
        bad = replace(
            failure(),
            message=text,
            row=text,
            column=text,
            cause=text,
            reproduce=text,
            notes=(text,),
            sample=replace(sample(), origin=text, inputs=(Value(text, 1.0),)),
            jacobian=replace(jacobian(), rows=(text, text), columns=(text, text, text)),
        )
        file = f"{text}.py"
        results.append(
            Result(
                file,
                text,
                "kernel",
                Verdict.FAIL,
                Span(file, number + 1, 1, number + 2, 3),
                Generated(text, 3),
                text,
                (LegResult(Leg.REVERSE, LegState.DISAGREES, 1, 2.0, text),),
                (bad,),
                (Note(NoteKind.STOP, text),),
            )
        )
    everything = "".join(HOSTILE)
    return replace(
        report(*results), version=everything, device=everything, command=everything, toolchain=(("a", everything),)
    )


def many(count: int = 1000) -> Report:
    """Many results, one in ten of them wrong."""
    return report(
        *(
            result(Verdict.FAIL if number % 10 == 0 else Verdict.PASS, f"f{number}", line=number + 1)
            for number in range(count)
        )
    )


def blamed() -> Report:
    """A wrong function and one that is wrong because of it."""
    reason = "its derivative is made from that of 'shade', which is wrong"
    caller = replace(result(Verdict.FAIL, "caller", line=30), because=("shade",), reason=reason)
    return report(result(Verdict.FAIL), caller)


REPORTS = {
    "every_verdict": every_verdict(),
    "strict": every_verdict(strict=True),
    "extreme": extreme(),
    "hostile": hostile(),
    "empty": report(),
    "good": report(result(), result(Verdict.KINK_OK, "kinky")),
    "many": many(),
    "blamed": blamed(),
}
