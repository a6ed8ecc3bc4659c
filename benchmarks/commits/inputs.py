"""The programs that both commits are given, written once: ``samples/``, ``cases/`` and ``zoo/``.

Each program of the zoo is listed in ``zoo/plan.json`` with the functions to check and the number of samples.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_T = TypeVar("_T")
CHUNK = 12
"""Functions in one program of the zoo. Fewer spread better over processors, more share one compilation."""
KERNEL_SAMPLES = 48
IGNORED = shutil.ignore_patterns("__pycache__", "test_*.py", "ir.txt", "out.slang", "diag.txt", "build")


def write_inputs(checkout: Path, folder: Path) -> Path:
    """Write the samples, golden cases and zoo of a checkout into a folder, and return it."""
    shutil.copytree(checkout / "samples", folder / "samples", ignore=IGNORED)
    shutil.copytree(checkout / "tests" / "cases", folder / "cases", ignore=IGNORED)
    (folder / "zoo").mkdir()
    _write_zoo(checkout / "tests", folder / "zoo")
    return folder


def digest_of(folder: Path) -> str:
    """Return the hash of all files in a folder."""
    whole = hashlib.sha256()
    for name, content in sorted(_files(folder).items()):
        whole.update(f"{name}\0{hashlib.sha256(content).hexdigest()}\n".encode())
    return whole.hexdigest()


def differing_inputs(base: Path, head: Path) -> list[str]:
    """Return the names of files that differ between two folders or lie in one of them only."""
    before, after = _files(base), _files(head)
    return [name for name in sorted(before | after) if before.get(name) != after.get(name)]


def _files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def _write_zoo(tests: Path, folder: Path) -> None:
    """Write the zoo of a checkout. The zoo of another checkout may have been imported before."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "support"]:
        del sys.modules[name]
    sys.path.insert(0, str(tests))
    try:
        plan = [*_functions(folder), *_memory_programs(folder), *_slang_files(tests / "check" / "slang", folder)]
    finally:
        sys.path.remove(str(tests))
    (folder / "plan.json").write_text(json.dumps(plan, indent=1) + "\n", encoding="utf-8")


def _functions(folder: Path) -> list[dict[str, object]]:
    from support.zoo_functions import RIGHT
    from support.zoo_mutants import all_mutants, module_of

    plan = []
    for number, right in enumerate(_chunks(RIGHT)):
        plan.append(_program(folder, f"right_{number:03}.py", module_of(right), [animal.name for animal in right]))
    for number, chunk in enumerate(_chunks(all_mutants())):
        broken = {mutant.animal.name for mutant in chunk}
        text = module_of([animal for animal in RIGHT if animal.name in broken], chunk)
        plan.append(_program(folder, f"wrong_{number:03}.py", text, [mutant.name for mutant in chunk]))
    return plan


def _memory_programs(folder: Path) -> list[dict[str, object]]:
    from support import zoo_memory, zoo_pipelines

    plan = []
    for kind, zoo, members in (
        ("kernels", zoo_memory, zoo_memory.KERNELS),
        ("pipelines", zoo_pipelines, zoo_pipelines.PIPELINES),
    ):
        right = {member.name: member.text for member in members}
        wrong = {name: text for member in members for name, text in member.mutants().items()}
        for state, texts in (("right", right), ("wrong", wrong)):
            for number, names in enumerate(_chunks(list(texts))):
                text = zoo.module_of([texts[name] for name in names])
                plan.append(_program(folder, f"{state}_{kind}_{number:03}.py", text, names, KERNEL_SAMPLES))
    return plan


def _slang_files(source: Path, folder: Path) -> list[dict[str, object]]:
    return [
        _program(folder, path.name, path.read_text(encoding="utf-8"), []) for path in sorted(source.glob("*.slang"))
    ]


def _program(folder: Path, name: str, text: str, only: list[str], samples: int = 128) -> dict[str, object]:
    (folder / name).write_text(text, encoding="utf-8", newline="")
    return {"file": name, "only": only, "samples": samples}


def _chunks(members: Sequence[_T]) -> list[list[_T]]:
    return [list(members[start : start + CHUNK]) for start in range(0, len(members), CHUNK)]
