"""Derivative graphs: what carries gradient, the reasons of what does not, and the formats."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

import slangad as sa
from slangad.cli.main import cli
from slangad.compiler.frontends import load
from slangad.compiler.report.graph import graph_of
from slangad.compiler.report.graph_formats import GRAPH_FORMATS, as_svg

if TYPE_CHECKING:
    from pathlib import Path

    from slangad.compiler.report.graph import DerivativeGraph

DESCRIBED = """
import slangad as sa
from slangad import Each, Mean, NoDiff, Param, Uniform, float3

@sa.differentiable
def cube(x: float) -> float:
    return x * x * x

@cube.backward
def cube_bwd(x, d_out):
    return 3.0 * x * x * d_out

@sa.kernel
def fit(m: Param[float3], c: Each[float], k: Uniform[float], n: Each[int], seen: NoDiff[Each[float]]) -> Mean[float]:
    bend = cube(c) * m[n % 3]
    frozen = sa.no_diff(bend) * k
    steps = int(c * 3.0)
    total = sa.probe("bend", bend)
    for i in range(3):
        total += m.x * frozen
    if total > 1.0:
        total = total - seen
    return total * float(steps)

@sa.kernel
def doubled(x: Each[float]) -> Each[float]:
    return 2.0 * x

@sa.pipeline
def both(m: Param[float3], c: Each[float], n: Each[int], seen: NoDiff[Each[float]]) -> Mean[float]:
    return fit(m, doubled(c), 2.0, n, seen)
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "described.py"
    path.write_text(DESCRIBED, encoding="utf-8")
    return path


def _reasons(graph: DerivativeGraph) -> dict[str, str]:
    """The reasons of edges without gradient by value and the target's text."""
    stopped = [edge for edge in graph.edges.values() if edge.why]
    return {f"{e.name} -> {graph.nodes[e.target].label.split(': ', 1)[1]}": e.why for e in stopped}


def test_graph__of_a_kernel__says_what_stops_gradient_and_why(file: Path) -> None:
    graph = graph_of(load(file), "fit", depth=2)
    assert graph.groups == ("fit", "cube")
    assert _reasons(graph) == {
        "n -> bend = cube(c) * m[n % 3]": "an index",
        "bend -> frozen = sa.no_diff(bend) * k": "no_diff",
        "k -> frozen = sa.no_diff(bend) * k": "Uniform",
        "c -> steps = int(c * 3.0)": "a conversion to int",
        "frozen -> total += m.x * frozen": "no gradient",
        "total -> if total > 1.0:": "a condition",
        "seen -> total = total - seen": "NoDiff",
        "steps -> return total * float(steps)": "no gradient",
    }
    carrying = {n.label.split(": ")[0] for n in graph.nodes.values() if n.carries and n.group == "fit"}
    assert {"m", "c"} <= carrying
    assert not carrying & {"k", "n", "seen"}
    notes = [note for node in graph.nodes.values() for note in node.notes]
    assert {"custom backward of cube", "probe bend", "Uniform", "NoDiff"} <= set(notes)


def test_graph__of_a_pipeline__has_its_stages(file: Path) -> None:
    graph = graph_of(load(file), "both")
    labels = [node.label for node in graph.nodes.values() if node.kind == "stage"]
    assert labels == ["doubled = doubled(c)", "fit = fit(m, doubled, n, seen)"]
    assert {e.why for e in graph.edges.values() if e.why} == {"NoDiff", "int carries no gradient"}


def test_graph__as_a_picture__has_every_node_inside_and_apart(file: Path) -> None:
    graph = graph_of(load(file), "fit", depth=2)
    root = ET.fromstring(as_svg(graph))
    width, height = (float(root.attrib[name]) for name in ("width", "height"))
    boxes = [r for r in root.iter("{http://www.w3.org/2000/svg}rect") if "stroke" in r.attrib]
    assert len(boxes) == len(graph.nodes)
    places = [tuple(float(b.attrib[k]) for k in ("x", "y", "width", "height")) for b in boxes]
    for number, (x, y, w, h) in enumerate(places):
        assert 0 <= x <= x + w <= width
        assert 0 <= y <= y + h <= height
        assert all(x + w <= a or a + c <= x or y + h <= b or b + d <= y for a, b, c, d in places[:number])


@pytest.mark.parametrize("name", GRAPH_FORMATS)
def test_graph__in_each_format__is_written_by_the_suffix(file: Path, tmp_path: Path, name: str) -> None:
    output = tmp_path / f"graph.{ {'mermaid': 'mmd'}.get(name, name) }"
    result = CliRunner().invoke(cli, ["graph", f"{file}:fit", "--mode", "backward", "-o", str(output)])
    assert result.exit_code == 0, result.output
    graph = graph_of(load(file), "fit", backward=True)
    assert output.read_text(encoding="utf-8") == GRAPH_FORMATS[name](graph)


def test_graph__of_an_unknown_name__suggests_one(file: Path) -> None:
    result = CliRunner().invoke(cli, ["graph", f"{file}:fitt"])
    assert result.exit_code == 1
    assert "did you mean" in result.stderr


@sa.differentiable
def wave(x: float, n: int) -> float:
    return sa.sin(x) * float(n)


def test_graph__of_a_decorated_object__is_a_picture_in_notebooks() -> None:
    graph = wave.graph()
    assert graph._repr_svg_().startswith("<svg")
    assert 'n: int<br>int carries no gradient"]:::stops' in repr(graph)
