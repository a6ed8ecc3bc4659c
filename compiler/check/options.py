"""Options of a check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from slangad.compiler.check import tolerances as tol

if TYPE_CHECKING:
    from slangad.compiler.toolchain.cache import Cache


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """How to check.

    Attributes:
        samples: Random samples per function; further ones look for trouble.
        ranges: ``function.parameter`` or a part of it, lowest and highest value; they win over declared ones.
        shapes: ``kernel.parameter`` and its shape; they win over declared ones.
        only: Names of what to check; all when empty.
        said_ranges: Paths of ``ranges`` that some input must have.
        samples_said: Whether ``samples`` wins over what files say; ``seed_said`` the same of the seed.
        said_specializations: Those of ``specialize`` that some input must declare.
        said_shapes: Those of ``shapes`` that something that is checked must be able to have.
        mutate: Whether to check mutants of custom derivatives in stead of what is there.
        probed: Names of mutants to be looked into, in stead of all.
        known: Names that ``only`` may hold besides those of the inputs, ``known_paths`` paths for ``said_ranges``.
        run_limit: Seconds the samples of one function may take.
        adapter: What the device calls itself, for reports.
        words: The command line that says all this, without inputs and ``--only``, for reports.
        given: The command line as it was given, where there was one.
        mend: Whether what compiles of a Slang file is checked if some of it does not.
    """

    device: str = "cpu"
    samples: int = tol.DEFAULT_SAMPLES
    seed: int = 0
    ranges: tuple[tuple[str, float, float], ...] = ()
    only: tuple[str, ...] = ()
    strict: bool = False
    include_dirs: tuple[str, ...] = ()
    defines: tuple[tuple[str, str], ...] = ()
    specialize: tuple[str, ...] = ()
    time_limit: float = tol.COMPILE_LIMIT
    workers: int = 2
    cache: Cache | None = None
    words: str = "slangad check"
    given: str = ""
    said_ranges: tuple[str, ...] = ()
    said_specializations: tuple[str, ...] = ()
    samples_said: bool = False
    seed_said: bool = False
    said_shapes: tuple[tuple[str, tuple[int, ...]], ...] = ()
    shapes: tuple[tuple[str, tuple[int, ...]], ...] = ()
    mutate: bool = False
    probed: tuple[str, ...] = ()
    run_limit: float = tol.RUN_LIMIT
    known: frozenset[str] = frozenset()
    known_paths: frozenset[str] = frozenset()
    adapter: str = ""
    mend: bool = True
