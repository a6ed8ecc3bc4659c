"""Find the kernels of Slang files that must be built entry point by entry point.

A type may implement a method of an interface and give it a custom derivative. Slang forgets that derivative, for every
caller of the method, in a program with a generic function that is called with that type. Shipped code is built entry
point by entry point. So the check must build kernels that reach a method of such a name in the same way.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from slangad.compiler.ir.calls import closure
from slangad.compiler.slang_text.bodies import read_source
from slangad.compiler.slang_text.calls import function_at
from slangad.compiler.slang_text.tokens import words_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from slangad.compiler.errors.spans import Span
    from slangad.compiler.ir.nodes import Module
    from slangad.compiler.slang_text.bodies import SlangSource

_CUSTOM: Final = frozenset({"BackwardDerivative", "ForwardDerivative", "PrimalSubstitute"})
_UNNAMED: Final = ("operator", "__")
"""The prefixes of methods that text calls without their name."""


def kernels_apart(module: Module, read: Mapping[str, str]) -> frozenset[str]:
    """Return the kernels that must be built separately. Those of Slang files are built mode by mode, too.

    If a description calls into such a Slang file, these are all of its kernels.

    Args:
        module: A program.
        read: The text of each Slang file that the program reads.
    """
    if not any("interface" in text for text in read.values()) or not any(
        word in text for word in _CUSTOM for text in read.values()
    ):
        return frozenset()
    files = [read_source(text, file) for file, text in read.items()]
    affected = _with_custom_derivatives(files)
    if not affected:
        return frozenset()
    words = _words(files)

    def reached(span: Span) -> set[str]:
        return closure(_start(span, files) | words[""], lambda word: words.get(word, ()))

    return frozenset(kernel.name for kernel in module.kernels if affected & reached(kernel.span))


def _with_custom_derivatives(files: Sequence[SlangSource]) -> frozenset[str]:
    """Return the names of interface methods to which some type gives a custom derivative."""
    methods = {name for source in files for name in _interface_methods(source)}
    hidden = any(word in directive.text for source in files for directive in source.scan.directives for word in _CUSTOM)
    custom = {
        header.name for source in files for header in source.scan.headers if _CUSTOM & source.scan.attributes_of(header)
    }
    return frozenset(methods if hidden else methods & custom)


def _interface_methods(source: SlangSource) -> Iterator[str]:
    """Return the names of the functions in interfaces."""
    interfaces = {after.text for token, after in pairwise(source.tokens) if token.text == "interface"}
    return (header.name for header in source.scan.headers if interfaces & {*header.path[-1:]})


def _words(files: Sequence[SlangSource]) -> dict[str, set[str]]:
    """Return the words in functions and macros by their names."""
    result: dict[str, set[str]] = {"": set()}
    for source in files:
        for function in source.functions:
            name = function.header.name
            result.setdefault("" if name.startswith(_UNNAMED) else name, set()).update({name, *function.words})
        for name, tokens in source.scan.defines:
            result.setdefault(name, set()).update(words_of(tokens))
    return result


def _start(span: Span, files: Sequence[SlangSource]) -> set[str]:
    """Return the words of the function at a location; those of all functions if there is none."""
    for source in files:
        function = function_at(source, span)
        if function is not None:
            return {function.header.name, *function.words}
    return {word for source in files for function in source.functions for word in function.words}
