"""Print the verdicts of the checkers as the Markdown tables of docs/checkers.md."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cases import Case
    from kernel_cases import KernelCase

    Cases = list[Case | KernelCase]
    Verdicts = dict[str, dict[str, dict]]

COLUMNS = (
    ("slangad", "default", "slangad"),
    ("warp", "default", "Warp"),
    ("torch", "slow", "PyTorch float64, slow"),
    ("torch", "fast", "PyTorch float64, fast"),
    ("torch32", "slow", "PyTorch float32"),
    ("torch32", "eased", "PyTorch float32, eased"),
    ("jax", "default", "JAX, both"),
    ("jax", "fwd", "JAX, fwd"),
    ("jax", "rev", "JAX, rev"),
    ("jax64", "default", "JAX float64, both"),
)
PEERS = {"warp": "Warp", "torch": "PyTorch float64", "torch32": "PyTorch float32", "jax": "JAX", "jax64": "JAX float64"}
MUTATIONS = {
    "sign": "sign",
    "thousandth": "factor 1.001",
    "double": "factor 2",
    "missing": "no gradient",
    "extra": "factor and an additional term",
    "swapped": "swapped arguments",
    "transposed": "transposed matrix",
    "seedless": "cotangent ignored",
    "branch": "wrong in a branch that an input takes",
    "index": "wrong at one index",
    "integer": "wrong for one integer",
    "forgotten": "missing entry",
    "stale": "stale state",
    "own": "written by hand: dropped term, stale loop, missing accumulation, …",
}
MOST = "**all without that branch and factor 1.001**"
LIKELY = "the same, without factor 1.001 and branches that no input takes"


@dataclass(frozen=True)
class Count:
    """Number of cases that were judged wrongly, and number of cases that were tried."""

    wrong: int
    tried: int

    def __str__(self) -> str:
        return f"{self.wrong} / {self.tried}" if self.tried else "-"


def parts(cases: Cases, inputs: int, seed: int) -> dict[str, Cases]:
    """Return the wrong programs by kind of error; the last two entries hold most of them and all of them."""
    wrong = [case for case in cases if case.kind]
    hidden = [c for c in wrong if c.group == "branch" and not c.shows(inputs, seed)]
    by_kind = {text: [c for c in wrong if c.group == kind and c not in hidden] for kind, text in MUTATIONS.items()}
    by_kind["wrong in a branch that no input takes"] = hidden
    by_kind[MOST] = [c for c in wrong if c.group != "thousandth" and c not in hidden]
    return by_kind | {"**all**": wrong}


def summary(cases: Cases, data: Verdicts, inputs: int, seed: int) -> str:
    """Return one row for each checker: its mistakes on all right and on all wrong programs."""
    right = [case for case in cases if not case.kind]
    by_kind = parts(cases, inputs, seed)
    columns = {
        "right, accused / tried": right,
        "wrong, passed / tried": by_kind["**all**"],
        LIKELY: by_kind[MOST],
    }
    rows = [
        _row(title, [_count(part, data, name, mode, 0) for part in columns.values()]) for name, mode, title in COLUMNS
    ]
    return "\n".join([_row("checker", columns), "|" + "---|" * (len(columns) + 1), *rows, ""])


def tables(cases: Cases, data: Verdicts, inputs: int, seed: int) -> str:
    """Return the tables of the page."""
    right = [case for case in cases if not case.kind]
    wrong = [case for case in cases if case.kind]
    classes = list(dict.fromkeys(case.of_class for case in right))
    versions = ", ".join(dict.fromkeys(next(iter(data[name].values()))["version"] for name, _, _ in COLUMNS))
    day = datetime.now(tz=timezone.utc).date()
    counts = f"{len(right)} right and {len(wrong)} wrong programs; {inputs} inputs, seed {seed}."
    header = _header([name for _, _, name in COLUMNS])
    lines = [f"{day}; {versions}; CPU; {counts}"]
    lines += ["", "Right programs accused / tried:", "", *header]
    lines += _rows(data, {of: [c for c in right if c.of_class == of] for of in classes} | {"**all**": right})
    lines += ["", "Wrong programs passed / tried, by kind of error:", "", *header]
    lines += _rows(data, parts(cases, inputs, seed))
    lines += ["", "Wrong programs passed / tried, by class of the program:", "", *header]
    lines += _rows(data, {of: [c for c in wrong if c.of_class == of] for of in classes})
    lines += ["", f"With one input instead of {inputs}:", "", *header]
    lines += _rows(data, {"right, accused": right, "wrong, passed": wrong}, inputs=1)
    lines += ["", "Programs expressed in the framework / programs in the zoo:", "", *_header(list(PEERS.values()))]
    lines += [_row(of, [_expressed(data[n], [c for c in cases if c.of_class == of]) for n in PEERS]) for of in classes]
    lines += [_row("**all**", [_expressed(data[name], cases) for name in PEERS])]
    lines += ["", "Programs that are not expressed or not counted:", ""]
    lines += ["| | right | wrong | classes | reason |", "|---|---|---|---|---|", *_left_out(right, wrong, data)]
    seconds = ", ".join(f"{name} {sum(e['seconds'] for e in told.values()):.0f} s" for name, told in data.items())
    return "\n".join([*lines, "", f"Total time: {seconds}.", ""])


def _header(names: list[str]) -> list[str]:
    return [_row("", names), "|" + "---|" * (len(names) + 1)]


def _row(first: str, cells: Iterable[object]) -> str:
    return f"| {first} | {' | '.join(map(str, cells))} |"


def _rows(data: Verdicts, parts: dict[str, Cases], inputs: int = 0) -> list[str]:
    return [
        _row(title, [_count(part, data, name, mode, inputs) for name, mode, _ in COLUMNS])
        for title, part in parts.items()
        if part
    ]


def _count(cases: Cases, data: Verdicts, name: str, mode: str, inputs: int) -> Count:
    bad = tried = 0
    for case in cases:
        told = data[name].get(case.key, {}).get("told", {}).get(mode)
        if not told or not _is_right(case, data, name):
            continue
        content = all(told[:inputs] if inputs else told)
        tried += 1
        bad += content if case.kind else not content
    return Count(bad, tried)


def _is_right(case: Case | KernelCase, data: Verdicts, name: str) -> bool:
    """Return True if the framework's derivative of the original program agrees with that of PyTorch in float64."""
    mine, other = (data[n].get(case.made_from, {}).get("gradients") for n in (name, "torch"))
    if not mine or not other:
        return True
    return all(_same(a, b) for one, two in zip(mine, other, strict=True) for a, b in zip(one, two, strict=True))


def _same(mine: list[float], other: list[float]) -> bool:
    size = max((abs(value) for value in other), default=0.0)
    return all(abs(a - b) <= 1e-2 * size + 1e-30 for a, b in zip(mine, other, strict=True))


def _expressed(told: dict[str, dict], cases: Cases) -> str:
    return f"{sum('told' in told.get(case.key, {}) for case in cases)} / {len(cases)}"


def _left_out(right: Cases, wrong: Cases, data: Verdicts) -> list[str]:
    lines = []
    for name, title in PEERS.items():
        whys: dict[str, list[Case | KernelCase]] = {}
        for case in (*right, *wrong):
            if "reason" in data[name].get(case.key, {}):
                whys.setdefault(data[name][case.key]["reason"], []).append(case)
        off = [c for c in (*right, *wrong) if "told" in data[name].get(c.key, {}) and not _is_right(c, data, name)]
        if off:
            names = ", ".join(case.name for case in off if not case.kind)
            whys[f"not counted: the derivative of the framework differs, or its precision is too low: {names}"] = off
        for why, cases in sorted(whys.items(), key=lambda item: -len(item[1])):
            kinds = Counter(bool(case.kind) for case in cases)
            classes = ", ".join(dict.fromkeys(case.of_class for case in cases))
            lines.append(_row(title, [kinds[False] or "", kinds[True] or "", classes, why]))
    return lines
