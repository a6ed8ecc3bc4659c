"""Parse which shard of a check to run, from the command line or from the job runner's environment."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

AUTO: Final = "auto"
"""The word that takes the shard from the environment."""


@dataclass(frozen=True, slots=True)
class JobRunner:
    """A program that starts an array of jobs and numbers them in the environment.

    Attributes:
        index: The variable with the number of this job.
        count: The variable with the number of jobs.
        first: The number of the first job, or the variable that has it.
        step: The variable with the distance of two numbers; empty if that is 1.
    """

    name: str
    index: str
    count: str
    first: int | str
    step: str = ""

    def shard(self, environment: Mapping[str, str]) -> tuple[int, int]:
        """Return the number of this job, from 1, and the number of jobs.

        Raises:
            ValueError: The variables are no numbers, or the numbers have gaps.
        """
        first = self.first if isinstance(self.first, int) else _number(environment, self.first, "1")
        step = _number(environment, self.step, "1") if self.step else 1
        index, count = _number(environment, self.index) - first, _number(environment, self.count)
        number, rest = divmod(index, max(1, step))
        if rest or step < 1 or not 0 <= number < count:
            message = f"{self.index}={environment[self.index]} is not one of {count} evenly spaced numbers from {first}"
            raise ValueError(message)
        return number + 1, count


def _number(environment: Mapping[str, str], name: str, default: str = "") -> int:
    """Return the number of a variable.

    Raises:
        ValueError: It is none.
    """
    text = environment.get(name, default)
    try:
        return int(text)
    except ValueError:
        message = f"{name}={text} is no number"
        raise ValueError(message) from None


RUNNERS: Final = (
    JobRunner(
        "SLURM", "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_STEP"
    ),
    JobRunner("GitLab", "CI_NODE_INDEX", "CI_NODE_TOTAL", 1),
    JobRunner("CircleCI", "CIRCLE_NODE_INDEX", "CIRCLE_NODE_TOTAL", 0),
    JobRunner("Buildkite", "BUILDKITE_PARALLEL_JOB", "BUILDKITE_PARALLEL_JOB_COUNT", 0),
)
"""The job runners that ``--shard auto`` knows, in the order in which they are looked for."""


class Shard(click.ParamType[tuple[int, int]]):
    """``2/4``, or ``auto``."""

    name = "i/n"

    def convert(
        self, value: str | tuple[int, int], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int]:
        """Parse the word."""
        if isinstance(value, tuple):
            return value
        if value == AUTO:
            return self._from_environment(param, ctx)
        match = re.fullmatch(r"([1-9]\d{0,3})/([1-9]\d{0,3})", value)
        number, count = (int(match[1]), int(match[2])) if match else (1, 0)
        if number > count:
            self.fail(f"{value!r} is not a shard such as 2/4: its number, from 1, and how many there are.", param, ctx)
        return number, count

    def _from_environment(self, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        runner = next((one for one in RUNNERS if one.index in os.environ and one.count in os.environ), None)
        if runner is None:
            known = ", ".join(f"{one.index} ({one.name})" for one in RUNNERS)
            self.fail(f"no job array is in the environment: {known}. Give the shard, such as 2/4.", param, ctx)
        try:
            return runner.shard(os.environ)
        except ValueError as error:
            self.fail(f"{error}. Use an array without gaps, or give the shard, such as 2/4.", param, ctx)


def costs_in(files: Sequence[Path]) -> tuple[tuple[str, float], ...]:
    """Return the seconds that each file took, from the JSON reports of earlier checks; a later report wins.

    A report that does not exist has no costs: the first check of a project has none.
    """
    from slangad.compiler.report.read_json import read_costs

    costs: dict[str, float] = {}
    for file in files:
        try:
            read = read_costs(file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            raise click.UsageError(f"--costs {file} can't be read: {error}.") from None
        costs |= {one.file: one.seconds for one in read}
    return tuple(sorted(costs.items()))
