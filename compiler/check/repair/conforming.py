"""Import a module with arguments for generic functions for which a file and its imports have none.

    interface ISampler { float next(); }                      // the file
    [Differentiable] float eval<S : ISampler>(float x, S s)   // no type of the file conforms to ISampler

A module of the folder of the interface, or of the folders of ``-I``, may have a type that conforms. The file is read
with an import of that module behind its text.
"""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.repair.load import decoded_text
from slangad.compiler.errors.diagnostics import CompileError, ToolchainError
from slangad.compiler.frontends.slang.module import load_slang
from slangad.compiler.slang_text.conforming import conforming_files
from slangad.compiler.slang_text.search import folders_of, shown_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from slangad.compiler.check.repair.repaired import Repaired
    from slangad.compiler.frontends.slang.model import SlangSetting
    from slangad.compiler.ir.nodes import Module


def with_conforming_types(path: Path, repaired: Repaired, setting: SlangSetting) -> tuple[Repaired, Mapping[str, str]]:
    """Return a Slang file with imports of modules for the interfaces that no type of its files has.

    Return also a sentence about the import, by generic function that has arguments through it.
    """
    notes: dict[str, str] = {}
    for interface in dict.fromkeys(name for left in repaired.module.left_out for name in left.lacking):
        waiting = {left.function for left in repaired.module.left_out if interface in left.lacking}
        for file, module, text in _attempts(path, interface, repaired, setting):
            gained = waiting.difference(left.function for left in module.left_out if interface in left.lacking)
            if gained:
                note = f"{interface} has no type in the files: {shown_path(str(file))} is imported, which has some"
                notes |= dict.fromkeys(gained, note)
                repaired = replace(repaired, text=text, module=module)
                break
    return repaired, notes


def _attempts(
    path: Path, interface: str, repaired: Repaired, setting: SlangSetting
) -> Iterator[tuple[Path, Module, str]]:
    """Yield the modules with the interface that Slang accepts, each with the file that imports it, and its text."""
    text = repaired.text or decoded_text(path)
    folders = folders_of(path, setting.include_dirs)
    for file in islice(conforming_files(interface, repaired.module.sources, folders[1:]), tol.CONFORMING_MODULES):
        longer = f'{text}\nimport "{_written(file, folders)}";\n'
        try:
            yield file, load_slang(path, replace(setting, text=longer)), longer
        except (CompileError, ToolchainError):
            continue


def _written(file: Path, folders: Sequence[str]) -> str:
    """Return a path that names a file in an import: from the nearest folder that contains it, else from the first."""
    below = (os.path.relpath(file, Path(folder).resolve()) for folder in folders)
    paths = sorted((one.count(os.sep), one) for one in below if not one.startswith(os.pardir))
    return (paths[0][1] if paths else os.path.relpath(file, Path(folders[0]).resolve())).replace(os.sep, "/")
