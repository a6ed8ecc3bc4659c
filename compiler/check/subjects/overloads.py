"""Give subjects unique labels. Reports, ``--only`` and tests use a function's name; overloads add their signature."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slangad.compiler.check.model.subject import Subject


def with_labels(subjects: Iterable[Subject]) -> tuple[Subject, ...]:
    """Return subjects with unique labels: ``f``, ``f(float)`` and ``f(float3)``, or ``Params#1`` and ``Params#2``."""
    all_subjects = tuple(subjects)
    names = Counter(subject.name for subject in all_subjects)
    typed = [replace(one, apart=one.signature) if names[one.name] > 1 else one for one in all_subjects]
    alike = Counter(subject.label for subject in typed)
    seen: Counter[str] = Counter()
    made: list[Subject] = []
    for one in typed:
        seen[one.label] += 1
        number = f"#{seen[one.label]}" if alike[one.label] > 1 else ""
        made.append(replace(one, apart=f"{one.apart}{number}"))
    return tuple(made)
