"""Random kernels with loops over arrays, as descriptions and as Python on complex numbers.

    for i in range(8):                          a[i] += 0.3 * sa.sin(a[(i + 2) % 8]) * u
        if above(a[i], 0.4):    ->    kernel:   if a[i] > 0.4:
                                      plain:    if above(a[i], 0.4):      notes how close it is

Loops are nested up to three deep. They read and store elements, rows and whole arrays, copy and exchange arrays,
branch by data, leave early, and call functions of arrays. All indices are inside. The derivative of the plain form is
exact: the imaginary part of a complex step.
"""

from __future__ import annotations

import cmath
import random
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

SIZE, ROWS, COLUMNS = 9, 5, 4
"""Entries of the long arrays, and of those of rows."""
HEAD = f"""
import slangad as sa
from slangad import Array, Each, NoDiff

Line = Array[float, {SIZE}]
Row = Array[float, {COLUMNS}]
Table = Array[Row, {ROWS}]


@sa.differentiable
def product(a: Line, b: Line, shift: int) -> float:
    total = 0.0
    for k in range({SIZE}):
        total += a[k] * b[(k + shift) % {SIZE}]
    return total


@sa.differentiable
def mixed(a: Line, w: float) -> Line:
    out = Line()
    for k in range({SIZE}):
        out[k] = w * a[k] + 0.3 * a[{SIZE} - 1 - k]
    return out


@sa.differentiable
def turned(p: float, q: float, row: Row) -> tuple[float, float]:
    for k in range({COLUMNS}):
        p, q = p + 0.1 * row[k] * q, q - 0.1 * p * row[k]
    return p, q


@sa.differentiable
def changed(row: Row, s: float) -> Row:
    out = sa.copy(row)
    for k in range(1, {COLUMNS}):
        out[k] = sa.sin(out[k - 1] + s) * out[k]
    return out
"""
KERNEL = """

@sa.kernel
def {name}(x: Each[Line], y: Each[Table], u: Each[float], n: NoDiff[Each[int]]) -> Each[float]:
{body}
"""
PLAIN = """

def {name}(x, y, u, n):
{body}
"""


@dataclass
class Margins:
    """How close comparisons came to being decided otherwise, and how large numbers got."""

    least: float = 1.0
    most: float = 0.0

    def above(self, value: complex, bound: float) -> bool:
        self.least = min(self.least, abs(value.real - bound))
        self.most = max(self.most, abs(value.real))
        return value.real > bound


class Library:
    """What the plain form of a kernel calls as ``sa``."""

    sin, cos, exp = staticmethod(cmath.sin), staticmethod(cmath.cos), staticmethod(cmath.exp)
    tanh, sqrt = staticmethod(cmath.tanh), staticmethod(cmath.sqrt)

    @staticmethod
    def range(*bounds: int, max_iters: int) -> range:
        return range(*bounds)

    @staticmethod
    def no_diff(value: complex) -> complex:
        return complex(value.real)

    @staticmethod
    def copy(value: Any) -> Any:
        return [Library.copy(v) for v in value] if isinstance(value, list) else value

    @staticmethod
    def differentiable(function: Any) -> Any:
        return function


def plain_names(margins: Margins) -> dict[str, Any]:
    """The names of the plain form: ``HEAD`` without its imports, and with lists for arrays."""
    of_lists = {"Line": lambda: [0j] * SIZE, "Row": lambda: [0j] * COLUMNS}
    names: dict[str, Any] = {"sa": Library, **of_lists, "above": margins.above}
    names["Table"] = lambda: [[0j] * COLUMNS for _ in range(ROWS)]
    functions = HEAD[HEAD.index("@sa.differentiable") :]
    exec(f"from __future__ import annotations\n{functions}", names)
    return names


@dataclass(frozen=True)
class ArrayLoop:
    """A kernel that was made from a number."""

    name: str
    lines: tuple[str, ...]

    def kernel(self) -> str:
        body = "\n".join(line.replace("{above}", "").replace("{,}", " >") for line in self.lines)
        return KERNEL.format(name=self.name, body=body)

    def plain(self) -> str:
        body = "\n".join(line.replace("{above}", "above").replace("{,}", ",") for line in self.lines)
        return PLAIN.format(name=self.name, body=body)


@dataclass
class Writer:
    """The statements of a kernel so far, and the counters that are in scope: each below a bound."""

    chosen: random.Random
    lines: list[str] = field(default_factory=list)
    counters: list[tuple[str, int]] = field(default_factory=list)
    depth: int = 1

    def say(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        self.say(head)
        self.depth += 1
        start = len(self.lines)
        yield
        if len(self.lines) == start:
            self.say("s += 0.1 * t")
        self.depth -= 1

    def pick(self, *items: Any) -> Any:
        return self.chosen.choice(items)

    def index(self, size: int) -> str:
        """An index below a size."""
        kinds: list[str] = [str(self.chosen.randrange(size)), f"n % {size}"]
        for name, bound in self.counters:
            kinds += [name] * 3 if bound <= size else []
            kinds += [f"{size - 1} - {name}"] if bound <= size else []
            kinds += [f"({name} + {self.chosen.randrange(1, size)}) % {size}", f"{name} * 2 % {size}"]
            kinds += [f"{name} // 2"] if bound <= 2 * size - 1 else []
        if len(self.counters) > 1:
            (p, _), (q, _) = self.chosen.sample(self.counters, 2)
            kinds += [f"({p} + {q}) % {size}", f"({p} * {q} + 1) % {size}"]
        return self.pick(*kinds)

    def read(self) -> str:
        """A number with a gradient."""
        return self.pick(
            *("s", "t", "u"),
            *(f"{name}[{self.index(SIZE)}]" for name in ("a", "b", "x", "a", "b")),
            *(f"{name}[{self.index(ROWS)}][{self.index(COLUMNS)}]" for name in ("c", "y", "c")),
        )

    def term(self) -> str:
        """A bounded expression."""
        p, q = self.read(), self.read()
        return self.pick(
            f"0.3 * {p}", f"sa.sin({p} + {q})", f"0.2 * {p} * {q}", f"sa.tanh({p} - 0.5 * {q})",
            f"sa.cos({p}) * {q}", f"0.1 * {p} * sa.exp(0.3 * sa.sin({q}))", f"{p} * {p} * 0.25",
            f"sa.no_diff({p}) * {q} * 0.5", f"{p} / (1.5 + {q} * {q})",
        )  # fmt: skip

    def condition(self) -> str:
        bound = round(self.chosen.uniform(-0.4, 0.9), 3)
        counted = [f"{name} % {self.pick(2, 3)} == 1" for name, _ in self.counters]
        compared = f"{{above}}({self.read()}{{,}} {bound})"
        return self.pick(compared, compared, *counted) if counted else compared

    def statement(self, budget: int) -> None:
        simple = [self.sum, self.scale, self.store, self.store, self.add, self.cell, self.call]
        kinds: list[Callable[[], None]] = [*simple, *simple, self.whole]
        if budget > 0:
            kinds += [lambda: self.loop(budget - 1)] * 4 + [lambda: self.branch(budget - 1)] * 3
        if self.counters and budget > 0:
            kinds.append(self.leave)
        self.pick(*kinds)()

    def sum(self) -> None:
        self.say(f"s += {self.term()}")

    def scale(self) -> None:
        self.say(f"t *= 1.0 - 0.05 * {self.term()}")

    def store(self) -> None:
        self.say(f"{self.pick('a', 'b')}[{self.index(SIZE)}] = {self.term()}")

    def add(self) -> None:
        self.say(f"{self.pick('a', 'b')}[{self.index(SIZE)}] {self.pick('+=', '-=')} 0.3 * {self.term()}")

    def cell(self) -> None:
        place = f"c[{self.index(ROWS)}][{self.index(COLUMNS)}]"
        self.say(self.pick(f"{place} += 0.3 * {self.term()}", f"{place} = {self.term()}"))

    def call(self) -> None:
        row = f"{self.pick('c', 'y')}[{self.index(ROWS)}]"
        self.say(
            self.pick(
                f"s += 0.1 * product({self.pick('a', 'b', 'x')}, {self.pick('a', 'b', 'x')}, {self.index(SIZE)})",
                f"s, t = turned(s, t, {row})",
                f"c[{self.index(ROWS)}] = changed({row}, {self.read()})",
                f"{self.pick('a', 'b')} = mixed({self.pick('a', 'b', 'x')}, 0.4 * {self.read()})",
            )
        )

    def whole(self) -> None:
        row = f"c[{self.index(ROWS)}] = sa.copy(y[1])"
        self.say(self.pick("a, b = sa.copy(b), sa.copy(a)", "b = sa.copy(a)", "a = sa.copy(x)", row))

    def leave(self) -> None:
        with self.block(f"if {self.condition()}:"):
            self.say(self.pick("break", "continue"))

    def branch(self, budget: int) -> None:
        with self.block(f"if {self.condition()}:"):
            for _ in range(self.pick(1, 1, 2)):
                self.statement(budget)
        if self.chosen.random() < 0.5:
            with self.block("else:"):
                self.statement(budget)

    def loop(self, budget: int) -> None:
        name = "ijk"[len(self.counters)]
        size = self.pick(SIZE, ROWS, COLUMNS, 3)
        first = self.pick(0, 0, 0, 1)
        heads = [f"range({size})", f"range({first}, {size})", f"sa.range(n % {size} + 1, max_iters={size})"]
        heads += [f"sa.range({p}, {size}, max_iters={size})" for p, bound in self.counters if bound <= size]
        with self.block(f"for {name} in {self.pick(*heads, heads[0])}:"):
            self.counters.append((name, size))
            for _ in range(self.pick(1, 2, 2, 3)):
                self.statement(budget if len(self.counters) < 3 else 0)
            self.counters.pop()


def made(number: int) -> ArrayLoop:
    """The kernel of a number, always the same."""
    writer = Writer(random.Random(number))
    chosen = writer.chosen
    for line in ("s = 0.2 * u", "t = 1.0"):
        writer.say(line)
    writer.say(chosen.choice(("a = sa.copy(x)", "a = Line()", "a = mixed(x, u)")))
    writer.say(chosen.choice(("b = Line()", "b = sa.copy(x)", "b = Line()")))
    writer.say(chosen.choice(("c = sa.copy(y)", "c = sa.copy(y)", "c = Table()")))
    for _ in range(chosen.randint(1, 3)):
        writer.loop(2)
    ends = [f"0.7 * {a}[{writer.index(SIZE)}]" for a in "aab"] + [f"c[{writer.index(ROWS)}][{writer.index(COLUMNS)}]"]
    writer.say(f"return s + t + {' + '.join(ends)}")
    return ArrayLoop(f"loops_{number}", tuple(writer.lines))


def exact(loop: ArrayLoop, floats: Sequence[np.ndarray], n: int) -> tuple[float, list[np.ndarray], Margins]:
    """The value of a kernel for one element, its gradients in x, y and u, and how sure its comparisons are."""
    margins = Margins()
    names = plain_names(margins)
    exec(loop.plain(), names)
    step = 1e-40
    floats = [np.asarray(v, np.float64) for v in floats]
    gradients = [np.zeros_like(v) for v in floats]
    value = 0.0
    for which, given in enumerate(floats):
        for place in np.ndindex(given.shape):
            moved = [v.astype(complex) for v in floats]
            moved[which][place] += 1j * step
            found = names[loop.name](*(v.tolist() for v in moved), n)
            value, gradients[which][place] = found.real, found.imag / step
            margins.most = max(margins.most, abs(value))
    return value, gradients, margins


@dataclass(frozen=True)
class Derivatives:
    """What a kernel gives for all elements: values, gradients by input, and the change along ``tangents_of`` inputs."""

    values: np.ndarray
    gradients: dict[str, np.ndarray]
    change: np.ndarray
    margins: tuple[Margins, ...]


def tangents_of(floats: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {key: np.cos(np.arange(v.size, dtype=np.float32)).reshape(v.shape) for key, v in floats.items()}


def derivatives(loop: ArrayLoop, floats: dict[str, np.ndarray], n: np.ndarray) -> Derivatives:
    found = [exact(loop, [v[e] for v in floats.values()], int(of)) for e, of in enumerate(n)]
    gradients = {key: np.array([of[k] for _, of, _ in found]) for k, key in enumerate(floats)}
    along = [(gradients[key] * tangent).reshape(len(n), -1).sum(1) for key, tangent in tangents_of(floats).items()]
    values = np.array([value for value, _, _ in found])
    return Derivatives(values, gradients, np.sum(along, 0), tuple(margins for _, _, margins in found))
