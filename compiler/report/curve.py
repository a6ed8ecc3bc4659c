"""Draw the losses of a training as a PNG, SVG or PDF picture. PNG and PDF need matplotlib."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from slangad.compiler.report.curve_svg import loss_svg
from slangad.compiler.toolchain.messages.failures import failed

if TYPE_CHECKING:
    from collections.abc import Callable

FORMATS = (".png", ".svg", ".pdf")
"""Endings of files that losses can be drawn into."""


def curve(suffix: str) -> Callable[[list[float]], bytes]:
    """Return the function that draws losses in the format of a file's ending, one of ``FORMATS``.

    Raises:
        ToolchainError: matplotlib is missing, and the picture is no SVG.
    """
    if suffix.lower() == ".svg":
        return lambda losses: loss_svg(losses).encode()
    try:
        import matplotlib.figure  # noqa: F401  (to know early)
    except ImportError:
        raise failed("SA424", "drawing the losses needs matplotlib", "pip install matplotlib") from None
    return lambda losses: _draw(losses, suffix.lower().removeprefix("."))


def _draw(losses: list[float], form: str) -> bytes:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 4.0), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.plot(losses, linewidth=1.2)
    axes.set(xlabel="step", ylabel="loss", xlim=(0, max(1, len(losses) - 1)))
    if losses and min(losses) > 0.0:
        axes.set_yscale("log")
    axes.grid(visible=True, which="major", alpha=0.3)
    stream = io.BytesIO()
    figure.savefig(stream, format=form, dpi=150)
    return stream.getvalue()
