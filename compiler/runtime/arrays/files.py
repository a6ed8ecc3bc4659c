"""Read and write arrays by key in ``.npz`` files. Equal arrays give equal bytes."""

from __future__ import annotations

import os
import zipfile
from typing import IO, TYPE_CHECKING, Any

from slangad.compiler.errors.diagnostics import CompileError, Diagnostic, similar_file
from slangad.compiler.toolchain.atomic import write_together
from slangad.compiler.toolchain.messages.failures import failed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    import numpy.typing as npt

    Array = npt.NDArray[Any]


def read_arrays(paths: Iterable[Path]) -> dict[str, Array]:
    """Return all arrays of some files by key; a key of a later file wins.

    A ``.npy`` file has one array, whose key is the name of the file. It is memory-mapped: what is used is read.

    Raises:
        CompileError: A file can't be read, or isn't one.
    """
    arrays: dict[str, Array] = {}
    for path in paths:
        arrays |= _read(path)
    return arrays


def _read(path: Path) -> dict[str, Array]:
    import numpy as np

    try:
        if path.suffix == ".npy":
            return {path.stem: np.load(path, mmap_mode="r", allow_pickle=False)}
        with path.open("rb") as file:  # numpy leaves a file open that is damaged
            loaded = np.load(file, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                raise unreadable(path, "it holds one array without a key", "save it with numpy.savez(file, x=array)")
            with loaded:
                return {key: loaded[key] for key in loaded.files}
    except OSError as error:
        raise unreadable(path, error.strerror or str(error), similar_file(path)) from None
    except (ValueError, EOFError, zipfile.BadZipFile, KeyError) as error:
        if "Object arrays" in str(error):
            raise unreadable(path, "it holds Python objects, which are not read", "save arrays of numbers") from None
        raise unreadable(path, "it is not an .npz file, or it is damaged", "numpy.savez writes such files") from None
    except MemoryError:
        raise unreadable(path, "it does not fit into memory") from None


def unreadable(path: Path, why: str, help_: str = "") -> CompileError:
    """Return the error of a file that can't be read."""
    return CompileError([Diagnostic("SA415", f"can't read {path}: {why}", help=help_)])


def write_arrays(stream: IO[bytes], arrays: Mapping[str, Array]) -> None:
    """Write a ``.npz`` file; without time stamps, so equal arrays give equal bytes."""
    import numpy as np

    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for key, array in arrays.items():
            with archive.open(zipfile.ZipInfo(f"{key}.npy"), "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, np.asanyarray(array), allow_pickle=False)


def refuse_overwriting(path: Path, read: Iterable[str]) -> None:
    """Refuse an output that is one of the files that are read.

    Raises:
        CompileError: The output is one of them.
    """
    if os.path.realpath(path) in {os.path.realpath(name) for name in read}:
        message = f"{path} is read and would be overwritten"
        raise CompileError([Diagnostic("SA406", message, help="choose another output")])


def save_together(outputs: Mapping[Path, Callable[[IO[bytes]], object]], read: Iterable[str] = ()) -> None:
    """Write some files, all or none.

    Raises:
        CompileError: One is among the files that were read.
        ToolchainError: One can't be written: a full disk, no permission.
    """
    for path in outputs:
        refuse_overwriting(path, read)
    try:
        write_together(outputs)
    except OSError as error:
        help_ = "make room or choose another file with -o; the old file is unchanged"
        raise failed("SA405", f"can't write {error.filename}: {error.strerror}", help=help_) from None
