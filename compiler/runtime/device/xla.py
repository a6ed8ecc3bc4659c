"""Be called by XLA, which compiles JAX's programs, with the memory of the arguments and results of a kernel.

XLA's foreign function interface takes compiled functions only. Theirs is built once for each version of JAX, with the
machine's C++ compiler and the headers that JAX has with it, and calls back into Python (templates/slangad_jax.cpp).
"""

from __future__ import annotations

import _thread
import ctypes
import math
import secrets
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from slangad.compiler.runtime.device.cxx import build_shared_library
from slangad.compiler.toolchain.cache import default_cache
from slangad.compiler.toolchain.messages.failures import temporary_files
from slangad.compiler.toolchain.temporary import TemporaryFolder

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[Any]

TARGET: Final = "slangad_kernel"
"""The name by which XLA knows the function."""
_POINTERS: Final = ctypes.POINTER(ctypes.c_void_p)
_FUNCTION: Final = ctypes.CFUNCTYPE(
    ctypes.c_int,
    *(ctypes.c_int64, ctypes.c_int, ctypes.c_void_p, _POINTERS, _POINTERS, ctypes.c_void_p, ctypes.c_int),
)
_PLATFORMS: Final = {"cpu": "slangad_on_cpu", "CUDA": "slangad_on_cuda"}


class Called(Protocol):
    """What XLA calls.

    Attributes:
        arguments: The number of its arguments.
        results: The number of its results.
    """

    arguments: int
    results: int

    def on_host(self, arguments: Sequence[int], results: Sequence[int]) -> None:
        """Compute the results in the memory of the host.

        Args:
            arguments: The addresses of the arguments. That of an empty array may be 0.
            results: The addresses of the results.
        """

    def on_gpu(self, stream: int, arguments: Sequence[int], results: Sequence[int]) -> None:
        """Compute the results in the memory of a GPU, in a stream of CUDA; may return before they are there."""


_CALLED: Final[dict[int, Called]] = {}


def number_of(called: Called) -> int:
    """Return the number by which XLA calls something, for as long as this process runs.

    No other process has it: JAX may keep a compiled program on disk, and would call something else there.
    """
    number = secrets.randbits(62)
    _CALLED[number] = called
    return number


def interface() -> Any:  # noqa: ANN401  (a module)
    """Return JAX's module for foreign functions."""
    import jax

    if hasattr(jax, "ffi"):
        return jax.ffi
    import jax.extend.ffi  # its place before JAX 0.5

    return jax.extend.ffi


@cache
def register() -> tuple[object, ...]:
    """Make the function known to XLA, and return what it calls, which lives as long as this process.

    Raises:
        ToolchainError: There is no C++ compiler, or it failed.
    """
    from jaxlib.version import __version__

    ffi = interface()
    source = (files("slangad") / "templates" / "slangad_jax.cpp").read_bytes()
    headers = Path(ffi.include_dir())
    text = b"// JAX %b\n%b" % (__version__.encode(), source)
    built = build_shared_library(text, cache=default_cache(), headers=headers, use="fit.jax()")
    with temporary_files():
        folder = TemporaryFolder()
        (folder.path / "slangad_jax.so").write_bytes(built)
    library = ctypes.CDLL(str(folder.path / "slangad_jax.so"))
    function = _FUNCTION(_run)
    library.slangad_run_with(function)
    for platform, name in _PLATFORMS.items():
        ffi.register_ffi_target(TARGET, ffi.pycapsule(getattr(library, name)), platform=platform)
    return library, function, folder


def _run(number: int, on_gpu: int, stream: int | None, arguments: Any, results: Any, message: int, size: int) -> int:  # noqa: ANN401  (pointers)
    """Return 0, or 1 after an error whose message it has written."""
    called = _CALLED[number]
    given = [arguments[place] or 0 for place in range(called.arguments)]
    made = [results[place] or 0 for place in range(called.results)]
    try:
        if on_gpu:
            called.on_gpu(stream or 0, given, made)
        else:
            called.on_host(given, made)
    except BaseException as error:  # it can't pass through XLA
        if isinstance(error, KeyboardInterrupt):
            _thread.interrupt_main()
        text = (str(error) or type(error).__name__).encode()[: size - 1] + b"\0"
        ctypes.memmove(message, text, len(text))
        return 1
    return 0


def view_of(address: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Return an array over memory of the host."""
    import numpy as np

    size = math.prod(shape) * dtype.itemsize
    if not size:
        return np.empty(shape, dtype)
    memory: Array = np.ctypeslib.as_array((ctypes.c_ubyte * size).from_address(address))
    return memory.view(dtype).reshape(shape)
