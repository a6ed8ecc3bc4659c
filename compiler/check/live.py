"""Check one decorated object of the running program and all functions that it uses: ``fit.check()``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from slangad.compiler.api.live_programs import kept
from slangad.compiler.api.load import opened_device
from slangad.compiler.api.readable_errors import readable_errors
from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.options import CheckOptions
from slangad.compiler.check.planning.selection import NoSuchNameError
from slangad.compiler.check.session import check
from slangad.compiler.check.subjects.requested_shapes import RequestedShapeError
from slangad.compiler.driver.inputs import Input
from slangad.compiler.errors.cells import with_cell_names
from slangad.compiler.errors.diagnostics import Diagnostic
from slangad.compiler.frontends.python.live import LiveDescription
from slangad.compiler.report.check_text import render_check
from slangad.compiler.report.words import worst_first
from slangad.compiler.runtime.arrays.prepare import InputError, require_whole
from slangad.compiler.toolchain.cache import default_cache

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slangad.compiler.lang.decorators.functions import DescribedFunction
    from slangad.compiler.lang.decorators.kernels import KernelObject, PipelineObject
    from slangad.compiler.report.model import Report, Result, Verdict

    Described = KernelObject[object] | PipelineObject[object] | DescribedFunction[..., object]

_OPTIONS: Final = ("samples", "seed", "device", "strict", "order", "ranges", "shapes")


class CheckResult:
    """The result of a check: true if it passes.

    Attributes:
        report: Everything, as ``slangad check --format json`` has it.
    """

    def __init__(self, report: Report) -> None:
        self.report = report

    @property
    def ok(self) -> bool:
        """Return True if no gradient is wrong."""
        return self.report.ok

    @property
    def verdict(self) -> Verdict:
        """Return the gravest verdict."""
        return worst_first(self.report)[0].verdict

    @property
    def results(self) -> dict[str, Result]:
        """Return the result of each function, kernel and pipeline by name."""
        return {result.function: result for result in self.report.results}

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        return with_cell_names(render_check(self.report).rstrip("\n"))

    def _repr_html_(self) -> str:
        from slangad.compiler.report.html import html_page
        from slangad.compiler.report.notebook import html_frame

        return html_frame(with_cell_names(html_page(self.report)))


def checked(value: Described, options: Mapping[str, Any]) -> CheckResult:
    """Check an object with everything that it uses.

    Args:
        value: A kernel, pipeline or function.
        options: ``samples``, ``seed``, ``device``, ``strict``; ``ranges`` by parameter, ``shapes`` by parameter.

    Raises:
        TypeError: An option is unknown.
        CompileError: The description is rejected.
        InputError: It has no such parameter, or none with such a shape.
        ToolchainError: There is no Slang, no C++ compiler, or no such device.
    """
    unknown = [name for name in options if name not in _OPTIONS]
    if unknown:
        raise TypeError(f"check() has no {unknown[0]}=; it has {', '.join(f'{name}=' for name in _OPTIONS)}")
    kept(value, None)  # refuses what is no description, in full
    live = LiveDescription(value)
    item = Input(Path(live.file), live=live)
    try:
        with readable_errors():
            return CheckResult(check([item], _check_options(live.name, options)))
    except NoSuchNameError as error:
        near = f"did you mean {_in_python(error.near)}?" if error.near else ""
        message = f"{live.name} has no parameter {_in_python(error.name)} to draw in a range"
        raise InputError([Diagnostic("SA411", message, help=near)]) from None
    except RequestedShapeError as error:
        remedy = f'write shapes={{"{_in_python(error.path)}": ({"16, " * error.axes})}}'.replace(", )", ",)")
        raise InputError([Diagnostic("SA412", error.why, help=remedy if error.axes else "")]) from None


def _in_python(path: str) -> str:
    """Return a parameter without the name of its function: ``fit.w`` is w."""
    return path.partition(".")[2]


def _check_options(name: str, options: Mapping[str, Any]) -> CheckOptions:
    for option, least in (("samples", 1), ("seed", 0)):
        require_whole(option, options.get(option, least), least)
    device, adapter = _device(options.get("device", "cpu"))
    by_path = {f"{name}.{path}": bounds for path, bounds in options.get("ranges", {}).items()}
    ranges = tuple((path, *_range(path, bounds)) for path, bounds in by_path.items())
    shapes = tuple((f"{name}.{param}", tuple(shape)) for param, shape in options.get("shapes", {}).items())
    return CheckOptions(
        device=device,
        adapter=adapter,
        samples=options.get("samples", tol.DEFAULT_SAMPLES),
        seed=options.get("seed", 0),
        samples_from_user="samples" in options,
        seed_from_user="seed" in options,
        strict=options.get("strict", False),
        order=options.get("order", 1),
        ranges=ranges,
        required_ranges=tuple(by_path),
        shapes=shapes,
        required_shapes=shapes,
        cache=default_cache(),
        full_command=f"{name}.check({', '.join(f'{option}={value!r}' for option, value in options.items())})",
    )


def _range(path: str, bounds: Any) -> tuple[float, float]:  # noqa: ANN401  (what the user gives)
    try:
        low, high = map(float, bounds)
    except (TypeError, ValueError):
        name = path.partition(".")[2]
        help_ = f'write two numbers: ranges={{"{name}": (0.0, 1.0)}}'
        raise InputError([Diagnostic("SA413", f"the range of {name} is {bounds!r}", help=help_)]) from None
    return low, high


def _device(name: str) -> tuple[str, str]:
    """Return the names of a device and its adapter after opening it."""
    if name == "cpu":
        return name, ""
    device = opened_device(name)
    return device.name, device.adapter
