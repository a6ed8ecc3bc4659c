"""Backward derivatives that slangad writes of random functions with branches, beside derivatives by a complex step.

Function and derivative run as they are in the IR, so that what compilers make of them takes no part.
"""

from __future__ import annotations

import cmath
import random
from typing import TYPE_CHECKING

import pytest

from slangad.compiler.frontends import load
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.build import fresh_keys
from slangad.compiler.ir.walk import statements
from slangad.compiler.passes.derivatives.written_backward import written_backward
from slangad.compiler.passes.order import PIPELINE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

BODIES, POINTS = 60, 12
LOCALS = ("a", "b", "c")
KNOWN = ("x", "y", *LOCALS)
COMPARE = {"<": lambda a, b: a < b, ">": lambda a, b: a > b, "==": lambda a, b: a == b}
COMPUTE = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b}


class Bodies:
    """Writes random bodies of functions of x and y."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)

    def expr(self, names: tuple[str, ...], depth: int = 2) -> str:
        kind = self.dice.random()
        if depth == 0 or kind < 0.2:
            return self.dice.choice((*names, *names, "2.0", "0.0"))
        parts = [self.expr(names, depth - 1) for _ in range(2)]
        if kind < 0.7:
            return f"({parts[0]} {self.dice.choice('+-**')} {parts[1]})"
        if kind < 0.8:
            return f"sa.sin({parts[0]})"
        if kind < 0.9:
            return f"min({parts[0]}, {parts[1]})"
        return f"({parts[0]} if {self.condition(names)} else {parts[1]})"

    def condition(self, names: tuple[str, ...]) -> str:
        return f"{self.dice.choice(names)} {self.dice.choice('<>')} {self.dice.choice((*names, '0.3'))}"

    def block(self, depth: int, count: int, indent: str) -> list[str]:
        lines: list[str] = []
        for _ in range(count):
            if depth and self.dice.random() < 0.45:
                lines.append(f"{indent}if {self.condition(KNOWN)}:")
                lines += self.block(depth - 1, self.dice.randint(1, 2), f"{indent}    ")
                if self.dice.random() < 0.6:
                    lines.append(f"{indent}else:")
                    lines += self.block(depth - 1, self.dice.randint(1, 2), f"{indent}    ")
                continue
            plain = self.dice.random() < 0.35
            value = self.dice.choice(("0.0", "1.0", *KNOWN)) if plain else self.expr(KNOWN)
            lines.append(f"{indent}{self.dice.choice(LOCALS)} = {value}")
        return lines

    def function(self, number: int) -> str:
        start = [f"    {name} = {self.expr(('x', 'y'), 1)}" for name in LOCALS]
        lines = [*start, *self.block(2, self.dice.randint(2, 5), "    ")]
        text = "\n".join((*lines, f"    return {self.expr(KNOWN)} + a * b + c"))
        return (
            f"@sa.differentiable\ndef body_{number}(x: float, y: float) -> float:\n{text}\n\n"
            f"@sa.kernel\ndef kernel_{number}(x: Each[float], y: Each[float]) -> Each[float]:\n"
            f"    return body_{number}(x, y)\n\n"
        )


def value_of(expr: ir.Expr, known: Mapping[str, complex]) -> complex:
    """The value of an expression; comparisons and minima look at real parts."""

    def real(part: ir.Expr) -> float:
        return complex(value_of(part, known)).real

    match expr:
        case ir.Const(value):
            return value
        case ir.Var(name):
            return known[name]
        case ir.Unary("-", operand):
            return -value_of(operand, known)
        case ir.Unary("!", operand):
            return not value_of(operand, known)
        case ir.Binary("&&", left, right):
            return value_of(left, known) and value_of(right, known)
        case ir.Binary(op, left, right) if op in COMPARE:
            return COMPARE[op](real(left), real(right))
        case ir.Binary(op, left, right):
            return COMPUTE[op](value_of(left, known), value_of(right, known))
        case ir.Ternary(condition, then, other):
            return value_of(then if value_of(condition, known) else other, known)
        case ir.Intrinsic("min", (left, right)):
            return value_of(left if real(left) < real(right) else right, known)
        case ir.Intrinsic(name, (operand,)):
            return getattr(cmath, name)(value_of(operand, known))
        case _:
            raise TypeError(expr)


def result_of(body: tuple[ir.Stmt, ...], known: dict[str, complex]) -> list[complex] | None:
    """What a body returns."""
    for stmt in body:
        match stmt:
            case ir.Assign(ir.Var(name), value):
                known[name] = value_of(value, known)
            case ir.If(condition, then, other):
                result_of(then if value_of(condition, known) else other, known)
            case ir.Return(ir.Construct(parts)):
                return [value_of(part, known) for part in parts]
            case ir.Return(value) if value is not None:
                return [value_of(value, known)]
            case _:
                raise TypeError(stmt)
    return None


@pytest.mark.parametrize("seed", range(4))
def test_written_backward__of_random_branches__is_the_derivative(tmp_path: Path, seed: int) -> None:
    bodies = Bodies(seed)
    path = tmp_path / "bodies.py"
    functions = "".join(map(bodies.function, range(BODIES)))
    path.write_text(f"import slangad as sa\nfrom slangad import Each\n\n{functions}")
    module = load(path)
    for step in PIPELINE:
        if step.name == "declare":
            break
        module = step.function(module)
    by_key, keys, written = {f.key: f for f in module.functions}, fresh_keys(module), 0
    for function in (f for f in module.functions if f.name.startswith("body_")):
        backward = written_backward(function, by_key, keys)
        if backward is None:
            continue
        written += 1
        for _ in range(POINTS):
            at = [bodies.dice.uniform(-1.5, 1.5) for _ in range(2)]
            steps = [[at[0] + 1e-30j, at[1]], [at[0], at[1] + 1e-30j]]
            wanted = [result_of(statements(function), dict(zip("xy", s, strict=True))) for s in steps]
            given = dict(zip((p.name for p in backward.params), (*at, 1.0), strict=True))
            found = result_of(statements(backward), given)
            assert found is not None
            derivatives = [complex(one[0]).imag / 1e-30 for one in wanted if one is not None]
            assert [complex(f).real for f in found] == pytest.approx(derivatives, rel=1e-6, abs=1e-6), function.name
    assert written > BODIES // 2
