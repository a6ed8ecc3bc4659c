"""Random programs in the language, typed and total: built from choices, so hypothesis can draw and repeat them.

A program is one function as Python text. Its floating type is spelled ``F`` (``F3`` for vectors, ``M2`` for matrices),
so that the same text runs with ``float`` and ``double``. Numbers stay of moderate size, divisors away from zero, and
literals are dyadic, so that both runs mean the same.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

HEADER = """import slangad as sa
from slangad import Array

{types}

@sa.struct
class Ball:
    center: F3
    radius: F
    count: int

    def grown(self, by: F) -> F:
        return self.radius * by + self.center.y

    @staticmethod
    def volume(r: F) -> F:
        return r * r * r * 0.5


@sa.struct
class Group:
    ball: Ball
    weights: Array[F, 3]
"""
FLOAT_TYPES = "F, F2, F3, F4, M2 = float, sa.float2, sa.float3, sa.float4, sa.float2x2"
DOUBLE_TYPES = "F, F2, F3, F4, M2 = sa.double, sa.double2, sa.double3, sa.double4, sa.double2x2"
PARAMS = ("F", "F", "F2", "F3", "F4", "M2", "int", "int", "bool", "sa.uint", "Ball", "Group", "Array[F, 3]")
RESULTS = ("F", "F", "F", "F2", "F3", "int", "Ball", "Array[F, 3]", "sa.uint", "M2", "tuple[F, F3]", "tuple[int, F]")
LOCALS = ("F", "F", "F", "F2", "F3", "F4", "int", "bool", "sa.uint", "Ball", "Group", "Array[F, 3]", "M2")
NUMBERS = ("F", "F2", "F3", "F4", "int", "sa.uint")
RANGES = ("range({n})", "range({s}, {e})", "range({s}, {t}, 2)", "range({e}, {s}, -1)", "reversed(range({n}))")
SMOOTH = ("sa.sin", "sa.cos", "sa.tanh", "sa.atan", "abs", "sa.saturate", "sa.sign", "-")
STEPS = ("sa.floor", "sa.ceil", "sa.round", "sa.trunc", "sa.frac")
POSITIVE = ("sa.sqrt", "sa.log", "sa.rsqrt", "sa.log2", "sa.rcp")
BY_COMPONENT = ("sa.sin", "abs", "-", "sa.floor", "sa.saturate", "sa.sign")
SIZES = {"F2": 2, "F3": 3, "F4": 4}


@dataclass(frozen=True)
class Generated:
    """One function: its name, text, parameter types and result type, and the functions it calls."""

    name: str
    text: str
    params: tuple[tuple[str, str], ...]
    result: str
    statements: int
    differentiable: bool = True

    @property
    def cuts(self) -> bool:
        """Whether it cuts derivatives somewhere, so that they are not its slopes."""
        return "no_diff" in self.text


@dataclass
class Builder:
    """Makes one function; ``random`` decides everything."""

    random: Random
    name: str
    callable: tuple[Generated, ...] = ()
    size: int = 12
    lines: list[str] = field(default_factory=list)
    known: dict[str, str] = field(default_factory=dict)
    owned: set[str] = field(default_factory=set)
    fixed: set[str] = field(default_factory=set)
    count: int = 0
    depth: int = 0
    loops: int = 0
    result: str = ""
    differentiable: bool = True

    def build(self) -> Generated:
        """The function."""
        params = [(f"p{i}", self.pick(PARAMS)) for i in range(1 + self.below(4))]
        if not any(t != "int" and t != "bool" and t != "sa.uint" for _, t in params):
            params.append((f"p{len(params)}", "F"))
        self.known = dict(params)
        self.result = self.pick(RESULTS)
        decorator = "differentiable" if self.differentiable else "function"
        head = f"@sa.{decorator}\ndef {self.name}({', '.join(f'{n}: {t}' for n, t in params)}) -> {self.result}:"
        for _ in range(1 + self.below(self.size)):
            self.statement()
        self.write(f"return {self.returned()}")
        text = head + "\n" + "\n".join(self.lines) + "\n"
        return Generated(self.name, text, tuple(params), self.result, len(self.lines), self.differentiable)

    # --- choices -----------------------------------------------------------------------------------------------------

    def below(self, n: int) -> int:
        return self.random.randrange(n)

    def chance(self, percent: int) -> bool:
        return self.below(100) < percent

    def pick(self, options: tuple[str, ...] | list[str]) -> str:
        return options[self.below(len(options))]

    def write(self, line: str) -> None:
        self.lines.append("    " * (self.depth + 1) + line)

    def fresh(self) -> str:
        self.count += 1
        return f"t{self.count}"

    def names(self, type_: str) -> list[str]:
        return [n for n, t in self.known.items() if t == type_]

    # --- statements --------------------------------------------------------------------------------------------------

    def statement(self) -> None:
        kinds: list[Callable[[], None]] = [
            *[self.new_local] * 3, self.assign, self.augment, self.part, self.part, self.unpack,
        ]  # fmt: skip
        if self.depth < 2:
            kinds += [self.branch, self.branch, self.counted, self.over_values]
        if self.loops == 0:
            kinds += [self.bounded, self.conditional]
        if self.loops and self.depth < 3:
            kinds.append(self.leave)
        if self.chance(30 if self.depth == 0 else 15):
            kinds.append(self.early_return)
        kinds[self.below(len(kinds))]()

    def block(self, most: int) -> None:
        self.depth += 1
        before = len(self.lines)
        for _ in range(1 + self.below(most)):
            self.statement()
        if len(self.lines) == before:
            self.write("pass")
        self.depth -= 1

    def scoped(self, most: int) -> set[str]:
        """A block whose new locals are forgotten afterwards; gives them."""
        known = dict(self.known)
        self.block(most)
        new = set(self.known) - set(known)
        self.known = known
        return new

    def new_local(self) -> None:
        type_ = self.pick(LOCALS)
        name = self.fresh()
        value = self.value(type_)
        self.write(f"{name}: {type_} = {value}" if type_ in ("F", "sa.uint") else f"{name} = {value}")
        self.known[name] = type_
        self.owned.add(name)

    def assign(self) -> None:
        names = [n for n in self.known if n not in self.fixed]
        if not names:
            return self.new_local()
        name = self.pick(names)
        self.write(f"{name} = {self.value(self.known[name])}")
        self.own(name)
        return None

    def own(self, name: str) -> None:
        """From here on the name's value is its own on every path; a parameter's is not when a branch set it."""
        if self.depth == 0 or not name.startswith("p"):
            self.owned.add(name)

    def augment(self) -> None:
        names = [n for n, t in self.known.items() if t in NUMBERS and n not in self.fixed]
        if not names:
            return self.new_local()
        name = self.pick(names)
        type_ = self.known[name]
        if type_ == "int":
            self.write(f"{name} {self.pick(('+=', '-=', '^=', '|=', '&='))} {self.int_(1)}")
            self.write(f"{name} %= {3 + self.below(30)}")
        elif type_ == "sa.uint":
            self.write(f"{name} {self.pick(('+=', '-=', '*=', '^=', '|=', '>>='))} {1 + self.below(7)}")
        else:
            self.write(f"{name} {self.pick(('+=', '-='))} {self.bounded_value(type_)}")
            self.write(f"{name} *= {self.pick(('0.5', '0.25', '-0.5'))}")
        self.own(name)
        return None

    def part(self) -> None:
        names = [n for n in self.known if n in self.owned and n not in self.fixed]
        names = [n for n in names if self.known[n] in (*SIZES, "Ball", "Group", "Array[F, 3]", "M2")]
        if not names:
            return self.new_local()
        name = self.pick(names)
        match self.known[name]:
            case "Ball":
                self.ball_part(name)
            case "Group" if self.chance(50):
                self.ball_part(f"{name}.ball")
            case "Group":
                self.write(f"{name}.weights[{self.index(3)}] {self.pick(('=', '+='))} {self.bounded_value('F')}")
            case "Array[F, 3]":
                self.write(f"{name}[{self.index(3)}] {self.pick(('=', '+=', '-='))} {self.bounded_value('F')}")
            case "M2" if self.chance(50):
                place = f"{name}[{self.index(2)}, {self.index(2)}]"
                self.write(f"{place} {self.pick(('=', '+='))} {self.bounded_value('F')}")
            case "M2":
                self.write(f"{name}[{self.index(2)}] = {self.bounded_value('F2')}")
            case vector:
                self.vector_part(name, SIZES[vector])
        return None

    def ball_part(self, place: str) -> None:
        match self.below(4):
            case 0:
                self.write(f"{place}.radius {self.pick(('=', '+='))} {self.bounded_value('F')}")
            case 1:
                self.write(f"{place}.count = {self.int_(2)}")
            case 2:
                self.write(f"{place}.center = {self.bounded_value('F3')}")
            case _:
                self.vector_part(f"{place}.center", 3)

    def vector_part(self, place: str, size: int) -> None:
        letters = "xyzw"[:size]
        match self.below(3):
            case 0:
                place = f"{place}.{self.pick(list(letters))}"
                self.write(f"{place} {self.pick(('=', '+=', '-='))} {self.bounded_value('F')}")
            case 1:
                self.write(f"{place}[{self.index(size)}] = {self.bounded_value('F')}")
            case _:
                chosen = list(letters)
                self.random.shuffle(chosen)
                self.write(f"{place}.{''.join(chosen[:2])} = {self.bounded_value('F2')}")

    def unpack(self) -> None:
        type_ = self.pick(("F", "int", "F3"))
        names = [n for n in self.names(type_) if n not in self.fixed]
        if len(names) > 1 and self.chance(60):
            a, b = names[self.below(len(names))], names[self.below(len(names))]
            if a != b:
                values = f"{b}, {a}" if type_ != "F3" else f"sa.copy({b}), sa.copy({a})"
                self.write(f"{a}, {b} = {values}")
                self.owned -= {a, b} if type_ == "F3" else set()
                return
        a, b = self.fresh(), self.fresh()
        if self.chance(30) and self.names("F2"):
            self.write(f"{a}, {b} = {self.pick(self.names('F2'))}")
            type_ = "F"
        else:
            values = [self.typed(type_), self.typed(type_)]
            self.write(f"{a}, {b} = {values[0]}, {values[1]}")
        self.known[a] = self.known[b] = type_
        self.owned |= {a, b}

    def typed(self, type_: str) -> str:
        """A value whose type is clear without its context."""
        return f"F({self.value('F')})" if type_ == "F" else self.value(type_)

    def branch(self) -> None:
        self.write(f"if {self.bool_(2)}:")
        arms = [self.arm()]
        if self.chance(30):
            self.write(f"elif {self.bool_(1)}:")
            arms.append(self.arm())
        if self.chance(60):
            self.write("else:")
            arms.append(self.arm())

    def arm(self) -> None:
        self.scoped(3)

    def counted(self) -> None:
        name = self.fresh()
        start, count = self.below(3), 1 + (self.below(4) if self.chance(85) else self.below(9))
        text = self.pick(RANGES).format(n=count, s=start, e=start + count, t=start + 2 * count)
        if count < 4 and text.startswith("range") and self.chance(10):
            text = f"sa.{text[:-1]}, unroll=True)"
        self.loop(f"for {name} in {text}:", {name: "int"})
        if self.chance(20):
            self.known[name] = "int"

    def over_values(self) -> None:
        arrays = [n for n in self.names("Array[F, 3]") if n not in self.fixed]
        if not arrays:
            return self.counted()
        array, item = self.pick(arrays), self.fresh()
        fixed = set(self.fixed)
        self.fixed.add(array)
        if self.chance(40):
            index = self.fresh()
            self.loop(f"for {index}, {item} in enumerate({array}):", {item: "F", index: "int"})
        else:
            self.loop(f"for {item} in {array}:", {item: "F"})
        self.fixed = fixed
        return None

    def bounded(self) -> None:
        name = self.fresh()
        limit = 1 + self.below(4)
        self.loop(f"for {name} in sa.range({self.int_(1)} % {limit + 1}, max_iters={limit}):", {name: "int"})

    def conditional(self) -> None:
        turns, limit = self.fresh(), 2 + self.below(4)
        self.write(f"{turns} = 0")
        known = {turns: "int"}
        self.known[turns] = "int"
        self.fixed.add(turns)
        self.loop(f"while sa.max_iters({limit}) and {turns} < {limit} and {self.bool_(1)}:", known, f"{turns} += 1")

    def loop(self, head: str, inside: dict[str, str], first: str = "") -> None:
        self.write(head)
        known, fixed = dict(self.known), set(self.fixed)
        self.known.update(inside)
        self.fixed |= set(inside)
        self.loops += 1
        if first:
            self.depth += 1
            self.write(first)
            self.depth -= 1
        self.block(3)
        self.loops -= 1
        self.known, self.fixed = known, fixed
        if self.chance(15):
            self.write("else:")
            self.scoped(1)

    def leave(self) -> None:
        self.write(f"if {self.bool_(1)}:")
        self.depth += 1
        self.write(self.pick(("break", "continue")))
        self.depth -= 1

    def early_return(self) -> None:
        self.write(f"if {self.bool_(1)}:")
        self.depth += 1
        self.write(f"return {self.returned()}")
        self.depth -= 1

    def returned(self) -> str:
        if self.result.startswith("tuple"):
            parts = self.result[6:-1].split(", ")
            return ", ".join(self.value(p) for p in parts)
        return self.value(self.result)

    # --- values ------------------------------------------------------------------------------------------------------

    def value(self, type_: str) -> str:
        """A value of a type; of moderate size where it may be fed back."""
        return self.bounded_value(type_) if self.loops else self.any_value(type_, 2)

    def any_value(self, type_: str, depth: int) -> str:
        match type_:
            case "F":
                return self.float_(depth)
            case "int":
                return f"({self.int_(depth)}) % {5 + self.below(20)}"
            case "sa.uint":
                return self.uint_(depth)
            case "bool":
                return self.bool_(depth)
            case "F2" | "F3" | "F4":
                return self.vector_(type_, depth)
            case "M2":
                return self.matrix_(depth)
            case "Ball":
                return self.ball_(depth)
            case "Group":
                return f"Group({self.ball_(1)}, {self.array_(1)})"
            case _:
                return self.array_(depth)

    def bounded_value(self, type_: str) -> str:
        if type_ == "F":
            inner = self.float_(2)
            return self.pick(("sa.sin({})", "sa.tanh({})", "sa.clamp({}, -2.0, 2.0)", "{} * 0.25")).format(inner)
        if type_ in SIZES:
            inner = self.vector_(type_, 1)
            return self.pick((f"sa.cos({inner})", f"sa.clamp({inner}, -2.0, 2.0)", f"({inner}) * 0.25"))
        if type_ == "M2":
            return f"M2(sa.sin({self.float_(1)}), {self.literal()}, {self.literal()}, sa.cos({self.float_(1)}))"
        return self.any_value(type_, 1)

    def literal(self) -> str:
        return self.pick(("0.5", "1.0", "-1.25", "2.0", "0.0", "3.5", "-0.75", "1.5", "-2.5", "0.125"))

    def index(self, size: int) -> str:
        if self.chance(60):
            return str(self.below(size)) if self.chance(80) else str(-1 - self.below(size))
        return f"({self.int_(1)}) % {size}"

    def float_(self, depth: int) -> str:
        """A scalar whose type is F, not a bare literal."""
        if depth <= 0 or self.chance(15):
            return self.float_leaf()
        sub = depth - 1
        match self.below(23):
            case 22 if self.chance(30):
                return f"sa.no_diff({self.float_(sub)})"
            case 0 | 1 | 2:
                return f"({self.float_(sub)} {self.pick(('+', '-', '*'))} {self.float_(sub)})"
            case 3:
                return f"({self.float_(sub)} {self.pick(('+', '-', '*'))} {self.literal()})"
            case 4:
                return f"({self.literal()} {self.pick(('+', '-', '*'))} {self.float_(sub)})"
            case 5:
                return f"({self.float_(sub)} / (abs({self.float_(sub)}) + 0.5))"
            case 6:
                return f"{self.pick(SMOOTH)}({self.float_(sub)})"
            case 7:
                return f"{self.pick(STEPS)}({self.float_(sub)})"
            case 8:
                return f"{self.pick(POSITIVE)}(abs({self.float_(sub)}) + 0.5)"
            case 9:
                return f"sa.exp(sa.clamp({self.float_(sub)}, -2.0, 2.0))"
            case 10:
                return f"{self.pick(('max', 'min'))}({self.float_(sub)}, {self.float_or_literal(sub)})"
            case 11:
                return f"({self.float_(sub)}) ** {self.pick(('2', '3', '4', '5', '0', '1'))}"
            case 12:
                return f"(abs({self.float_(sub)}) + 0.5) ** {self.pick(('-1', '-2', '0.5', '-1.5', self.literal()))}"
            case 13:
                return f"(abs({self.float_(sub)}) + 0.5) ** sa.clamp({self.float_(sub)}, -2.0, 2.0)"
            case 14:
                return f"({self.float_(sub)} if {self.bool_(sub)} else {self.float_(sub)})"
            case 15:
                return f"({self.float_(sub)} {self.pick(('%', '//'))} {self.pick(('0.75', '-1.5', '2.0'))})"
            case 16:
                return self.from_vector(sub)
            case 17:
                return self.from_parts(sub)
            case 18:
                whole = self.int_(sub)
                return f"F({self.pick((f'({whole})', f'({whole}) / 4', self.bool_(sub), f'({self.uint_(sub)}) % 8'))})"
            case 19:
                return self.pick((f"sa.{self.pick(('lerp', 'clamp'))}({self.three(sub)})", self.smoothstep(sub)))
            case 20:
                return self.call("F", sub)
            case _:
                return f"sa.{self.pick(('fmod', 'atan2', 'step'))}({self.float_(sub)}, abs({self.float_(sub)}) + 0.5)"

    def float_leaf(self) -> str:
        names = self.names("F")
        names += [f"{n}.{'xyzw'[self.below(SIZES[t])]}" for n, t in self.known.items() if t in SIZES]
        names += [f"{n}.radius" for n in self.names("Ball")] + [f"{n}[1]" for n in self.names("Array[F, 3]")]
        return self.pick(names) if names and self.chance(90) else f"F({self.literal()})"

    def float_or_literal(self, depth: int) -> str:
        return self.float_(depth) if self.chance(50) else self.literal()

    def three(self, depth: int) -> str:
        return f"{self.float_(depth)}, {self.literal()}, {self.literal()}"

    def smoothstep(self, depth: int) -> str:
        return f"sa.smoothstep({self.pick(('-0.75', '0.0', '0.5'))}, {self.pick(('1.0', '3.5'))}, {self.float_(depth)})"

    def from_vector(self, depth: int) -> str:
        type_ = self.pick(list(SIZES))
        vector = self.vector_(type_, depth)
        match self.below(5):
            case 0:
                return f"({vector}).{self.pick(list('xyzw'[: SIZES[type_]]))}"
            case 1:
                return f"({vector})[{self.index(SIZES[type_])}]"
            case 2:
                return f"sa.dot({vector}, {self.vector_(type_, depth)})"
            case 3:
                return f"sa.length({vector} + 1.5)"
            case _:
                return f"sum({vector})"

    def from_parts(self, depth: int) -> str:
        options = [f"{n}[{self.index(3)}]" for n in self.names("Array[F, 3]")]
        options += [f"{n}[{self.index(2)}, {self.index(2)}]" for n in self.names("M2")]
        options += [f"{n}.{p}" for n in self.names("Ball") for p in ("radius", "center.z", "center.y")]
        options += [f"{n}.grown({self.float_(0)})" for n in self.names("Ball")]
        options += [f"{n}.ball.radius" for n in self.names("Group")]
        options += [f"{n}.weights[{self.index(3)}]" for n in self.names("Group")]
        options += [f"Ball.volume({self.float_(depth)})", f"sa.determinant({self.matrix_(depth)})"]
        return self.pick(options)

    def call(self, result: str, depth: int) -> str:
        options = [g for g in self.callable if g.result == result]
        if not options:
            return self.any_value(result, 0) if result != "F" else self.float_(0)
        chosen = options[self.below(len(options))]
        args = [f"{n}={self.argument(t)}" if self.chance(15) else "" for n, t in chosen.params]
        first = next((i for i, a in enumerate(args) if a), len(args))
        parts = [
            self.argument(t) if i < first else (args[i] or f"{n}={self.argument(t)}")
            for i, (n, t) in enumerate(chosen.params)
        ]
        made = f"{chosen.name}({', '.join(parts)})"
        return made if chosen.differentiable else f"sa.no_diff({made})"

    def argument(self, type_: str) -> str:
        names = self.names(type_)
        return self.pick(names) if names and self.chance(70) else self.bounded_value(type_)

    def int_(self, depth: int) -> str:
        names = self.names("int")
        if depth <= 0 or self.chance(25):
            return self.pick(names) if names and self.chance(70) else str(self.below(9) - 3)
        sub = depth - 1
        match self.below(9):
            case 0 | 1:
                return f"({self.int_(sub)} {self.pick(('+', '-', '*', '&', '|', '^'))} {self.int_(sub)})"
            case 2:
                return f"(({self.int_(sub)}) {self.pick(('//', '%'))} {self.pick(('3', '-2', '7', '-5'))})"
            case 3:
                return f"{self.pick(('max', 'min'))}({self.int_(sub)}, {self.int_(sub)})"
            case 4:
                return f"({self.int_(sub)} if {self.bool_(sub)} else {self.int_(sub)})"
            case 5:
                return f"{self.pick(('int', 'round'))}(sa.clamp({self.float_(sub)}, -8.0, 8.0))"
            case 6:
                return f"int({self.pick((self.bool_(sub), f'({self.uint_(sub)}) % 16'))})"
            case 7:
                return f"(({self.int_(sub)}) % 8 {self.pick(('<<', '>>'))} {self.below(4)})"
            case _:
                return f"{self.pick(('abs', '-', '~'))}({self.int_(sub)})"

    def uint_(self, depth: int) -> str:
        names = self.names("sa.uint")
        if depth <= 0 or self.chance(30):
            return self.pick(names) if names and self.chance(70) else f"sa.uint({self.below(50)})"
        sub = depth - 1
        match self.below(4):
            case 0 | 1:
                return f"({self.uint_(sub)} {self.pick(('+', '-', '*', '&', '|', '^'))} {self.uint_(sub)})"
            case 2:
                return f"(({self.uint_(sub)}) {self.pick(('//', '%', '>>', '<<'))} {1 + self.below(6)})"
            case _:
                return f"sa.uint(({self.int_(sub)}) % 32)"

    def bool_(self, depth: int) -> str:
        names = self.names("bool")
        if names and (depth <= 0 or self.chance(25)):
            return self.pick(names)
        sub = max(depth - 1, 0)
        compare = self.pick(("<", "<=", ">", ">="))
        match self.below(8):
            case 0 | 1:
                return f"({self.float_(sub)} {compare} {self.float_or_literal(sub)})"
            case 2:
                return f"({self.int_(sub)} {self.pick(('==', '!=', '<', '>='))} {self.int_(0)})"
            case 3 if depth > 0:
                return f"({self.bool_(sub)} {self.pick(('and', 'or'))} {self.bool_(sub)})"
            case 4 if depth > 0:
                return f"(not {self.bool_(sub)})"
            case 5:
                return f"({self.literal()} {compare} {self.float_(sub)} {self.pick(('<', '>'))} {self.literal()})"
            case 6:
                return f"{self.pick(('any', 'all'))}({self.vector_('F3', sub)} {compare} {self.literal()})"
            case _:
                return f"(({self.int_(sub)}) % 2 == {self.below(2)})"

    def vector_(self, type_: str, depth: int) -> str:
        size = SIZES[type_]
        names = self.names(type_)
        if depth <= 0 or self.chance(25):
            if names and self.chance(75):
                return f"sa.copy({self.pick(names)})" if self.chance(20) else f"({self.pick(names)} * 1.0)"
            return f"{type_}({', '.join(self.literal() for _ in range(size))})"
        sub = depth - 1
        match self.below(11):
            case 0 | 1:
                return f"({self.vector_(type_, sub)} {self.pick(('+', '-', '*'))} {self.vector_(type_, sub)})"
            case 2:
                return f"({self.vector_(type_, sub)} {self.pick(('+', '-', '*'))} {self.float_or_literal(sub)})"
            case 3:
                return f"({self.float_or_literal(sub)} {self.pick(('+', '-', '*'))} {self.vector_(type_, sub)})"
            case 4:
                return f"{type_}({', '.join(self.float_(sub) for _ in range(size))})"
            case 5:
                return f"{type_}({self.float_(sub)})"
            case 6:
                source = self.pick(list(SIZES))
                letters = "".join(self.pick(list("xyzw"[: SIZES[source]])) for _ in range(size))
                return f"({self.vector_(source, sub)}).{letters}"
            case 7:
                return f"{self.pick(BY_COMPONENT)}({self.vector_(type_, sub)})"
            case 8:
                other = self.pick((self.vector_(type_, sub), self.literal()))
                return f"{self.pick(('max', 'min'))}({self.vector_(type_, sub)}, {other})"
            case 9 if type_ == "F3":
                return f"sa.cross({self.vector_('F3', sub)}, {self.vector_('F3', sub)})"
            case 9 if type_ == "F2":
                return f"({self.matrix_(sub)} @ {self.vector_('F2', sub)})"
            case 10 if type_ == "F3":
                return self.pick((f"F3({self.vector_('F2', sub)}, {self.float_(sub)})", self.call("F3", sub)))
            case 10 if type_ == "F2":
                matrix = self.matrix_(sub)
                return self.pick((f"({matrix})[{self.index(2)}]", f"({self.vector_('F2', sub)} @ {matrix})"))
            case _:
                return f"({self.vector_(type_, sub)} / (abs({self.float_(sub)}) + 0.5))"

    def matrix_(self, depth: int) -> str:
        names = self.names("M2")
        if depth <= 0 or self.chance(30):
            return f"({self.pick(names)} * 1.0)" if names and self.chance(75) else "M2(1.0, 0.5, -0.5, 2.0)"
        sub = depth - 1
        match self.below(5):
            case 0:
                return f"({self.matrix_(sub)} {self.pick(('+', '-', '*', '@'))} {self.matrix_(sub)})"
            case 1:
                return f"M2({self.vector_('F2', sub)}, {self.vector_('F2', sub)})"
            case 2:
                return f"({self.matrix_(sub)} {self.pick(('*', '/', '+'))} {self.pick(('2.0', '4.0', '-0.5'))})"
            case 3:
                return f"({self.matrix_(sub)} * {self.float_(sub)})"
            case _:
                return f"{self.pick(('-', 'sa.transpose'))}({self.matrix_(sub)})"

    def ball_(self, depth: int) -> str:
        names = self.names("Ball")
        if names and self.chance(30):
            return f"sa.copy({self.pick(names)})"
        if self.chance(15):
            return "sa.zeros(Ball)"
        center, radius, count = self.vector_("F3", depth - 1), self.float_(depth - 1), self.int_(0)
        if self.chance(30):
            return f"Ball(radius={radius}, count={count}, center={center})"
        return f"Ball({center}, {radius}, {count})"

    def array_(self, depth: int) -> str:
        names = self.names("Array[F, 3]")
        if names and self.chance(30):
            return f"sa.copy({self.pick(names)})"
        if self.chance(15):
            return "Array[F, 3]()"
        return f"Array[F, 3]({', '.join(self.float_(depth - 1) for _ in range(3))})"


def build_pair(random: Random) -> list[Generated]:
    """Two functions, the second of which may call the first."""
    first = Builder(random, "first", size=4, differentiable=random.randrange(4) > 0).build()
    callable_ = () if first.result.startswith("tuple") else (first,)
    return [first, Builder(random, "second", callable_, size=6).build()]


def numbered(pairs: list[list[Generated]]) -> list[Generated]:
    """The functions of all pairs, each with a name of its own."""
    return [_renamed(program, number) for number, pair in enumerate(pairs) for program in pair]


def _renamed(program: Generated, number: int) -> Generated:
    text = re.sub(r"\b(first|second)\b", rf"\1_{number}", program.text)
    return replace(program, name=f"{program.name}_{number}", text=text)


def module_text(programs: list[Generated], *, double: bool = False) -> str:
    """A description with these functions."""
    head = HEADER.format(types=DOUBLE_TYPES if double else FLOAT_TYPES)
    return head + "".join(f"\n\n{p.text}" for p in programs)
