"""Complete the command line's parameters from ``[tool.slangad]`` in pyproject.toml."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

if TYPE_CHECKING:
    from slangad.cli.check import CheckArguments
    from slangad.cli.compile import CompileArguments
    from slangad.compiler.driver.settings import Project, SlangSettings


def apply_project(arguments: CompileArguments) -> None:
    """Complete the arguments of ``compile`` from the project, including the inputs if the command line names none.

    Raises:
        CompileError: The settings are wrong.
    """
    project = _project_here()
    if project is None:
        return
    from slangad.compiler.driver.settings import inputs_of

    if not arguments["inputs"]:
        arguments["inputs"] = inputs_of(project)
        arguments["specialize"] = (*arguments["specialize"], *project.slang.specialize)
    if project.targets is not None and is_default("targets") and arguments["output"] != "-":
        arguments["targets"] = project.targets
    if project.modes is not None and is_default("modes"):
        arguments["modes"] = project.modes
    if project.output is not None and is_default("output"):
        arguments["output"] = project.output
    if project.optimization is not None and is_default("optimization"):
        arguments["optimization"] = project.optimization
    if project.deterministic is not None and is_default("deterministic"):
        arguments["deterministic"] = project.deterministic
    add_slang_settings(arguments, project.slang)


def _project_here() -> Project | None:
    here = Path.cwd()
    if not any(_mentions_settings(folder / "pyproject.toml") for folder in (here, *here.parents)):
        return None
    from slangad.compiler.driver.settings import find_project

    return find_project(here)


def is_deterministic(*, option: bool) -> bool:
    """Return True if the command line, or else the project, wants gradients with the same bits on every run.

    Raises:
        CompileError: The settings are wrong.
    """
    project = _project_here() if is_default("deterministic") else None
    return option if project is None or project.deterministic is None else project.deterministic


def add_slang_settings(arguments: CompileArguments | CheckArguments, settings: SlangSettings) -> None:
    """Add the Slang settings of one table, except ``specialize``. Macros and compilers in the arguments win."""
    arguments["include_dirs"] = (*arguments["include_dirs"], *settings.include)
    names = {name for name, _ in arguments["defines"]}
    arguments["defines"] = (*arguments["defines"], *(macro for macro in settings.defines if macro[0] not in names))
    arguments["slang_flags"] = (*settings.flags, *arguments["slang_flags"])
    if arguments["slangc"] is None and settings.slangc is not None:
        arguments["slangc"] = Path(settings.slangc)


def inputs_now(arguments: CompileArguments | CheckArguments) -> tuple[str, ...]:
    """Return the inputs of a running watch: the project's current ones, or those that the command line names.

    Raises:
        CompileError: The settings are wrong, or a pattern matches no files now.
    """
    from slangad.compiler.driver.settings import find_project, inputs_of

    project = find_project(Path.cwd()) if arguments.get("from_project") else None
    return arguments["inputs"] if project is None else inputs_of(project)


def _mentions_settings(file: Path) -> bool:
    """Return True if the file's text mentions slangad, so that most runs load no TOML reader."""
    try:
        return b"slangad" in file.read_bytes()
    except OSError:
        return False


def is_default(name: str) -> bool:
    """Return True if neither the command line nor the environment gives this option a value."""
    return click.get_current_context().get_parameter_source(name) in (ParameterSource.DEFAULT, None)
