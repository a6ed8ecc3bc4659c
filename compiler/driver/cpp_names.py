"""Name the C++ of an input, so that any inputs can be in one program: namespaces, and symbols of cpp artefacts.

    slangad::from_brdf::v5ef2a90c::fit      the kernel fit of brdf.py
    slangad_brdf_fit_forward                the entry point fit_forward in its cpp artefact

The last two of the outer namespaces are inline: ``slangad::fit`` means that kernel, unless two inputs have a kernel of
that name. The names of an input depend on no other input. The version is a hash of its code: headers and libraries of
two versions, or of two inputs of one name, never share a symbol.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from slangad import __version__
from slangad.compiler.driver.model import CPP
from slangad.compiler.emit.text.names import ascii_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slangad.compiler.driver.model import CompiledInput, Output
    from slangad.compiler.emit.model import EntryPoint

_INPUT: Final = "from_"
_RESERVED: Final = frozenset(
    """
    alignas alignof and asm auto bool break case catch char class compl const constexpr continue decltype
    default delete do double else enum explicit export extern false float for friend goto if inline int long
    mutable namespace new noexcept not nullptr operator or private protected public register return short signed
    sizeof static std struct switch template this throw true try typedef typeid typename union unsigned using
    virtual void volatile while xor
    """.split()  # noqa: SIM905  (a list of them fills two pages)
)
_VERSION_DIGITS: Final = 8
_EXPORTED: Final = b"SLANG_PRELUDE_EXPORT\n"


def identifier(name: str) -> str:
    """Return a name that C++ takes: ``Ray.at`` becomes ``Ray_at``."""
    word = re.sub(r"_*\W_*", "_", name).strip("_")
    return f"{word}_" if word in _RESERVED else word


def input_word(stem: str) -> str:
    """Return the name of an input as a part of identifiers, in ASCII: ``my-brdf`` becomes ``my_brdf``."""
    return re.sub("_+", "_", ascii_name(stem)).strip("_") or "input"


@dataclass(frozen=True, slots=True)
class CppNames:
    """The C++ names of one input.

    Attributes:
        namespace: The namespace of all kernels: ``render::kernels``.
        stem: The input's name as a part of identifiers.
        version: A hash of all that the input was compiled to.
    """

    namespace: str
    stem: str
    version: str

    @property
    def guard(self) -> str:
        """The macro that the header defines. Headers with one macro are equal."""
        return "_".join((*self.namespace.split("::"), self.stem, self.version, "HPP")).upper()

    def opened(self) -> Iterator[str]:
        """Yield the lines that open the namespaces around the input's kernels."""
        yield from (f"namespace {self.namespace}", "{")
        yield from (f"inline namespace {_INPUT}{self.stem} // where kernels of two inputs have one name", "{")
        yield from (f"inline namespace {self.version} // a hash of the code: no program mixes two versions", "{")

    def closed(self) -> str:
        """Return the line that closes these namespaces."""
        return f"}} }} }} // namespace {self.namespace}::{_INPUT}{self.stem}::{self.version}"

    def exported(self, function: str) -> str:
        """Return the symbol that a cpp artefact exports for a function of emitted C++."""
        return "_".join((*self.namespace.split("::"), self.stem, function))


def cpp_names(compiled: CompiledInput, namespace: str, *, library: bool) -> CppNames:
    """Return the names of an input.

    Args:
        compiled: The input after the toolchain.
        namespace: The namespace of all kernels.
        library: True if the entry points are functions of a library rather than of artefacts.
    """
    digest = hashlib.sha256(f"{__version__} {library} {compiled.slang.label}".encode())
    for output in compiled.outputs:
        digest.update(f"\n{output.name} {len(output.data)}\n".encode() + output.data)
    return CppNames(namespace, input_word(compiled.slang.stem), f"v{digest.hexdigest()[:_VERSION_DIGITS]}")


def host_function(entry: EntryPoint) -> str:
    """Return the function that runs an entry point on the CPU: for all threads, or one of each group."""
    return f"{entry.symbol}_Thread" if entry.first_threads else entry.symbol


def with_exported_symbols(compiled: CompiledInput, namespace: str) -> CompiledInput:
    """Return the input with symbols in its cpp artefacts that no other input has.

    Entry points that the user's file contains keep their names. Before: ``void fit_forward(…)``. After:
    ``void slangad_brdf_fit_forward(…)``.
    """
    names = cpp_names(compiled, namespace, library=False)
    written = {entry.symbol for entry in compiled.slang.entries if entry.written}
    outputs = tuple(
        replace(output, data=_renamed(output, names))
        if output.kind == "artefact" and output.target == CPP and output.entry not in written
        else output
        for output in compiled.outputs
    )
    return replace(compiled, outputs=outputs)


def _renamed(artefact: Output, names: CppNames) -> bytes:
    """Return C++ whose exported functions, all at its end, have other names."""
    own, found, exported = artefact.data.partition(_EXPORTED)
    word = re.compile(rb"\b%s(?=(?:_Thread|_Group)?\()" % re.escape(artefact.entry.encode()))
    return own + found + word.sub(names.exported(artefact.entry).encode(), exported)
