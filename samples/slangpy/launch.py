"""Launch a kernel with slangpy by its manifest alone, without slangad; kernels with textures need a little more."""

import argparse
import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import slangpy as spy

DTYPES = {"float": "f4", "half": "f2", "int": "i4", "uint": "u4", "bool": "u4"}
ROW = 65535
PARTS, COPIES = 16, 4

Arrays = Mapping[str, Any]
Extents = Mapping[str, Sequence[int]]
Record = Mapping[str, Any]
"""A part of the manifest."""


class Program:
    """The kernels of one input on one device."""

    def __init__(self, path: str, device: Any) -> None:
        manifest = json.loads(Path(path).read_text())
        folder = Path(path).parent
        self.record = manifest["inputs"][0]
        self.device = device
        slang = next(file["file"] for file in self.record["files"] if file["kind"] == "slang")
        self.module = spy.Module.load_from_file(device, str((folder / slang).resolve()))

    def launch(
        self, kernel_name: str, mode_name: str, arrays: Arrays, domain: Sequence[int], extents: Extents | None = None
    ) -> dict[str, np.ndarray]:
        """Return all buffers of a mode by key, after its launches.

        Args:
            kernel_name: A kernel.
            mode_name: ``forward``, ``backward`` or ``jvp``.
            arrays: Inputs by key, as `slangad run` names them.
            domain: The extents of the domain.
            extents: The extents of each tensor.
        """
        extents = extents or {}
        sizes = sizes_of(domain, extents)
        kernel = next(kernel for kernel in self.record["kernels"] if kernel["name"] == kernel_name)
        mode = next(mode for mode in kernel["modes"] if mode["mode"] == mode_name)
        entries = {entry["name"]: entry for entry in kernel["entry_points"]}
        buffers = {buffer["key"]: self.buffer(buffer, arrays, sizes) for buffer in mode["buffers"]}
        bound = {(u["entry_point"], u["parameter"]): buffers[b["key"]] for b in mode["buffers"] for u in b["bound"]}
        for launch in mode["launches"]:
            entry, count = entries[launch["entry_point"]], product(launch["count"], sizes)
            program = self.device.load_program(self.module.name, [entry["function"]])
            compute = self.device.create_compute_kernel(program)
            shared = spy.ShaderCursor(root := self.device.create_root_shader_object(program))
            own = shared.find_entry_point(0)
            for parameter in entry["parameters"]:
                place = shared if parameter["shared"] else own
                buffer = bound.get((entry["name"], parameter["name"]))
                if buffer is None:
                    buffer = value_of(parameter, entry["work"], count, arrays, domain, extents)
                place[parameter["name"]] = buffer
            encoder = self.device.create_command_encoder()
            with encoder.begin_compute_pass() as work:
                work.bind_pipeline(compute.pipeline, root)
                work.dispatch(threads(launch["grid"], count, entry["group_size"], domain))
            self.device.submit_command_buffer(encoder.finish())
        return {
            buffer["key"]: buffers[buffer["key"]].to_numpy().view(DTYPES[buffer["scalar"]])[:size]
            for buffer in mode["buffers"]
            for size in [product(buffer["scalars"], sizes)]
        }

    def buffer(self, record: Record, arrays: Arrays, sizes: Mapping[str, int]) -> Any:
        """Return a buffer with the caller's array, or with what the manifest says."""
        size, dtype = product(record["scalars"], sizes), np.dtype(DTYPES[record["scalar"]])
        start = np.full(size, 1 if record["start"] == "one" else 0, dtype)
        data = np.array(arrays.get(record["key"], start), dtype).reshape(-1)
        usage = spy.BufferUsage.shader_resource | spy.BufferUsage.unordered_access
        made = self.device.create_buffer(element_count=max(1, size), struct_size=dtype.itemsize, usage=usage)
        if size:
            made.copy_from_numpy(data)
        return made


def sizes_of(domain: Sequence[int], extents: Extents) -> dict[str, int]:
    """Return the factors of products by name."""
    return {"domain": math.prod(domain), "parts": PARTS} | {
        f"extents:{name}": math.prod(shape) for name, shape in extents.items()
    }


def product(factors: Sequence[int | str], sizes: Mapping[str, int]) -> int:
    """Return a product of the manifest as a number."""
    return math.prod(COPIES if str(f).startswith("copies:") else int(sizes.get(str(f), f)) for f in factors)


def value_of(parameter: Record, work: str, count: int, arrays: Arrays, domain: Sequence[int], extents: Extents) -> Any:
    """Return the value of a parameter that is not a buffer."""
    match parameter["role"]:
        case "domain":
            return shaped([count] if work == "scalars" else domain)
        case "extents":
            return shaped(extents[parameter["parameter"]])
        case "parts":
            return PARTS
        case "copies":
            return COPIES
        case _:
            return np.asarray(arrays[".".join((parameter["parameter"], *map(str, parameter["path"])))]).tolist()


def shaped(extents: Sequence[int]) -> int | list[int]:
    """Return extents as slangpy takes them: a number, or a vector."""
    return int(extents[0]) if len(extents) == 1 else [int(extent) for extent in extents]


def threads(grid: str, count: int, size: Sequence[int], domain: Sequence[int]) -> list[int]:
    """Return the threads of a launch along x, y and z."""
    group = math.prod(size)
    if grid == "groups":
        return [count * size[0], size[1], size[2]]
    if grid == "flat":
        groups = -(-count // group)
        return [count, 1, 1] if groups <= ROW else [ROW * group, -(-groups // ROW), 1]
    return [*reversed(domain), 1, 1][:3]


def arguments() -> argparse.Namespace:
    """Return the words of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("manifest")
    parser.add_argument("kernel")
    parser.add_argument("mode", help="forward, backward or jvp")
    parser.add_argument("inputs", help="an .npz file with arrays by key, as slangad run names them")
    parser.add_argument("domain", type=int, nargs="+", help="its extents")
    parser.add_argument("-o", "--output", help="write all buffers to this .npz file")
    return parser.parse_args()


def extents_of(record: Record, arrays: Arrays) -> dict[str, Sequence[int]]:
    """Return the extents of a kernel's tensors, from their arrays."""
    return {name: arrays[name].shape[:rank] for name, rank in record["tensors"].items()}


def finish(found: Mapping[str, np.ndarray], output: str | None) -> None:
    """Print the first numbers of each buffer, and write all."""
    for key, array in found.items():
        sys.stdout.write(f"{key} {array[:4]}\n")
    if output is not None:
        np.savez(output, **found)  # type: ignore[arg-type, unused-ignore]  # older types of numpy


if __name__ == "__main__":
    words = arguments()
    program, given = Program(words.manifest, spy.create_device()), dict(np.load(words.inputs))
    record = next(kernel for kernel in program.record["kernels"] if kernel["name"] == words.kernel)
    finish(program.launch(words.kernel, words.mode, given, words.domain, extents_of(record, given)), words.output)
