"""The section ``nn``: layers and encodings of ``sa.nn``, with the settings that their factories take."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any, Final

from slangad.compiler import nn
from slangad.compiler.frontends.lowering.entities import Entity, RefusedEntity
from slangad.compiler.frontends.yaml.nodes import MappingEntry, MappingNode, Node, ScalarNode, SequenceNode
from slangad.compiler.frontends.yaml.shape import (
    Choice,
    Either,
    Flag,
    Integer,
    Key,
    ListOf,
    Named,
    Number,
    Record,
    Shape,
    kinds,
)
from slangad.compiler.frontends.yaml.validate import kind_of
from slangad.compiler.ir.bounds import POSITIVE
from slangad.compiler.lang.decorators.generic import GenericFunction
from slangad.compiler.lang.errors import ArgumentError
from slangad.compiler.nn.activations import ACTIVATIONS
from slangad.compiler.nn.arguments import GROWTH, MOST, PRECISIONS, STORAGES
from slangad.compiler.nn.initialisers import INITIALISERS, OTHER_NAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from slangad.compiler.frontends.python.world import PythonWorld
    from slangad.compiler.frontends.reading.problems import Problems

FACTORIES: Final[dict[str, Callable[..., Any]]] = {
    "linear": nn.Linear,
    "mlp": nn.MLP,
    "hash_grid": nn.HashGrid,
    "dense_grid": nn.DenseGrid,
    "frequency": nn.Frequency,
    "one_blob": nn.OneBlob,
    "spherical_harmonics": nn.SphericalHarmonics,
}
"""The factories by their word in YAML. The keys of a layer are the arguments of its factory."""
FUNCTIONS: Final = {name: value for name, value in vars(nn).items() if isinstance(value, GenericFunction)}
"""Activations and losses, which bodies call as ``nn.relu`` or ``sa.nn.relu``."""

_OF_ANNOTATION: Final[dict[str, Shape]] = {
    "int": Integer(1, MOST),
    "bool": Flag(),
    "Sequence[int]": ListOf(Integer(1, MOST), 2),
}
_OF_NAME: Final[dict[str, Shape]] = {"growth": Number(GROWTH)}
_ACTIVATION: Final = Choice(tuple(ACTIVATIONS))
_INIT: Final = Either(
    (
        Choice(tuple(INITIALISERS), tuple(OTHER_NAMES.items())),
        ListOf(Number(), 2, 2),
        Record("an initialiser", (Key("normal", Number(POSITIVE), "The standard deviation.", required=True),)),
    )
)
_STORAGE: Final = Choice(tuple(word for word in STORAGES if isinstance(word, str)))
_WORDS: Final[dict[str, tuple[Shape, str]]] = {
    "init": (_INIT, "The values of weights when training starts: a name, `[low, high]`, or `{normal: deviation}`."),
    "activation": (_ACTIVATION, "The activation after each layer but the last."),
    "output": (_ACTIVATION, "The activation after the last layer."),
    "precision": (Choice(PRECISIONS), "The factors of products, where the target has matrix units."),
    "storage": (_STORAGE, "The type in which trained values are kept."),
}
"""Arguments with words in YAML."""
_ARGUMENT: Final = re.compile(r"^    (\w+): (.*(?:\n {5,}.*)*)", re.MULTILINE)


def _plain(text: str) -> str:
    return " ".join(text.replace("``", "`").split())


def _documented(factory: Callable[..., Any]) -> dict[str, str]:
    """Return what the docstring of a factory says of its arguments."""
    return {name: _plain(text) for name, text in _ARGUMENT.findall(inspect.getdoc(factory) or "")}


def _keys(factory: Callable[..., Any]) -> Iterator[Key]:
    """Yield a key for each argument of a factory. ``DenseGrid`` leaves the words to ``HashGrid``."""
    docs = {**_documented(nn.HashGrid), **_documented(factory)}
    for name, argument in inspect.signature(factory).parameters.items():
        shape = _OF_NAME.get(name) or _OF_ANNOTATION.get(argument.annotation)
        shape, doc = (shape, docs[name]) if shape and name not in _WORDS else _WORDS[name]
        if argument.default is argument.empty:
            yield Key(name, shape, doc, required=True)
            continue
        usual = argument.default
        number = isinstance(usual, (bool, int, float))
        shown = str(usual).lower() if isinstance(usual, bool) else f"{usual:g}" if number else _word(usual)
        yield Key(name, shape, f"{doc} Default: {shown}.", default=usual if number else None)


def _word(value: object) -> str:
    return value.__name__ if isinstance(value, type) else str(value)


LAYER: Final = Record(
    "a layer",
    tuple(
        Key(word, Record(word, tuple(_keys(factory))), _plain((inspect.getdoc(factory) or "").partition("\n")[0]))
        for word, factory in FACTORIES.items()
    ),
    one_of=tuple(FACTORIES),
)


def layer_of(node: MappingNode, problems: Problems) -> object | None:
    """Return the struct class or function of a layer; None after a report."""
    entry = node.entries[0]
    if not isinstance(entry.value, MappingNode):
        return None
    shapes = {key.name: key.shape for key in _keys(FACTORIES[entry.key.text])}
    try:
        settings = {e.key.text: _value(e.value, shapes[e.key.text]) for e in entry.value.entries}
        made: object = FACTORIES[entry.key.text](**settings)
    except ArgumentError as error:
        wrong = entry.value.get(error.argument.name) or entry.key
        problems.error("SA061", wrong.span, error.message, help=error.help)
        return None
    return made


def _value(node: Node, shape: Shape) -> object:
    match node, shape:
        case SequenceNode(items=items), ListOf(item=item):
            return [_value(one, item) for one in items]
        case ScalarNode(value=int() | float() as number), Integer():
            return int(number)
        case ScalarNode(value=int() | float() as number), Number():
            return float(number)
        case ScalarNode(value=value), _:
            return value
        case _, Either(shapes=shapes):
            plain = (s for s in shapes if not isinstance(s, (Either, Named)))
            return _value(node, next(s for s in plain if kind_of(node) in kinds(s)))
        case MappingNode(entries=(MappingEntry(value=ScalarNode(value=int() | float() as deviation)),)), Record():
            return nn.normal(deviation)
        case _:
            raise AssertionError(f"{node} was taken for {shape}")


def function_of(library: PythonWorld, name: str) -> Entity | None:
    """Return the meaning of ``nn.name`` in a body."""
    if name in FUNCTIONS:
        return library.entity(FUNCTIONS[name], "", "")
    word = next((word for word, factory in FACTORIES.items() if factory.__name__ == name), None)
    return None if word is None else RefusedEntity(f"'{name}' makes a layer", f"write nn: {{{name}: {{{word}: …}}}}")
