"""A copy of the user's function with the language's meaning: same names, same lines, other operations.

The copy is the tree of a module whose only function makes it. It needs the types of the function's locals.
Operators, calls, subscripts, attributes, conditions, loops and stores become calls of ``runtime`` through one free
variable.
"""

from __future__ import annotations

import ast
import copy
import sys
from typing import TYPE_CHECKING, Final, TypeVar

from slangad.compiler.ir.types import Type, join

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slangad.compiler.lang.execution.locals import Locals

RUNTIME: Final = "__slangad__"
FACTORY: Final = "__slangad_factory__"
BODY: Final = "__slangad_body__"
N = TypeVar("N", bound=ast.AST)

_OPERATORS: Final[dict[type[ast.AST], str]] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.USub: "-",
    ast.UAdd: "+",
    ast.Invert: "~",
}


class Transformer(ast.NodeTransformer):
    """Rewrites one function; ``types`` collects the types its code refers to by number."""

    def __init__(self, names: frozenset[str], local_types: Locals) -> None:
        self.local_names = names
        self.locals = local_types
        self.types: list[Type] = []
        self._fresh = 0
        self._counted: dict[int, str] = {}

    def function(self, tree: ast.FunctionDef, free: tuple[str, ...]) -> ast.Module:
        """Return a module whose only function, a factory, takes free variables and runtime and makes ``BODY``."""
        body = [s for statement in tree.body for s in _listed(self.visit(copy.deepcopy(statement)))]
        made = _define(BODY, _parameter_names(tree.args), body)
        outer = _define(FACTORY, [*free, RUNTIME], [made, ast.Return(ast.Name(BODY, ast.Load()))])
        ast.copy_location(made, tree)
        ast.copy_location(outer, tree)
        return ast.fix_missing_locations(ast.Module([outer], []))

    # --- expressions -------------------------------------------------------------------------------------------------

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Make names from outside constants."""
        if node.id in self.local_names or not isinstance(node.ctx, ast.Load):
            return node
        return _call("constant", node, at=node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """Transform ``value.name``."""
        return _call("attribute", self._plain(node.value), ast.Constant(node.attr), at=node)

    def _plain(self, node: ast.expr) -> ast.expr:
        """Leave a module, class or function from outside to Python; transform other values."""
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and root.id not in self.local_names:
            return node
        visited: ast.expr = self.visit(node)
        return visited

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """Transform ``value[place]``."""
        return _call("index", self.visit(node.value), self.visit(node.slice), at=node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """Transform ``left op right``."""
        return self._operation(node.op, self.visit(node.left), self.visit(node.right), node)

    def _operation(self, op: ast.AST, left: ast.expr, right: ast.expr, at: ast.AST) -> ast.expr:
        return _call("binary", ast.Constant(_OPERATORS[type(op)]), left, right, at=at)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        """Transform ``-x``, ``not x``."""
        operand = self.visit(node.operand)
        if isinstance(node.op, ast.Not):
            return ast.copy_location(ast.UnaryOp(ast.Not(), _call("truth", operand, at=node)), node)
        return _call("unary", ast.Constant(_OPERATORS[type(node.op)]), operand, at=node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        """Transform ``a and b``, on bools only."""
        return ast.copy_location(ast.BoolOp(node.op, [self._truth(v) for v in node.values]), node)

    def _truth(self, node: ast.expr) -> ast.expr:
        return _call("truth", self.visit(node), at=node)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        """Transform a comparison; the middle operands of a chain are evaluated once."""
        if any(type(op) not in _OPERATORS for op in node.ops):
            return self.generic_visit(node)  # type: ignore[return-value]  # the same kind of node
        left, links = self.visit(node.left), []
        for op, right in zip(node.ops[:-1], node.comparators[:-1], strict=True):
            name = self._hidden("link")
            kept = ast.NamedExpr(ast.Name(name, ast.Store()), self.visit(right))
            links.append(self._operation(op, left, ast.copy_location(kept, right), node))
            left = ast.copy_location(ast.Name(name, ast.Load()), right)
        links.append(self._operation(node.ops[-1], left, self.visit(node.comparators[-1]), node))
        if len(links) == 1:
            return links[0]
        return ast.copy_location(ast.BoolOp(ast.And(), [_call("truth", link, at=node) for link in links]), node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        """Transform ``a if c else b``; sides of different types become their join."""
        body, other = self.locals.type_of(node.body), self.locals.type_of(node.orelse)
        met = join(body, other) if body is not None and other is not None and body != other else None
        sides = [self.visit(node.body), self.visit(node.orelse)]
        if met is not None:
            sides = [_call("bind_as", side, self._type(met), at=node) for side in sides]
        return ast.copy_location(ast.IfExp(self._truth(node.test), *sides), node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Transform a call; one in the condition of a ``while`` may set its bound."""
        turns = self._counted.pop(id(node), None)
        function = self._plain(node.func)
        args = [self.visit(a) for a in node.args]
        keywords = [ast.keyword(k.arg, self.visit(k.value)) for k in node.keywords]
        target: ast.expr = _runtime("call") if turns is None else ast.Attribute(_load(turns), "call", ast.Load())
        return _located(ast.Call(target, [function, *args], keywords), node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        """Leave lambdas to Python; descriptions have none."""
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        """Leave nested functions to Python; descriptions have none."""
        return node

    # --- statements --------------------------------------------------------------------------------------------------

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        """Transform ``a = b = value``; every name gets its own copy."""
        value: ast.expr = self.visit(node.value)
        if len(node.targets) == 1:
            return self._bind(node.targets[0], value, node)
        name = self._hidden("value")
        made = [_assign(name, value, node)]
        return [*made, *(s for target in node.targets for s in self._bind(target, _load(name), node))]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> list[ast.stmt]:
        """Transform ``x: float = value``."""
        if node.value is None:
            return [ast.copy_location(ast.Pass(), node)]
        value: ast.expr = self.visit(node.value)
        type_ = self.locals.of_name(node.target.id) if isinstance(node.target, ast.Name) else None
        if type_ is None or not isinstance(node.target, ast.Name):
            return self._bind(node.target, value, node)
        name = node.target.id
        return [_assign(name, _call("declared", value, self._type(type_), ast.Constant(name), at=node), node)]

    def visit_AugAssign(self, node: ast.AugAssign) -> list[ast.stmt]:
        """Transform ``x += value``, which binds the sum; ``out[i] += value`` may add to what threads share."""
        target = node.target
        if (
            isinstance(target, ast.Subscript)
            and isinstance(target.value, ast.Name)
            and target.value.id in self.local_names
        ):
            place, value = self.visit(target.slice), self.visit(node.value)
            root = ast.copy_location(_load(target.value.id), target)
            changed = _call("change", ast.Constant(_OPERATORS[type(node.op)]), root, place, value, at=node)
            return [_located(ast.Expr(changed), node)]
        read = copy.deepcopy(node.target)
        read.ctx = ast.Load()
        value = self._operation(node.op, self.visit(read), self.visit(node.value), node)
        return self._bind(node.target, value, node)

    def _bind(self, target: ast.expr, value: ast.expr, at: ast.AST) -> list[ast.stmt]:
        """Return the statements that store a value at a target."""
        if isinstance(target, ast.Name):
            return [_assign(target.id, self._bound(target.id, value, at), at)]
        if isinstance(target, (ast.Tuple, ast.List)):
            name = self._hidden("parts")
            made = [_assign(name, _call("unpack", value, ast.Constant(len(target.elts)), at=at), at)]
            for position, element in enumerate(target.elts):
                part = ast.Subscript(_load(name), ast.Constant(position), ast.Load())
                made += self._bind(element, part, at)
            return made
        root, steps = self._path(target)
        stored = _call("store", root, ast.Tuple(steps, ast.Load()), value, at=at)
        return [_located(ast.Expr(stored), at)]

    def _bound(self, name: str, value: ast.expr, at: ast.AST) -> ast.expr:
        type_ = self.locals.of_name(name)
        return _call("bind", value, at=at) if type_ is None else _call("bind_as", value, self._type(type_), at=at)

    def _path(self, target: ast.expr) -> tuple[ast.expr, list[ast.expr]]:
        """Return the value that a store changes and the steps to the part."""
        if isinstance(target, ast.Attribute):
            root, steps = self._path(target.value)
            return root, [*steps, _step("field", ast.Constant(target.attr))]
        if isinstance(target, ast.Subscript):
            root, steps = self._path(target.value)
            return root, [*steps, _step("index", self.visit(target.slice))]
        if isinstance(target, ast.Name):
            return ast.copy_location(_load(target.id), target), []
        return self.visit(target), []

    def visit_If(self, node: ast.If) -> ast.stmt:
        """Transform ``if`` on a bool."""
        made = ast.If(self._truth(node.test), self._block(node.body), self._block(node.orelse))
        return ast.copy_location(made, node)

    def visit_For(self, node: ast.For) -> ast.stmt:
        """Transform ``for`` over a range or values; each iteration binds the target."""
        name = self._hidden("item")
        values = _call("iterate", self.visit(node.iter), at=node.iter)
        body = [*self._bind(node.target, _load(name), node.target), *self._block(node.body)]
        made = ast.For(ast.Name(name, ast.Store()), values, body, self._block(node.orelse), None)
        return ast.copy_location(made, node)

    def visit_While(self, node: ast.While) -> list[ast.stmt]:
        """Transform ``while`` on a bool; it counts iterations if the condition may bound them."""
        operands = node.test.values if isinstance(node.test, ast.BoolOp) else [node.test]
        calls = [o for o in operands if isinstance(o, ast.Call)]
        if not calls:
            made = ast.While(self._truth(node.test), self._block(node.body), self._block(node.orelse))
            return [ast.copy_location(made, node)]
        name = self._hidden("turns")
        self._counted.update({id(c): name for c in calls})
        turn = ast.Expr(ast.Call(ast.Attribute(_load(name), "turn", ast.Load()), [], []))
        body = [_located(turn, node.test), *self._block(node.body)]
        made = ast.While(self._truth(node.test), body, self._block(node.orelse))
        return [_assign(name, _call("turns", at=node.test), node.test), ast.copy_location(made, node)]

    def _block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        return [s for statement in statements for s in _listed(self.visit(statement))]

    def _hidden(self, word: str) -> str:
        self._fresh += 1
        return f"__{word}_{self._fresh}"

    def _type(self, type_: Type) -> ast.expr:
        if type_ not in self.types:
            self.types.append(type_)
        return ast.Constant(self.types.index(type_))


def _define(name: str, parameters: Sequence[str], body: Sequence[ast.stmt]) -> ast.FunctionDef:
    arguments = ast.arguments(
        posonlyargs=[],
        args=[ast.arg(p, None) for p in parameters],
        vararg=None,
        kwonlyargs=[],
        kw_defaults=[],
        kwarg=None,
        defaults=[],
    )
    made = ast.FunctionDef(name, arguments, list(body), [], None, None)
    if sys.version_info >= (3, 12):
        made.type_params = []
    return made


def _parameter_names(arguments: ast.arguments) -> list[str]:
    return [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


def _listed(statements: ast.stmt | list[ast.stmt]) -> list[ast.stmt]:
    return statements if isinstance(statements, list) else [statements]


def _load(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _runtime(name: str) -> ast.expr:
    return ast.Attribute(_load(RUNTIME), name, ast.Load())


def _call(name: str, *args: ast.expr, at: ast.AST) -> ast.expr:
    return _located(ast.Call(_runtime(name), list(args), []), at)


def _assign(name: str, value: ast.expr, at: ast.AST) -> ast.stmt:
    return _located(ast.Assign([ast.Name(name, ast.Store())], value, None), at)


def _step(kind: str, key: ast.expr) -> ast.expr:
    return ast.Tuple([ast.Constant(kind), key], ast.Load())


def _located(node: N, at: ast.AST) -> N:
    """Return the node at the location of another; new children are at its start, so that tracing stays on its line."""
    ast.copy_location(node, at)
    line, column = getattr(at, "lineno", 1), getattr(at, "col_offset", 0)
    for child in ast.walk(node):
        if isinstance(child, (ast.expr, ast.keyword)) and not hasattr(child, "lineno"):
            child.lineno = child.end_lineno = line
            child.col_offset, child.end_col_offset = column, column + 1
    return node
