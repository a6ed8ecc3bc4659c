"""Gradient checkers side by side on the zoo of this repository's tests: ``python benchmarks/checkers.py``.

Every function of the zoo that a framework can express goes through ``slangad check``, ``warp.autograd.gradcheck``,
``torch.autograd.gradcheck`` (slow and fast) and ``jax.test_util.check_grads`` (forward and reverse), each at its
defaults: the right ones, and wrong ones made from them. Needs ``pip install -e . torch "jax[cpu]" warp-lang`` in one
environment. Each peer is asked at the same random inputs within the ranges that the zoo declares; it accuses a
function if it is not content with one of them.

A right function counts only where the framework's own derivative is that of PyTorch in float64: nobody is blamed for
accusing what is wrong. What can't be expressed is counted with the reason. ``--write docs/checkers.md`` puts the tables
into that page.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

FOLDER = Path(__file__).parent / "peers"
sys.path.insert(0, str(FOLDER))

from cases import Case, InexpressibleError, all_cases  # noqa: E402  (found by the line before)

RUNS = (
    ("slangad", "slangad", ""),
    ("torch", "torch", "float64"),
    ("torch32", "torch", "float32"),
    ("jax", "jax", "float32"),
    ("jax64", "jax", "float64"),
    ("warp", "warp", "float32"),
)
COLUMNS = (
    ("slangad", "default", "slangad"),
    ("warp", "default", "Warp"),
    ("torch", "slow", "PyTorch float64, slow"),
    ("torch", "fast", "PyTorch float64, fast"),
    ("torch32", "slow", "PyTorch float32, slow"),
    ("torch32", "fast", "PyTorch float32, fast"),
    ("jax", "default", "JAX, both"),
    ("jax", "fwd", "JAX, fwd"),
    ("jax", "rev", "JAX, rev"),
    ("jax64", "default", "JAX float64, both"),
)
MUTATIONS = {
    "sign": "sign",
    "thousandth": "factor 1.001",
    "double": "factor 2",
    "missing": "no gradient",
    "extra": "factor and a term more",
    "swapped": "swapped arguments",
    "transposed": "transposed matrix",
    "seedless": "cotangent ignored",
    "branch": "wrong in one branch",
    "index": "wrong at one index",
    "integer": "wrong for one integer",
    "forgotten": "an entry forgotten",
    "stale": "stale state",
    "own": "written by hand: dropped term, stale loop, missing accumulation, …",
}
MARKS = ("<!-- tables by benchmarks/checkers.py -->", "<!-- end of tables -->")


@dataclass(frozen=True)
class Count:
    """Of so many tried, how many were judged wrongly."""

    wrong: int
    tried: int

    def __str__(self) -> str:
        return f"{self.wrong} / {self.tried}" if self.tried else "-"


def main() -> None:
    """Run all, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--every", type=int, default=4, help="take every so many wrong ones  [default: 4]")
    parser.add_argument("--inputs", type=int, default=5, help="inputs for each function  [default: 5]")
    parser.add_argument("--results", type=Path, help="a folder where results of runs are kept and found again")
    parser.add_argument("--write", type=Path, help="the page to put the tables into")
    parser.add_argument("--run", nargs=3, metavar=("PEER", "DTYPE", "FILE"), help=argparse.SUPPRESS)
    said = parser.parse_args()
    if said.run:
        run_one(all_cases(said.every), said.inputs, *said.run)
        return
    folder = said.results or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    for name, peer, dtype in RUNS:
        if not (folder / f"{name}.json").is_file():
            print(f"{name} …", file=sys.stderr, flush=True)
            words = ["--every", str(said.every), "--inputs", str(said.inputs), "--run", peer, dtype]
            subprocess.run(
                [sys.executable, __file__, *words, str(folder / f"{name}.json")], check=True, stdout=sys.stderr
            )
    text = tables(
        all_cases(said.every), {name: json.loads((folder / f"{name}.json").read_text()) for name, _, _ in RUNS}
    )
    print(text)
    if said.write:
        page = said.write.read_text(encoding="utf-8")
        before, rest = page.split(MARKS[0])
        after = rest.split(MARKS[1])[1]
        said.write.write_text(f"{before}{MARKS[0]}\n\n{text}\n{MARKS[1]}{after}", encoding="utf-8")


def run_one(cases: list[Case], count: int, peer: str, dtype: str, file: str) -> None:
    """Ask one checker about everything, in a process of its own."""
    start = time.perf_counter()
    told: dict[str, object] = {}
    reasons: dict[str, str] = {}
    gradients: dict[str, list] = {}
    if peer == "slangad":
        import slangad_side as side

        told = side.verdicts(cases)
    else:
        side = _side(peer, dtype)
        for case in cases:
            found = _tried(side, case, dtype, count)
            if isinstance(found, str):
                reasons[case.name] = found
            else:
                told[case.name], gradients[case.name] = found
    kept = {name: found for name, found in gradients.items() if name in {c.name for c in cases if not c.kind}}
    data = {"version": side.VERSION, "told": told, "reasons": reasons, "gradients": kept}
    Path(file).write_text(json.dumps({**data, "seconds": time.perf_counter() - start}))


def _tried(side, case: Case, dtype: str, count: int):
    """What a checker says, or why it can't."""
    try:
        return side.verdicts(case, dtype, case.inputs(count))
    except InexpressibleError as error:
        return str(error)
    except Exception as error:  # whatever a framework says to what it can't do
        return f"{type(error).__name__}: {str(error).splitlines()[0][:90]}"


def _side(peer: str, dtype: str):
    if peer == "jax":
        import jax

        jax.config.update("jax_enable_x64", dtype == "float64")
        import jax_side as side
    elif peer == "torch":
        import torch_side as side
    else:
        import warp_side as side
    return side


def tables(cases: list[Case], data: dict[str, dict]) -> str:
    """The page's tables."""
    right = [case for case in cases if not case.kind]
    wrong = [case for case in cases if case.kind]
    versions = ", ".join(dict.fromkeys(data[name]["version"] for name, _, _ in COLUMNS))
    day = datetime.now(tz=timezone.utc).date()
    names = [name for _, _, name in COLUMNS]
    lines = [f"{day}; {versions}; {len(right)} right functions, {len(wrong)} wrong ones.", ""]
    lines += ["Right functions accused / tried:", "", *_header("", names)]
    lines += _rows(right, data, "right", dict.fromkeys(case.group for case in right))
    lines += ["", "Wrong functions passed / tried:", "", *_header("", names)]
    lines += _rows(
        wrong, data, "wrong", {kind: text for kind, text in MUTATIONS.items() if any(c.group == kind for c in wrong)}
    )
    lines += ["", "The same at one input only:", "", *_header("", names)]
    for kind, chosen in (("right", right), ("wrong", wrong)):
        cells = [str(_count(chosen, data, name, mode, kind, 1)) for name, mode, _ in COLUMNS]
        lines.append(_row(f"{kind}, {'accused' if kind == 'right' else 'passed'}", cells))
    lines += ["", "Not tried:", "", "| | right | wrong | why |", "|---|---|---|---|", *_left_out(right, wrong, data)]
    seconds = ", ".join(f"{name} {data[name]['seconds']:.0f} s" for name, _, _ in RUNS)
    return "\n".join([*lines, "", f"Time for all of it: {seconds}.", ""])


def _header(first: str, names: list[str]) -> list[str]:
    return [_row(first, names), "|" + "---|" * (len(names) + 1)]


def _row(first: str, cells: list[str]) -> str:
    return f"| {first} | {' | '.join(cells)} |"


def _rows(cases: list[Case], data: dict[str, dict], kind: str, groups: dict[str, str | None]) -> list[str]:
    chosen = {text or group: [case for case in cases if case.group == group] for group, text in groups.items()}
    if "thousandth" in groups:
        chosen["**all but factor 1.001**"] = [case for case in cases if case.group != "thousandth"]
    chosen["**all**"] = cases
    return [
        _row(title, [str(_count(part, data, name, mode, kind)) for name, mode, _ in COLUMNS])
        for title, part in chosen.items()
    ]


def _count(cases: list[Case], data: dict[str, dict], name: str, mode: str, kind: str, inputs: int = 0) -> Count:
    bad = tried = 0
    for case in cases:
        told = data[name]["told"].get(case.name, {}).get(mode)
        if not told or (kind == "right" and not _is_right(case, data, name)):
            continue
        content = all(told[:inputs] if inputs else told)
        tried += 1
        bad += (not content) if kind == "right" else content
    return Count(bad, tried)


def _is_right(case: Case, data: dict[str, dict], name: str) -> bool:
    """Whether the framework's own derivative is the one of PyTorch in float64, at all inputs."""
    mine, other = (data[n]["gradients"].get(case.name) for n in (name, "torch"))
    if mine is None or other is None:
        return True
    return all(_same(a, b) for one, two in zip(mine, other, strict=True) for a, b in zip(one, two, strict=True))


def _same(mine: list[float], other: list[float]) -> bool:
    size = max((abs(value) for value in other), default=0.0)
    return all(abs(a - b) <= 1e-2 * size + 1e-30 for a, b in zip(mine, other, strict=True))


def _left_out(right: list[Case], wrong: list[Case], data: dict[str, dict]) -> list[str]:
    lines = []
    for name in dict.fromkeys(name for name, _, _ in COLUMNS):
        reasons = data[name]["reasons"]
        whys: dict[str, Counter[str]] = {}
        for kind, cases in (("right", right), ("wrong", wrong)):
            for case in cases:
                if case.name in reasons:
                    whys.setdefault(reasons[case.name], Counter())[kind] += 1
        off = [case.name for case in right if case.name in data[name]["told"] and not _is_right(case, data, name)]
        if off:
            whys[f"its own derivative is another, or float32 does not hold it: {', '.join(off)}"] = Counter(
                right=len(off)
            )
        title = next(text for n, _, text in COLUMNS if n == name).split(",")[0]
        for why, counts in sorted(whys.items(), key=lambda item: -item[1].total()):
            lines.append(f"| {title} | {counts['right'] or ''} | {counts['wrong'] or ''} | {why} |")
    return lines


if __name__ == "__main__":
    main()
