"""The project's settings under the command line's: what is not said there is taken from pyproject.toml."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

if TYPE_CHECKING:
    from slangad.cli.compile import CompileArguments
    from slangad.compiler.driver.settings import Project


def apply_project(arguments: CompileArguments) -> None:
    """Complete the arguments of ``compile`` from the project; the inputs too when none were named.

    Raises:
        CompileError: The settings are wrong.
    """
    project = _project_here()
    if project is None:
        return
    from slangad.compiler.driver.settings import inputs_of

    if not arguments["inputs"]:
        arguments["inputs"] = inputs_of(project)
        arguments["specialize"] = (*arguments["specialize"], *project.specialize)
    if project.targets is not None and is_unsaid("targets") and arguments["output"] != "-":
        arguments["targets"] = project.targets
    if project.modes is not None and is_unsaid("modes"):
        arguments["modes"] = project.modes
    if project.output is not None and is_unsaid("output"):
        arguments["output"] = project.output
    if project.optimization is not None and is_unsaid("optimization"):
        arguments["optimization"] = project.optimization
    if project.deterministic is not None and is_unsaid("deterministic"):
        arguments["deterministic"] = project.deterministic
    arguments["include_dirs"] = (*arguments["include_dirs"], *project.include)
    arguments["defines"] = with_macros_of(project, arguments["defines"])


def _project_here() -> Project | None:
    here = Path.cwd()
    if not any(_mentions_settings(folder / "pyproject.toml") for folder in (here, *here.parents)):
        return None
    from slangad.compiler.driver.settings import find_project

    return find_project(here)


def is_deterministic(*, said: bool) -> bool:
    """Whether gradients are to have the same bits on every run, by the command line or else by the project.

    Raises:
        CompileError: The settings are wrong.
    """
    project = _project_here() if is_unsaid("deterministic") else None
    return said if project is None or project.deterministic is None else project.deterministic


def with_macros_of(project: Project, given: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Macros from the command line, and those of the project that it doesn't define itself."""
    said = {name for name, _ in given}
    return (*given, *(macro for macro in project.defines if macro[0] not in said))


def inputs_now(arguments: CompileArguments) -> tuple[str, ...]:
    """The inputs of a run that goes on: those of the project as it is by now, or those that were named.

    Raises:
        CompileError: The settings are wrong, or a pattern has no files any more.
    """
    from slangad.compiler.driver.settings import find_project, inputs_of

    project = find_project(Path.cwd()) if arguments.get("from_project") else None
    return arguments["inputs"] if project is None else inputs_of(project)


def _mentions_settings(file: Path) -> bool:
    """Whether a file may have settings: told from its text, so that most runs load nothing to read them."""
    try:
        return b"slangad" in file.read_bytes()
    except OSError:
        return False


def is_unsaid(name: str) -> bool:
    """Whether an option has its default, rather than a value from the command line or the environment."""
    return click.get_current_context().get_parameter_source(name) in (ParameterSource.DEFAULT, None)
