"""Slang's compiler library, called through its C functions. It takes arguments and units, and reports events.

It runs in worker processes, because the library can crash or hang. One ``SlangSession`` (0.2 s to create) serves any
number of calls. A call parses and checks once (``-no-codegen``), then links every entry point by itself. Thus each
artefact's bindings start at zero, and one that fails leaves the others alone. The call then asks for the code for each
target.
"""

from __future__ import annotations

import ctypes
from contextlib import ExitStack, suppress
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_ssize_t, c_uint32, c_void_p
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from slangad.compiler.toolchain.workers.declarations import DeclarationReader
from slangad.compiler.toolchain.workers.events import Begin, CompilerCall, Event, Front, UnitCode, UnitReflection

if TYPE_CHECKING:
    from collections.abc import Iterator

_SIGNATURES = {
    "spCreateSession": (c_void_p, (c_char_p,)),
    "spDestroySession": (None, (c_void_p,)),
    "spGetBuildTagString": (c_char_p, ()),
    "spCreateCompileRequest": (c_void_p, (c_void_p,)),
    "spDestroyCompileRequest": (None, (c_void_p,)),
    "spProcessCommandLineArguments": (c_int, (c_void_p, POINTER(c_char_p), c_int)),
    "spCompile": (c_int, (c_void_p,)),
    "spGetDiagnosticOutput": (c_char_p, (c_void_p,)),
    "spGetDependencyFileCount": (c_int, (c_void_p,)),
    "spGetDependencyFilePath": (c_char_p, (c_void_p, c_int)),
    "spCompileRequest_getModule": (c_int, (c_void_p, c_ssize_t, POINTER(c_void_p))),
    "spCompileRequest_getEntryPoint": (c_int, (c_void_p, c_ssize_t, POINTER(c_void_p))),
    "spCompileRequest_getProgramWithEntryPoints": (c_int, (c_void_p, POINTER(c_void_p))),
    "spReflection_ToJson": (c_int, (c_void_p, c_void_p, POINTER(c_void_p))),
}

# Positions in the virtual tables of Slang's COM interfaces (slang.h), which are part of its binary interface.
_RELEASE, _BLOB_POINTER, _BLOB_SIZE = 2, 3, 4
_COMPONENT_LAYOUT, _COMPONENT_ENTRY_CODE, _COMPONENT_LINK, _COMPONENT_TARGET_CODE = 4, 6, 10, 14
_MODULE_DECLARATION = 28

_OUT = POINTER(c_void_p)


class SlangSession:
    """One loaded Slang library with its core module."""

    def __init__(self, path: str) -> None:
        self._library = ctypes.CDLL(path)
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(self._library, name)
            function.restype, function.argtypes = result, arguments
        self._session = self._library.spCreateSession(None)
        if not self._session:
            raise OSError(f"{path}: Slang refused to create a session")

    @property
    def version(self) -> str:
        """Slang's own version, such as ``2026.12``."""
        return str(self._library.spGetBuildTagString().decode())

    def compile(self, work: CompilerCall) -> Iterator[Event]:
        """Run one call of the compiler and report as it goes."""
        library = self._library
        with ExitStack() as stack:
            request = library.spCreateCompileRequest(self._session)
            stack.callback(library.spDestroyCompileRequest, request)
            ok = self._check(request, work.arguments)
            dependencies = self._dependencies(request) if ok else ()  # asked of a failed request, Slang crashes
            yield Front(ok, _text(library.spGetDiagnosticOutput(request)), dependencies)
            programs: dict[int, tuple[int, str]] = {}
            for target, entry in work.units if ok else ():
                yield Begin(work.targets[target], _entry_name(work, entry))
                if work.declarations is not None:
                    yield UnitReflection(work.targets[target], "", self._declarations(request, work.declarations))
                    yield UnitCode(work.targets[target], "", b"", "")
                    continue
                if entry not in programs:
                    programs[entry] = self._link(request, entry)
                    stack.callback(_release, programs[entry][0])
                yield from self._generate(work, programs[entry], target, entry)

    def _check(self, request: int, arguments: tuple[str, ...]) -> bool:
        _load_builtins(arguments)
        encoded = [argument.encode() for argument in (*arguments, "-no-codegen")]
        array = (c_char_p * len(encoded))(*encoded)
        if self._library.spProcessCommandLineArguments(request, array, len(encoded)) < 0:
            return False
        return bool(self._library.spCompile(request) >= 0)

    def _declarations(self, request: int, asked: tuple[str, ...]) -> str:
        module = c_void_p()
        self._library.spCompileRequest_getModule(request, 0, byref(module))
        layout = _call(module.value, _COMPONENT_LAYOUT, c_void_p, (c_ssize_t, 0), (_OUT, None))
        declared = _call(module.value, _MODULE_DECLARATION, c_void_p)
        text = DeclarationReader(self._library, _take_text).read(declared, layout, asked)
        _release(module.value or 0)
        return text

    def _dependencies(self, request: int) -> tuple[str, ...]:
        count = self._library.spGetDependencyFileCount(request)
        return tuple(_text(self._library.spGetDependencyFilePath(request, index)) for index in range(count))

    def _link(self, request: int, entry: int) -> tuple[int, str]:
        """Return the linked program of one entry point, or of all, with Slang's messages."""
        part, program, output = c_void_p(), c_void_p(), c_void_p()
        if entry < 0:
            self._library.spCompileRequest_getProgramWithEntryPoints(request, byref(part))
        else:
            self._library.spCompileRequest_getEntryPoint(request, entry, byref(part))
        _call(part.value, _COMPONENT_LINK, c_int, (_OUT, byref(program)), (_OUT, byref(output)))
        _release(part.value or 0)
        return program.value or 0, _take_text(output)

    def _generate(self, work: CompilerCall, linked: tuple[int, str], target: int, entry: int) -> Iterator[Event]:
        program, messages = linked
        name = work.targets[target], _entry_name(work, entry)
        if not program:
            yield UnitCode(*name, None, messages)
            return
        yield UnitReflection(*name, self._reflect(program, target))
        code, output = c_void_p(), c_void_p()
        outputs = (_OUT, byref(code)), (_OUT, byref(output))
        if entry < 0:
            _call(program, _COMPONENT_TARGET_CODE, c_int, (c_ssize_t, target), *outputs)
        else:
            _call(program, _COMPONENT_ENTRY_CODE, c_int, (c_ssize_t, 0), (c_ssize_t, target), *outputs)
        yield UnitCode(*name, _take(code), messages + _take_text(output))

    def _reflect(self, program: int, target: int) -> str:
        output, json = c_void_p(), c_void_p()
        layout = _call(program, _COMPONENT_LAYOUT, c_void_p, (c_ssize_t, target), (_OUT, byref(output)))
        _take(output)
        if not layout:
            return ""
        self._library.spReflection_ToJson(layout, None, byref(json))
        return _take_text(json)


def _entry_name(work: CompilerCall, entry: int) -> str:
    return work.entries[entry] if entry >= 0 else ""


def _load_builtins(arguments: tuple[str, ...]) -> None:
    """Load the library that NVRTC needs. Version 13.0 of NVIDIA's package does not look for it in its own folder."""
    for name, value in pairwise(arguments):
        if name == "-nvrtc-path":
            for file in Path(value).parent.glob("libnvrtc-builtins.so*"):
                with suppress(OSError):  # NVRTC says what it lacks
                    ctypes.CDLL(str(file))


def _call(pointer: int | None, slot: int, result: type | None, *arguments: tuple[object, object]) -> int:
    """Call one method of a COM object; each argument comes with its C type."""
    table = ctypes.cast(pointer, POINTER(POINTER(c_void_p))).contents  # type: ignore[arg-type]  # an address is accepted
    function = ctypes.CFUNCTYPE(result, c_void_p, *(kind for kind, _ in arguments))(table[slot])  # type: ignore[arg-type]  # C types
    return int(function(pointer, *(value for _, value in arguments)) or 0)


def _release(pointer: int) -> None:
    if pointer:
        _call(pointer, _RELEASE, c_uint32)


def _take(blob: c_void_p) -> bytes | None:
    """Copy a blob's bytes and let go of it."""
    if not blob.value:
        return None
    data = _call(blob.value, _BLOB_POINTER, c_void_p)
    copy = ctypes.string_at(data, _call(blob.value, _BLOB_SIZE, c_size_t))
    _release(blob.value)
    return copy


def _take_text(blob: c_void_p) -> str:
    return _text(_take(blob))


def _text(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", "replace").rstrip("\0")
