"""Modules of Rust and TypeScript compile without warnings and have the sizes, groups and blocks of the manifest."""

from __future__ import annotations

import importlib.util
import json
import math
import subprocess
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import pytest
from click.testing import CliRunner

from slangad.cli.main import cli
from slangad.compiler.driver.model import LANGUAGES, Emit
from slangad.compiler.driver.print_launch_tables import PRINTERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

ROOT = Path(__file__).parents[2]
DOMAIN, EXTENT = (61, 83, 5), 9
INPUTS = {
    "memories": ("memories.py", ()),
    "uniforms": ("uniforms.py", ()),
    "packed": ("memories.py", ("--pack-buffers",)),
}
RUST = """
#[path = "TABLES.slangad.rs"]
#[allow(dead_code)]
mod tables;
use tables::*;

fn main() {
    for kernel in KERNELS {
        let dims = kernel.entry_points.iter().map(|entry| entry.dims).max().unwrap() as usize;
        let sizes = Sizes {
            domain: vec![DOMAIN][..dims].to_vec(),
            extents: kernel.tensors.iter().map(|(name, rank)| (*name, vec![EXTENT; *rank as usize])).collect(),
            parts: 16,
            copies: 4,
        };
        for mode in kernel.modes {
            for buffer in mode.buffers {
                println!("{} {} {} {}", kernel.name, mode.mode, buffer.key, product(buffer.scalars, &sizes));
            }
            for launch in mode.launches {
                let entry = kernel.entry_point(launch);
                println!("{} {} {} {:?}", kernel.name, mode.mode, entry.name, groups(launch, entry, &sizes));
                for target in ["wgsl", "spirv"] {
                    for block in entry.artefact(target).unwrap().blocks {
                        let uniform = |key: &str| (0..64).map(|k| (k + key.len()) as f64).collect();
                        let first = |name: &str| name.len() as u32;
                        let bytes = block_bytes(block, entry, launch, &sizes, &uniform, &first);
                        let hex: String = bytes.iter().map(|byte| format!("{:02x}", byte)).collect();
                        println!("{} {} {} {} {} {}", kernel.name, mode.mode, entry.name, target, block.scope, hex);
                    }
                }
            }
        }
    }
    assert!(kernel("no kernel").is_none());
    assert!(kernel(KERNELS[0].name).unwrap().mode("forward").is_some());
}
"""
TYPESCRIPT = """
import { KERNELS, artefact, blockBytes, entryPoint, groups, kernel, modeOf, product } from "./tables";
import type { KernelName, Sizes } from "./tables";

declare const console: { log(text: string): void };

for (const each of KERNELS) {
    const dims = Math.max(...each.entry_points.map((entry) => entry.dims));
    const extents = Object.fromEntries(each.tensors.map(([name, rank]) => [name, Array(rank).fill(EXTENT)]));
    const sizes: Sizes = { domain: [DOMAIN].slice(0, dims), extents, parts: 16, copies: 4 };
    for (const mode of each.modes) {
        const head = `${each.name} ${mode.mode}`;
        for (const buffer of mode.buffers) console.log(`${head} ${buffer.key} ${product(buffer.scalars, sizes)}`);
        for (const launch of mode.launches) {
            const entry = entryPoint(each, launch);
            console.log(`${head} ${entry.name} [${groups(launch, entry, sizes).join(", ")}]`);
            for (const target of ["wgsl", "spirv"]) {
                for (const block of artefact(entry, target).blocks) {
                    const uniform = (key: string): number[] => Array.from({ length: 64 }, (_, k) => k + key.length);
                    const bytes = new Uint8Array(
                        blockBytes(block, entry, launch, sizes, uniform, (name) => name.length));
                    const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
                    console.log(`${head} ${entry.name} ${target} ${block.scope} ${hex}`);
                }
            }
        }
    }
}
const name: KernelName = "NAME";
if (modeOf(kernel(name), "forward").mode !== "forward") throw new Error("another mode");
"""
WRONG = '\nimport { kernel } from "./tables";\nkernel("no kernel");\n'


def _sample() -> ModuleType:
    """Return the sample that launches kernels by the manifest."""
    spec = importlib.util.spec_from_file_location("launch_of_sample", ROOT / "samples/webgpu/launch.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _expected(manifest: dict[str, Any]) -> Iterator[str]:
    """Yield what the programs print, computed by the sample."""
    sample = _sample()
    for kernel in manifest["inputs"][0]["kernels"]:
        entries = {entry["name"]: entry for entry in kernel["entry_points"]}
        domain = DOMAIN[: max(entry["dims"] for entry in entries.values())]
        extents = {name: (EXTENT,) * rank for name, rank in kernel["tensors"].items()}
        for mode in kernel["modes"]:
            head = f"{kernel['name']} {mode['mode']}"
            for buffer in mode["buffers"]:
                yield f"{head} {buffer['key']} {sample.count_of(buffer['scalars'], domain, extents)}"
            for launch in mode["launches"]:
                entry, count = entries[launch["entry_point"]], sample.count_of(launch["count"], domain, extents)
                along = [*sample.groups(launch["grid"], count, entry["group_size"], domain)]
                yield f"{head} {entry['name']} {along}"
                arrays = _values(entry)
                for target, artefact in product(("wgsl", "spirv"), entry["artefacts"]):
                    for block in artefact["blocks"] if artefact["target"] == target else ():
                        data = sample.packed(block, entry, count, arrays, domain, extents)
                        yield f"{head} {entry['name']} {target} {block['scope']} {data.hex()}"


def _values(entry: dict[str, Any]) -> dict[str, Any]:
    """Return values of uniforms and first elements, as the programs have them; those of halfs are bits."""
    values: dict[str, Any] = {}
    for parameter in entry["parameters"]:
        if parameter["role"] == "uniform":
            key = ".".join((parameter["parameter"], *map(str, parameter["path"])))
            numbers = np.arange(math.prod(parameter["shape"])) + len(key)
            values[key] = numbers.astype("u2").view("f2") if parameter["scalar"] == "half" else numbers
        values[f"first of {parameter['name']}"] = len(parameter["name"])
    return values


@pytest.fixture(scope="module", params=INPUTS)
def compiled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, list[str]]:
    """The folder and stem of a compiled input, and what programs with its tables should print."""
    file, flags = INPUTS[request.param]
    folder = tmp_path_factory.mktemp(request.param)
    emit = [word for one in ("artefacts", *LANGUAGES) for word in ("--emit", one)]
    targets = ("-t", "wgsl", "-t", "spirv")
    words = [str(ROOT / "tests/devices" / file), *targets, *emit, "-o", str(folder), *flags]
    ended = CliRunner().invoke(cli, ["compile", *words])
    assert ended.exit_code == 0, ended.output
    expected = list(_expected(json.loads((folder / "manifest.json").read_text())))
    assert len(expected) > 15
    return folder, Path(file).stem, expected


def _filled(text: str, stem: str) -> str:
    domain = ", ".join(map(str, DOMAIN))
    return text.replace("TABLES", stem).replace("DOMAIN", domain).replace("EXTENT", str(EXTENT))


def _run(*words: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*map(str, words)], capture_output=True, text=True, check=False, cwd=folder)


def test_rust__module__has_sizes_groups_and_blocks_of_the_manifest(
    compiled: tuple[Path, str, list[str]], tool: Callable[[str], str]
) -> None:
    folder, stem, expected = compiled
    (folder / "main.rs").write_text(_filled(RUST, stem), encoding="utf-8")
    built = _run(tool("rustc"), "--edition", "2018", "-D", "warnings", "main.rs", "-o", "main", folder=folder)
    assert built.returncode == 0, built.stderr[-3000:]
    ran = _run(folder / "main", folder=folder)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == expected


def test_typescript__module__has_sizes_groups_and_blocks_of_the_manifest(
    compiled: tuple[Path, str, list[str]], tool: Callable[[str], str]
) -> None:
    folder, stem, expected = compiled
    tsc, node = tool("tsc"), tool("node")
    strict = ("--strict", "--noUnusedLocals", "--noUnusedParameters", "--noUncheckedIndexedAccess")
    words = (tsc, *strict, "--target", "es2019", "--lib", "es2019", "--module", "commonjs", "main.ts")
    (folder / "tables.ts").write_bytes((folder / f"{stem}.slangad.ts").read_bytes())
    first = expected[0].split()[0]
    (folder / "main.ts").write_text(_filled(TYPESCRIPT, stem).replace("NAME", first), encoding="utf-8")
    built = _run(*words, folder=folder)
    assert built.returncode == 0, built.stdout[-3000:]
    ran = _run(node, "main.js", folder=folder)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == expected
    (folder / "main.ts").write_text(WRONG, encoding="utf-8")
    refused = _run(*words, folder=folder)
    assert "is not assignable to parameter of type" in refused.stdout


def test_languages__of_the_table__have_a_printer_and_a_word_of_emit() -> None:
    assert set(PRINTERS) == set(LANGUAGES)
    assert set(LANGUAGES) < set(get_args(Emit))
