"""Runs Metal texts on a CPU: clang++ compiles them with headers that stand for Metal's (tests/support/metal).

No Metal compiler sees the texts. ``metal/simulator.hpp`` says what is looked at when they run.
"""

from __future__ import annotations

import re
import struct
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

HEADERS = Path(__file__).with_name("metal")
TEMPLATES = Path(__file__).parents[2] / "templates"
STRICT = ("-Wall", "-Wdouble-promotion", "-Werror", "-Wno-unknown-attributes", "-Wno-unused")
POSITIONS = {
    "thread_position_in_threadgroup": "uint3{uint(lane), 0, 0}",
    "thread_position_in_grid": "uint3{uint(group * THREADS + lane), 0, 0}",
    "threadgroup_position_in_grid": "uint3{uint(group), 0, 0}",
}


def with_arrays_of_groups(text: str) -> str:
    """Return a text with a type of its own for arrays in the memory of a group, which clang has no methods for.

    Variables of a kernel in that memory become ``static``, since a simulated kernel runs one group at a time.
    """
    text = re.sub(r"^( *)threadgroup (array<)", r"\1static threadgroup_\2", text, flags=re.MULTILINE)
    return re.sub(r"(array<[^;*]*>) threadgroup\*", r"threadgroup_\1*", text)


def program_of(text: str, name: str, threads: int) -> str:
    """Return a C++ program that runs kernel ``name``, with groups of ``threads`` threads."""
    (params,) = re.findall(rf"^\[\[kernel\]\] void {name}\((.*)\)$", text, re.MULTILINE)
    arguments = []
    for type_, attribute, index in re.findall(r"(?:^|, )([^,]*?) \w+ \[\[(\w+)(?:\((\d+)\))?\]\]", params):
        arguments.append(f"({type_})buffers[{index}]" if attribute == "buffer" else POSITIONS[attribute])
    call = f"{name}({', '.join(arguments)});".replace("THREADS", str(threads))
    return (
        f"{with_arrays_of_groups(text)}\nint main()\n{{\n    return simulator::launch({threads}, "
        f"[](int group, int lane, char* const* buffers) {{ {call} }});\n}}\n"
    )


def build(text: str, name: str, threads: int, folder: Path) -> Path:
    """Return the built program."""
    source, program = folder / f"{name}.cpp", folder / name
    source.write_text(program_of(text, name, threads))
    words = ("-std=c++17", "-O1", "-Xclang", "-cl-single-precision-constant", *STRICT)
    command = ("clang++", *words, "-I", str(HEADERS), "-I", str(TEMPLATES), str(source), "-o", str(program))
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return program


def run(program: Path, buffers: Sequence[bytes], groups: int, *, backwards: bool = False) -> list[bytes]:
    """Return the buffers after a launch of some groups."""
    data = struct.pack("<3Q", backwards, groups, len(buffers))
    data += b"".join(struct.pack("<Q", len(one)) + one for one in buffers)
    ran = subprocess.run([str(program)], input=data, capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr.decode() or f"signal {-ran.returncode}: an access beyond a buffer"
    ends = np.cumsum([0, *map(len, buffers)])
    return [ran.stdout[a:b] for a, b in pairwise(ends)]


def launch(
    program: Path,
    entry: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray],
    scalars: Mapping[str, int],
    groups: int,
    *,
    backwards: bool = False,
) -> dict[str, np.ndarray]:
    """Return the arrays after a launch of an entry point of the manifest."""
    bindings = {p["name"]: p["bindings"]["metal"] for p in entry["parameters"]}
    indices = {name: binding["index"] for name, binding in bindings.items() if "index" in binding}
    uniforms = bytearray(64)
    for name, binding in bindings.items():
        if name not in indices:
            struct.pack_into("<I", uniforms, binding["offset"], scalars[name])
    buffers = [b""] * (1 + max(indices.values()))
    buffers[0] = bytes(uniforms)
    for name, index in indices.items():
        buffers[index] = arrays[name].astype("f4").tobytes()
    after = run(program, buffers, groups, backwards=backwards)
    return {name: np.frombuffer(after[index], "f4").reshape(arrays[name].shape) for name, index in indices.items()}
