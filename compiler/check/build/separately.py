"""Which kernels of a Slang file have to be built entry point by entry point: a module goes in, their names come out.

A method with a derivative of its own may be what a type gives an interface. Slang forgets the derivative, for everybody
who calls the method, in any program that holds a generic function called with that type. So what reaches a method of
such a name says something of what is shipped, entry point by entry point, only if it is built in the same way.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

from slangad.compiler.slang_text.bodies import read_bodies
from slangad.compiler.slang_text.files import text_of
from slangad.compiler.slang_text.reachable_code import same_file
from slangad.compiler.slang_text.tokens import read_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from slangad.compiler.errors.spans import Span
    from slangad.compiler.ir.nodes import Module
    from slangad.compiler.slang_text.bodies import Bodies

_OWN: Final = frozenset({"BackwardDerivative", "ForwardDerivative", "PrimalSubstitute"})
_UNNAMED: Final = ("operator", "__")
"""How names of methods begin that are called without them."""


def kernels_apart(module: Module, texts: Mapping[str, str]) -> frozenset[str]:
    """The kernels that have to be built by themselves, those of Slang files each of their modes too.

    Of descriptions that call into such Slang files, those are all.

    Args:
        module: A program.
        texts: What stands for Slang files, by name.
    """
    read = {file: texts.get(Path(file).name) or text_of(file) for file in module.sources if file.endswith(".slang")}
    if not any("interface" in text for text in read.values()) or not any(
        word in text for word in _OWN for text in read.values()
    ):
        return frozenset()
    files = [read_bodies(text, file) for file, text in read.items()]
    touchy = _with_own_derivatives(files)
    if not touchy:
        return frozenset()
    words = _words(files)
    return frozenset(kernel.name for kernel in module.kernels if touchy & _reached(_start(kernel.span, files), words))


def _with_own_derivatives(files: Sequence[Bodies]) -> frozenset[str]:
    """The names of what interfaces ask for that some type gives a derivative of its own."""
    asked = {name for bodies in files for name in _asked(bodies)}
    hidden = any(word in directive for bodies in files for directive in bodies.scan.directives for word in _OWN)
    own = {
        header.name
        for bodies in files
        for header in bodies.scan.headers
        if _OWN & {*header.attributes, *bodies.scan.derivatives_of.get(header.name, ())}
    }
    return frozenset(asked if hidden else asked & own)


def _asked(bodies: Bodies) -> Iterator[str]:
    """The names of the functions in interfaces."""
    tokens = read_text(bodies.text).tokens
    interfaces = {after.text for token, after in pairwise(tokens) if token.text == "interface"}
    return (header.name for header in bodies.scan.headers if interfaces & {*header.path[-1:]})


def _words(files: Sequence[Bodies]) -> dict[str, set[str]]:
    """By the names of functions and macros, the words they are made of."""
    found: dict[str, set[str]] = {"": set()}
    for bodies in files:
        for function in bodies.functions:
            name = function.header.name
            found.setdefault("" if name.startswith(_UNNAMED) else name, set()).update({name, *function.words})
        for directive in bodies.scan.directives:
            words = [token.text for token in read_text(directive).tokens if token.kind == "word"]
            if words[:1] == ["define"]:
                found.setdefault("".join(words[1:2]), set()).update(words[2:])
    return found


def _start(span: Span, files: Sequence[Bodies]) -> set[str]:
    """The words of the function at a place; of one that is not found, all there are."""
    for bodies in files:
        here = same_file(bodies.scan.file, span.file)
        function = bodies.at(replace(span, file=bodies.scan.file)) if here else None
        if function is not None:
            return {function.header.name, *function.words}
    return {word for bodies in files for function in bodies.functions for word in function.words}


def _reached(start: set[str], words: Mapping[str, set[str]]) -> set[str]:
    """These words and all that they lead to."""
    found, fresh = set[str](), start | words[""]
    while fresh:
        found |= fresh
        fresh = {word for name in fresh for word in words.get(name, ())} - found
    return found
