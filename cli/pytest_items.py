"""Collect one test per function for ``pytest --slangad``; the first test of a file checks all its functions.

Collecting reads a file. Its first test compiles it, so ``--collect-only`` and ``-k`` cost little.
"""

from __future__ import annotations

import shlex
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Final, cast

import click
import pytest

from slangad.cli.pytest_summary import REASON, VERDICT
from slangad.compiler.driver.inputs import SIGNS, has_sign
from slangad.compiler.errors.diagnostics import CompileError, ToolchainError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from slangad.cli.check import CheckArguments
    from slangad.compiler.check.options import CheckOptions
    from slangad.compiler.report.model import Result

WHOLE_FILE: Final = "(file)"
"""Name of the test of a file that can't be read as a program."""


class WrongGradient(Exception):  # noqa: N818  (the name is the event)
    """A gradient check failed; the text is its report."""

    def __init__(self, result: Result) -> None:
        self.result = result
        super().__init__(f"{result.verdict.value}: {result.reason}")


def wanted(path: Path, parent: pytest.Collector) -> bool:
    """Return True if a file may describe gradients and is not a test file, unless the command line names it."""
    if path.suffix not in SIGNS or path.name == "conftest.py":
        return False
    patterns: list[str] = parent.config.getini("python_files")
    if any(fnmatch(path.name, pattern) for pattern in patterns) and not parent.session.isinitpath(path):
        return False
    return has_sign(path)


def options_for(config: pytest.Config, file: Path | None = None) -> CheckOptions:
    """Return the options of ``slangad check`` for a file, from pytest's command line and ``[tool.slangad]``.

    Raises:
        pytest.UsageError: The options are wrong.
    """
    from slangad.cli.check import apply_project, check_command, options_of

    try:
        words = shlex.split(config.getoption("slangad_options"))
    except ValueError as error:
        raise pytest.UsageError(f"--slangad-options: {error}") from None
    try:
        with check_command.make_context("--slangad-options", [*words, "--", str(file or "-")]) as context:
            arguments = cast("CheckArguments", context.params)
            apply_project(arguments)
            if arguments["baseline"] or arguments["write_baseline"]:
                raise click.UsageError("A baseline is for `slangad check` only.")
            return options_of(arguments)
    except click.ClickException as error:
        raise pytest.UsageError(f"--slangad-options: {error.format_message()}") from None
    except CompileError as error:
        raise pytest.UsageError(str(error)) from None


class GradientFile(pytest.File):
    """A description or Slang file; its tests are its functions and kernels."""

    _results: dict[str, Result] | None = None

    def collect(self) -> Iterator[pytest.Item]:
        """Yield a test for each function that a check would list."""
        for name, line in self._names():
            yield GradientItem.from_parent(self, name=name, line=line)

    def result_of(self, item: GradientItem) -> Result:
        """Return the result for a test; the first call checks all selected functions of the file."""
        if self._results is None:
            self._results = self._check()
        result = self._results.get(item.name) or self._results.get("")
        if result is None and "<" in item.name:
            pytest.skip("Slang refuses the function for these arguments")
        assert result, f"the check left out {item.name}"  # noqa: S101  (it lists what was collected)
        return result

    def _names(self) -> list[tuple[str, int]]:
        from slangad.compiler.check import tolerances as tol
        from slangad.compiler.check.planning.directives import with_directives
        from slangad.compiler.check.planning.files import with_main_files
        from slangad.compiler.check.repair.load import load_what_compiles
        from slangad.compiler.check.subjects.find import find_subjects
        from slangad.compiler.driver.inputs import Input
        from slangad.compiler.driver.model import Options
        from slangad.compiler.driver.slang_compilers import SlangCompilers
        from slangad.compiler.frontends.slang.model import SlangSetting

        options = options_for(self.config, self._shown)
        compile_options = Options(
            targets=("cpp",),
            include_dirs=options.include_dirs,
            defines=options.defines,
            slang_flags=options.slang_flags,
            cache=options.cache,
        )
        (item,) = with_main_files([Input(self._shown)], options.include_dirs)
        try:
            with SlangCompilers(compile_options) as compilers:
                most = tol.INSTANCES, tol.INSTANCES_OF_FILE
                setting = SlangSetting(compilers.reflect, options.specialize, most, lenient=True)
                loaded = load_what_compiles(item.path, setting)
        except (CompileError, ToolchainError):
            return [(WHOLE_FILE, 0)]
        subjects_here = [one for one in loaded.with_broken(find_subjects(loaded.module)[1]) if item.includes(one.span)]
        subjects = with_directives(subjects_here, loaded.module, str(item.path), options)
        return [(subject.label, subject.span.line) for subject in subjects]

    def _check(self) -> dict[str, Result]:
        from dataclasses import replace

        from slangad.compiler.check.session import check
        from slangad.compiler.driver.inputs import Input

        chosen = {item.name for item in self.session.items if isinstance(item, GradientItem) and item.parent is self}
        options = options_for(self.config, self._shown)
        only = () if WHOLE_FILE in chosen else tuple(sorted(chosen))
        report = check([Input(self._shown)], replace(options, only=only))
        return {result.function: result for result in report.results}

    @property
    def _shown(self) -> Path:
        """Return the path relative to the working folder if the file is inside it."""
        from pathlib import Path

        here = Path.cwd()
        return self.path.relative_to(here) if self.path.is_relative_to(here) else self.path


class GradientItem(pytest.Item):
    """The test of one function: it fails if the check fails, and is skipped if the check is undecided."""

    parent: GradientFile

    def __init__(self, name: str, parent: GradientFile, *, line: int) -> None:
        super().__init__(name, parent)
        self.line = line

    def runtest(self) -> None:
        """Run the check of the file, or use its result."""
        from slangad.compiler.report.model import Verdict

        result = self.parent.result_of(self)
        self.user_properties += [(VERDICT, result.verdict.value), (REASON, result.reason)]
        options = options_for(self.config)
        if result.fails(strict=options.strict, fail_on=options.fail_on):
            raise WrongGradient(result)
        if result.verdict is Verdict.EXPECTED_FAIL:
            pytest.xfail(result.reason)
        if not result.verdict.right:
            pytest.skip(f"{result.verdict.value}: {result.reason}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:  # noqa: ARG002  (pytest's signature)
        """Return the report of the function; a traceback would show slangad's code only."""
        if isinstance(excinfo.value, WrongGradient):
            from slangad.compiler.report.check_text import render_result

            result = excinfo.value.result
            return f"{result.reason}\n{render_result(result)}"  # pytest's summary shows the first line
        if isinstance(excinfo.value, ToolchainError):
            return str(excinfo.value)
        return str(super().repr_failure(excinfo))

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return the location of the function; pytest counts lines from 0."""
        return self.path, max(self.line - 1, 0), f"{self.path.name}:{self.name}"
