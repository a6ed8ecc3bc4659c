"""Compare gradient checkers on the zoo of this repository's tests: ``python benchmarks/checkers.py``.

The checkers are ``slangad check``, ``warp.autograd.gradcheck``, ``torch.autograd.gradcheck`` (slow and fast) and
``jax.test_util.check_grads`` (forward and reverse), with their default settings. The subjects are all right functions,
kernels and pipelines of the zoo that a framework can express, and all wrong ones made from them. The script needs ``pip
install -e . torch "jax[cpu]" warp-lang`` in one environment. The peers get the same random inputs, within the ranges
that the zoo declares, until one input is refused.

A right function counts only if the framework's own derivative agrees with PyTorch in float64, because a checker may
refuse a wrong derivative. A subject that a framework can't express is counted with the reason. ``--results FOLDER``
saves every verdict, so that a stopped run continues. ``--write docs/checkers.md`` puts the tables into that page.
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
from tables import tables  # noqa: E402

RUNS = {
    "slangad": ("slangad", ""),
    "torch": ("torch", "float64"),
    "torch32": ("torch", "float32"),
    "warp": ("warp", "float32"),
    "jax": ("jax", "float32"),
    "jax64": ("jax", "float64"),
}
MARKS = ("<!-- tables by benchmarks/checkers.py -->", "<!-- end of tables -->")


def main() -> None:
    """Run all checkers and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--every", type=int, default=1, help="use every n-th wrong function  [default: all]")
    parser.add_argument("--inputs", type=int, default=5, help="inputs per function  [default: 5]")
    parser.add_argument("--seed", type=int, default=0, help="seed of the inputs and of slangad check  [default: 0]")
    parser.add_argument("--only", nargs="+", choices=RUNS, default=list(RUNS), help="checkers to run")
    parser.add_argument("--results", type=Path, help="folder of saved verdicts")
    parser.add_argument("--write", type=Path, help="page for the tables")
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
        text = tables(cases, {name: _read(folder / f"{name}.jsonl") for name in RUNS}, said.inputs, said.seed)
        print(text)
        if said.write:
            _write(said.write, text)


def run_one(cases: list[Case | KernelCase], said: argparse.Namespace, file: Path, peer: str, dtype: str) -> None:
    """Run one checker in a separate process on the cases without a saved verdict."""
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
    """Return a checker's verdict, or the reason why it has none, and the gradients of right cases."""
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
    """Return the verdicts in a file by the keys of cases."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    return {entry["key"]: entry for entry in map(json.loads, lines)}


def _write(page: Path, text: str) -> None:
    old = page.read_text(encoding="utf-8")
    before, rest = old.split(MARKS[0])
    page.write_text(f"{before}{MARKS[0]}\n\n{text}\n{MARKS[1]}{rest.split(MARKS[1])[1]}", encoding="utf-8")


if __name__ == "__main__":
    main()
