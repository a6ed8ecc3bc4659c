"""Plan a build for ninja: one edge for every kernel and target, each with a folder of its own.

    build/spirv/fit.shade/…   slangad compile fit.py:shade -t spirv -o build/spirv/fit.shade

Edges share nothing, so that ninja, also a distributed one, schedules them as it likes. One more edge makes the plan
again when a description changes.
"""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from slangad.compiler.driver.outputs import artefact_name
from slangad.compiler.slang_text.endings import is_slang
from slangad.compiler.slang_text.search import shown_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from slangad.compiler.driver.model import EmittedInput

FILE_NAME = "build.ninja"

_RULES = """# Made by slangad compile --plan ninja.
rule slangad
  command = {program} -q compile $input -t $target -o $folder --depfile-target $out_file -j 1{options}
  depfile = $depfile
  restat = 1
  description = slangad $input $target

rule plan
  command = {program} -q compile{again}
  generator = 1
  restat = 1
  description = slangad --plan ninja

"""


@dataclass(frozen=True, slots=True)
class PlanWords:
    """Words of command lines: the program, the options of each edge, and the inputs and options of the plan itself."""

    program: tuple[str, ...]
    options: tuple[str, ...]
    again: tuple[str, ...]


def ninja_plan(described: Sequence[EmittedInput], words: PlanWords, output: str) -> str:
    """Return the text of ``build.ninja``.

    Args:
        described: The inputs after the emitter.
        words: Words of command lines.
        output: The output folder, as ninja names it.
    """
    head = _RULES.format(
        program=_command(words.program),
        options="".join(f" {_command([word])}" for word in words.options),
        again="".join(f" {_command([word])}" for word in words.again),
    )
    sources = dict.fromkeys(shown_path(path) for slang in described for path in slang.description.sources)
    plan = f"build {_path(f'{output}/{FILE_NAME}')}: plan | {' '.join(map(_path, sources))}\n"
    return "\n".join((head + plan, *(edge for slang in described for edge in _edges(slang, output))))


def _edges(slang: EmittedInput, output: str) -> Iterator[str]:
    source = str(slang.input.path)
    for kernel in slang.kernels:
        label = f"{slang.stem}.{kernel.name}"
        for target in slang.asked:
            folder = f"{output}/{target}/{label}"
            manifest = f"{folder}/{label}.manifest.json"
            own = replace(slang, entries=tuple(e for e in slang.entries if e.kernel == kernel.name))
            described = [] if is_slang(source) else own.entries
            names = dict.fromkeys(artefact_name(own, entry, target) for entry in described)
            made = [manifest, *(f"{folder}/{name}" for name in names)]
            variables = {
                "input": _command([f"{source}:{kernel.name}"]),
                "target": target,
                "folder": _command([folder]),
                "out_file": _command([manifest]),
                "depfile": f"{folder}/{label}.d".replace("$", "$$"),
            }
            lines = "".join(f"  {name} = {text}\n" for name, text in variables.items())
            yield f"build {' '.join(map(_path, made))}: slangad {_path(source)}\n{lines}"


def _command(words: Iterable[str]) -> str:
    """Return words as they stand in a command of ninja."""
    return shlex.join(words).replace("$", "$$")


def _path(path: str) -> str:
    """Return a path as it stands in a build statement of ninja."""
    return path.replace(os.sep, "/").replace("$", "$$").replace(" ", "$ ").replace(":", "$:")
