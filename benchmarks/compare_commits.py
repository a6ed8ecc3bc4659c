"""Show that two commits behave the same: ``python benchmarks/compare_commits.py BASE [HEAD]``.

Every sample, golden case and program of the zoo is compiled and checked at both commits, by the command line alone.
Then everything that was written is compared: text and artefacts byte for byte, reports digit for digit.

    python benchmarks/compare_commits.py BASE [HEAD]                              both commits, in worktrees
    python benchmarks/compare_commits.py --write-inputs IN --checkout DIR         write the programs of a checkout
    python benchmarks/compare_commits.py --record OUT --checkout DIR --inputs IN  record one checkout, without git
    python benchmarks/compare_commits.py --compare OUT_A OUT_B                    compare two recordings

Both commits get the same programs: those of BASE. ``--record`` needs the checkout's dependencies in the environment or
on PYTHONPATH, which is kept. ``--shard 2/8`` records a part; ``--compare`` joins all parts in a folder.

Two things are normalised before the comparison: ``seconds`` of a report become 0, and ``build.key`` of a manifest is
empty, because it holds the hash of slangad's own code. All jobs run in one
folder of the system's temporary folder, so that absolute paths are the same; two recordings can't run at once.

Free text (``message``, ``reason``, ``help`` and the other names in ``documents.WORDING``, and stderr) may differ in
words. It must hold the same numbers and codes in the same order. The exit code is 1 if anything else differs.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from commits.compare import compare
from commits.inputs import differing_inputs, write_inputs
from commits.jobs import GROUPS
from commits.record import Settings, record

HERE = Path(__file__).resolve().parents[1]


def main() -> None:
    """Record and compare what the arguments ask for."""
    arguments = _arguments()
    if arguments.compare:
        sys.exit(compare(*arguments.compare, examples=arguments.examples))
    if arguments.write_inputs:
        write_inputs(arguments.checkout, arguments.write_inputs)
    elif arguments.record:
        with tempfile.TemporaryDirectory() as temporary:
            inputs = arguments.inputs or write_inputs(arguments.checkout, Path(temporary))
            record(arguments.checkout, inputs, arguments.record, _settings(arguments))
    else:
        sys.exit(_compare_commits(arguments.commits[0], (*arguments.commits[1:], "HEAD")[0], arguments))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS
    )
    parser.add_argument("commits", nargs="*", metavar="COMMIT", help="BASE and HEAD")
    parser.add_argument("--write-inputs", type=Path, metavar="FOLDER", help="write the programs here")
    parser.add_argument("--record", type=Path, metavar="FOLDER", help="write the recording of one checkout here")
    parser.add_argument("--compare", type=Path, nargs=2, metavar=("A", "B"), help="compare two recordings")
    parser.add_argument("--checkout", type=Path, default=HERE, help="the checkout to record  [default: this one]")
    parser.add_argument("--inputs", type=Path, metavar="FOLDER", help="the programs  [default: those of the checkout]")
    parser.add_argument("--only", nargs="+", choices=GROUPS, default=GROUPS, help="record these groups only")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="record every Nth job only, as a trial")
    parser.add_argument(
        "--zoo-seeds", type=int, default=1, metavar="N", help="check the zoo with N seeds  [default: 1]"
    )
    parser.add_argument("--shard", default="1/1", metavar="I/N", help="record part I of N  [default: 1/1]")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count(), help="processes at a time  [default: cores]")
    parser.add_argument("--examples", type=int, default=5, metavar="N", help="examples of new wording to show")
    arguments = parser.parse_args()
    alone = (arguments.write_inputs, arguments.record, arguments.compare)
    if len(arguments.commits) > 2 or bool(arguments.commits) + sum(map(bool, alone)) != 1:
        parser.error("give BASE and perhaps HEAD, or one of --write-inputs, --record, --compare")
    return arguments


def _settings(arguments: argparse.Namespace) -> Settings:
    part, of = (int(word) for word in arguments.shard.split("/"))
    if not 1 <= part <= of:
        sys.exit(f"--shard {arguments.shard}: there is no such part")
    return Settings(tuple(arguments.only), arguments.every, arguments.zoo_seeds, (part, of), arguments.jobs)


def _compare_commits(base: str, head: str, arguments: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        checkouts = {"base": _commit(base), "head": _commit(head)}
        try:
            for name, commit in checkouts.items():
                _git("worktree", "add", "--quiet", "--detach", str(work / name), commit)
            inputs = write_inputs(work / "base", work / "inputs")
            for name in checkouts:
                record(work / name, inputs, work / f"recording-{name}", _settings(arguments))
            print(f"{base} = {checkouts['base']}\n{head} = {checkouts['head']}")
            for line in differing_inputs(inputs, write_inputs(work / "head", work / "inputs-head")):
                print(f"not the same at {head}, recorded as at {base}: {line}")
        finally:
            for name in checkouts:
                _git("worktree", "remove", "--force", str(work / name), check=False)
        return compare(work / "recording-base", work / "recording-head", examples=arguments.examples)


def _commit(name: str) -> str:
    return _git("rev-parse", "--verify", f"{name}^{{commit}}").strip()


def _git(*words: str, check: bool = True) -> str:
    return subprocess.run(["git", "-C", str(HERE), *words], check=check, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    main()
