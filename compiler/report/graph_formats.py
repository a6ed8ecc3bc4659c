"""Draw a derivative graph as DOT, Mermaid or SVG; the SVG has a layout of its own, so it needs no Graphviz."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from slangad.compiler.report.graph import DerivativeGraph, GraphEdge, GraphNode

_CARRIES: Final = "#0550ae"
_STOPS: Final = "#8c959f"
_MARKED: Final = "#9a6700"
_FILL: Final = {"input": "#ddf4ff", "line": "#ffffff", "result": "#dafbe1", "stage": "#ffffff"}
_CHARACTER: Final = 7.3
"""Pixels: the width of a character."""
_ARROW: Final = """<defs>
<marker id="to" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">
<path d="M0 0 8 4 0 8z" fill="context-stroke"/></marker></defs>"""
_LINE: Final = 16
"""Pixels: the height of a line in a box."""
_PAD: Final = 10
_BETWEEN: Final = 26
_BELOW: Final = 52
"""Pixels: the least gap below boxes. It grows with the labels above a box of the next layer."""
_LABEL: Final = 12
"""Pixels: the height of an edge's label."""


def _ends(graph: DerivativeGraph, edge: GraphEdge) -> tuple[str, str]:
    return (edge.target, edge.source) if graph.backward and edge.carries else (edge.source, edge.target)


def _edge_label(edge: GraphEdge) -> str:
    return edge.name if edge.carries else f"{edge.name}: {edge.why}"


def as_dot(graph: DerivativeGraph) -> str:
    """Return the graph in the language of Graphviz."""
    keys = {key: f"n{number}" for number, key in enumerate(graph.nodes)}
    shared = '  node [shape=box, style=filled, fontname="monospace", fontsize=11];'
    lines = [f"digraph {_quoted(graph.title)} {{", shared]
    for number, group in enumerate(graph.groups):
        lines += [f"  subgraph cluster_{number} {{", f"    label={_quoted(group)};"]
        for node in (node for node in graph.nodes.values() if node.group == group):
            color = _CARRIES if node.carries else _STOPS
            label = _quoted("\n".join((node.label, *node.notes)))
            lines.append(f'    {keys[node.key]} [label={label}, fillcolor="{_FILL[node.kind]}", color="{color}"];')
        lines.append("  }")
    for edge in graph.edges.values():
        a, b = (keys[key] for key in _ends(graph, edge))
        style = f'color="{_CARRIES}"' if edge.carries else f'color="{_STOPS}", style=dashed'
        lines.append(f"  {a} -> {b} [label={_quoted(_edge_label(edge))}, {style}, fontsize=9];")
    return "\n".join((*lines, "}")) + "\n"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def as_mermaid(graph: DerivativeGraph) -> str:
    """Return the graph as a Mermaid flowchart."""
    keys = {key: f"n{number}" for number, key in enumerate(graph.nodes)}
    lines = ["flowchart TD"]
    for number, group in enumerate(graph.groups):
        lines.append(f'    subgraph g{number}["{_entities(group)}"]')
        for node in (node for node in graph.nodes.values() if node.group == group):
            text = "<br>".join(map(_entities, (node.label, *node.notes)))
            lines.append(f'        {keys[node.key]}["{text}"]:::{"carries" if node.carries else "stops"}')
        lines.append("    end")
    for edge in graph.edges.values():
        a, b = (keys[key] for key in _ends(graph, edge))
        arrow = "-->" if edge.carries else "-.->"
        lines.append(f'    {a} {arrow}|"{_entities(_edge_label(edge))}"| {b}')
    lines += [f"    classDef carries stroke:{_CARRIES}", f"    classDef stops stroke:{_STOPS},color:#57606a"]
    return "\n".join(lines) + "\n"


def _entities(text: str) -> str:
    return html.escape(text).replace("&#x27;", "'")


def as_svg(graph: DerivativeGraph) -> str:
    """Return the graph as a picture: groups below each other, inputs at the top of each."""
    boxes: dict[str, tuple[float, float, float, float]] = {}
    frames = []
    top, widest = 34.0, 0.0
    for group in graph.groups:
        nodes = [node for node in graph.nodes.values() if node.group == group]
        placed, width, height = _placed(nodes, graph)
        boxes |= {key: (x + 16, y + top + 24, w, h) for key, (x, y, w, h) in placed.items()}
        frames.append((group, top, width + 32, height + 40))
        widest, top = max(widest, width + 32), top + height + 64
    legend = "solid: carries gradient; dashed: carries none, with the reason"
    widest = max(widest, len(legend) * 6.2)
    size = f'viewBox="0 0 {widest + 8:.0f} {top:.0f}" width="{widest + 8:.0f}" height="{top:.0f}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="monospace" font-size="12" role="img">',
        f"<title>{html.escape(graph.title)}: what carries gradient</title>",
        _ARROW,
        '<rect width="100%" height="100%" fill="#fff"/>',
        f'<text x="8" y="20" font-size="11" fill="#57606a">{html.escape(legend)}</text>',
    ]
    for group, y, width, height in frames:
        parts.append(f'<rect x="4" y="{y:.0f}" width="{width:.0f}" height="{height:.0f}" rx="6" fill="#f6f8fa"/>')
        parts.append(f'<text x="14" y="{y + 16:.0f}" font-weight="bold">{html.escape(group)}</text>')
    parts += [_drawn_edge(graph, edge, boxes) for edge in graph.edges.values()]
    for target, labels in _drawn_labels(graph).items():
        x, y, width, _ = boxes[target]
        for above, label in enumerate(labels):
            at = f'x="{x + width / 2 + 6:.1f}" y="{y - 12 - _LABEL * above:.1f}"'
            halo = 'paint-order="stroke" stroke="#f6f8fa" stroke-width="3"'
            parts.append(f'<text {at} font-size="10" fill="#57606a" {halo}>{html.escape(label)}</text>')
    parts += [_drawn_node(node, boxes[node.key]) for node in graph.nodes.values()]
    return "\n".join((*parts, "</svg>")) + "\n"


def _drawn_labels(graph: DerivativeGraph) -> dict[str, list[str]]:
    """Return by target the labels of edges, from below. A reason that the box of the source shows is left out."""
    labels: dict[str, list[str]] = {}
    for edge in graph.edges.values():
        own = labels.setdefault(edge.target, [])
        if not edge.carries and edge.why not in graph.nodes[edge.source].notes and _edge_label(edge) not in own:
            own.append(_edge_label(edge))
    return labels


def _size(node: GraphNode) -> tuple[float, float]:
    lines = (node.label, *node.notes)
    return max(map(len, lines)) * _CHARACTER + 2 * _PAD, len(lines) * _LINE + _PAD


def _placed(
    nodes: list[GraphNode], graph: DerivativeGraph
) -> tuple[dict[str, tuple[float, float, float, float]], float, float]:
    """Return the box of each node, and the extent of all: layers by the longest path, ordered by their sources."""
    own = {node.key: node for node in nodes}
    sources: dict[str, list[str]] = {key: [] for key in own}
    order = {key: number for number, key in enumerate(own)}
    for edge in graph.edges.values():
        if edge.source in own and edge.target in own and order[edge.source] < order[edge.target]:
            sources[edge.target].append(edge.source)
    layer: dict[str, int] = {}
    for key in own:
        layer[key] = max((layer[source] + 1 for source in sources[key]), default=0)
    boxes: dict[str, tuple[float, float, float, float]] = {}
    labels = _drawn_labels(graph)
    y = width = below = 0.0
    for number in range(max(layer.values(), default=-1) + 1):
        keys = [key for key in own if layer[key] == number]
        keys.sort(key=lambda key: _middle(sources[key], boxes))
        x = 0.0
        for key in keys:
            w, h = _size(own[key])
            x = max(x, _middle(sources[key], boxes) - w / 2) if sources[key] else x
            boxes[key] = (x, y, w, h)
            x += w + _BETWEEN
        width = max(width, x - _BETWEEN)
        most = max((len(labels.get(key, [])) for key in own if layer[key] == number + 1), default=0)
        below = max(_BELOW, 28.0 + _LABEL * most)
        y += max(boxes[key][3] for key in keys) + below
    ends = (boxes[key][0] + boxes[key][2] / 2 + len(label) * 6 for key in own for label in labels.get(key, []))
    return boxes, max([width, *ends]), y - below


def _middle(sources: list[str], boxes: Mapping[str, tuple[float, float, float, float]]) -> float:
    centres = [boxes[key][0] + boxes[key][2] / 2 for key in sources]
    return sum(centres) / len(centres) if centres else 0.0


def _drawn_node(node: GraphNode, box: tuple[float, float, float, float]) -> str:
    x, y, width, height = box
    color = _CARRIES if node.carries else _STOPS
    texts = [
        f'<text x="{x + _PAD:.1f}" y="{y + _LINE + number * _LINE:.1f}" fill="{_MARKED if number else "#1f2328"}">'
        f"{html.escape(text)}</text>"
        for number, text in enumerate((node.label, *node.notes))
    ]
    frame = (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="4" fill="{_FILL[node.kind]}" '
        f'stroke="{color}"/>'
    )
    return "".join((frame, *texts))


def _drawn_edge(
    graph: DerivativeGraph,
    edge: GraphEdge,
    boxes: Mapping[str, tuple[float, float, float, float]],
) -> str:
    """Return the line of an edge."""
    sx, sy, sw, sh = boxes[edge.source]
    tx, ty, tw, _ = boxes[edge.target]
    ax, ay, bx, by = sx + sw / 2, sy + sh, tx + tw / 2, ty
    bend = max(24.0, abs(by - ay) / 2)
    path = f"M{ax:.1f} {ay:.1f}C{ax:.1f} {ay + bend:.1f} {bx:.1f} {by - bend:.1f} {bx:.1f} {by:.1f}"
    if graph.backward and edge.carries:
        path = f"M{bx:.1f} {by:.1f}C{bx:.1f} {by - bend:.1f} {ax:.1f} {ay + bend:.1f} {ax:.1f} {ay:.1f}"
    dash = "" if edge.carries else ' stroke-dasharray="4 3"'
    color = _CARRIES if edge.carries else _STOPS
    return f'<path d="{path}" fill="none" stroke="{color}"{dash} marker-end="url(#to)"/>'


GRAPH_FORMATS: Final[dict[str, Callable[[DerivativeGraph], str]]] = {
    "dot": as_dot,
    "svg": as_svg,
    "mermaid": as_mermaid,
}
"""The formats of ``slangad graph``; the suffix of the file chooses one."""
