"""Write docs/intrinsics.md from the table of intrinsics, and docs/api.md from the names that users import."""

from __future__ import annotations

import inspect
import math
import re
from itertools import product
from typing import Any, Final

import slangad as sa
from slangad.compiler.driver.unsupported import _GROUP_OF
from slangad.compiler.ir import types
from slangad.compiler.ir.optimizers import OPTIMIZERS
from slangad.compiler.ir.targets import TARGETS
from slangad.compiler.lang import public
from slangad.compiler.lang.decorators import methods
from slangad.compiler.lang.errors import TypeRuleError
from slangad.compiler.lang.intrinsics import INTRINSICS, IntrinsicRow
from slangad.compiler.lang.types.intrinsic_functions import FUNCTIONS

# --- derivatives as text ---


class Formula:
    """An expression as text, with the strength of its weakest operator: 0 choice, 1 logic, 2 sum, 3 product, 4 none."""

    def __init__(self, text: str, strength: int = 4) -> None:
        self.text, self.strength = text, strength

    def within(self, strength: int) -> str:
        """Return the text, in parentheses if it binds less than ``strength``."""
        return self.text if self.strength >= strength else f"({self.text})"

    def __neg__(self) -> Formula:
        return Formula(f"-{self.within(3)}", 3)

    def __invert__(self) -> Formula:
        return Formula(f"not {self.within(2)}", 1)


def _formula(value: object) -> Formula:
    if isinstance(value, Formula):
        return value
    assert isinstance(value, float | int)
    known = {math.log(2.0): "ln(2)", math.log(10.0): "ln(10)", math.pi / 180: "π/180", 180 / math.pi: "180/π"}
    text = next((name for number, name in known.items() if math.isclose(number, value)), f"{value:.6g}")
    return Formula(text, 3 if "/" in text else 4)


def _binary(word: str, strength: int, *, swapped: bool = False) -> Any:
    def combined(self: Formula, other: object) -> Formula:
        left, right = (_formula(other), self) if swapped else (self, _formula(other))
        tighter = strength + (word in "-/")
        return Formula(f"{left.within(strength)} {word} {right.within(tighter)}", strength)

    return combined


for _name, _word, _strength in (("add", "+", 2), ("sub", "-", 2), ("mul", "·", 3), ("truediv", "/", 3)):
    setattr(Formula, f"__{_name}__", _binary(_word, _strength))
    setattr(Formula, f"__r{_name}__", _binary(_word, _strength, swapped=True))
for _name, _word in (("lt", "<"), ("le", "≤"), ("gt", ">"), ("ge", "≥"), ("eq", "="), ("and", "and"), ("or", "or")):
    setattr(Formula, f"__{_name}__", _binary(_word, 1))


class _Functions:
    """The functions that derivatives of the table call, as text."""

    @staticmethod
    def where(condition: Formula, yes: object, no: object) -> Formula:
        return Formula(f"{_formula(yes).within(1)} if {condition.text}, else {_formula(no).text}", 0)

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: Formula(f"{name}({', '.join(_formula(a).text for a in arguments)})")


def _derivatives(row: IntrinsicRow) -> str:
    if not row.differentiable:
        return "none"
    if row.composed is not None:
        return "by the chain rule"
    arguments = [Formula(name) for name in row.params]
    found = [_formula(0 if d is None else d(_Functions(), *arguments)).text for d in row.partials or ()]
    if not any(found):
        return "0"
    if len(found) == 1:
        return f"`{found[0]}`"
    return "; ".join(f"{name}: `{text}`" for name, text in zip(row.params, found, strict=True))


# --- docs/intrinsics.md ---

_SHAPES: Final = {
    "numbers": lambda scalar: scalar,
    "vectors": lambda scalar: types.Vector(scalar, 3),
    "matrices": lambda scalar: types.Matrix(scalar, 3, 3),
}


def _signature(row: IntrinsicRow) -> tuple[str, str]:
    """Return a call with the first types that the rule accepts, and everything that the first argument may be."""
    accepted: dict[str, list[str]] = {}
    shown = ""
    kinds = [(shape, scalar, make(types.Scalar(scalar))) for shape, make in _SHAPES.items() for scalar in _SCALARS]
    for shape, scalar, first in kinds:
        rest = {*(make(types.Scalar(scalar)) for make in _SHAPES.values()), types.FLOAT, types.BOOL}
        for chosen in product([first], *[sorted(rest, key=types.show)] * (len(row.params) - 1)):
            ordered = [*chosen]
            if len({*ordered}) > 1 and row.types is _ONE_TYPE:
                continue
            try:
                signature = row.rule(ordered)
            except TypeRuleError:
                continue
            if signature.params != tuple(ordered):
                continue
            accepted.setdefault(shape, []).append(scalar)
            parts = ", ".join(f"{n}: {types.show(t)}" for n, t in zip(row.params, ordered, strict=True))
            shown = shown or f"sa.{row.name}({parts}{', …' if row.variadic else ''}) -> {types.show(signature.result)}"
            break
    shapes: dict[str, list[str]] = {}
    for shape, scalars in accepted.items():
        shapes.setdefault(_SUMMARY.get(tuple(scalars), ", ".join(scalars)), []).append(shape)
    return shown, "; ".join(f"{' and '.join(names)} of {scalars}" for scalars, names in shapes.items())


_SCALARS: Final = ("float", "half", "double", "int", "uint", "bool")
_ONE_TYPE: Final = INTRINSICS["sin"].types
_SUMMARY: Final = {
    ("float", "half", "double"): "floats",
    ("float", "half", "double", "int", "uint"): "any type but bool",
    _SCALARS: "any type",
}


def _kinks(row: IntrinsicRow) -> str:
    domains = [
        f"{name} {'>' if interval.low_open else '≥'} {interval.low:g}"
        for name, interval in zip(row.params, map(row.interval, range(len(row.params))), strict=True)
        if math.isfinite(interval.low) and not math.isfinite(interval.high)
    ]
    return "; ".join([*(f"{kink.kind} at {kink.text}" for kink in row.kinks), *domains])


def _double(row: IntrinsicRow) -> str:
    group = _GROUP_OF.get(row.name)
    lacking = [name for name, target in TARGETS.items() if {"double", group} & {*target.lacks}]
    return ", ".join(name for name in lacking if name != "spirv-asm")


_INTRINSICS: Final = """# Intrinsics

Every function of `sa.` that bodies call. This page is generated from the table in
[compiler/lang/intrinsics](../compiler/lang/intrinsics).

`hit.py`:

```python
import slangad as sa
from slangad import float3


@sa.differentiable
def hit(position: float3, radius: float) -> float:
    return sa.smoothstep(0.0, 1.0, sa.length(position) - radius)


print(hit.grad(position=[1.0, 2.0, 2.0], radius=2.5, device="cpu"))
```

```console
$ python hit.py
grad.position  float32[3]  0.5 1 1
grad.radius    float32     -1.5
```

- Functions of numbers work on each component of a vector. A number next to a vector spreads over its components.
- `kink`: the derivative jumps there. `jump`: the value jumps. The column "derivative" also holds at kinks.
- A condition such as `x > 0` is the domain: outside, value or derivative is not finite.
- "by the chain rule": the derivative follows from a definition in simpler functions.
- Python's `max`, `min`, `abs`, `pow`, `round`, `sum`, `any`, `all` and the functions of `math` with these names are the
  same intrinsics. `round`, `math.floor`, `math.ceil` and `math.trunc` give an int.
- Every function exists for `float` on every target. The last column names targets without it for `double`. A kernel
  that needs it there is refused (SA211).

| function | value | derivative | kinks and domain | takes | not for double on |
|---|---|---|---|---|---|
"""


def _cells(*cells: str) -> str:
    """Return a row of a Markdown table."""
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n"


def intrinsics_page() -> str:
    """Return docs/intrinsics.md."""
    rows = []
    for row in sorted(INTRINSICS.values(), key=lambda row: row.name):
        if not row.cast_of:
            call, takes = _signature(row)
            double = _double(row) if "floats" in takes or "any type" in takes else ""
            rows.append(_cells(f"`{call}`", row.doc, _derivatives(row), _kinks(row), takes, double))
    return _INTRINSICS + "".join(rows)


# --- docs/api.md ---

_SECTIONS: Final = {
    "decorators.functions": "Decorators",
    "decorators.kernels": "Decorators",
    "decorators.struct": "Decorators",
    "decorators.generic": "Decorators",
    "decorators.external": "Decorators",
    "decorators.derivatives": "Derivatives in bodies",
    "decorators.policies": "Derivative policies",
    "decorators.loops": "Loops and threads",
    "decorators.groups": "Groups of threads",
    "decorators.lists": "Stages of pipelines",
    "types.annotations": "Annotations",
    "types.arrays": "Types",
    "types.scalars": "Types",
    "types.copies": "Types",
    "errors": "Errors",
}
"""The section of each module whose names users import. Vectors and matrices have one row together."""

_API: Final = """# Names in Python

Everything that `import slangad as sa` offers. This page is generated from the signatures and docstrings.

`names.py`:

```python
import slangad as sa


@sa.differentiable
def square(x: float) -> float:
    return x * x


print(square.map([1.0, 2.0, 3.0], device="cpu"))
print(square.grad([1.0, 2.0, 3.0], device="cpu"))
```

```console
$ python names.py
[1. 4. 9.]
grad.x  float32[3]  2 4 6
```

[language.md](language.md) describes bodies and the options of the decorators, [python.md](python.md) calls and results.
[intrinsics.md](intrinsics.md) lists the functions that bodies call, such as `sa.dot`.
"""


def _plain(name: str, value: object) -> str:
    """Return a name with its parameters as users write them: without ``object``, the result, and quotes."""
    try:
        text = str(inspect.signature(value)).partition(" -> ")[0]  # type: ignore[arg-type]  # callable, or a TypeError
    except (TypeError, ValueError):
        return name
    text = re.sub(r": '([^']*)'", lambda found: "" if found[1] in {"object", "Any"} else f": {found[1]}", text)
    text = text.replace("(self, ", "(").replace("(self)", "()").replace("python = None, /, ", "")
    return name + re.sub(r"<[^>]*>", "float" if "storage" in text else "…", text)


def _row(name: str, value: object) -> str:
    return _cells(f"`{name}`", (inspect.getdoc(value) or "").partition("\n")[0].replace("``", "`"))


def _api_sections() -> dict[str, list[str]]:
    sections: dict[str, list[str]] = {title: [] for title in _SECTIONS.values()}
    for name in public.__all__:
        value = getattr(sa, name)
        module = getattr(value, "__module__", "").removeprefix("slangad.compiler.lang.")
        if name in FUNCTIONS or module in {"types.vectors", "types.matrices"}:
            continue
        title = "Optimizers" if name.lower() in OPTIMIZERS else _SECTIONS[module]
        shown = name if title in {"Annotations", "Errors", "Types"} and name != "texture" else _plain(name, value)
        sections.setdefault(title, []).append(_row(f"sa.{shown}", value))
    sections["Types"] += [
        _cells(
            "`sa.float2` … `sa.float4`; also `bool`, `int`, `uint`, `half`, `double`",
            "Vectors of two to four components.",
        ),
        _cells("`sa.float2x2` … `sa.float4x4`; also `half`, `double`", "Matrices. `*` is by entry, `@` multiplies."),
    ]
    sections["Files"] = [_row(_plain("sa.load", sa.load), sa.load)]
    for title, kind in (
        ("Methods of kernels and pipelines", methods.RunnableObject),
        ("Methods of functions", methods.SampledObject),
    ):
        sections[title] = [
            _row(f".{name}" if isinstance(value, property) else f".{_plain(name, value)}", value)
            for parent in reversed(kind.__mro__)
            for name, value in vars(parent).items()
            if not name.startswith("_") and parent is not object
        ]
    sections["Networks"] = [
        _row(f"sa.nn.{_plain(name, value) if inspect.isfunction(value) else name}", value)
        for name, value in ((name, getattr(sa.nn, name)) for name in sa.nn.__all__)
    ]
    return sections


def api_page() -> str:
    """Return docs/api.md."""
    head = "| name | purpose |\n|---|---|\n"
    return _API + "".join(f"\n## {title}\n\n{head}{''.join(rows)}" for title, rows in _api_sections().items())
