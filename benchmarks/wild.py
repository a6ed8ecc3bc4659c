"""Check the differentiable Slang of public repositories: ``python benchmarks/wild.py FOLDER``.

    python benchmarks/wild.py FOLDER                    check all files, print the table
    python benchmarks/wild.py FOLDER --out results.json    keep one record a file
    python benchmarks/wild.py --table results.json      print the table of kept records

FOLDER has one checkout for each row of ``REPOSITORIES``, named as there. Files are checked one by one with
``slangad check FILE --format json`` and the include folders of the row. Copies of a file are checked once.

A function is *checked* if it ran: its verdict is neither SKIPPED nor INCONCLUSIVE, and it compiled. The share is that
of the functions that Slang itself compiles.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, Final, NamedTuple

from slangad.compiler.slang_text.bodies import read_source


class Repository(NamedTuple):
    """A repository: the commit that was checked, and the folders and macros that its own build gives to Slang."""

    commit: str
    options: tuple[str, ...] = ()


REPOSITORIES: Final[dict[str, Repository]] = {
    "NVIDIA-RTX+RTXNS": Repository("c1fff30", ("-Isrc/NeuralShading_Shaders", "-Isrc")),
    "NVIDIAGameWorks+Falcor": Repository(
        "eb540f67",
        (
            "-ISource/Falcor",
            "-ISource",
            "-DFALCOR_MATERIAL_INSTANCE_SIZE=128",
            "-DSCENE_GEOMETRY_TYPES=1",
        ),
    ),
    "RX300+NeRf-3DGS": Repository("fbcccde"),
    "google+slang-gaussian-rasterization": Repository("d152748"),
    "harry7557558+spirulae-splat": Repository("f7c44f97", ("-Isrc/shaders", "-Isrc/sfm/shaders", "-DREAL_FLOAT")),
    "nv-tlabs+3dgrut": Repository(
        "a37ef72",
        (
            "-Ithreedgrt_tracer/include",
            "-Ithreedgut_tracer/include",
            "-DPARTICLE_RADIANCE_NUM_COEFFS=16",
            "-DGAUSSIAN_PARTICLE_KERNEL_DEGREE=4",
            "-DGAUSSIAN_PARTICLE_MIN_KERNEL_DENSITY=0.0113",
            "-DGAUSSIAN_PARTICLE_MIN_ALPHA=0.0039",
            "-DGAUSSIAN_PARTICLE_MAX_ALPHA=0.99",
            "-DGAUSSIAN_PARTICLE_ENABLE_NORMAL=false",
            "-DGAUSSIAN_PARTICLE_SURFEL=false",
        ),
    ),
    "shader-slang+neural-shading-s25": Repository("9fa23e7"),
    "shader-slang+slang-playground": Repository("461eaa9", ("-Ipublic/demos",)),
    "shader-slang+slang-python": Repository("6ff5960"),
    "shader-slang+slang-rhi": Repository("d1ef4f55"),
    "shader-slang+slang-torch": Repository("52e061a", ("-DNUM_CTRL_PTS=4", "-DDIM=2")),
    "shader-slang+slangpy-samples": Repository(
        "2d9959c",
        (
            "-Iexperiments/neuralnetwork/neuralnetworks/slang",
            "-Iexperiments/neuralnetwork/neuralnetworks",
        ),
    ),
    "shader-slang+slangpy": Repository("bd564212", ("-Islangpy/slang", "-DNUM_VIGNETTING_ALPHA_TERMS=3")),
    "zhongsitang+new-ever": Repository("6b149cf"),
}
"""Repositories of GitHub as ``owner+name``."""
SUFFIXES: Final = frozenset({".slang", ".slangh", ".hlsli", ".hlsl", ".slangi"})
DIFFERENTIABLE: Final = re.compile(r"\[\s*(?:Backward|Forward)?(?:Differentiable|Derivative(?:Of)?)\b")
NOT_CHECKED: Final = frozenset({"SKIPPED", "INCONCLUSIVE"})
NOT_COMPILED: Final = re.compile(
    "does not compile|is not found|which fails|"
    r"^its file can't be checked: (?!.*the search for what compiles ended).*\[SA2\d\d\]"
)
"""Reasons of functions that Slang itself refuses. If the search for the parts that compile was ended, it may not."""


def main() -> None:
    """Check the repositories that the arguments name, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, help="the folder of the checkouts")
    parser.add_argument("--out", type=Path, help="write one record a file, as JSON")
    parser.add_argument("--table", type=Path, help="only print the table of these records")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="files at a time")
    parser.add_argument("--only", default="", help="only paths that contain this text")
    parser.add_argument("--limit", type=float, default=600, help="seconds that the check of one file may take")
    arguments = parser.parse_args()
    if arguments.table:
        records = json.loads(arguments.table.read_text())
    else:
        files = [one for one in _files(arguments.folder) if arguments.only in str(one[1])]
        records = []
        with ThreadPoolExecutor(arguments.jobs) as pool:
            for done in as_completed(pool.submit(_record, *file, arguments.limit) for file in files):
                records.append(done.result())
                if arguments.out:
                    arguments.out.write_text(json.dumps(records, indent=1))
    _print_table(records)


def _files(folder: Path) -> list[tuple[Path, Path]]:
    """Return the repository and path of every different file with differentiable functions."""
    found: dict[bytes, tuple[Path, Path]] = {}
    for name in REPOSITORIES:
        for path in sorted((folder / name).rglob("*")):
            if path.suffix in SUFFIXES and path.is_file() and "cache" not in str(path):
                text = path.read_bytes()
                if DIFFERENTIABLE.search(text.decode("utf-8", "replace")):
                    found.setdefault(text, (folder / name, path))
    return list(found.values())


def _record(repository: Path, path: Path, limit: float) -> dict[str, Any]:
    """Check one file. Return its functions with verdicts, its time and the exit code."""
    options = [one.replace("-I", f"-I{repository}/", 1) for one in REPOSITORIES[repository.name].options]
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "report.json"
        command = [
            sys.executable,
            "-m",
            "slangad.cli",
            "check",
            str(path),
            *options,
            "--format",
            "json",
            "-o",
            str(out),
        ]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False, cwd=folder)
            code, message = done.returncode, done.stderr[-2000:]
        except subprocess.TimeoutExpired:
            code, message = 124, f"more than {limit:g} s"
        results = json.loads(out.read_text())["results"] if out.exists() else []
    return {
        "repository": repository.name,
        "file": path.relative_to(repository).as_posix(),
        "seconds": time.monotonic() - start,
        "code": code,
        "message": message,
        "declared": _declared(path),
        "results": [_result(one, repository) for one in results],
    }


def _declared(path: Path) -> dict[str, str]:
    """Return the differentiable functions with a body that the text declares, by line."""
    source = read_source(path.read_text("utf-8", "replace").replace("\r\n", "\n"), str(path))
    return {str(f.span.line): f.name for f in source.functions if source.is_differentiable(f)}


def _result(result: dict[str, Any], repository: Path) -> dict[str, Any]:
    span = result["span"] or {"file": result["file"], "line": 0}
    lacking = any(failure["leg"] == "compile" for failure in result["failures"])
    return {
        "function": result["function"],
        "file": os.path.relpath(span["file"], repository),
        "line": span["line"],
        "kind": result["kind"],
        "verdict": result["verdict"],
        "reason": result["reason"],
        "compiled": not lacking and not NOT_COMPILED.search(result["reason"]),
        "failures": [(one["leg"], one["message"]) for one in result["failures"]],
    }


def _print_table(records: list[dict[str, Any]]) -> None:
    total, reasons = Counter[str](), Counter[str]()
    print("| repository | files | functions | compiled | checked | share | verdicts | seconds |")
    print("|---|---|---|---|---|---|---|---|")
    for name, repository in REPOSITORIES.items():
        own = [record for record in records if record["repository"] == name]
        if own:
            counts = _counts(own, reasons)
            print(_row(f"{name.replace('+', '/')} {repository.commit}", counts))
            total += counts
    print(_row("all", total), end="\n\n")
    for reason, count in reasons.most_common(80):
        print(f"{count:5} {reason}")


def _counts(records: list[dict[str, Any]], reasons: Counter[str]) -> Counter[str]:
    """Count the functions of one repository by what became of them. Several rows at one place are one function."""
    rows: dict[tuple[str, str], list[dict[str, Any]]] = {}
    counts = Counter({"files": len(records), "seconds": round(sum(record["seconds"] for record in records))})
    for record in records:
        for line in record["declared"]:
            rows.setdefault((record["file"], line), [])
        for result in record["results"]:
            if result["kind"] == "function" and not result["file"].startswith(".."):
                rows.setdefault((result["file"], str(result["line"])), []).append(result)
    counts["functions"] = len(rows)
    for place, found in rows.items():
        ran = [one["verdict"] for one in found if one["compiled"] and one["verdict"] not in NOT_CHECKED]
        counts["compiled"] += any(one["compiled"] for one in found)
        counts["checked"] += bool(ran)
        verdicts = ran or [one["verdict"] if one["compiled"] else "not compiled" for one in found] or ["no row"]
        verdict = min(verdicts, key=lambda one: one in ("PASS", "KINK_OK"))
        counts[f"is {verdict}"] += 1
        if not ran:
            message = next((r["message"] for r in records if r["file"] == place[0]), "")
            plain = re.sub(r"'[^']*'", "'...'", found[0]["reason"] if found else message.strip()[-120:])
            reasons[f"{verdict}: {plain[:150]}"] += 1
    return counts


def _row(name: str, counts: Counter[str]) -> str:
    verdicts = ", ".join(f"{key[3:]} {number}" for key, number in sorted(counts.items()) if key.startswith("is "))
    share = f"{100 * counts['checked'] / max(1, counts['compiled']):.0f} %"
    figures = (counts[key] for key in ("files", "functions", "compiled", "checked"))
    return f"| {' | '.join([name, *map(str, figures), share, verdicts, str(counts['seconds'])])} |"


if __name__ == "__main__":
    main()
