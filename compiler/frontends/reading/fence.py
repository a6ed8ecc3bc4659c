"""Reject all syntax that a described function may not contain, before anything else happens.

Unlisted syntax is refused. All errors are reported at once, each at its keyword or token, with a help.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from slangad.compiler.frontends.reading.depth import is_too_deep
from slangad.compiler.lang.decorators.struct import is_operator

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slangad.compiler.frontends.reading.locations import SourceLocations
    from slangad.compiler.frontends.reading.problems import Problems

_STATEMENTS: Final = (
    ast.Assign, ast.AugAssign, ast.AnnAssign, ast.If, ast.For, ast.While, ast.Return, ast.Break, ast.Continue, ast.Pass,
    ast.Expr,
)  # fmt: skip
_EXPRESSIONS: Final = (
    ast.Constant, ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare,
    ast.IfExp, ast.Tuple,
)  # fmt: skip
_REFUSED: Final[dict[type[ast.AST], tuple[str, str]]] = {
    ast.FunctionDef: ("a function inside a function", "{function}"),
    ast.AsyncFunctionDef: ("an async function", "write a plain def"),
    ast.ClassDef: ("a class inside a function", "{struct}"),
    ast.Delete: ("'del'", "remove it"),
    ast.With: ("'with'", "remove it"),
    ast.AsyncWith: ("'async with'", "remove it"),
    ast.AsyncFor: ("'async for'", "write a plain for"),
    ast.Try: ("'try'", "test the condition instead"),
    ast.Raise: ("'raise'", "return a value that marks the error"),
    ast.Assert: ("'assert'", 'sa.static_assert(condition, "message") checks when the file is loaded'),
    ast.Import: ("'import'", "{module}"),
    ast.ImportFrom: ("'import'", "{module}"),
    ast.Global: ("'global'", "pass the value as a parameter and return it"),
    ast.Nonlocal: ("'nonlocal'", "pass the value as a parameter and return it"),
    ast.Match: ("'match'", "write if and elif"),
    ast.Lambda: ("'lambda'", "{function}, as a function"),
    ast.NamedExpr: ("':='", "assign in a separate statement"),
    ast.ListComp: ("a comprehension", "write a loop over an sa.Array"),
    ast.SetComp: ("a comprehension", "write a loop over an sa.Array"),
    ast.DictComp: ("a comprehension", "write a loop over an sa.Array"),
    ast.GeneratorExp: ("a generator", "write a loop"),
    ast.List: ("a list", ""),
    ast.Set: ("a set", ""),
    ast.Dict: ("a dict", "write a struct: {struct}"),
    ast.Await: ("'await'", "remove it"),
    ast.Yield: ("'yield'", "return a value"),
    ast.YieldFrom: ("'yield from'", "return a value"),
    ast.JoinedStr: ("a string", "values are numbers, vectors, arrays and structs"),
    ast.FormattedValue: ("a string", ""),
    ast.Starred: ("'*'", "write the arguments out"),
    ast.Slice: ("a slice", "loop over the entries"),
}
_REFUSED_OPERATORS: Final[dict[type[ast.cmpop], tuple[str, str]]] = {
    ast.Is: ("'is'", "write =="),
    ast.IsNot: ("'is not'", "write !="),
    ast.In: ("'in'", "loop over the entries"),
    ast.NotIn: ("'not in'", "loop over the entries"),
}


def fence_function(node: ast.FunctionDef, locations: SourceLocations, problems: Problems) -> None:
    """Report everything in a function that has no translation."""
    _signature(node, locations, problems)
    fence_body(node.body, locations, problems)


def _signature(node: ast.FunctionDef, locations: SourceLocations, problems: Problems) -> None:
    for star, mark in ((node.args.vararg, "*"), (node.args.kwarg, "**")):
        if star is not None:
            problems.error(
                "SA004", locations.span(star), f"'{mark}{star.arg}' is not supported", help="name the parameters"
            )


def fence_struct(node: ast.ClassDef, locations: SourceLocations, problems: Problems) -> None:
    """Report everything in a struct's class that has no translation."""
    for base in node.bases:
        problems.error(
            "SA005", locations.span(base), f"struct {node.name} inherits", help="make the other struct a field"
        )
    for stmt in node.body:
        match stmt:
            case ast.FunctionDef(name=name):
                for decorator in stmt.decorator_list:
                    _method_decorator(decorator, locations, problems)
                if is_operator(name):
                    message = f"struct {node.name} defines {name}"
                    help_ = "structs can't define operators or constructors"
                    problems.error("SA005", locations.name_span(stmt), message, help=help_)
                else:
                    fence_function(stmt, locations, problems)
            case ast.AsyncFunctionDef():
                span = locations.keyword_span(stmt)
                problems.error("SA004", span, "an async function can't be described", help="write a plain def")
            case _:
                continue


_SHORT: Final = 60
"""Characters of a display's elements that a help repeats."""
_METHODS: Final = {
    "property": ("a property", "make it a method: def name(self) -> float"),
    "cached_property": ("a property", "make it a method: def name(self) -> float"),
    "classmethod": ("a class method", "make it a @staticmethod"),
}


def _method_decorator(node: ast.expr, locations: SourceLocations, problems: Problems) -> None:
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    if name in _METHODS:
        what, help_ = _METHODS[name]
        problems.error("SA005", locations.span(node), f"{what} is not supported in a struct", help=help_)


def fence_body(body: Sequence[ast.stmt], locations: SourceLocations, problems: Problems) -> None:
    """Report every statement and expression of a body that has no translation."""
    if is_too_deep(body, locations, problems):
        return
    for index, stmt in enumerate(body):
        docstring = index == 0 and _is_string(stmt)
        if not docstring:
            _statement(stmt, locations, problems)


def _is_string(stmt: ast.stmt) -> bool:
    return isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant) and isinstance(stmt.value.value, str)


def _statement(node: ast.stmt, locations: SourceLocations, problems: Problems) -> None:
    if not isinstance(node, _STATEMENTS):
        what, help_ = _REFUSED.get(type(node), (f"'{type(node).__name__}'", ""))
        span = locations.keyword_span(node)
        help_ = _in_words(help_, problems)
        problems.error("SA004", span, f"{what} is not supported in a described function", help=help_)
        return
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and node.value.value is Ellipsis:
        return
    if isinstance(node, ast.AnnAssign):
        parts: list[ast.AST] = [node.target, *([node.value] if node.value else [])]
    else:
        parts = list(ast.iter_child_nodes(node))
    for child in parts:
        if isinstance(child, ast.stmt):
            _statement(child, locations, problems)
        elif isinstance(child, ast.expr):
            _expression(child, locations, problems)


def _expression(node: ast.expr, locations: SourceLocations, problems: Problems) -> None:
    if isinstance(node, ast.List) and isinstance(node.ctx, ast.Store):
        for target in node.elts:
            _expression(target, locations, problems)
        return
    if not isinstance(node, _EXPRESSIONS):
        what, help_ = _REFUSED.get(type(node), ("this expression", ""))
        help_ = f"write {_as_array(node)}" if isinstance(node, (ast.List, ast.Set)) else _in_words(help_, problems)
        problems.error("SA004", locations.span(node), f"{what} is not supported in a described function", help=help_)
        return
    match node:
        case ast.Constant(value=value):
            _constant(node, value, locations, problems)
        case ast.Compare(ops=ops):
            _comparison(node, ops, locations, problems)
        case ast.Call():
            _call(node, locations, problems)
        case _:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    _expression(child, locations, problems)


def _as_array(node: ast.List | ast.Set) -> str:
    """Return the array of a display's elements, whose types are not known here."""
    inside = ", ".join(map(ast.unparse, node.elts))
    return f"Array[float, {len(node.elts) or 4}]({inside if len(inside) <= _SHORT else '…'})"


def _in_words(help_: str, problems: Problems) -> str:
    """Return the help with ``{function}``, ``{struct}`` and ``{module}`` in the words of the description's language."""
    words = problems.wording
    return help_.format(function=words.function, struct=words.struct, module=words.module)


def _takes_text(func: ast.expr) -> bool:
    name = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
    return name in ("static_assert", "probe", "print")


def _constant(node: ast.Constant, value: object, locations: SourceLocations, problems: Problems) -> None:
    if isinstance(value, (int, float)):
        return
    kind = {str: "a string", bytes: "bytes", complex: "a complex number", type(...): "'...'"}.get(type(value), "None")
    problems.error(
        "SA004", locations.span(node), f"{kind} is not supported in a described function", help="use numbers and bools"
    )


_IDENTITY: Final = (ast.Is, ast.IsNot)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _comparison(node: ast.Compare, ops: Sequence[ast.cmpop], locations: SourceLocations, problems: Problems) -> None:
    operands = (node.left, *node.comparators)
    if problems.wording.none and len(ops) == 1 and type(ops[0]) in _IDENTITY and any(map(_is_none, operands)):
        help_ = problems.wording.none.format(test=ast.unparse(node))
        problems.error("SA004", locations.span(node), "None is not supported in a described function", help=help_)
        return
    for op, left, right in zip(ops, operands, operands[1:], strict=False):
        if type(op) in _REFUSED_OPERATORS:
            what, help_ = _REFUSED_OPERATORS[type(op)]
            span = locations.between(left, right)
            problems.error("SA004", span, f"{what} is not supported in a described function", help=help_)
    for child in operands:
        _expression(child, locations, problems)


def factory_in_body(name: str, problems: Problems) -> tuple[str, str]:
    """Return the message and the help for a call of a factory in a body."""
    message = f"'{name}' makes a function or a struct, which a body can't do"
    return message, problems.wording.factory.format(name=name)


def _makes_layer(node: ast.Call) -> bool:
    """Return True for ``sa.nn.MLP([3, 4, 1])``, whose list and texts are not worth an error each.

    Without those, the call may be that of a struct in a module of the user's: the names of the body tell.
    """
    func = node.func
    owner = func.value if isinstance(func, ast.Attribute) else None
    name = owner.attr if isinstance(owner, ast.Attribute) else owner.id if isinstance(owner, ast.Name) else ""
    if not isinstance(func, ast.Attribute) or name != "nn" or not func.attr[:1].isupper():
        return False
    given = (*node.args, *(k.value for k in node.keywords))
    return any(isinstance(e, ast.List) or (isinstance(e, ast.Constant) and isinstance(e.value, str)) for e in given)


def _call(node: ast.Call, locations: SourceLocations, problems: Problems) -> None:
    for keyword in node.keywords:
        if keyword.arg is None:
            what = "'**' is not supported in a described function"
            problems.error("SA004", locations.span(keyword), what, help="write the arguments out")
    if isinstance(node.func, ast.Name) and node.func.id == "print":
        problems.error(
            "SA004", locations.span(node.func), "'print' is not supported in a described function",
            help=problems.wording.show,
        )  # fmt: skip
    if problems.wording.factory and _makes_layer(node):
        message, help_ = factory_in_body(ast.unparse(node.func), problems)
        problems.error("SA026", locations.span(node.func), message, help=help_)
        return
    strings_allowed = _takes_text(node.func)
    for part in (node.func, *node.args, *(k.value for k in node.keywords)):
        if not (strings_allowed and isinstance(part, (ast.Constant, ast.JoinedStr))):
            _expression(part, locations, problems)
