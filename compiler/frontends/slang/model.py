"""What the Slang front end asks of whoever has a Slang compiler, and the answer; so that it needs none itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from slangad.compiler.errors.diagnostics import Diagnostic


@dataclass(frozen=True, slots=True)
class Reflection:
    """What a Slang file declares.

    Attributes:
        text: The declarations as JSON; see ``toolchain.declarations``.
        dependencies: Files it imports or includes, itself too, absolute.
        warnings: What Slang points out.
    """

    text: str
    dependencies: tuple[str, ...]
    warnings: tuple[Diagnostic, ...] = ()


class Reflector(Protocol):
    """Has Slang read a file."""

    def __call__(self, file: Path, asked: tuple[str, ...], text: str | None = None) -> Reflection:
        """Read a file, or ``text`` in its place; look ``asked`` functions up by name, such as ``f<float, 4>``.

        Raises:
            CompileError: Slang rejects the file.
            ToolchainError: Slang crashed, hung or can't be run.
        """


@dataclass(frozen=True, slots=True)
class SlangSetting:
    """What it takes to load Slang files.

    Attributes:
        reflect: Has Slang read a file.
        specialize: Generic functions to compile, each with its arguments: ``f<float, 4>``.
        text: What stands for the file that is loaded, if that is not its own text.
    """

    reflect: Reflector
    specialize: tuple[str, ...] = ()
    text: str | None = None
