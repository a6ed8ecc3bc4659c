"""Lower a pipeline's body, kernel calls one after another, to stages, for all front ends.

Every value gets one name; a nested call gets its kernel's. A loop is written out: its calls become stages of their own
in each iteration. Unlisted syntax is refused.
"""

from __future__ import annotations

import ast
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Protocol

from slangad.compiler.frontends.lowering.sizes import lower_domain
from slangad.compiler.frontends.lowering.values import ARRAYS, PipelineValue, bind, constant_argument, element
from slangad.compiler.frontends.reading.problems import Rejected, did_you_mean
from slangad.compiler.ir.built_in_stages import BIN, BUILT_IN, bin_name, result_ranks, shown_name
from slangad.compiler.ir.nodes import Memory
from slangad.compiler.ir.pipelines import Pipeline, Returned, Stage, ValueArgument
from slangad.compiler.ir.types import show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slangad.compiler.errors.spans import Span
    from slangad.compiler.frontends.lowering.entities import RefusedEntity, ValueEntity
    from slangad.compiler.frontends.reading.locations import SourceLocations
    from slangad.compiler.frontends.reading.problems import Problems
    from slangad.compiler.ir.nodes import KernelParam, KernelResult
    from slangad.compiler.ir.pipelines import Argument, Optimizer, Size

DOMAIN: Final = "domain"
TILES: Final = "tiles"
CAPACITY: Final = "capacity"
_MOST_AXES: Final = 3
_DEPTH_PLACE: Final = 2
"""The place of the depth among the arguments of ``sa.bin``; without it, or with None, there is none."""
_BIN_LINE: Final = f"start, count, order = {BIN}(lower, upper, depth, tiles=(4, 6), capacity=100)"
_MOST_STAGES: Final = 1000
"""Stages of one pipeline. Each has buffers and launches of its own."""
_COUNT_LINE: Final = "range takes one to three ints, its step not 0: numbers, and constants of the file"
_ADDED_LINE: Final = "add losses in a kernel: give the Sum or Mean of one kernel to a Param of the next"
_LINE: Final = "for example small = halve(image, domain=(64, 64)); return the result of the last kernel"


@dataclass(frozen=True, slots=True)
class CalledKernel:
    """A kernel that a pipeline calls."""

    name: str
    params: tuple[KernelParam, ...]
    results: tuple[KernelResult, ...]
    dims: int


class BinEntity:
    """The built-in stage ``sa.bin``."""


if TYPE_CHECKING:
    PipelineMeaning = CalledKernel | BinEntity | ValueEntity | RefusedEntity


class PipelineScope(Protocol):
    """The meanings of free names in a pipeline's body."""

    def meaning(self, node: ast.expr) -> PipelineMeaning | None:
        """Return the meaning of a name or ``module.name``; None if it is unknown."""

    def names(self) -> Sequence[str]:
        """Return the names to suggest for a misspelt one."""


@dataclass(frozen=True, slots=True)
class PipelineHead:
    """The parts of a pipeline outside its body: name, parameters, results and the location of the results."""

    name: str
    params: tuple[KernelParam, ...]
    results: tuple[KernelResult, ...]
    results_span: Span
    optimizer: Optimizer | None
    fuse: bool
    doc: tuple[str, ...]
    span: Span


def lower_pipeline(
    head: PipelineHead, body: Sequence[ast.stmt], locations: SourceLocations, scope: PipelineScope, problems: Problems
) -> Pipeline | None:
    """Return a pipeline; None after all errors of its body were reported."""
    before = len(problems)
    lowering = _Lowering(head, locations, scope, problems)
    returned = lowering.body(body)
    if len(problems) != before or returned is None:
        return None
    return Pipeline(
        head.name, head.params, tuple(lowering.stages), returned, head.optimizer, head.fuse, head.doc, head.span
    )


@dataclass(slots=True)
class _Lowering:
    head: PipelineHead
    locations: SourceLocations
    scope: PipelineScope
    problems: Problems
    stages: list[Stage] = field(default_factory=list)
    known: dict[str, PipelineValue] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)
    counters: dict[str, int] = field(default_factory=dict)

    def body(self, body: Sequence[ast.stmt]) -> tuple[Returned, ...] | None:
        for p in self.head.params:
            self.known[p.name] = PipelineValue(p.memory, p.type, p.name)
            self.names[p.name] = p.name
        returned: tuple[Returned, ...] | None = ()
        ended = False
        for number, stmt in enumerate(body):
            if number == 0 and _is_docstring(stmt):
                continue
            if ended:
                self._error("SA045", self.locations.keyword_span(stmt), "this is after the return", "remove it")
                break
            try:
                ended = isinstance(stmt, ast.Return)
                returned = self._statement(stmt) or returned
            except Rejected:
                returned = None
        if not ended and self.head.results and returned is not None:
            self._error("SA047", self.head.span, f"'{self.head.name}' returns nothing", "end it with return")
        return returned

    def _statement(self, stmt: ast.stmt) -> tuple[Returned, ...] | None:
        match stmt:
            case ast.Assign(targets=[target], value=value):
                self._assign(target, value)
            case ast.Expr(value=ast.Call() as call):
                self._call(call)
            case ast.Return(value=value):
                return self._returned(stmt, value)
            case ast.For(target=ast.Name(id=counter), iter=ast.Call(func=ast.Name(id="range")) as count, orelse=[]):
                self._refuse_names(stmt)  # known again once its stages are there
                self._repeat(stmt, counter, self._iterations(count))
            case ast.Pass():
                pass
            case _:
                self._refuse_names(stmt)
                what = "a pipeline calls kernels, one after another or in a loop over range"
                raise self._error("SA045", self.locations.keyword_span(stmt), what, _LINE)
        return None

    def _refuse_names(self, stmt: ast.stmt) -> None:
        """Remember the names that a refused statement would have set."""
        self.refused |= {n.id for n in ast.walk(stmt) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}

    def _iterations(self, node: ast.Call) -> range:
        """Return the iterations of a loop: ``range(4)``, ``range(FIRST, LAST, 2)``."""
        bounds = [self.constant(bound) for bound in node.args]
        ints = [bound for bound in bounds if isinstance(bound, int) and not isinstance(bound, bool)]
        if node.keywords or len(ints) != len(node.args) or not 1 <= len(ints) <= 3 or ints[2:] == [0]:
            what = "the iterations of a pipeline's loop are not known when the file is loaded"
            raise self._error("SA045", self.locations.span(node), what, _COUNT_LINE)
        return range(*ints)

    def _repeat(self, loop: ast.For, counter: str, iterations: range) -> None:
        """Add the stages of every iteration. The counter is a constant in each."""
        for count in iterations:
            self.names.pop(counter, None)
            self.counters[counter] = count
            before = len(self.problems)
            for stmt in loop.body:
                with suppress(Rejected):
                    if isinstance(stmt, ast.Return):
                        what = "a pipeline returns at its end"
                        raise self._error("SA045", self.locations.keyword_span(stmt), what, "put it after the loop")
                    self._statement(stmt)
            if len(self.problems) > before:
                raise Rejected("the next iteration would report the same")
            if len(self.stages) > _MOST_STAGES:
                what = f"the pipeline has more than {_MOST_STAGES} stages"
                raise self._error("SA045", self.locations.keyword_span(loop), what, "loop inside of a kernel")

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        targets = target.elts if isinstance(target, ast.Tuple) else [target]
        for one in targets:
            if not isinstance(one, ast.Name):
                raise self._error("SA045", self.locations.span(one), "only names can be assigned in a pipeline", _LINE)
        wanted = tuple(one.id for one in targets if isinstance(one, ast.Name))
        self.refused |= {name for name in wanted if name not in self.names}
        made = self._values(value, wanted)
        if len(made) != len(targets):
            message = f"{len(made)} values for {len(targets)} names"
            raise self._error("SA039", self.locations.span(target), message, "name every result of the kernel")
        for one, name in zip(targets, made, strict=True):
            assert isinstance(one, ast.Name)  # noqa: S101  (looked at above)
            self.names[one.id] = name
            self.counters.pop(one.id, None)
            self.refused.discard(one.id)

    def _values(self, node: ast.expr, wanted: tuple[str, ...] = ()) -> list[str]:
        """Return the values of an expression: the results of a kernel, with the given names, or a named value."""
        if isinstance(node, ast.Call):
            return self._call(node, wanted)
        if isinstance(node, ast.Name) and node.id in self.names:
            return [self.names[node.id]]
        if isinstance(node, ast.Name):
            raise self._unknown(node)
        is_sum = isinstance(node, ast.BinOp) and isinstance(node.left, ast.Call) and isinstance(node.right, ast.Call)
        raise self._error(
            "SA045",
            self.locations.span(node),
            "a pipeline has no arithmetic: only kernels compute",
            _ADDED_LINE if is_sum else _LINE,
        )

    # --- calls ---

    def _call(self, node: ast.Call, wanted: tuple[str, ...] = ()) -> list[str]:
        kernel = self._kernel(node.func)
        if isinstance(kernel, BinEntity):
            return self._bin(node, wanted)
        arguments = self._arguments(node, kernel)
        domain = next((k.value for k in node.keywords if k.arg == DOMAIN and k.arg not in _names(kernel)), None)
        sizes = () if domain is None else lower_domain(domain, kernel.dims, self)
        self._check_domain(node, kernel, sizes)
        self._check_writes(node, kernel, arguments)
        ranks = tuple(kernel.dims if result.memory is Memory.EACH else 0 for result in kernel.results)
        return self._add(node, kernel, (arguments, sizes, ranks), wanted)

    def _add(
        self,
        node: ast.Call,
        kernel: CalledKernel,
        call: tuple[Sequence[Argument], tuple[Size, ...], tuple[int, ...]],
        wanted: tuple[str, ...],
    ) -> list[str]:
        """Add a stage, and return the names of its results. ``call`` has arguments, domain, and axes of the results."""
        arguments, sizes, ranks = call
        named = wanted if len(wanted) == len(kernel.results) else [_default_name(kernel, r) for r in kernel.results]
        names = tuple(self._fresh(name) for name in named)
        self.stages.append(Stage(kernel.name, tuple(arguments), names, sizes, self.locations.span(node)))
        for name, result, rank in zip(names, kernel.results, ranks, strict=True):
            self.known[name] = PipelineValue(result.memory, result.type, name, rank)
        return [*names]

    def _bin(self, node: ast.Call, wanted: tuple[str, ...]) -> list[str]:
        """Add a stage that lists the items of tiles."""
        sizes = {k.arg: k.value for k in node.keywords if k.arg in (TILES, CAPACITY)}
        if len(sizes) != len((TILES, CAPACITY)):
            missing = " and ".join(f"{name}=" for name in (TILES, CAPACITY) if name not in sizes)
            raise self._error("SA046", self.locations.span(node.func), f"{BIN} lacks {missing}", _BIN_LINE)
        dims = self._axes(sizes[TILES])
        if not 1 <= dims <= _MOST_AXES:
            message = f"the tiles of {BIN} have {dims} axes"
            raise self._error("SA046", self.locations.span(sizes[TILES]), message, "tiles= has one to three sizes")
        domain = (*lower_domain(sizes[TILES], dims, self), *lower_domain(sizes[CAPACITY], 1, self))
        args = [one for n, one in enumerate(node.args) if n < _DEPTH_PLACE or not _is_none(one)]
        keywords = [k for k in node.keywords if k.arg != "depth" or not _is_none(k.value)]
        depth = len(args) > _DEPTH_PLACE or any(k.arg == "depth" for k in keywords)
        kernel = BUILT_IN[bin_name(dims, depth=depth)]
        called = CalledKernel(BIN, kernel.params, kernel.results, dims)
        plain = ast.Call(node.func, args, [k for k in keywords if k.arg not in sizes])
        arguments = self._arguments(plain, called)
        called = replace(called, name=kernel.name)
        return self._add(node, called, (arguments, domain, result_ranks(kernel)), wanted)

    def _axes(self, node: ast.expr) -> int:
        """Return the number of sizes of an expression."""
        shaped = self.extent(node.value) if isinstance(node, ast.Attribute) and node.attr == "shape" else None
        if shaped is not None:
            return shaped[1]
        value = self.constant(node)
        return len(node.elts) if isinstance(node, ast.Tuple) else len(value) if isinstance(value, tuple) else 1

    def _kernel(self, node: ast.expr) -> CalledKernel | BinEntity:
        meaning = self.scope.meaning(node) if isinstance(node, (ast.Name, ast.Attribute)) else None
        match meaning:
            case CalledKernel() | BinEntity():
                return meaning
            case None if isinstance(node, ast.Name) and node.id not in self.names:
                raise self._unknown(node)
            case _:
                reported = getattr(meaning, "reported", False)
                if reported:
                    raise Rejected("reported before")
                message = f"'{ast.unparse(node)}' is no kernel"
                remedy = getattr(meaning, "help", "") or f"a pipeline calls kernels and {BIN} only"
                raise self._error("SA045", self.locations.span(node), message, remedy)

    def _arguments(self, node: ast.Call, kernel: CalledKernel) -> list[Argument]:
        matched = self._matched(node, kernel)
        result: list[Argument] = []
        failed = None
        for param in kernel.params:
            try:
                result.append(self._argument(matched[param.name], param, kernel))
            except Rejected as rejected:  # noqa: PERF203  (one bad argument must not hide another)
                failed = rejected
        if failed is not None:
            raise failed
        return result

    def _matched(self, node: ast.Call, kernel: CalledKernel) -> dict[str, ast.expr]:
        """Return the expression for each parameter."""
        where = self.locations.span(node.func)
        names = _names(kernel)
        shown = f"{kernel.name}({', '.join(names)})"
        if len(node.args) > len(names):
            message = f"{kernel.name} takes {len(names)} arguments, not {len(node.args)}"
            raise self._error("SA015", where, message, shown)
        arguments: dict[str, ast.expr] = dict(zip(names, node.args, strict=False))
        for keyword in node.keywords:
            if keyword.arg == DOMAIN and DOMAIN not in names:
                continue
            if keyword.arg is None or keyword.arg not in names or keyword.arg in arguments:
                what = "'**'" if keyword.arg is None else f"'{keyword.arg}'"
                why = "is given twice" if keyword.arg in arguments else f"is no parameter of {kernel.name}"
                raise self._error("SA015", self.locations.span(keyword), f"{what} {why}", shown)
            arguments[keyword.arg] = keyword.value
        missing = [name for name in names if name not in arguments]
        if missing:
            raise self._error("SA015", where, f"{kernel.name} lacks {', '.join(missing)}", shown)
        return arguments

    def _argument(self, node: ast.expr, param: KernelParam, kernel: CalledKernel) -> Argument:
        if isinstance(node, ast.Starred):
            raise self._error("SA045", self.locations.span(node), "'*' is not supported", "write the arguments out")
        if isinstance(node, ast.Call) or (isinstance(node, ast.Name) and node.id in self.names):
            values = self._values(node)
            if len(values) != 1:
                raise self._error(
                    "SA014", self.locations.span(node), f"these are {len(values)} values", "name them first"
                )
            value = self.known[values[0]]
            argument = bind(value, param, kernel.dims, self.locations.span(node), self.problems)
            if value.memory is Memory.EACH and param.memory is Memory.EACH:
                self.known[value.name] = replace(value, rank=kernel.dims)
            return argument
        return self._constant(node, param, kernel)

    def _constant(self, node: ast.expr, param: KernelParam, kernel: CalledKernel) -> Argument:
        value = self.constant(node)
        if value is None and isinstance(node, ast.Name):
            raise self._unknown(node)
        if value is None:
            help_ = "a kernel takes values of the pipeline, numbers and constants"
            raise self._error("SA045", self.locations.span(node), f"this can't be passed to {kernel.name}", help_)
        return constant_argument(value, param, self.locations.span(node), self.problems)

    def constant(self, node: ast.expr) -> object | None:
        """Return a number or the constant of a name; None for other expressions."""
        match node:
            case ast.Constant(value=int() | float() as value):
                return value
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                return -value
            case ast.Name(id=name) if name in self.counters:
                return self.counters[name]
            case ast.Name() | ast.Attribute() if not (isinstance(node, ast.Name) and node.id in self.names):
                meaning = self.scope.meaning(node)
                return getattr(meaning, "value", None)
            case _:
                return None

    def extent(self, node: ast.expr) -> tuple[str, int] | None:
        """Return the name of a value and its number of axes, for ``image.shape``; None for other expressions."""
        if isinstance(node, ast.Name) and node.id in self.names:
            value = self.known[self.names[node.id]]
            if value.memory in ARRAYS and value.axes:
                return value.name, value.axes
        return None

    def refuse(self, code: str, node: ast.expr, message: str, help_: str) -> Rejected:
        """Report an error at an expression."""
        return self._error(code, self.locations.span(node), message, help_)

    def _check_domain(self, node: ast.Call, kernel: CalledKernel, sizes: tuple[Size, ...]) -> None:
        telling = (Memory.EACH, Memory.OUT_TENSOR, Memory.INOUT_TENSOR)
        if not sizes and not any(p.memory in telling for p in kernel.params):
            shape = "n" if kernel.dims == 1 else f"({', '.join('nmk'[: kernel.dims])})"
            help_ = f"write {kernel.name}(…, domain={shape})"
            raise self._error("SA046", self.locations.span(node.func), f"the domain of {kernel.name} is unknown", help_)

    def _check_writes(self, node: ast.Call, kernel: CalledKernel, arguments: Sequence[Argument]) -> None:
        """Refuse a value that one call writes and also takes as another argument."""
        names = [a.value if isinstance(a, ValueArgument) else "" for a in arguments]
        for param, name in zip(kernel.params, names, strict=True):
            if param.memory.is_written and names.count(name) > 1:
                message = f"{kernel.name} writes '{name}' and takes it once more"
                raise self._error("SA014", self.locations.span(node), message, "pass another tensor")

    def _fresh(self, name: str) -> str:
        number, candidate = 2, name
        while candidate in self.known:
            candidate, number = f"{name}~{number}", number + 1
        return candidate

    # --- what is returned ---

    def _returned(self, stmt: ast.Return, value: ast.expr | None) -> tuple[Returned, ...]:
        wanted = self.head.results
        nodes = [] if value is None else value.elts if isinstance(value, ast.Tuple) else [value]
        made = [(node, name) for node in nodes for name in self._values(node)]
        if len(made) != len(wanted):
            message = f"{len(made)} values are returned, {len(wanted)} are declared"
            raise self._error("SA047", self.locations.keyword_span(stmt), message, "declare the result")
        return tuple(self._result(node, name, r) for (node, name), r in zip(made, wanted, strict=True))

    def _result(self, node: ast.expr, name: str, wanted: KernelResult) -> Returned:
        value = self.known[name]
        if name in {p.name for p in self.head.params}:
            message = f"'{name}' is a parameter"
            raise self._error("SA047", self.locations.span(node), message, "return the result of a kernel")
        if value.memory is not wanted.memory or value.type != wanted.type:
            pairs = ((value.memory, value.type), (wanted.memory, wanted.type))
            actual, declared = (f"{memory.value} {show(element(type_))}" for memory, type_ in pairs)
            raise self._error(
                "SA047",
                self.locations.span(node),
                f"this is {actual}, but {declared} is declared",
                "declare the type of the result",
            )
        return Returned(wanted.name, name, wanted.memory, wanted.type)

    def _unknown(self, node: ast.Name) -> Rejected:
        if node.id in self.refused:
            return Rejected("reported where it was to be made")
        help_ = did_you_mean(node.id, [*self.names, *self.scope.names()]) or f"here are: {', '.join(self.names)}"
        return self.problems.error(
            "SA010", self.locations.span(node), f"unknown name '{node.id}'", label="not defined", help=help_
        )

    def _error(self, code: str, span: Span, message: str, help_: str) -> Rejected:
        return self.problems.error(code, span, message, help=help_)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _names(kernel: CalledKernel) -> list[str]:
    return [p.name for p in kernel.params]


def _default_name(kernel: CalledKernel, result: KernelResult) -> str:
    name = shown_name(kernel.name)
    return name if result.name == "result" else f"{name}.{result.name.rpartition('.')[2]}"


def _is_docstring(stmt: ast.stmt) -> bool:
    return isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant) and isinstance(stmt.value.value, str)
