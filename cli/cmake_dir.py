"""Print the folder with slangad's CMake package: the command ``slangad cmake-dir``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from slangad.cli.help import HelpCommand

if TYPE_CHECKING:
    from slangad.cli.console import Session


@click.command("cmake-dir", cls=HelpCommand)
@click.pass_obj
def cmake_dir_command(session: Session) -> None:
    """Print the folder of SlangadConfig.cmake.

    \b
      cmake -DSlangad_DIR=$(slangad cmake-dir) …
    """  # noqa: D301  (click's mark for text that it must not wrap)
    import slangad

    folder = Path(slangad.__file__).parent / "templates" / "cmake"
    session.write(f"{folder.as_posix()}\n".encode())


__all__ = ["cmake_dir_command"]
