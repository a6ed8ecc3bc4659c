"""Examples of the codes' explanations: small programs, and the commands that run them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from textwrap import dedent
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_IMPORTED: Final = re.compile(
    r"\b(Array|Each|InOutTensor|Mean|NoDiff|OutTensor|Param|Sum|Tensor|Texture2D|Uniform|float[23])\b"
)
"""Names that examples import from slangad; they write everything else as ``sa.name``."""


@dataclass(frozen=True, slots=True)
class Example:
    """A program, and the command that compiles or runs it.

    Attributes:
        files: The text of each file, by name. A file whose text begins with ``#!`` can be executed.
        command: Commands of a shell, one a line. The output of the last one is shown.
        portable: False if the lines below the message differ between machines, and numbers in it; then only the
            message is shown.
    """

    files: Mapping[str, str]
    command: str
    portable: bool = True

    def run(self, command: str, *, portable: bool = True) -> Example:
        """Return the same files with another command."""
        return replace(self, command=dedent(command).strip(), portable=portable)

    def plus(self, other: Example) -> Example:
        """Return the example with the files of another one as well."""
        return replace(self, files={**self.files, **other.files})


def python(text: str, name: str = "shade.py") -> Example:
    """Return an example in Python; its imports from slangad are added."""
    text = _plain(text)
    names = ", ".join(sorted(set(_IMPORTED.findall(text))))
    head = "import slangad as sa\n" + (f"from slangad import {names}\n" if names else "")
    return file(name, head + ("\n" if re.match(r"[A-Z]", text) else "\n\n") + text)


def file(name: str, text: str) -> Example:
    """Return an example of one file, which is compiled."""
    return Example({name: _plain(text)}, f"slangad compile {name}")


def yaml(text: str) -> Example:
    """Return an example in YAML; the line that names the version is added."""
    return file("shade.yaml", "slangad: 1\n" + _plain(text))


def slang(text: str) -> Example:
    """Return an example in Slang."""
    return file("shade.slang", text)


def _plain(text: str) -> str:
    return dedent(text).strip() + "\n"
