"""Rules for tensors that a kernel reads and writes.

SA041: an element is read where the tensor may have been
written before on the same path. SA042: an access is not to the thread's own element.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from slangad.compiler.errors.diagnostics import Diagnostic
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.types import Tensor, Texture
from slangad.compiler.ir.walk import rewrite, root, statements, stmt_exprs, walk, walk_stmts

if TYPE_CHECKING:
    from slangad.compiler.errors.spans import Span
    from slangad.compiler.frontends.reading.problems import Problems

Written = Mapping[str, "Span"]
"""The tensors that may have been written, with the location of a write."""


def check_in_place(kernel: ir.Kernel, function: ir.Function, problems: Problems) -> None:
    """Report accesses to in-place tensors that have no defined order or no gradient."""
    names = frozenset(p.name for p in kernel.params if p.memory is ir.Memory.INOUT_TENSOR)
    if not names:
        return
    _Order(names, problems).block(statements(function), {}, _Left())
    expressions = LocalExpressions(kernel, function)
    for name in sorted(names):
        expressions.check(name, problems)


@dataclass(slots=True)
class _Left:
    """The tensors written at early exits of a loop, and at the start of its next iteration."""

    breaks: list[Written] = field(default_factory=list)
    continues: list[Written] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Order:
    """Follow a body: a tensor must not be read once it may have been written."""

    names: frozenset[str]
    problems: Problems

    def block(self, body: tuple[ir.Stmt, ...], before: Written, left: _Left) -> Written | None:
        """Return the tensors that may be written after a block; None if its end is not reached."""
        written: Written | None = before
        for stmt in body:
            if written is None:
                return None
            written = self._stmt(stmt, written, left)
        return written

    def _stmt(self, stmt: ir.Stmt, written: Written, left: _Left) -> Written | None:
        if not isinstance(stmt, (ir.For, ir.While)):
            self._reads(stmt, written)
        match stmt:
            case ir.Assign(target=ir.Read(source=ir.Var(name=name)), span=span) if name in self.names:
                return {name: span, **written}
            case ir.If(then=then, other=other):
                return _join(self.block(then, written, left), self.block(other, written, left))
            case ir.For() | ir.While():
                return self._loop(stmt, written)
            case ir.Break():
                left.breaks.append(written)
            case ir.Continue():
                left.continues.append(written)
            case ir.Return():
                pass
            case _:
                return written
        return None

    def _loop(self, stmt: ir.For | ir.While, before: Written) -> Written:
        head, leaving = before, _Left()
        for _ in range(len(self.names) + 1):
            self._reads(stmt, head)
            leaving = _Left()
            head = _join(head, self.block(stmt.body, head, leaving), *leaving.continues) or head
        return _join(head, *leaving.breaks) or head

    def _reads(self, stmt: ir.Stmt, written: Written) -> None:
        for expr in read_exprs(stmt):
            for node in walk(expr):
                if isinstance(node, ir.Read) and isinstance(node.source, ir.Var) and node.source.name in written:
                    name = node.source.name
                    self.problems.add(
                        Diagnostic(
                            "SA041",
                            f"'{name}' is read after it was written",
                            node.span,
                            "this thread may have written it before",
                            "keep the value in a local, and write it once at the end",
                            (f"written at {_place(written[name])}",),
                        )
                    )


def _join(*ends: Written | None) -> Written | None:
    reached = [end for end in ends if end is not None]
    return {name: span for end in reversed(reached) for name, span in end.items()} if reached else None


def read_exprs(stmt: ir.Stmt) -> tuple[ir.Expr, ...]:
    """Return the expressions that a statement reads; of a stored element only the indices."""
    if isinstance(stmt, ir.Assign) and isinstance(stmt.target, ir.Read):
        return (*stmt.target.indices, stmt.value)
    return stmt_exprs(stmt)


def _place(span: Span) -> str:
    return f"{span.file}:{span.line}:{span.column}"


class LocalExpressions:
    """The locals of a kernel that equal one expression, so that indices can be compared."""

    def __init__(self, kernel: ir.Kernel, function: ir.Function) -> None:
        self._body = statements(function)
        self._dims = kernel.dims
        stored = [name for stmt in walk_stmts(self._body) for name in _stored(stmt)]
        shared = {p.name for p in kernel.params if p.memory in (ir.Memory.UNIFORM, ir.Memory.PARAM)}
        self._fixed = shared - {*stored}
        self._values: dict[str, ir.Expr] = {}
        for stmt in walk_stmts(self._body):
            match stmt:
                case ir.Assign(target=ir.Var(name=name), value=value) if stored.count(name) == 1:
                    if all(isinstance(e, _PLAIN) or self.is_fixed(e) or self._is_known(e) for e in walk(value)):
                        self._values[name] = self.known(value)
                case _:
                    continue

    def check(self, name: str, problems: Problems) -> None:
        """Report a tensor that is read and written, unless every access is of the thread's own element."""
        targets = [s.target for s in walk_stmts(self._body) if isinstance(s, ir.Assign)]
        read = [node for s in walk_stmts(self._body) for e in read_exprs(s) for node in walk(e)]
        writes, reads = _accesses(targets, name), _accesses(read, name)
        if not reads or not writes or self._are_own([*writes, *reads]):
            return
        problems.add(
            Diagnostic(
                "SA042",
                f"'{name}' is written where another thread may read it",
                writes[0].span,
                "written here",
                "access only the element at the thread's own ids, or write or add to another OutTensor",
                (f"read at {_place(reads[0].span)}",),
            )
        )

    def _are_own(self, accesses: list[ir.Read]) -> bool:
        """Return True if each axis of the domain has an index that is the same everywhere and differs by thread."""
        first, *others = [tuple(self.known(i) for i in access.indices) for access in accesses]
        same = [index for k, index in enumerate(first) if all(other[k] == index for other in others)]
        return all(any(self._tells_apart(index, axis) for index in same) for axis in range(self._dims))

    def _tells_apart(self, index: ir.Expr, axis: int) -> bool:
        """Return True if threads with different ids along an axis have different indices, whatever their other ids."""
        match index:
            case ir.ThreadId(axis=found):
                return found == axis
            case ir.Binary(op="+" | "-", left=a, right=b):
                return any(self._tells_apart(x, axis) and self.is_fixed(y) for x, y in ((a, b), (b, a)))
            case ir.Binary(op="*", left=a, right=b):
                pairs = ((a, b), (b, a))
                return any(self._tells_apart(x, axis) and isinstance(y, ir.Const) and bool(y.value) for x, y in pairs)
            case _:
                return False

    def is_fixed(self, expr: ir.Expr) -> bool:
        """Return True if all threads have the same value."""
        match expr:
            case ir.Const() | ir.Extent() | ir.ThreadCount():
                return True
            case ir.Var(name=name, type=type_):
                return name in self._fixed or isinstance(type_, (Tensor, Texture))
            case ir.Binary(left=a, right=b):
                return self.is_fixed(a) and self.is_fixed(b)
            case _:
                return False

    def _is_known(self, expr: ir.Expr) -> bool:
        return isinstance(expr, ir.Var) and expr.name in self._values

    def known(self, expr: ir.Expr) -> ir.Expr:
        """Return the expression with locals replaced by the expressions that they equal."""
        return rewrite(expr, lambda e: self._values.get(e.name, e) if isinstance(e, ir.Var) else e)


_PLAIN: Final = (ir.ThreadId, ir.Binary)


def _accesses(exprs: Sequence[ir.Expr], name: str) -> list[ir.Read]:
    return [e for e in exprs if isinstance(e, ir.Read) and isinstance(e.source, ir.Var) and e.source.name == name]


def _stored(stmt: ir.Stmt) -> tuple[str, ...]:
    match stmt:
        case ir.Assign(target=target):
            owner = root(target)
            return () if owner is None else (owner.name,)
        case ir.For(variable=name):
            return (name,)
        case _:
            return ()
