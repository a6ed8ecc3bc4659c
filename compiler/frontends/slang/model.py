"""The interface by which the Slang front end asks a Slang compiler for reflection. It needs no compiler itself."""

from __future__ import annotations

import time
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from slangad.compiler.errors.diagnostics import Diagnostic


NO_TEXTS: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ReflectedFile:
    """The declarations of a Slang file.

    Attributes:
        text: The declarations as JSON; see ``toolchain/workers/declarations.py``.
        dependencies: The absolute paths of the files that it imports or includes, and its own.
        warnings: Slang's warnings.
    """

    text: str
    dependencies: tuple[str, ...]
    warnings: tuple[Diagnostic, ...] = ()


class Reflector(Protocol):
    """Let Slang read a file."""

    def __call__(
        self, file: Path, asked: tuple[str, ...], text: str | None = None, others: Mapping[str, str] = NO_TEXTS
    ) -> ReflectedFile:
        """Read a file, or ``text`` in its place, and the texts of ``others`` in place of files that it brings in.

        Look up the ``asked`` functions by name, such as ``f<float, 4>``.

        Raises:
            CompileError: Slang rejects the file.
            ToolchainError: Slang crashed, hung or cannot be run.
        """


@dataclass(frozen=True, slots=True)
class SlangSetting:
    """Settings to load Slang files.

    Attributes:
        reflect: Lets Slang read a file.
        specialize: Generic functions to compile, each with its arguments: ``f<float, 4>``.
        instances: Most instances of each other generic function, with arguments that suit the files, and of all such
            functions.
        text: The text to use in place of that of the loaded file.
        lenient: True if wrong ranges in comments are left out without an error, and a file may have no kernel.
        included: True if functions of included files are kernels, too.
        include_dirs: The folders of ``-I``.
        defines: The macros of ``-D``.
        clock: Returns the seconds that readings took since some time.
    """

    reflect: Reflector
    specialize: tuple[str, ...] = ()
    instances: tuple[int, int] = (0, 0)
    text: str | None = None
    lenient: bool = False
    included: bool = False
    include_dirs: tuple[str, ...] = ()
    defines: tuple[tuple[str, str], ...] = ()
    clock: Callable[[], float] = time.perf_counter
