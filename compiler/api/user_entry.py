"""Run a compute entry point that a Slang file contains, as it is.

Its buffers are the arrays of the same names: one for each axis of an element after the first axis. Other parameters are
values, ``name`` or ``name.field``. Writable buffers are the results; those that are not given start at zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slangad.compiler.driver.slang_compilers import SlangCompilers
from slangad.compiler.driver.user_entries import reflect_entry
from slangad.compiler.emit.model import EmittedModule
from slangad.compiler.errors.diagnostics import Diagnostic
from slangad.compiler.runtime.arrays.prepare import InputError
from slangad.compiler.runtime.device.layout import BUFFERS, element_dtype
from slangad.compiler.runtime.device.model import KernelLaunch
from slangad.compiler.runtime.device.table import DEVICES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt

    from slangad.compiler.driver.model import Options
    from slangad.compiler.driver.user_entries import UserEntry
    from slangad.compiler.runtime.device.layout import Json
    from slangad.compiler.runtime.device.model import BuildOptions, Device, DeviceBuffer

    Array = npt.NDArray[Any]


def read_entry(file: Path, name: str, options: Options, device: str) -> UserEntry:
    """Reflect an entry point for a device.

    Raises:
        CompileError: Slang rejects it.
        ToolchainError: Slang crashed, or can't be run.
    """
    with SlangCompilers(options) as compilers:
        return reflect_entry(file, name, options, compilers, target=DEVICES[device].target, renamed=True)


def run_entry(
    device: Device,
    entry: UserEntry,
    source: BuildOptions,
    inputs: Mapping[str, object],
    threads: Sequence[int] | None,
    shapes: Mapping[str, tuple[int, ...]],
) -> tuple[tuple[int, ...], dict[str, Array]]:
    """Run an entry point once; return the threads along each axis, and the contents of all writable buffers.

    Args:
        device: Where it runs.
        entry: The entry point.
        source: How its text is compiled.
        inputs: Arrays and values by name.
        threads: Threads along x, y and z; by default one for each element of the longest array.
        shapes: Shapes of buffers that are not given.

    Raises:
        InputError: An argument is missing, unknown or does not fit.
    """
    arrays = _Arguments(entry, inputs, shapes).read()
    longest = max((len(array) for array in arrays.buffers.values()), default=1)
    count = tuple(threads) if threads else (longest,)
    for name in arrays.empty:
        arrays.buffers[name] = _zeros(entry, name, (math.prod(count),))
    x, y, z = (*count, 1, 1)[:3]
    emitted = EmittedModule(f"{entry.name}_entry.slang", entry.text, {}, (entry.point,), {}, ())
    program = device.load(emitted, source, [entry.symbol])
    with device.lock:
        bound: dict[str, DeviceBuffer] = {}
        for name, array in arrays.buffers.items():
            flat = array.reshape(-1)
            bound[name] = device.buffer(flat.dtype, len(flat))
            bound[name].upload(flat)
        shared = frozenset(p["name"] for p in entry.shared)
        bindings: dict[str, Any] = {**bound, **arrays.values}
        device.submit([KernelLaunch(program, entry.symbol, (x, y, z), bindings, shared)])
        device.wait()
        written = [p["name"] for p in entry.parameters if p["type"].get("access") == "readWrite"]
        results = {name: bound[name].download().reshape(arrays.buffers[name].shape) for name in written}
    return count, results


@dataclass(slots=True)
class _Read:
    """Arguments: arrays of buffers, values of other parameters, names of results that have no size yet."""

    buffers: dict[str, Array]
    values: dict[str, object]
    empty: list[str]


@dataclass(frozen=True, slots=True)
class _Arguments:
    """Converts arguments to what an entry point takes."""

    entry: UserEntry
    values: Mapping[str, object]
    shapes: Mapping[str, tuple[int, ...]]

    def read(self) -> _Read:
        """Return all arguments."""
        arguments = _Read({}, {}, [])
        problems: list[Diagnostic] = []
        known: set[str] = set()
        for parameter in self.entry.parameters:
            name, type_ = parameter["name"], parameter["type"]
            if type_["kind"] == "resource":
                known.add(name)
                self._read_buffer(name, type_, arguments, problems)
            else:
                inner = type_["elementType"] if type_["kind"] == "constantBuffer" else type_
                hidden = type_["kind"] == "constantBuffer" and "name" not in inner
                known |= set(_leaves(inner, "" if hidden else name))
                arguments.values[name] = self._value(inner, "" if hidden else name, problems)
        has = f"it has: {', '.join(sorted(known))}"
        unknown = (name for name in self.values if name not in known)
        problems += [Diagnostic("SA411", f"{self.entry.name} has no parameter {name}", help=has) for name in unknown]
        if problems:
            raise InputError(problems)
        return arguments

    def _read_buffer(self, name: str, type_: Json, arguments: _Read, problems: list[Diagnostic]) -> None:
        import numpy as np

        element = None if type_["baseShape"] not in BUFFERS else element_dtype(type_)
        if element is None or element.names:
            what = type_["baseShape"] if element is None else "buffer of structs"
            help_ = "run takes buffers of numbers, vectors and matrices"
            problems.append(Diagnostic("SA413", f"{name} is a {what}, which can't be given", help=help_))
            return
        if name in self.values:
            array = np.asarray(self.values[name])
            extents = element.shape
            if array.shape[max(0, array.ndim - len(extents)) :] != extents or array.ndim == len(extents):
                wanted = ", ".join(("n", *map(str, extents)))
                problems.append(Diagnostic("SA412", f"{name} has the shape {array.shape}, not ({wanted})"))
                return
            arguments.buffers[name] = np.ascontiguousarray(array, element.base)
        elif type_.get("access") != "readWrite":
            problems.append(Diagnostic("SA410", f"{name} is missing", help="give it with -i or --set"))
        elif name in self.shapes:
            arguments.buffers[name] = _zeros(self.entry, name, self.shapes[name])
        else:
            arguments.empty.append(name)

    def _value(self, type_: Json, path: str, problems: list[Diagnostic]) -> object:
        """Return the value of a parameter: a mapping for a struct."""
        import numpy as np

        if type_["kind"] == "struct":
            fields = ((f["name"], f["type"], f"{path}.{f['name']}" if path else f["name"]) for f in type_["fields"])
            return {name: self._value(inner, at, problems) for name, inner, at in fields}
        if path not in self.values:
            problems.append(Diagnostic("SA410", f"{path} is missing", help=f"give it with -i or --set {path}=…"))
            return 0
        value = np.asarray(self.values[path])
        return value.item() if value.ndim == 0 else value.tolist()


def _leaves(type_: Json, path: str) -> Iterator[str]:
    """Yield the paths of the numbers, vectors and matrices of a value."""
    if type_["kind"] != "struct":
        yield path
        return
    for field in type_["fields"]:
        yield from _leaves(field["type"], f"{path}.{field['name']}" if path else field["name"])


def _zeros(entry: UserEntry, name: str, shape: Iterable[int]) -> Array:
    import numpy as np

    (type_,) = (p["type"] for p in entry.parameters if p["name"] == name)
    element: np.dtype[Any] = element_dtype(type_)
    return np.zeros((*shape, *element.shape), element.base)
