"""Define the hooks of the pytest plugin: ``pytest --slangad shaders/`` tests every function that has a gradient.

pytest imports this module on every start. Other modules are imported only under the option.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--slangad`` and ``--slangad-options``."""
    group = parser.getgroup("slangad", "gradient checks")
    group.addoption("--slangad", action="store_true", help="check the gradients of Python, YAML and Slang files")
    group.addoption(
        "--slangad-options",
        default="",
        metavar="WORDS",
        help="options of `slangad check`, such as '--strict --samples 64'",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Refuse wrong options before anything is collected, and let the checks of all files share their processes."""
    if config.getoption("slangad"):
        from contextlib import ExitStack

        from slangad.cli.pytest_items import options_for
        from slangad.compiler.toolchain.workers.kept_children import kept_children

        options_for(config)
        stack = ExitStack()
        stack.enter_context(kept_children())
        config.add_cleanup(stack.close)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Return a collector if the file describes gradients."""
    if not parent.config.getoption("slangad"):
        return None
    from slangad.cli.pytest_items import GradientFile, wanted

    return GradientFile.from_parent(parent, path=file_path) if wanted(file_path, parent) else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the number of gradients by verdict; nothing under ``-q``."""
    if not config.getoption("slangad") or config.get_verbosity() < 0:
        return
    import pytest

    from slangad.cli.pytest_summary import summary_lines

    known = (one for reports in terminalreporter.stats.values() for one in reports)
    lines = list(summary_lines([one for one in known if isinstance(one, pytest.TestReport)]))
    if lines:
        terminalreporter.section("slangad", "-")
        for line in lines:
            terminalreporter.write_line(line)
