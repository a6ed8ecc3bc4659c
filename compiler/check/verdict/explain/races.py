"""Find threads that store to one element, or that miss a barrier, as the cause of a launch's failures.

Of several stores to one element the last one remains, and devices differ in the order. Reverse mode gives each store
the cotangent of the element. A twin that records indices runs thread by thread to find such stores.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Final

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.run.launch import LaunchRunner
from slangad.compiler.check.twins.index_ranges import axes_of
from slangad.compiler.report.model import Leg

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from slangad.compiler.check.model.arrays import Floats
    from slangad.compiler.check.run.companions import Launches
    from slangad.compiler.check.twins.group_accesses import GroupRace
    from slangad.compiler.report.model import Failure


_OWN: Final = "give each thread an element of its own"
_REMEDIES: Final = {
    (True, True): _OWN,
    (True, False): f"{_OWN}, or write sa.barrier() between",
    (False, True): f"add up with sa.group_sum, or {_OWN}",
    (False, False): "write sa.barrier() between both",
}
"""By whether both threads store, and whether they do so in one line, within which no barrier can stand."""
_ANY: Final = (
    "an element is read in one thread and stored in another without sa.barrier() between, or two threads store to it"
)
_LEGS: Final = frozenset({Leg.REVERSE, Leg.FORWARD, Leg.TRANSPOSE, Leg.REPEAT, Leg.ACCUMULATION, Leg.FLOAT32})


def with_races(
    failures: Sequence[Failure], reach: object, rows: Floats, launches: Launches | None = None
) -> list[Failure]:
    """Return the failures of a kernel, with a race as the cause where it explains them.

    Args:
        failures: The failures.
        reach: The twin that records indices. Anything else shows no race.
        rows: The samples.
        launches: The kernel at any size, if it is launched.
    """
    if isinstance(reach, LaunchRunner) and reach.kernel.in_step:
        return _with_order(failures, reach, rows[: tol.RACE_SAMPLES], launches)
    numbers = [failure.sample.number for failure in failures if failure.leg in _LEGS and failure.sample]
    if not isinstance(reach, LaunchRunner) or not numbers or reach.threads > tol.RACE_THREADS:
        return list(failures)
    race = next(_races(reach, rows[list(dict.fromkeys(numbers))[: tol.RACE_SAMPLES]]), "")
    if not race:
        return list(failures)
    return [replace(failure, cause=race) if failure.leg in _LEGS else failure for failure in failures]


def cause_of(race: GroupRace | None) -> str:
    """Return a race in words, with the remedy; without one, what makes results depend on the order."""
    if race is None:
        return _ANY
    first, second = race.lines
    return f"{race.words}: {_REMEDIES[race.both_store, first == second != 0]}"


def _with_order(
    failures: Sequence[Failure], reach: LaunchRunner, rows: Floats, launches: Launches | None
) -> list[Failure]:
    """Return the failures at samples with a race in a group as the cause, if results depend on the order of threads."""
    if not any(failure.sample for failure in failures) or not reach.depends_on_order(rows).any():
        return list(failures)
    recording = None if launches is None or launches.recording is None else launches.recording(reach.extents)
    race = None if recording is None else next(recording.races(rows), None)
    return [replace(failure, cause=cause_of(race)) if failure.sample else failure for failure in failures]


def _races(reach: LaunchRunner, rows: Floats) -> Iterator[str]:
    """Yield pairs of threads that store to one element, in words."""
    alone = [replace(reach, alone=thread).index_ranges(rows) for thread in range(reach.threads)]
    for name in (param.name for param in reach.kernel.params if param.memory.is_written):
        axes = [k for k, (owner, _) in enumerate(axes_of(reach.kernel)) if owner == name]
        for row in range(len(rows)):
            places = [of[row][axes] for of in alone]
            for one, other in combinations(range(len(places)), 2):
                if (places[one][:, 0] == places[one][:, 1]).all() and (places[one] == places[other]).all():
                    element = f"{name}[{', '.join(map(str, places[one][:, 0]))}]"
                    both = " and ".join(_shown(thread, reach.extents.domain) for thread in (one, other))
                    yield (
                        f"threads {both} store to the same element, {element}: the last store wins, "
                        f"and devices differ in which store is the last; give each thread a separate element"
                    )


def _shown(thread: int, domain: tuple[int, ...]) -> str:
    """Return a thread's number as users write it. Launches of three dimensions use y, x and z (see ``launch``)."""
    if len(domain) == 1:
        return str(thread)
    if len(domain) == 2:
        places = np.unravel_index(thread, domain)
    else:
        y, x, z = np.unravel_index(thread, (domain[1], domain[2], domain[0]))
        places = z, y, x
    return f"({', '.join(str(int(place)) for place in places)})"
