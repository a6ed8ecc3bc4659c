"""Arrays in ``.npz`` files: names go in, arrays by key come out; the other way round bytes do, the same each time."""

from __future__ import annotations

import io
import os
import secrets
import zipfile
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any

from slangad.compiler.diagnostics import CompileError, Diagnostic
from slangad.compiler.toolchain.failures import failed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    import numpy.typing as npt

    Array = npt.NDArray[Any]


def read_arrays(paths: Iterable[Path]) -> dict[str, Array]:
    """All arrays of some files by key; a key of a later file wins.

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
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            raise _unreadable(path, "it holds one array without a key", "save it with numpy.savez(file, x=array)")
        with loaded:
            return {key: loaded[key] for key in loaded.files}
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from None
    except (ValueError, EOFError, zipfile.BadZipFile, KeyError) as error:
        if "Object arrays" in str(error):
            raise _unreadable(path, "it holds Python objects, which are not read", "save arrays of numbers") from None
        raise _unreadable(path, "it is no .npz file, or damaged", "numpy.savez writes them") from None
    except MemoryError:
        raise _unreadable(path, "it does not fit into memory") from None


def _unreadable(path: Path, why: str, help_: str = "") -> CompileError:
    return CompileError([Diagnostic("SA415", f"can't read {path}: {why}", help=help_)])


def write_arrays(stream: IO[bytes], arrays: Mapping[str, Array]) -> None:
    """Write a ``.npz`` file; without time stamps, so equal arrays give equal bytes."""
    import numpy as np

    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for key, array in arrays.items():
            with archive.open(zipfile.ZipInfo(f"{key}.npy"), "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, np.asanyarray(array), allow_pickle=False)


def save_arrays(path: Path, arrays: Mapping[str, Array], read: Iterable[str] = ()) -> None:
    """Write a ``.npz`` file that is there complete or not at all, even if this is interrupted.

    Args:
        path: Where to.
        arrays: What by key.
        read: Files that must not be overwritten.

    Raises:
        CompileError: It is one of the files that were read.
        ToolchainError: It can't be written: a full disk, no permission.
    """
    _save(path, lambda file: write_arrays(file, arrays), read)


def save_bytes(path: Path, data: bytes, read: Iterable[str] = ()) -> None:
    """The same for a file of any other kind."""
    _save(path, lambda file: file.write(data), read)


def refuse_overwriting(path: Path, read: Iterable[str]) -> None:
    """Refuse an output that is one of the files that are read.

    Raises:
        CompileError: It is.
    """
    if os.path.realpath(path) in {os.path.realpath(name) for name in read}:
        message = f"{path} is read and would be overwritten"
        raise CompileError([Diagnostic("SA406", message, help="choose another output")])


def _save(path: Path, write: Callable[[IO[bytes]], object], read: Iterable[str]) -> None:
    refuse_overwriting(path, read)
    if path.exists() and not (path.is_file() or path.is_dir()):
        _send(path, write)
        return
    beside = path.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with beside.open("xb") as file:
            write(file)
        beside.replace(path)
    except OSError as error:
        help_ = "make room or choose another place with -o; what was there is as it was"
        raise failed("SA405", f"can't write {path}: {error.strerror}", help=help_) from None
    finally:
        with suppress(OSError):
            beside.unlink()


def _send(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write to a device or pipe as it is: a file in its place would take it away from everyone."""
    content = io.BytesIO()
    write(content)
    try:
        with path.open("wb") as file:
            file.write(content.getbuffer())
    except OSError as error:
        raise failed("SA405", f"can't write {path}: {error.strerror}", help="choose another place with -o") from None
