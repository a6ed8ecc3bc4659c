"""Find values of integer parameters that samples should try or keep distinct.

The function or a callee compares a mode with ``5``, or three times the mode plus one with ``37``. An index stays within
an array. A loop runs ``n`` times, at most 64. Samples try undeclared integers at such values.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.model.integers import Integers
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.calls import custom_derivatives
from slangad.compiler.ir.types import Matrix, is_integral
from slangad.compiler.ir.walk import body_exprs, root, statements, walk_stmts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_COMPARED: Final = frozenset({"==", "!=", "<", "<=", ">", ">="})
_MASKS: Final = frozenset({"&", "|", "^", ">>"})
_CLIPS: Final = frozenset({"min", "max", "clamp"})
_DIVISIONS: Final = {"mod": "%", "floor_div": "/"}
_THREAD: Final = "thread_id_"


_Fact = tuple[str, str, int]
_NUMBER, _INDEX, _COUNT, _STORE = "number", "index", "count", "store"


def integers_of(function: ir.Function, functions: Mapping[str, ir.Function]) -> Integers:
    """Return the uses of a function's integers in it and its callees."""
    names = {param.name for param in function.params}
    all_facts = _facts(function, functions, {})
    facts = [fact for fact in all_facts if _owner(fact[1]) in names or fact[1].startswith(_THREAD)]
    sizes: dict[str, int] = {}
    most: dict[str, int] = {}
    for kind, path, value in facts:
        known = sizes if kind == _INDEX else most if kind == _COUNT else None
        if known is not None:
            known[path] = min(value, known.get(path, value))
    numbers = [(path, value) for kind, path, value in facts if kind == _NUMBER]
    tried = [(path, near) for path, number in numbers for near in beside(number) if near <= most.get(path, near)]
    tried += [(path, count) for path, bound in most.items() for count in (bound - 1, bound) if count >= 0]
    threads = ((int(path[len(_THREAD) :]), value) for path, value in numbers if path.startswith(_THREAD))
    return Integers(
        tuple(dict.fromkeys(pair for pair in tried if abs(pair[1]) <= tol.INTEGER_LARGEST)),
        tuple(sizes.items()),
        tuple(dict.fromkeys(path for kind, path, _ in facts if kind == _STORE)),
        tuple(dict.fromkeys(threads)),
    )


def beside(number: int) -> tuple[int, ...]:
    """Return a number and its neighbours. Only 0 and negative numbers have neighbours below zero."""
    least = -1 if number == 0 else min(0, number)
    return tuple(near for near in (number, number - 1, number + 1) if near >= least)


def around(operator: str, number: int) -> tuple[int, ...]:
    """Return integers that distinguish ``n operator number`` from the same with another number."""
    if operator == "%":
        return (number,)
    if operator == ">>":
        return (1 << min(number, tol.INTEGER_MASK_BITS),)
    above = 1 << number.bit_length()
    return number, above, above >> 1, above - 1 - number


def solved(operator: str, by: int, value: int) -> tuple[int, ...]:
    """Return integers for which ``n operator by`` equals a value."""
    match operator:
        case "*":
            return (value // max(by, 1),)
        case "/":
            return value * by, (value + 1) * by
        case "+":
            return (value - by,)
        case "-":
            return (value + by,)
        case "<<" if by < tol.INTEGER_MASK_BITS:
            return (value >> by,)
        case ">>" if by < tol.INTEGER_MASK_BITS:
            return value << by, (value + 1) << by
        case "%" | "&":
            return value, value + by
        case _:
            return (value,)


def _owner(path: str) -> str:
    return re.split(r"[.\[]", path, maxsplit=1)[0]


def _facts(
    function: ir.Function, functions: Mapping[str, ir.Function], known: dict[str, tuple[_Fact, ...]]
) -> tuple[_Fact, ...]:
    """Return the uses of a function's parameters by kind and path. ``known`` has the uses in functions seen before."""
    if function.key not in known:
        known[function.key] = ()
        facts = [*_in_statements(function), *_in_expressions(function, functions, known)]
        custom = (functions[key] for key in custom_derivatives(function) if key in functions)
        facts += (fact for one in custom for fact in _facts(one, functions, known))
        known[function.key] = tuple(dict.fromkeys(facts))
    return known[function.key]


def _in_statements(function: ir.Function) -> Iterator[_Fact]:
    known = _known(function)
    for stmt in walk_stmts(statements(function)):
        if isinstance(stmt, ir.For) and stmt.bounded and isinstance(stmt.start, ir.Const):
            yield _COUNT, _way(stmt.stop, known), int(stmt.start.value) + stmt.step * stmt.limit
        elif isinstance(stmt, ir.Assign) and isinstance(stmt.target, ir.Read):
            yield from _stored(stmt.target, known)


def _in_expressions(
    function: ir.Function, functions: Mapping[str, ir.Function], facts: dict[str, tuple[_Fact, ...]]
) -> Iterator[_Fact]:
    known = _known(function)
    values = _values(function, known)
    for expr in body_exprs(statements(function)):
        match expr:
            case ir.Binary(op=op, left=left, right=right) if op in _COMPARED and is_integral(left.type):
                yield from _compared((left, right), known, values)
            case ir.Intrinsic(name=name, args=args) if name in _CLIPS and is_integral(expr.type):
                yield from _compared(args, known, values)
            case ir.Binary(op=op, left=left, right=right) if op in _MASKS and is_integral(left.type):
                number = _number(right)
                if number is not None and number >= 0:
                    yield from ((_NUMBER, _way(left, known), one) for one in around(op, number))
            case ir.Index(value=value, index=index):
                size = value.type.rows if isinstance(value.type, Matrix) else getattr(value.type, "size", 0)
                index, by = _moved(index)
                if size > by and is_integral(index.type):
                    yield _INDEX, _way(index, known), size - by
            case ir.Call(function=key, args=args) if key in functions:
                yield from _through(functions[key], args, known, _facts(functions[key], functions, facts))
            case _:
                pass


def _compared(
    operands: tuple[ir.Expr, ...], known: Mapping[str, str], values: Mapping[str, ir.Expr]
) -> Iterator[_Fact]:
    """Yield the operands that are compared with numbers."""
    numbers = tuple(number for number in map(_number, operands) if number is not None)
    for operand in operands:
        yield from ((_NUMBER, way, number) for way, number in _reached(operand, numbers, known, values))


def _through(
    called: ir.Function, args: tuple[ir.Expr, ...], known: Mapping[str, str], facts: tuple[_Fact, ...]
) -> Iterator[_Fact]:
    """Yield the uses of a callee's parameters as uses of the caller's."""
    ways = {param.name: _way(arg, known) for param, arg in zip(called.params, args, strict=False)}
    for kind, path, value in facts:
        owner = _owner(path)
        if owner.startswith(_THREAD):
            yield kind, path, value
        elif ways.get(owner):
            yield kind, ways[owner] + path[len(owner) :], value


def _stored(target: ir.Read, known: Mapping[str, str]) -> Iterator[_Fact]:
    """Yield the parameter that keeps the stores of threads distinct, unless a thread number does."""
    ways = [_way(_moved(index)[0], known) for index in target.indices]
    if not any(way.startswith(_THREAD) for way in ways):
        yield from ((_STORE, way, 0) for way in ways[:1] if way)


def _moved(index: ir.Expr) -> tuple[ir.Expr, int]:
    """Return an index without added numbers, and their sum."""
    by = 0
    while isinstance(index, ir.Binary) and index.op in ("+", "-") and isinstance(index.right, ir.Const):
        by += int(index.right.value) if index.op == "+" else -int(index.right.value)
        index = index.left
    return index, by


def _known(function: ir.Function) -> dict[str, str]:
    """Return the paths of parameters that are never set and of locals that are set once, by name."""
    names = {param.name: param.name for param in function.params}
    often = Counter(_set_by(function))
    names |= dict.fromkeys((name for name in often if name in names), "")
    for stmt in walk_stmts(statements(function)):
        name, value = _definition(stmt)
        if name and value is not None and name not in names and often[name] == 1:
            names[name] = _way(value, names)
    return names


def _values(function: ir.Function, known: Mapping[str, str]) -> dict[str, ir.Expr]:
    """Return the values of locals that are set once and are no part of a parameter."""
    often = Counter(_set_by(function))
    definitions = (_definition(stmt) for stmt in walk_stmts(statements(function)))
    return {
        name: value for name, value in definitions if value is not None and often[name] == 1 and not known.get(name)
    }


def _reached(
    expr: ir.Expr, wanted: Iterable[int], known: Mapping[str, str], values: Mapping[str, ir.Expr]
) -> Iterator[tuple[str, int]]:
    """Yield the parts of parameters in an arithmetic expression, each with integers that give a wanted value."""
    way = _way(expr, known)
    if way:
        yield from ((way, value) for value in wanted)
        return
    match expr:
        case ir.Var(name=name) if name in values:
            yield from _reached(values[name], wanted, known, {n: v for n, v in values.items() if n != name})
        case ir.Cast(operand=operand) if is_integral(operand.type) and is_integral(expr.type):
            yield from _reached(operand, wanted, known, values)
        case ir.Unary(op="-", operand=operand):
            yield from _reached(operand, [-value for value in wanted], known, values)
        case ir.Binary(op=op, left=left, right=right) if (by := _number(right)) is not None:
            yield from _reached(left, [one for value in wanted for one in solved(op, by, value)], known, values)
        case ir.Intrinsic(name=name, args=(left, right)) if name in _DIVISIONS and (by := _number(right)) is not None:
            solutions = [one for value in wanted for one in solved(_DIVISIONS[name], by, value)]
            yield from _reached(left, solutions, known, values)
        case ir.Intrinsic(name="min" | "max", args=(left, right)) if _number(right) is not None:
            yield from _reached(left, wanted, known, values)
        case ir.Binary(op="-", left=left, right=right) if (by := _number(left)) is not None:
            yield from _reached(right, [by - value for value in wanted], known, values)
        case ir.Binary(op="+" | "*" as op, left=left, right=right) if (by := _number(left)) is not None:
            yield from _reached(right, [one for value in wanted for one in solved(op, by, value)], known, values)
        case _:
            pass


def _set_by(function: ir.Function) -> Iterator[str]:
    """Yield the name of a local or parameter for each time that it, or a part of it, is set."""
    for stmt in walk_stmts(statements(function)):
        target = root(stmt.target) if isinstance(stmt, ir.Assign) else None
        if target is not None:
            yield target.name
        elif isinstance(stmt, ir.Let) and stmt.value is not None:
            yield stmt.name
        elif isinstance(stmt, ir.For):
            yield stmt.variable


def _definition(stmt: ir.Stmt) -> tuple[str, ir.Expr | None]:
    match stmt:
        case ir.Let(name=name, value=value) | ir.Assign(target=ir.Var(name=name), value=value):
            return name, value
        case _:
            return "", None


def _way(expr: ir.Expr, known: Mapping[str, str]) -> str:
    """Return the path of a part of a parameter; empty for other expressions."""
    match expr:
        case ir.Var(name=name):
            return known.get(name, "")
        case ir.ThreadId(axis=axis):
            return f"{_THREAD}{axis}"
        case ir.Member(value=value, name=name) | ir.Swizzle(value=value, components=name):
            way = _way(value, known)
            return f"{way}.{name}" if way else ""
        case ir.Index(value=value, index=ir.Const(value=place)):
            way = _way(value, known)
            return f"{way}[{place}]" if way else ""
        case ir.Index(value=value) | ir.Read(source=value):
            return _way(value, known)
        case ir.Cast(operand=operand) if is_integral(operand.type) and is_integral(expr.type):
            return _way(operand, known)
        case _:
            return ""


def _number(expr: ir.Expr) -> int | None:
    match expr:
        case ir.Const(value=value) if isinstance(value, int) and not isinstance(value, bool):
            return value
        case ir.Unary(op="-", operand=operand):
            number = _number(operand)
            return None if number is None else -number
        case ir.Cast(operand=operand):
            return _number(operand)
        case _:
            return None
