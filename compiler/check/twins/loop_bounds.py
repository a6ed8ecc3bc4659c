"""Make twins that find loops which would run longer than their bound.

On a device a loop stops at its bound, in the function and in its derivatives, so no comparison of derivatives notices.
The twin allows every bounded loop one more iteration. If the loop takes it, the twin raises a flag: the line
after that of the loop, or 1 for a loop in another file, as for those of Slang files.

    while c limit 8: body        count = 0; while c limit 9: count += 1; if count > 8: exceed(line + 1); body
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from slangad.compiler.check.model.names import LAUNCHED, is_launch
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.calls import callers, value_callees
from slangad.compiler.ir.types import BOOL, INT
from slangad.compiler.ir.walk import map_blocks, map_body_exprs, rewrite, statements, walk_stmts
from slangad.compiler.slang_text.endings import is_slang

if TYPE_CHECKING:
    from collections.abc import Iterator

_RESET, _EXCEED, _EXCEEDED = "check:reset", "check:exceed", "check:exceeded"
_HELPERS: Final = {
    _RESET: ((), "check_flag = 0;\nreturn 0;"),
    _EXCEED: ((ir.Param("flag", INT),), "if (check_flag == 0)\n    check_flag = flag;\nreturn 0;"),
    _EXCEEDED: ((), "return check_flag;"),
}
EXCEEDED: Final = "exceeded"
"""Begins the names of the twins' results."""
BEYOND: Final = f"{EXCEEDED}_and_on"
"""The result of a twin of a Slang function. Slang continues past a bound."""
PRELUDE: Final = "static int check_flag = 0;\n\n"
"""Text before a module that watches loops."""


def watch_loops(module: ir.Module, kernels: tuple[ir.Kernel, ...]) -> tuple[ir.Module, dict[str, str]]:
    """Add a twin of each of these kernels that reaches a bounded loop. Return the module and the twins by kernel."""
    functions = {f.key: f for f in module.functions}
    plain = {key: f for key, f in functions.items() if f.role is ir.Role.PLAIN}
    touched = callers(plain, (key for key, f in plain.items() if any(map(_is_bounded, _loops(f)))), value_callees)
    watched = [k for k in kernels if k.function in touched and not k.function.startswith(LAUNCHED)]
    if not watched:
        return module, {}
    called = touched - {k.function for k in kernels if k.function.startswith(LAUNCHED)}
    twins = {key: _twin(functions[key], touched, module.source) for key in functions if key in called}
    asked = [watching(functions[kernel.function], kernel, twins[kernel.function]) for kernel in watched]
    inlined = {kernel.function for kernel in watched if kernel.in_step}  # they have thread numbers
    kept = (twin for key, twin in twins.items() if key not in inlined)
    added = (*helpers(), *kept, *(function for function, _ in asked))
    made = replace(
        module,
        functions=(*module.functions, *added),
        kernels=(*module.kernels, *(kernel for _, kernel in asked)),
    )
    return made, {kernel.name: twin.name for kernel, (_, twin) in zip(watched, asked, strict=True)}


def watches_loops(module: ir.Module) -> bool:
    """Return True if the text of a module needs the prelude. The twin of a Slang file has its own flag."""
    return not is_slang(module.source) and any(function.key == _RESET for function in module.functions)


def _loops(function: ir.Function) -> Iterator[ir.For | ir.While]:
    return (s for s in walk_stmts(statements(function)) if isinstance(s, (ir.For, ir.While)))


def _is_bounded(loop: ir.For | ir.While) -> bool:
    return isinstance(loop, ir.While) or loop.bounded


def _twin(function: ir.Function, touched: set[str], source: str) -> ir.Function:
    def renamed(expr: ir.Expr) -> ir.Expr:
        if isinstance(expr, ir.Call) and expr.function in touched:
            return replace(expr, function=f"watched {expr.function}")
        return expr

    body = map_body_exprs(statements(function), lambda expr: rewrite(expr, renamed))
    return replace(
        function,
        key=f"watched {function.key}",
        name=f"{function.name}_watched",
        body=_Watcher(source).block(body),
        differentiable=False,
        derivative=ir.Automatic(),
        prefer="",
        doc=(),
        ranges=(),
    )


@dataclass(slots=True)
class _Watcher:
    """Rewrites the loops of one function; ``source`` is the file that is checked."""

    source: str
    count: int = 0

    def block(self, body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
        """Return a block with every bounded loop watched."""
        return tuple(made for stmt in body for made in self._stmt(stmt))

    def _stmt(self, stmt: ir.Stmt) -> tuple[ir.Stmt, ...]:
        stmt = map_blocks(stmt, self.block)
        if not isinstance(stmt, (ir.For, ir.While)) or not _is_bounded(stmt):
            return (stmt,)
        self.count += 1
        count = ir.Var(f"check_turns_{self.count}", INT)
        over = ir.Binary(">", count, ir.Const(stmt.limit, INT), BOOL)
        flag = ir.Const(1 + stmt.span.line * (stmt.span.file == self.source), INT)
        head = (
            ir.Assign(count, ir.Binary("+", count, ir.Const(1, INT), INT)),
            ir.If(over, (ir.Let(f"check_over_{self.count}", INT, ir.Call(_EXCEED, (flag,), INT)),), ()),
        )
        watched = replace(stmt, limit=stmt.limit + 1, body=(*head, *stmt.body))
        return ir.Let(count.name, INT, ir.Const(0, INT)), watched


def helpers() -> Iterator[ir.Function]:
    """Yield the functions that lower the flag, raise it and return it."""
    for key, (params, text) in _HELPERS.items():
        yield ir.Function(key, key.replace(":", "_"), params, INT, ir.SlangBody(text), differentiable=False)


def watching(function: ir.Function, kernel: ir.Kernel, twin: ir.Function) -> tuple[ir.Function, ir.Kernel]:
    """Return a function that reports if a loop of another, or of its callees, would have run longer."""
    reset = ir.Let("check_reset", INT, ir.Call(_RESET, (), INT))
    answer = ir.Return(ir.Call(_EXCEEDED, (), INT))
    if is_launch(kernel):
        params, places = function.params, kernel.params
        body = (reset, *_answered(statements(twin), answer), answer)
    else:
        params = tuple(replace(p, no_diff=False, direction="in") for p in function.params if p.direction != "out")
        places = tuple(ir.KernelParam(p.name, ir.Memory.EACH, p.type) for p in params)
        stored = (ir.Let(p.name, p.type, None) for p in function.params if p.direction == "out")
        values = tuple(ir.Var(p.name, p.type) for p in function.params)
        value = ir.Let("check_value", function.result, ir.Call(twin.key, values, function.result))
        body = (reset, *stored, value, answer)
    made = ir.Function(f"asked {kernel.name}", f"watch_{kernel.name}", params, INT, body, differentiable=False)
    results = (ir.KernelResult(BEYOND if isinstance(function.body, ir.External) else EXCEEDED, ir.Memory.EACH, INT),)
    name = f"oracle_watch_{kernel.name}"
    asked = replace(kernel, name=name, function=made.key, params=places, results=results, modes=("forward",), doc=())
    return made, asked


def _answered(body: tuple[ir.Stmt, ...], answer: ir.Return) -> tuple[ir.Stmt, ...]:
    """Return a body that returns the flag in place of values."""
    result: list[ir.Stmt] = []
    for stmt in body:
        if not isinstance(stmt, ir.Return):
            result.append(map_blocks(stmt, lambda block: _answered(block, answer)))
            continue
        if stmt.value is not None:
            result.append(ir.Let("check_value", stmt.value.type, stmt.value))
        result.append(answer)
    return tuple(result)
