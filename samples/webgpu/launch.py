"""Launch a kernel on WebGPU by its manifest alone, without slangad; kernels with textures need a little more."""

import argparse
import json
import math
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import wgpu

DTYPES = {"float": "f4", "half": "f2", "int": "i4", "uint": "u4", "bool": "u4"}
BLOCK = {"float32": "f4", "float16": "f2", "int32": "i4", "uint32": "u4"}
ROW = 65535
PARTS, COPIES = 16, 4

Arrays = Mapping[str, Any]
Extents = Mapping[str, Sequence[int]]
Record = Mapping[str, Any]
"""A part of the manifest."""


def launch(
    path: str, kernel_name: str, mode_name: str, arrays: Arrays, domain: Sequence[int], extents: Extents | None = None
) -> dict[str, np.ndarray]:
    """Return all buffers of a mode by key, after its launches.

    Args:
        path: The manifest.
        kernel_name: A kernel of it.
        mode_name: ``forward``, ``backward`` or ``jvp``.
        arrays: Inputs by key, as `slangad run` names them.
        domain: The extents of the domain.
        extents: The extents of each tensor.
    """
    extents = extents or {}
    kernel = kernel_of(path, kernel_name)
    mode = next(mode for mode in kernel["modes"] if mode["mode"] == mode_name)
    entries = {entry["name"]: entry for entry in kernel["entry_points"]}
    steps = [
        (entries[step["entry_point"]], step["grid"], count_of(step["count"], domain, extents))
        for step in mode["launches"]
    ]
    device = open_device([wgsl(entry) for entry, _, _ in steps])
    buffers = {buffer["key"]: make_buffer(device, buffer, arrays, domain, extents) for buffer in mode["buffers"]}
    bound = {(u["entry_point"], u["parameter"]): buffers[b["key"]] for b in mode["buffers"] for u in b["bound"]}
    for entry, grid, count in steps:
        resources, firsts = bind(device, entry, bound)
        for block in wgsl(entry)["blocks"]:
            data = packed(block, entry, count, {**arrays, **firsts}, domain, extents)
            resources[block["index"]] = device.create_buffer_with_data(data=data, usage=wgpu.BufferUsage.UNIFORM)
        code = (Path(path).parent / wgsl(entry)["file"]).read_text()
        dispatch(device, code, wgsl(entry)["entry"], resources, groups(grid, count, entry["group_size"], domain))
    return {
        buffer["key"]: np.frombuffer(device.queue.read_buffer(buffers[buffer["key"]]), DTYPES[buffer["scalar"]])[
            : count_of(buffer["scalars"], domain, extents)
        ]
        for buffer in mode["buffers"]
    }


def kernel_of(path: str, name: str) -> Any:
    """Return the record of a kernel in a manifest."""
    manifest = json.loads(Path(path).read_text())
    return next(k for i in manifest["inputs"] for k in i["kernels"] if k["name"] == name)


def wgsl(entry: Record) -> Any:
    """Return the WGSL artefact of an entry point."""
    return next(artefact for artefact in entry["artefacts"] if artefact["target"] == "wgsl")


def open_device(artefacts: list[Record]) -> Any:
    """Return a device with the features and limits that artefacts need."""
    limits: dict[str, int | None] = {}
    for name, value in (limit for artefact in artefacts for limit in artefact["limits"].items()):
        dashed = re.sub("[A-Z]", lambda match: f"-{match[0].lower()}", name)  # wgpu's names
        limits[dashed] = max(value, limits.get(dashed) or 0)
    return wgpu.gpu.request_adapter_sync().request_device_sync(
        required_features=sorted({feature for artefact in artefacts for feature in artefact["features"]}),
        required_limits=limits,
    )


def count_of(product: Sequence[int | str], domain: Sequence[int], extents: Extents) -> int:
    """Return a product of the manifest as a number."""
    values = {"domain": math.prod(domain), "parts": PARTS}
    values |= {f"extents:{name}": math.prod(shape) for name, shape in extents.items()}
    return math.prod(COPIES if str(f).startswith("copies:") else int(values.get(str(f), f)) for f in product)


def make_buffer(device: Any, buffer: Record, arrays: Arrays, domain: Sequence[int], extents: Extents) -> Any:
    """Return a buffer with the caller's array, or with what the manifest says."""
    size, dtype = count_of(buffer["scalars"], domain, extents), DTYPES[buffer["scalar"]]
    start = np.full(size, 1 if buffer["start"] == "one" else 0, dtype)
    data = np.ascontiguousarray(arrays.get(buffer["key"], start), dtype).reshape(-1).view("u1")
    usage = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC
    return device.create_buffer_with_data(data=np.pad(data, (0, -len(data) % 4)), usage=usage)


def bind(device: Any, entry: Record, bound: dict[tuple[str, str], Any]) -> tuple[dict[int, Any], Arrays]:
    """Return the buffers by binding, and the first element of each that shares a buffer, by the parameter's name."""
    resources: dict[int, Any] = {}
    packs: dict[int, list[Any]] = {}
    firsts: dict[str, Any] = {}
    for parameter in entry["parameters"]:
        if parameter["access"] != "value":
            binding, buffer = parameter["bindings"]["wgsl"], bound[entry["name"], parameter["name"]]
            if binding["kind"] == "packed":
                packs.setdefault(binding["index"], []).append((parameter["name"], buffer, binding["elementStride"]))
            else:
                resources[binding["index"]] = buffer
    encoder = device.create_command_encoder()
    for index, members in packs.items():
        starts = np.cumsum([0, *(-(-buffer.size // 16) * 16 for _, buffer, _ in members)]).tolist()
        usage = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_DST
        resources[index] = device.create_buffer(size=starts[-1], usage=usage)
        for (name, buffer, stride), start in zip(members, starts, strict=False):
            encoder.copy_buffer_to_buffer(buffer, 0, resources[index], start, buffer.size)
            firsts[f"first of {name}"] = np.uint32(start // stride)
    device.queue.submit([encoder.finish()])
    return resources, firsts


def packed(
    block: Record, entry: Record, count: int, arrays: Arrays, domain: Sequence[int], extents: Extents
) -> bytearray:
    """Return the bytes of a uniform block."""
    memory = bytearray(-(-block["size"] // 16) * 16)
    for member in block["members"]:
        parts = [p for p in entry["parameters"] if p["name"] == member["parameter"]]
        part = next((p for p in parts if len(parts) == 1 or p["path"] == member["path"]), None)
        if part is None:
            continue  # one that only other entry points use
        value = value_of(part, entry["work"], count, arrays, domain, extents)
        numbers = np.asarray(value, BLOCK[member["scalar"]]).reshape(member["shape"])
        for place in np.ndindex(*member["shape"]):
            at = member["offset"] + sum(index * stride for index, stride in zip(place, member["strides"], strict=True))
            data = numbers[place].tobytes()
            memory[at : at + len(data)] = data
    return memory


def value_of(parameter: Record, work: str, count: int, arrays: Arrays, domain: Sequence[int], extents: Extents) -> Any:
    """Return the value of a parameter in a block: of a buffer, its first element in the one that it shares."""
    if parameter["access"] != "value":
        return arrays[f"first of {parameter['name']}"]
    match parameter["role"]:
        case "domain":
            return count if work == "scalars" else domain
        case "extents":
            return extents[parameter["parameter"]]
        case "parts":
            return PARTS
        case "copies":
            return COPIES
        case _:
            return arrays[".".join((parameter["parameter"], *map(str, parameter["path"])))]


def dispatch(device: Any, code: str, entry: str, resources: dict[int, Any], count: Sequence[int]) -> None:
    """Run an entry point. The code does not declare what it does not use."""
    declared = {int(number) for number in re.findall(r"@binding\((\d+)\)", code)}
    pipeline = device.create_compute_pipeline(
        layout="auto", compute={"module": device.create_shader_module(code=code), "entry_point": entry}
    )
    entries = [
        {"binding": number, "resource": {"buffer": buffer, "offset": 0, "size": buffer.size}}
        for number, buffer in resources.items()
        if number in declared
    ]
    encoder = device.create_command_encoder()
    work = encoder.begin_compute_pass()
    work.set_pipeline(pipeline)
    work.set_bind_group(0, device.create_bind_group(layout=pipeline.get_bind_group_layout(0), entries=entries))
    work.dispatch_workgroups(*count)
    work.end()
    device.queue.submit([encoder.finish()])


def groups(grid: str, count: int, size: Sequence[int], domain: Sequence[int]) -> Sequence[int]:
    """Return the groups of a launch along x, y and z."""
    threads = math.prod(size)
    if grid == "groups":
        return count, 1, 1
    if grid == "flat":
        return (-(-count // threads), 1, 1) if count <= ROW * threads else (ROW, -(-count // (ROW * threads)), 1)
    extents = [*reversed(domain), 1, 1][:3]
    along = [-(-extent // each) for extent, each in zip(extents, size, strict=True)]
    return along if max(along) <= ROW else (ROW, -(-math.prod(extents) // (ROW * threads)), 1)


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
    given, record = dict(np.load(words.inputs)), kernel_of(words.manifest, words.kernel)
    found = launch(words.manifest, words.kernel, words.mode, given, words.domain, extents_of(record, given))
    finish(found, words.output)
