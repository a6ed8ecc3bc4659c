"""Build the derivative graph of a function, kernel or pipeline: what carries gradient, what stops it, and why.

A node is an input, a line of source, or a stage of a pipeline. An edge is a value that a line uses::

    x ──> y = sa.sin(x) ──> return y * floor(x)
                            x ╌╌╌╌╌╌╌╌^  floor is not differentiable
"""

from __future__ import annotations

import linecache
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.built_in_stages import BUILT_IN, is_built_in, shown_name
from slangad.compiler.ir.gradient_flow import Carrying, stops_gradient
from slangad.compiler.ir.pipelines import ValueArgument
from slangad.compiler.ir.types import Tensor, Texture, carries_gradient, show
from slangad.compiler.ir.verify.module import gets_gradient
from slangad.compiler.ir.walk import children, root, stmt_exprs, walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from slangad.compiler.ir.pipelines import Pipeline

_LONGEST: Final = 64
"""Characters of a label. Larger: wider pictures."""


@dataclass(frozen=True, slots=True)
class GraphNode:
    """An input, a line or a stage.

    Attributes:
        key: Unique in the graph.
        label: Its text.
        kind: ``input``, ``line``, ``result`` or ``stage``.
        carries: True if gradient flows through it.
        notes: Reasons and marks: why an input carries none, custom derivatives, probes.
        group: The function or pipeline to which it belongs.
    """

    key: str
    label: str
    kind: str
    carries: bool
    notes: tuple[str, ...]
    group: str


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """A use of a value; ``why`` is the reason if no gradient flows, ``name`` the value."""

    source: str
    target: str
    name: str
    carries: bool
    why: str = ""


@dataclass(slots=True)
class DerivativeGraph:
    """Nodes and edges; ``backward`` says that arrows of gradients point from results to inputs."""

    title: str
    nodes: dict[str, GraphNode] = field(default_factory=dict)
    edges: dict[tuple[str, str, str], GraphEdge] = field(default_factory=dict)
    backward: bool = False

    @property
    def groups(self) -> tuple[str, ...]:
        """The functions and pipelines, in order."""
        return tuple(dict.fromkeys(node.group for node in self.nodes.values()))


def graph_of(module: ir.Module, name: str, *, depth: int = 1, backward: bool = False) -> DerivativeGraph:
    """Return the graph of a function, kernel or pipeline.

    Args:
        module: The module from a front end.
        name: The user's name, ``Struct.method`` of a method.
        depth: 1 for the object alone, 2 with the functions that it calls, and so on.
        backward: Draw the arrows of gradients from results to inputs.

    Raises:
        KeyError: There is no such object.
    """
    graph = DerivativeGraph(name, backward=backward)
    functions = {function.key: function for function in module.functions}
    for pipeline in module.pipelines:
        if pipeline.name == name:
            _add_pipeline(graph, pipeline, module, functions, depth)
            return graph
    key = names_of(module)[name]
    kernel = next((k for k in module.kernels if k.function == key), None)
    _add_function(graph, functions[key], functions, depth, kernel)
    return graph


def names_of(module: ir.Module) -> dict[str, str]:
    """Return the keys of functions by the names that ``graph_of`` takes, those of kernels and pipelines too."""
    owners = {definition.struct.key: definition.struct.name for definition in module.structs}
    found = {
        f"{owners[f.owner]}.{f.name}" if f.owner else f.name: f.key
        for f in module.functions
        if f.role is ir.Role.PLAIN and not isinstance(f.body, ir.External)
    }
    return found | {k.name: k.function for k in module.kernels} | {p.name: "" for p in module.pipelines}


def _add_pipeline(
    graph: DerivativeGraph, pipeline: Pipeline, module: ir.Module, functions: Mapping[str, ir.Function], depth: int
) -> None:
    kernels = {**BUILT_IN, **{kernel.name: kernel for kernel in module.kernels}}
    made: dict[str, tuple[str, bool]] = {}
    for param in pipeline.params:
        why = _inactive(param)
        node = GraphNode(f"{pipeline.name} {param.name}", _declared(param), "input", not why, _some(why), pipeline.name)
        graph.nodes[node.key] = node
        made[param.name] = node.key, not why
    for number, stage in enumerate(pipeline.stages):
        kernel = kernels[stage.kernel]
        pairs = zip(kernel.params, stage.arguments, strict=True)
        bound = [(p, a.value) for p, a in pairs if isinstance(a, ValueArgument)]
        carries = any(made[value][1] and not _inactive(param) for param, value in bound)
        key = f"{pipeline.name} stage {number}"
        label = f"{', '.join(stage.results)} = {shown_name(stage.kernel)}({', '.join(value for _, value in bound)})"
        graph.nodes[key] = GraphNode(key, _cut(label), "stage", carries, (), pipeline.name)
        for param, value in bound:
            source, flows = made[value]
            _edge(graph, source, key, value, _inactive(param) or ("" if flows else "no gradient"))
        made |= dict.fromkeys(stage.results, (key, carries))
        if depth > 1 and not is_built_in(stage):
            _add_function(graph, functions[kernel.function], functions, depth - 1, kernel)
    for result in pipeline.results:
        source, carries = made[result.value]
        key = f"{pipeline.name} {result.name}"
        label = f"{result.name}: {result.memory.value} {show(result.type)}"
        graph.nodes[key] = GraphNode(key, label, "result", carries, (), pipeline.name)
        _edge(graph, source, key, result.value, "" if carries else "no gradient")


def _declared(param: ir.KernelParam) -> str:
    tensor = isinstance(param.type, (Tensor, Texture))
    return f"{param.name}: {show(param.type)}" if tensor else f"{param.name}: {param.memory.value} {show(param.type)}"


def _inactive(param: ir.KernelParam | ir.Param) -> str:
    """Return why a parameter gets no gradient; empty if it gets one."""
    if isinstance(param, ir.KernelParam) and param.memory is ir.Memory.UNIFORM:
        return "Uniform"
    if param.no_diff:
        return "NoDiff"
    return "" if carries_gradient(param.type) else f"{show(param.type)} carries no gradient"


def _some(text: str) -> tuple[str, ...]:
    return (text,) if text else ()


def _edge(graph: DerivativeGraph, source: str, target: str, name: str, why: str) -> None:
    """Add a use; a value that carries gradient in one use of a line carries it."""
    known = graph.edges.get((source, target, name))
    if known is None or not known.carries:
        graph.edges[source, target, name] = GraphEdge(source, target, name, not why, why)


def _add_function(
    graph: DerivativeGraph,
    function: ir.Function,
    functions: Mapping[str, ir.Function],
    depth: int,
    kernel: ir.Kernel | None = None,
) -> None:
    group = kernel.name if kernel else function.name
    if group in graph.groups:
        return
    places = {p.name: p for p in kernel.params} if kernel else {}
    defined: dict[str, set[str]] = {}
    for param in function.params:
        given = places.get(param.name)
        why = _inactive(given or param)
        label = _declared(given) if given else f"{param.name}: {show(param.type)}"
        node = GraphNode(f"{group} {param.name}", label, "input", not why, _some(why), group)
        graph.nodes[node.key] = node
        defined[param.name] = {node.key}
    if not isinstance(function.body, tuple):
        key = f"{group} body"
        graph.nodes[key] = GraphNode(key, "written in Slang", "line", function.differentiable, _policy(function), group)
        for param in function.params:
            _edge(graph, f"{group} {param.name}", key, param.name, _inactive(param))
        return
    lines = _Lines(graph, function, functions, group)
    lines.block(function.body, defined)
    if depth > 1:
        for callee in dict.fromkeys(lines.called):
            _add_function(graph, functions[callee], functions, depth - 1)


def _policy(function: ir.Function) -> tuple[str, ...]:
    """Return a mark for a function that is not differentiated through its body."""
    match function.derivative:
        case ir.Automatic():
            return () if function.differentiable else (f"{function.name} is not differentiable",)
        case ir.Custom(backward, forward):
            modes = [word for word, key in (("backward", backward), ("forward", forward)) if key]
            return (f"custom {' and '.join(modes)} of {function.name}",)
        case policy:
            word = "".join(f" {c.lower()}" if c.isupper() else c for c in type(policy).__name__).strip()
            return (f"{word} of {function.name}",)


class _Lines:
    """The lines of one function, as nodes."""

    def __init__(
        self, graph: DerivativeGraph, function: ir.Function, functions: Mapping[str, ir.Function], group: str
    ) -> None:
        self.graph, self.function, self.functions, self.group = graph, function, functions, group
        self.carrying = Carrying(function, functions)
        self.called: list[str] = []

    def block(self, body: tuple[ir.Stmt, ...], defined: dict[str, set[str]]) -> None:
        """Add the lines of a block; ``defined`` has the nodes that may have set each local."""
        for stmt in body:
            match stmt:
                case ir.If(then=then, other=other):
                    self._line(stmt, defined, "a condition")
                    sides = [{name: set(keys) for name, keys in defined.items()} for _ in range(2)]
                    self.block(then, sides[0])
                    self.block(other, sides[1])
                    for name in {*sides[0], *sides[1]}:
                        defined[name] = sides[0].get(name, set()) | sides[1].get(name, set())
                case ir.For(body=inner) | ir.While(body=inner):
                    self._line(stmt, defined, "the range of a loop" if isinstance(stmt, ir.For) else "a condition")
                    for _ in range(2):  # what an iteration sets, the next one uses
                        own = {name: set(keys) for name, keys in defined.items()}
                        self.block(inner, own)
                        for name, keys in own.items():
                            defined[name] = defined.get(name, set()) | keys
                case ir.Let() | ir.Assign() | ir.Return():
                    self._line(stmt, defined)
                case _:
                    pass

    def _line(self, stmt: ir.Stmt, defined: dict[str, set[str]], only: str = "") -> None:
        values = list(self._uses(stmt, only))
        if only and not values:
            return
        key = f"{self.group} line {stmt.span.line}"
        carries = not only and any(not why for _, why in values)
        parts = (part for expr in stmt_exprs(stmt) for part in walk(expr))
        notes = tuple(dict.fromkeys(note for part in parts for note in self._marks(part)))
        known = self.graph.nodes.get(key)
        kind = "result" if isinstance(stmt, ir.Return) else "line"
        label = f"{stmt.span.line}: {_text(stmt)}"
        merged = tuple(dict.fromkeys((*(known.notes if known else ()), *notes)))
        both = carries or (known is not None and known.carries)
        self.graph.nodes[key] = GraphNode(key, _cut(label), kind, both, merged, self.group)
        for name, why in values:
            for source in sorted(defined.get(name, ())):
                if source != key:
                    _edge(self.graph, source, key, name, why)
        target = root(stmt.target) if isinstance(stmt, ir.Assign) else None
        if isinstance(stmt, ir.Let) and stmt.value is not None:
            defined[stmt.name] = {key}
        elif isinstance(stmt, ir.Assign) and target is not None:
            whole = isinstance(stmt.target, ir.Var)
            defined[target.name] = {key} if whole else {*defined.get(target.name, ()), key}

    def _uses(self, stmt: ir.Stmt, only: str) -> Iterator[tuple[str, str]]:
        """Yield the values that a statement uses, each with the reason why it carries no gradient."""
        for expr in stmt_exprs(stmt):
            if isinstance(stmt, ir.Assign) and expr is stmt.target:
                for index in (part for part in walk(expr) if isinstance(part, (ir.Index, ir.Read))):
                    indices = index.indices if isinstance(index, ir.Read) else (index.index,)
                    yield from (use for one in indices for use in self._within(one, "an index"))
                continue
            yield from self._within(expr, only)

    def _within(self, expr: ir.Expr, why: str) -> Iterator[tuple[str, str]]:
        match expr:
            case ir.Var(name):
                yield name, why or ("" if self.carrying.carries(expr) else self._no_gradient(name))
            case ir.NoDiff(value=value):
                yield from self._within(value, why or "no_diff")
            case ir.Ternary(condition, then, other):
                yield from self._within(condition, why or "a condition")
                yield from (use for side in (then, other) for use in self._within(side, why))
            case ir.Index(value=value, index=index):
                yield from self._within(value, why)
                yield from self._within(index, why or "an index")
            case ir.Read(source=source, indices=indices):
                yield from self._within(source, why)
                yield from (use for one in indices for use in self._within(one, why or "an index"))
            case ir.Cast(operand=operand) if not carries_gradient(expr.type):
                yield from self._within(operand, why or f"a conversion to {show(expr.type)}")
            case ir.Call(function=key, args=args):
                callee = self.functions[key]
                stopped = f"{callee.name} is not differentiable" if stops_gradient(callee) else ""
                for param, arg in zip(callee.params, args, strict=True):
                    passive = "" if gets_gradient(param) else f"{param.name} of {callee.name} has no gradient"
                    yield from self._within(arg, why or stopped or passive)
            case _:
                stopped = "" if carries_gradient(expr.type) or not children(expr) else f"a result of {show(expr.type)}"
                yield from (use for child in children(expr) for use in self._within(child, why or stopped))

    def _no_gradient(self, name: str) -> str:
        param = self.graph.nodes.get(f"{self.group} {name}")
        return param.notes[0] if param and param.notes else "no gradient"

    def _marks(self, part: ir.Expr) -> Iterator[str]:
        match part:
            case ir.Probe(name=name):
                yield f"probe {name}"
            case ir.Call(function=key):
                self.called.append(key)
                yield from _policy(self.functions[key])
            case ir.BackwardCall(function=key) | ir.ForwardCall(function=key):
                self.called.append(key)
                yield f"a derivative of {self.functions[key].name}"
            case _:
                return


def _text(stmt: ir.Stmt) -> str:
    """Return the source of a statement, or words for it."""
    line = linecache.getline(stmt.span.file, stmt.span.line).strip()
    return line or type(stmt).__name__.lower()


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
