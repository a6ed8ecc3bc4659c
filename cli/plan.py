"""Write a plan of a build instead of its outputs: ``slangad compile --plan ninja``."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slangad.cli.compile import CompileArguments
    from slangad.cli.console import Session
    from slangad.compiler.driver.model import Options


def write_plan(session: Session, arguments: CompileArguments, options: Options) -> None:
    """Write ``build.ninja`` into the output folder.

    Raises:
        CompileError: An input was rejected.
        ToolchainError: The plan can't be written.
    """
    from slangad.compiler.driver.compile import describe
    from slangad.compiler.driver.inputs import parse_inputs
    from slangad.compiler.driver.ninja_plan import FILE_NAME, PlanWords, ninja_plan
    from slangad.compiler.driver.unordered_sums import refuse_unordered
    from slangad.compiler.driver.write_files import write_files

    described = describe(parse_inputs(arguments["inputs"], included=False), options)
    if options.deterministic:
        refuse_unordered(described)
    output = Path(arguments["output"]).as_posix()
    own = tuple(_words(arguments))
    targets = tuple(word for target in options.targets for word in ("-t", target))
    again = (*arguments["inputs"], *(() if options.own_targets else targets), "-o", output, *own, "--plan", "ninja")
    found = shutil.which("slangad")
    program = (found,) if found else (sys.executable, "-m", "slangad.cli")
    text = ninja_plan(described, PlanWords(program, own, again), output)
    write_files({Path(output, FILE_NAME): text.encode()})
    session.say(f"{text.count(': slangad ')} edges in {output}/{FILE_NAME}")


def _words(arguments: CompileArguments) -> Iterable[str]:
    """Yield the options of an edge, as a command line has them."""
    repeated = {
        "--mode": arguments["modes"],
        "--emit": arguments["emit"],
        "-I": arguments["include_dirs"],
        "-D": ["=".join(macro) for macro in arguments["defines"]],
        "--specialize": arguments["specialize"],
        "-O": [str(arguments["optimization"])],
        "--namespace": [arguments["namespace"]],
        "--slangc": [str(arguments["slangc"])] if arguments["slangc"] else [],
        "--time-limit": [str(arguments["time_limit"])] if arguments["time_limit"] else [],
        "--cache-dir": [str(arguments["cache_dir"])] if arguments["cache_dir"] else [],
    }
    yield from (word for option, values in repeated.items() for value in values for word in (option, value))
    yield from (word for flag in arguments["slang_flags"] for word in ("-X", flag))
    yield from (["--deterministic"] if arguments["deterministic"] else [])
    packed = arguments["pack_buffers"]
    yield from ([] if packed is None else ["--pack-buffers" if packed else "--no-pack-buffers"])
    yield from (["--no-cache"] if arguments["no_cache"] else [])


__all__ = ["write_plan"]
