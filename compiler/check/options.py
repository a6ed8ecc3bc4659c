"""Options of a check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from slangad.compiler.check import tolerances as tol

if TYPE_CHECKING:
    from pathlib import Path

    from slangad.compiler.frontends.reading.directives import Directives
    from slangad.compiler.report.model import Verdict
    from slangad.compiler.toolchain.cache import Cache


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """The settings of a check.

    Attributes:
        device: The device for float32, by its name for ``--device``.
        samples: Random samples of each subject; further ones are chosen.
        ranges: ``function.parameter`` or a part of it, lowest and highest value. They override declared ranges.
        only: Names of the subjects to check; all if empty.
        strict: Subjects that could not be checked fail too.
        fail_on: Further verdicts that make the check fail.
        min_checked: The least share of the subjects that must be checked.
        specialize: Generic functions of Slang files to check, with their arguments.
        time_limit: Seconds that the Slang compiler may take for a file.
        workers: Processes at a time.
        command: The command line without inputs and ``--only``, for reports.
        full_command: The command line as the user wrote it; empty if there was none.
        required_ranges: Paths of ``ranges`` that some input must have.
        required_specializations: Those of ``specialize`` that some input must declare.
        samples_from_user: ``samples`` overrides what files and the project declare.
        seed_from_user: ``seed`` does.
        required_shapes: Those of ``shapes`` that some subject must be able to have.
        shapes: ``kernel.parameter`` and its shape. They override declared shapes.
        mutate: Check mutants of custom derivatives, not the subjects themselves.
        probed: Names of mutants whose probes are checked; all mutants are checked if empty.
        run_limit: Seconds that the samples of one subject may take.
        known_names: Names that ``only`` may have besides those of the inputs.
        known_paths: Paths that ``required_ranges`` may have besides those of the inputs.
        adapter: The device's own name, for reports.
        directives: The project's declarations about functions, by patterns of names: ``shade*``, ``lib/*.slang:f``.
        slangc: Executable that compiles in place of the library. The library still reads what Slang files declare.
        slang_flags: Further arguments of Slang.
        mode: The only mode to check, ``forward`` or ``backward``; both if empty.
        included: Check the functions of included Slang files too.
        shard: The shard to check, from 1, and the number of shards; None for all files.
        costs: The seconds that files took in an earlier check, by path, to balance shards.
        order: The highest order of the derivatives that are checked: 1, or 2 for descriptions.
        keep: The folder that keeps generated files; None if none does.
        repair: Check the parts of a Slang file that compile if others do not.
    """

    device: str = "cpu"
    samples: int = tol.DEFAULT_SAMPLES
    seed: int = 0
    ranges: tuple[tuple[str, float, float], ...] = ()
    only: tuple[str, ...] = ()
    strict: bool = False
    fail_on: tuple[Verdict, ...] = ()
    min_checked: float = 0.0
    include_dirs: tuple[str, ...] = ()
    defines: tuple[tuple[str, str], ...] = ()
    specialize: tuple[str, ...] = ()
    time_limit: float = tol.COMPILE_LIMIT
    workers: int = 2
    cache: Cache | None = None
    command: str = "slangad check"
    full_command: str = ""
    required_ranges: tuple[str, ...] = ()
    required_specializations: tuple[str, ...] = ()
    samples_from_user: bool = False
    seed_from_user: bool = False
    required_shapes: tuple[tuple[str, tuple[int, ...]], ...] = ()
    shapes: tuple[tuple[str, tuple[int, ...]], ...] = ()
    mutate: bool = False
    probed: tuple[str, ...] = ()
    run_limit: float = tol.RUN_LIMIT
    known_names: frozenset[str] = frozenset()
    known_paths: frozenset[str] = frozenset()
    adapter: str = ""
    included: bool = True
    directives: tuple[tuple[str, Directives], ...] = ()
    repair: bool = True
    shard: tuple[int, int] | None = None
    costs: tuple[tuple[str, float], ...] = ()
    slangc: Path | None = None
    slang_flags: tuple[str, ...] = ()
    mode: str = ""
    order: int = 1
    keep: Path | None = None
