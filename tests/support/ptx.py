"""Runs PTX, the text that NVIDIA's compilers make of CUDA, on this machine: one thread after another, without a GPU.

It knows the instructions that arithmetic, branches, calls, arrays and buffers become. Others end it with their name,
and so do other roundings and saturation.
Rounding is that of numpy, except that ``fma`` rounds a product in double.
"""

from __future__ import annotations

import math
import operator
import re
import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

_LOCAL = 1 << 40
"""Where a thread's own memory begins, behind that of all buffers."""
_MOST = 5_000_000
_FUNCTION = re.compile(r"\.(?:entry|func)\s*(?:\(([^)]*)\)\s*)?([\w$]+)\(([^)]*)\)[^;{]*\{(.*?)\n\}", re.DOTALL)
_DECLARED = re.compile(r"\.param (?:\.align \d+ )?\.\w+ (\w+)")
_PLAIN = {
    *("rn", "rm", "rni", "rzi", "sat", "lo", "hi", "wide", "to", "global", "local", "approx", "ftz"),
    *(f"{kind}{size}" for kind in "fsub" for size in (16, 32, 64)),
}
"""Words between an instruction and its type that say what is done here."""
_COMPARED: dict[str, Callable[[float, float], bool]] = {
    **{name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    **{name: getattr(operator, of) for name, of in {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}.items()},
}
_PREDICATES: dict[str, Callable[..., object]] = {
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "not": operator.not_,
}
_BITS = {"16": 0xFFFF, "32": 0xFFFFFFFF, "64": 0xFFFFFFFFFFFFFFFF}


def _of_float(value: float, kind: str = "f32") -> int:
    with np.errstate(over="ignore"):
        return int(np.float32(value).view(np.uint32)) if kind == "f32" else int(np.float64(value).view(np.uint64))


def _rounded_down(value: float) -> float:
    """The largest number of single precision that is not above a number."""
    nearest = np.float32(value)
    return float(nearest if nearest <= value else np.nextafter(nearest, np.float32(-np.inf)))


def _decoded(bits: int, kind: str) -> float:
    """The number that some bits are as a value of a type, such as ``s32``."""
    bits &= _BITS[kind[1:]]
    if kind[0] == "f":
        return float(struct.unpack("<f" if kind == "f32" else "<d", bits.to_bytes(int(kind[1:]) // 8, "little"))[0])
    return bits - (1 << int(kind[1:])) if kind[0] == "s" and bits >> (int(kind[1:]) - 1) else bits


@dataclass(frozen=True)
class Instruction:
    """``@!%p1 add.s32 %r1, %r2, 5;``: it runs if the predicate is not ``skips``."""

    predicate: str
    skips: bool
    words: tuple[str, ...]
    operands: tuple[str, ...]

    @property
    def type(self) -> str:
        return self.words[-1]


@dataclass
class Function:
    """An entry point of a PTX text, or a function that it calls."""

    params: list[str]
    result: list[str]
    code: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    local: int = 0

    @classmethod
    def all_of(cls, text: str) -> dict[str, Function]:
        made = {}
        for result, name, params, body in _FUNCTION.findall(re.sub(r"//.*", "", text)):
            made[name] = cls(_DECLARED.findall(params), _DECLARED.findall(result))
            for line in re.sub(r"\bcall\b[^;]*;", lambda call: " ".join(call[0].split()), body).split("\n"):
                made[name]._add(line.strip())
        return made

    def _add(self, line: str) -> None:
        if found := re.search(r"\.local .*__local_depot\w*\[(\d+)\]", line):
            self.local = int(found[1])
        elif found := re.match(r"(\$[\w$]+):$", line):
            self.labels[found[1]] = len(self.code)
        elif line and line not in "{}" and not line.startswith((".reg", ".pragma", ".local", ".param")):
            found = re.match(r"(?:@(!?)(%p\d+)\s+)?([a-z][\w.]*)\s*(.*);$", line)
            assert found, f"not an instruction: {line}"
            operands = tuple(re.findall(r"\[[^\]]*\]|[^,\s]+", found[4]))
            words = tuple(found[3].split("."))
            plain = words[0] in ("setp", "ld", "st", "bra", "ret", "call") or _PLAIN.issuperset(words[1:-1])
            assert plain, line
            self.code.append(Instruction(found[2] or "", found[1] != "!", words, operands))


@dataclass
class Thread:
    """A thread that runs: its own memory, and that of the buffers."""

    functions: Mapping[str, Function]
    number: int
    memory: bytearray
    local: bytearray = field(default_factory=bytearray)

    def run(self, name: str, given: Sequence[bytearray]) -> bytearray:
        """Run a function. Returns what it stored as its result."""
        function, base = self.functions[name], len(self.local)
        self.local += bytes(-(-function.local // 16) * 16)
        params = {**dict(zip(function.params, given, strict=True)), **{key: bytearray() for key in function.result}}
        frame = Frame(self, function, params, _LOCAL + base)
        frame.run()
        del self.local[base:]
        return params[function.result[0]] if function.result else bytearray()


@dataclass
class Frame:
    """A call: its registers, where its part of the thread's memory begins, and what is passed to and from functions."""

    thread: Thread
    function: Function
    params: dict[str, bytearray]
    base: int
    registers: dict[str, int] = field(default_factory=dict)

    def run(self) -> None:
        at, code = 0, self.function.code
        for _ in range(_MOST):
            step = code[at]
            at += 1
            if step.predicate and bool(self.registers[step.predicate]) != step.skips:
                continue
            word = step.words[0]
            if word == "ret":
                return
            if word == "bra":
                at = self.function.labels[step.operands[0]]
            elif word == "call":
                self._call([name.strip("()") for name in step.operands if name not in "()"])
            elif word in ("ld", "st"):
                self._move(step)
            else:
                self.registers[step.operands[0]] = self._value(step, [self._operand(o) for o in step.operands[1:]])
        raise AssertionError("the thread does not end")

    def _call(self, names: Sequence[str]) -> None:
        """Call a function. Its result, if it has one, stands before its name."""
        result = "" if names[0] in self.thread.functions else names[0]
        name, *given = names[1:] if result else names
        self.params[result] = self.thread.run(name, [self.params[key] for key in given])

    def _operand(self, name: str) -> int:
        if name in self.registers:
            return self.registers[name]
        if found := re.match(r"0[fdx]([0-9A-Fa-f]+)$", name):
            return int(found[1], 16)
        if name.startswith("__local_depot"):
            return self.base
        special = {"%tid.x": self.thread.number, "%ntid.x": 64, "%ntid.y": 1}
        return special.get(name, 0) if name.startswith(("%tid", "%ntid", "%ctaid")) else int(name)

    def _move(self, step: Instruction) -> None:
        loads = step.words[0] == "ld"
        place = step.operands[1] if loads else step.operands[0]
        found = re.match(r"\[([^+\]]+)(?:\+(-?\d+))?\]", place)
        assert found, place
        at, size = int(found[2] or 0), int(step.type[1:]) // 8
        if step.words[1] == "param":
            memory = self.params.setdefault(found[1], bytearray())
            memory += bytes(0 if loads else max(0, at + size - len(memory)))
        else:
            at += self._operand(found[1])
            memory = self.thread.local if at >= _LOCAL else self.thread.memory
            at -= _LOCAL if at >= _LOCAL else 0
        assert 0 <= at <= len(memory) - size, f"{step} is outside of the memory"
        if loads:
            self.registers[step.operands[0]] = int.from_bytes(memory[at : at + size], "little")
        else:
            memory[at : at + size] = (self._operand(step.operands[1]) & _BITS[step.type[1:]]).to_bytes(size, "little")

    def _value(self, step: Instruction, given: Sequence[int]) -> int:
        word, kind = step.words[0], step.type
        if word == "setp":
            return self._compared(step.words[1], *(_decoded(v, kind.replace("b", "u")) for v in given))
        if word in ("mov", "cvta", "selp"):
            return given[0] if word != "selp" or given[2] else given[1]
        if kind == "pred":
            return bool(_PREDICATES[word](*given))
        if word == "cvt":
            return self._converted(step, given[0])
        if kind[0] == "f":
            value = self._of_floats(word, kind, [_decoded(v, kind) for v in given])
            return _of_float(_rounded_down(value) if "rm" in step.words else value, kind)
        wide = kind[:1] + str(2 * int(kind[1:])) if "wide" in step.words else kind
        return self._of_integers(step, given) & _BITS[wide[1:]]

    @staticmethod
    def _compared(how: str, a: float, b: float) -> bool:
        if a != a or b != b:
            return how.endswith("u")
        return _COMPARED[how.removesuffix("u")](a, b)

    @staticmethod
    def _converted(step: Instruction, bits: int) -> int:
        to, source = step.words[-2:]
        value = _decoded(bits, source)
        whole: dict[str, Callable[[float], float]] = {"rni": np.rint, "rzi": math.trunc}
        value = next((whole[word](value) for word in step.words if word in whole), value)
        if to[0] == "f":
            return _of_float(min(max(value, 0.0), 1.0) if "sat" in step.words else value, to)
        return int(value) & _BITS[to[1:]]

    @staticmethod
    def _of_floats(word: str, kind: str, given: Sequence[float]) -> float:
        number = np.float32 if kind == "f32" else np.float64
        plain = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv}
        if word in plain:
            return float(plain[word](number(given[0]), number(given[1])))
        one = {"abs": abs, "neg": operator.neg, "rcp": lambda v: 1 / v, "ex2": lambda v: 2.0**v}
        if word in one:
            return one[word](given[0])
        if word == "copysign":
            return math.copysign(given[1], given[0])
        assert word == "fma", word
        return given[0] * given[1] + given[2]

    @staticmethod
    def _of_integers(step: Instruction, given: Sequence[int]) -> int:
        word, kind = step.words[0], step.type.replace("b", "u")
        a, *rest = (
            (int(_decoded(v, kind)) for v in given) if word != "mad" else (int(_decoded(v, kind)) for v in given[:2])
        )
        if word in ("mul", "mad"):
            product = a * rest[0]
            high = product >> int(kind[1:]) if step.words[1] == "hi" else product
            return high + (given[2] if word == "mad" else 0)
        if word == "bfi":
            mask = ((1 << given[3]) - 1) << given[2]
            return (given[1] & ~mask) | ((given[0] << given[2]) & mask)
        if word in ("div", "rem"):
            quotient = abs(a) // abs(rest[0]) * (1 if (a < 0) == (rest[0] < 0) else -1)
            return quotient if word == "div" else a - quotient * rest[0]
        table: dict[str, Callable[..., int]] = {
            "add": operator.add, "sub": operator.sub, "neg": operator.neg, "min": min, "max": max,
            "and": operator.and_, "or": operator.or_, "xor": operator.xor, "not": operator.invert,
            "shl": operator.lshift, "shr": operator.rshift,
        }  # fmt: skip
        return table[word](a, *rest)


def launched(
    ptx: Path,
    cuda: Path,
    entry: str,
    count: int,
    given: Mapping[str, np.ndarray],
    shapes: Mapping[str, tuple[int, ...]],
) -> dict[str, np.ndarray]:
    """What a kernel of single threads stores in its output buffers, by their names in the emitted text.

    Args:
        ptx: The compiled text.
        cuda: The CUDA text, whose signature names the arguments.
        entry: The entry point.
        count: The number of elements.
        given: The arrays of input buffers.
        shapes: The shapes of output buffers, which begin with zeros.
    """
    functions = Function.all_of(ptx.read_text(encoding="utf-8"))
    signature = re.search(rf"__global__ void {entry}\(([^)]*)\)", cuda.read_text(encoding="utf-8"))
    assert signature
    memory, places, arguments = bytearray(64), {}, []
    for declared in signature[1].split(","):
        name = re.sub(r"_\d+$", "", declared.split()[-1])
        if name == "count":
            arguments.append(bytearray(struct.pack("<I", count)))
            continue
        array = np.ascontiguousarray(given[name] if name in given else np.zeros(shapes[name], np.float32))
        places[name] = len(memory)
        arguments.append(bytearray(struct.pack("<QQ", places[name], array.size)))
        memory += array.tobytes() + bytes(64)
    for number in range(count):
        Thread(functions, number, memory).run(entry, arguments)
    return {
        name: np.frombuffer(bytes(memory), np.float32, int(np.prod(shape)), places[name]).reshape(shape)
        for name, shape in shapes.items()
    }
