"""Define the plan of one subject: samples, ranges, missing modes, notes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from slangad.compiler.check.model.integers import NO_INTEGERS

if TYPE_CHECKING:
    from slangad.compiler.check.model.integers import Integers
    from slangad.compiler.check.model.subject import Subject
    from slangad.compiler.emit.model import Mode
    from slangad.compiler.ir.nodes import ClipGradient, Range
    from slangad.compiler.report.model import Generated, Note


@dataclass(frozen=True, slots=True)
class SubjectPlan:
    """The settings and known facts for the check of one subject.

    Attributes:
        samples: The number of random samples.
        seed: The seed of the samples.
        constants: Numbers in its text.
        ranges: Declared ranges, those of the command line last.
        missing: Modes that it does not have, with the reason.
        notes: Notes from before the run.
        command: The command that reports this subject alone.
        linear: True if reverse mode is linear in the cotangent: it goes through no clip.
        clip: The declared clip of its gradients.
        limit: The declared clip of a Slang function: the largest gradient for a cotangent of 1.
        shapes: Declared shapes of parameters.
        integers: Integers without a declared range that are worth a try.
        device: The device for float32, by its name for ``--device``.
        tolerance: The relative error of derivatives that the user allows.
        unclear: True if it reaches a part that is declared to carry no gradient, and nothing freezes that.
        run_limit: Seconds that its samples may take; 0 without a limit.
        without_gradient: Parameters that have no gradient because of their struct, with its name.
        numbered: True if threads may know their numbers.
    """

    subject: Subject
    file: str
    generated: Generated | None
    samples: int
    seed: int
    ranges: tuple[Range, ...]
    constants: tuple[float, ...]
    missing: tuple[tuple[Mode, str], ...] = ()
    notes: tuple[Note, ...] = ()
    command: str = ""
    linear: bool = True
    clip: ClipGradient | None = None
    shapes: tuple[tuple[str, tuple[int, ...]], ...] = ()
    integers: Integers = NO_INTEGERS
    device: str = "cpu"
    tolerance: float = 0.0
    limit: float | None = None
    unclear: bool = False
    run_limit: float = 0.0
    without_gradient: tuple[tuple[str, str], ...] = ()
    numbered: bool = True
