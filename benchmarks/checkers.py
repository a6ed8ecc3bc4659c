"""Compare gradient checkers on the zoo of this repository's tests: ``python benchmarks/checkers.py``.

Each function, kernel and pipeline of the zoo that a framework can express goes through ``slangad check``,
``warp.autograd.gradcheck``, ``torch.autograd.gradcheck`` (slow and fast) and ``jax.test_util.check_grads`` (forward and
reverse), each with its defaults. The programs are the right ones and all wrong ones made from them. This needs
``pip install . torch "jax[cpu]" warp-lang`` in one environment. All peers get the same random inputs in the ranges
that the zoo declares, one input after the other until one is refused.

A right program counts only if the framework's derivative agrees with that of PyTorch in float64: no checker is
blamed for accusing a wrong derivative. Programs that a framework cannot express are counted with the reason.
``--results FOLDER`` keeps each verdict, and a stopped run continues there. ``--write docs/checkers.md`` replaces the
tables of that page.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FOLDER = Path(__file__).parent / "peers"
sys.path.insert(0, str(FOLDER))

from cases import Case, InexpressibleError, function_cases  # noqa: E402  (found by the line before)
from kernel_cases import KernelCase, kernel_cases  # noqa: E402
from tables import summary, tables  # noqa: E402

RUNS = {
    "slangad": ("slangad", ""),
    "torch": ("torch", "float64"),
    "torch32": ("torch", "float32"),
    "warp": ("warp", "float32"),
    "jax": ("jax", "float32"),
    "jax64": ("jax", "float64"),
}
SUMMARY = ("<!-- summary by benchmarks/checkers.py -->", "<!-- end of summary -->")
TABLES = ("<!-- tables by benchmarks/checkers.py -->", "<!-- end of tables -->")


def main() -> None:
    """Run all checkers and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--every", type=int, default=1, help="take every N-th wrong function  [default: all]")
    parser.add_argument("--inputs", type=int, default=5, help="inputs for each function  [default: 5]")
    parser.add_argument("--seed", type=int, default=0, help="seed of the inputs and of slangad check  [default: 0]")
    parser.add_argument("--only", nargs="+", choices=RUNS, default=list(RUNS), help="run only these checkers")
    parser.add_argument("--results", type=Path, help="keep the verdicts in this folder and continue from it")
    parser.add_argument("--write", type=Path, help="replace the tables of this page")
    parser.add_argument("--run", choices=RUNS, help=argparse.SUPPRESS)
    said = parser.parse_args()
    cases = [*function_cases(said.every), *kernel_cases()]
    folder = said.results or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    if said.run:
        run_one(cases, said, folder / f"{said.run}.jsonl", *RUNS[said.run])
        return
    for name in said.only:
        print(f"{name} …", file=sys.stderr, flush=True)
        words = ["--every", str(said.every), "--inputs", str(said.inputs), "--seed", str(said.seed)]
        words += ["--results", str(folder), "--run", name]
        subprocess.run([sys.executable, __file__, *words], check=True, stdout=sys.stderr)
    if len(said.only) == len(RUNS):
        everything = cases, {name: _read(folder / f"{name}.jsonl") for name in RUNS}, said.inputs, said.seed
        short, long = summary(*everything), tables(*everything)
        print(short, long, sep="\n")
        if said.write:
            _write(said.write, SUMMARY, short)
            _write(said.write, TABLES, long)


def run_one(cases: list[Case | KernelCase], said: argparse.Namespace, file: Path, peer: str, dtype: str) -> None:
    """Run one checker, in a separate process, on all cases without a verdict."""
    known = _read(file)
    left = [case for case in cases if case.key not in known]
    if peer == "slangad":
        import slangad_side as side

        found = ((key, {"told": {"default": told}}) for key, told in side.verdicts(left, said.seed))
    else:
        side = _side(peer, dtype)
        found = ((case.key, _tried(side, case, dtype, said)) for case in left)
    with file.open("a", encoding="utf-8") as lines:
        start = time.perf_counter()
        for key, entry in found:
            now = time.perf_counter()
            whole = {"key": key, "version": side.VERSION, **entry, "seconds": now - start}
            start = now
            print(json.dumps(whole), file=lines, flush=True)


def _tried(side, case: Case | KernelCase, dtype: str, said: argparse.Namespace) -> dict[str, object]:
    """Return the verdicts of a checker and the gradients of right programs, or the reason for no verdict."""
    try:
        told, gradients = side.verdicts(case, dtype, case.inputs(said.inputs, said.seed))
    except InexpressibleError as error:
        return {"reason": str(error)}
    except Exception as error:  # whatever a framework says to what it can't do
        return {"reason": f"{type(error).__name__}: {str(error).splitlines()[0][:90]}"}
    return {"told": told, "gradients": gradients}


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


def _read(file: Path) -> dict[str, dict]:
    """Return the verdicts of a file by the keys of their cases."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    return {entry["key"]: entry for entry in map(json.loads, lines)}


def _write(page: Path, marks: tuple[str, str], text: str) -> None:
    """Replace the text between two marks of a page."""
    begin, end = marks
    before, rest = page.read_text(encoding="utf-8").split(begin)
    page.write_text(f"{before}{begin}\n\n{text}\n{end}{rest.split(end)[1]}", encoding="utf-8")


if __name__ == "__main__":
    main()
