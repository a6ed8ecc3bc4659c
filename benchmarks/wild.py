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
from typing import Any, Final

from slangad.compiler.slang_text.bodies import read_source

REPOSITORIES: Final[dict[str, tuple[str, ...]]] = {
    "NVIDIA-RTX+RTXNS": ("-Isrc/NeuralShading_Shaders", "-Isrc"),
    "NVIDIAGameWorks+Falcor": (
        "-ISource/Falcor",
        "-ISource",
        "-DFALCOR_MATERIAL_INSTANCE_SIZE=128",
        "-DSCENE_GEOMETRY_TYPES=1",
    ),
    "RX300+NeRf-3DGS": (),
    "google+slang-gaussian-rasterization": (),
    "harry7557558+spirulae-splat": ("-Isrc/shaders", "-Isrc/sfm/shaders", "-DREAL_FLOAT"),
    "nv-tlabs+3dgrut": (
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
    "shader-slang+neural-shading-s25": (),
    "shader-slang+slang-playground": ("-Ipublic/demos",),
    "shader-slang+slang-python": (),
    "shader-slang+slang-rhi": (),
    "shader-slang+slang-torch": ("-DNUM_CTRL_PTS=4", "-DDIM=2"),
    "shader-slang+slangpy-samples": (
        "-Iexperiments/neuralnetwork/neuralnetworks/slang",
        "-Iexperiments/neuralnetwork/neuralnetworks",
    ),
    "shader-slang+slangpy": ("-Islangpy/slang", "-DNUM_VIGNETTING_ALPHA_TERMS=3"),
    "zhongsitang+new-ever": (),
}
"""Repositories as ``owner+name``, each with the include folders and macros that its own build gives to Slang."""
SUFFIXES: Final = frozenset({".slang", ".slangh", ".hlsli", ".hlsl", ".slangi"})
DIFFERENTIABLE: Final = re.compile(r"\[\s*(?:Backward|Forward)?(?:Differentiable|Derivative(?:Of)?)\b")
NOT_CHECKED: Final = frozenset({"SKIPPED", "INCONCLUSIVE"})


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
    options = [one.replace("-I", f"-I{repository}/", 1) for one in REPOSITORIES[repository.name]]
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
        "results": [_result(one) for one in results],
    }


def _declared(path: Path) -> dict[str, str]:
    """Return the differentiable functions with a body that the text declares, by line."""
    source = read_source(path.read_text("utf-8", "replace").replace("\r\n", "\n"), str(path))
    return {str(f.span.line): f.name for f in source.functions if source.is_differentiable(f)}


def _result(result: dict[str, Any]) -> dict[str, Any]:
    compiled = not any(failure["leg"] == "compile" for failure in result["failures"])
    return {
        "function": result["function"],
        "line": (result["span"] or {"line": 0})["line"],
        "kind": result["kind"],
        "verdict": result["verdict"],
        "reason": result["reason"],
        "compiled": compiled,
        "failures": [(one["leg"], one["message"]) for one in result["failures"]],
    }


def _print_table(records: list[dict[str, Any]]) -> None:
    total: Counter[str] = Counter()
    print("repository | files | functions | compiled | checked | share | verdicts | seconds")
    print("---|---|---|---|---|---|---|---")
    reasons: Counter[str] = Counter()
    for name in REPOSITORIES:
        counts: Counter[str] = Counter()
        for record in records:
            if record["repository"] == name:
                counts += _counts(record, reasons)
        if counts["files"]:
            print(_row(name.replace("+", "/"), counts))
            total += counts
    print(_row("all", total))
    print()
    for reason, count in reasons.most_common(60):
        print(f"{count:5} {reason}")


def _counts(record: dict[str, Any], reasons: Counter[str]) -> Counter[str]:
    """Count the functions of one file by what became of them. Several rows at one place are one function."""
    rows: dict[str, list[dict[str, Any]]] = {line: [] for line in record["declared"]}
    for result in record["results"]:
        if result["kind"] != "declaration":
            rows.setdefault(str(result["line"]), []).append(result)
    counts = Counter({"files": 1, "functions": len(rows)})
    counts["seconds"] = round(record["seconds"])
    for found in rows.values():
        ran = [one["verdict"] for one in found if one["compiled"] and one["verdict"] not in NOT_CHECKED]
        counts["compiled"] += any(one["compiled"] for one in found)
        counts["checked"] += bool(ran)
        verdicts = ran or [one["verdict"] if one["compiled"] else "not compiled" for one in found] or ["no row"]
        verdict = min(verdicts, key=lambda one: one in ("PASS", "KINK_OK"))
        counts[f"is {verdict}"] += 1
        if not ran:
            reason = found[0]["reason"] if found else f"no row: {record['message'][-120:]!r}"
            plain = re.sub(r"'[^']*'", "'...'", reason)
            reasons[f"{verdict}: {plain[:150]}"] += 1
    return counts


def _row(name: str, counts: Counter[str]) -> str:
    verdicts = ", ".join(f"{key[3:]} {number}" for key, number in sorted(counts.items()) if key.startswith("is "))
    share = f"{100 * counts['checked'] / max(1, counts['compiled']):.0f} %"
    figures = (counts[key] for key in ("files", "functions", "compiled", "checked"))
    return " | ".join([name, *map(str, figures), share, verdicts, str(counts["seconds"])])


if __name__ == "__main__":
    main()
