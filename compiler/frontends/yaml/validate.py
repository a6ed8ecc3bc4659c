"""Check nodes against the table of sections; report all differences at once, each at its location."""

from __future__ import annotations

import keyword
import math
from typing import TYPE_CHECKING, Final

from slangad.compiler.errors.exhaustive import assert_never
from slangad.compiler.frontends.reading.problems import Problems, did_you_mean
from slangad.compiler.frontends.yaml.compose import cut_at_comma
from slangad.compiler.frontends.yaml.nodes import MappingEntry, MappingNode, Node, ScalarNode, SequenceNode
from slangad.compiler.frontends.yaml.shape import (
    MAX_NAME,
    OWN_NAME,
    Choice,
    Either,
    Flag,
    Integer,
    Key,
    Kind,
    ListOf,
    MapOf,
    Named,
    Number,
    Record,
    Shape,
    ShapeTable,
    Text,
    When,
    kinds,
    matches,
)
from slangad.compiler.ir.bounds import ANY, Bounds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slangad.compiler.errors.spans import Span

_KIND_WORDS: Final[dict[Kind, str]] = {
    "text": "text",
    "integer": "a whole number",
    "number": "a number",
    "bool": "a bool",
    "nothing": "nothing",
    "list": "a list",
    "mapping": "a mapping",
}
_MAX_WORD: Final = 64


def validate(node: Node, table: ShapeTable, problems: Problems) -> bool:
    """Report everything in a document that its table does not have; return True if there is nothing."""
    before = len(problems)
    _Validator(table, problems).check(node, table.root, node.span)
    return len(problems) == before


def kind_of(node: Node) -> Kind:
    """Return the kind of a node; a number without a fraction is an integer, as in JSON Schema."""
    match node:
        case SequenceNode():
            return "list"
        case MappingNode():
            return "mapping"
        case ScalarNode(value=bool()):
            return "bool"
        case ScalarNode(value=int()):
            return "integer"
        case ScalarNode(value=float() as number):
            return "integer" if number.is_integer() else "number"
        case ScalarNode(value=str()):
            return "text"
        case ScalarNode():
            return "nothing"
        case _:
            assert_never(node)


class _Validator:
    def __init__(self, table: ShapeTable, problems: Problems) -> None:
        self.table = table
        self.problems = problems

    def check(self, node: Node, shape: Shape, owner: Span) -> None:
        """Check one node; ``owner`` is the location of its key."""
        kind = kind_of(node)
        options = self.table.alternatives(shape)
        fitting = next((o for o in options if not isinstance(o, (Either, Named)) and kind in kinds(o)), None)
        if fitting is None:
            self._wrong_kind(node, kind, options, owner)
            return
        self._check(node, fitting, owner)

    def _check(self, node: Node, shape: Shape, owner: Span) -> None:
        match shape, node:
            case Record(), MappingNode():
                self._record(node, shape, owner)
            case MapOf(), MappingNode():
                self._map(node, shape)
            case ListOf(), SequenceNode():
                self._list(node, shape)
            case _, ScalarNode():
                self._scalar(node, shape)
            case _:
                raise AssertionError(f"{kind_of(node)} was taken for {shape}")

    def _wrong_kind(self, node: Node, kind: Kind, options: tuple[Shape, ...], owner: Span) -> None:
        wanted = _either([*dict.fromkeys(_expected(o, alone=len(options) == 1) for o in options)])
        actual = "nothing" if kind == "nothing" else f"{_KIND_WORDS[kind]}{_shown(node)}"
        help_ = ""
        text = any(isinstance(o, Text) or (isinstance(o, Choice) and _text_of(node) in o.words) for o in options)
        if text and kind in ("integer", "number", "bool"):
            help_ = "put it in quotes to make it a text"
        elif isinstance(node, ScalarNode) and kind == "text" and (named := _named_alone(node.text, options)):
            help_ = named
        elif isinstance(node, ScalarNode) and _is_number(node.text) and any(isinstance(o, Number) for o in options):
            help_ = "remove the quotes"
        elif isinstance(node, ScalarNode) and any(self._takes_alone(kind, o) for o in options):
            item = f"'{_cut(node.text)}'" if kind == "text" else _cut(node.text)
            help_ = f"put it in brackets to make it a list: [{item}]"
        elif kind in ("text", "list") and any(isinstance(o, MapOf) for o in options):
            help_ = "write a name, a colon, a space and a value: {name: …}"
        span = owner if kind == "nothing" and node.span.column == node.span.end_column else node.span
        self.problems.error("SA055", span, f"expected {wanted}, found {actual}", help=help_)

    def _takes_alone(self, kind: Kind, shape: Shape) -> bool:
        """Return True for lists whose items have this kind, if their number is not fixed."""
        if not isinstance(shape, ListOf) or shape.low == shape.high:
            return False
        items = (o for o in self.table.alternatives(shape.item) if not isinstance(o, (Either, Named)))
        return any(kind in kinds(o) for o in items)

    def _record(self, node: MappingNode, shape: Record, owner: Span) -> None:
        known = {key.name: key for key in shape.keys}
        faulty: set[str] = set()
        for entry in node.entries:
            key = known.get(entry.key.text)
            if key is None:
                self._unknown(entry, shape, tuple(known))
            elif not self._is_good(entry, key.shape):
                faulty.add(entry.key.text)
        for key in shape.keys:
            if key.required and key.name not in node:
                self.problems.error("SA054", owner, f"{shape.what} needs '{key.name}'", help=_sentence(key.doc))
        self._combinations(node, shape, owner)
        for when in shape.when:
            self._condition(node, when, faulty)

    def _is_good(self, entry: MappingEntry, shape: Shape) -> bool:
        before = len(self.problems)
        self.check(entry.value, shape, entry.key.span)
        return len(self.problems) == before

    def _unknown(self, entry: MappingEntry, shape: Record, known: tuple[str, ...]) -> None:
        near = cut_at_comma(entry.key.text) or did_you_mean(entry.key.text[:_MAX_WORD], known)
        near = near or self._one_level_up(entry.key.text, shape)
        self.problems.error(
            "SA053",
            entry.key.span,
            f"{shape.what} has no key '{_cut(entry.key.text)}'",
            label="unknown key",
            help=near or f"it may have {', '.join(known)}",
        )

    def _one_level_up(self, name: str, shape: Record) -> str:
        """Return a help for a key that belongs into one of a record's keys: ``sizes`` of a layer ``mlp``."""
        word = next((one.name for one in shape.keys if name in _keys_of(one.shape)), "")
        sections = (key.shape for key in _keys_of(self.table.root).values())
        maps = (section.value for section in sections if isinstance(section, MapOf))
        above = "NAME" if any(shape in self.table.alternatives(one) for one in maps) else shape.what.split()[-1]
        return f"'{name}' is a key of {word}: write {above}: {{{word}: {{{name}: …}}}}" if word else ""

    def _combinations(self, node: MappingNode, shape: Record, owner: Span) -> None:
        present = [name for name in shape.one_of if name in node]
        complete = all(entry.key.text in {key.name for key in shape.keys} for entry in node.entries)
        if shape.one_of and not present and complete:
            self.problems.error("SA054", owner, f"{shape.what} needs one of {', '.join(shape.one_of)}")
        if shape.some_of and complete and all(_is_empty(node.get(name)) for name in shape.some_of):
            self.problems.error("SA054", owner, f"{shape.what} needs something under {_either([*shape.some_of])}")
        for name in present[1:]:
            self.problems.error(
                "SA054", node.key(name).span, f"'{name}' can't be combined with '{present[0]}'", help="keep one of them"
            )
        for name, others in shape.alone:
            for other in (o for o in others if name in node and o in node):
                self.problems.error(
                    "SA054",
                    node.key(other).span,
                    f"'{other}' can't be combined with '{name}'",
                    help=f"remove '{other}'",
                )

    def _condition(self, node: MappingNode, when: When, faulty: set[str]) -> None:
        value = node.get(when.key)
        holds = when.default if value is None else isinstance(value, ScalarNode) and _is_same(value.value, when.value)
        if not holds:
            return
        for name in (n for n in when.never if n in node):
            self.problems.error(
                "SA054",
                node.key(name).span,
                f"'{name}' can't be combined with '{when.key}: {str(when.value).lower()}'",
                help="keep one of them" if value is not None else f"{when.key} is {when.value} unless it is given",
            )
        for name, shape, words in (rule for rule in when.then if rule[0] not in faulty):
            inner, alone = node.get(name), Problems()
            if inner is not None and not validate(inner, ShapeTable(shape, self.table.definitions), alone):
                why = f"because {when.key} is {when.value}"
                self.problems.error("SA055", inner.span, f"expected {words}", help=why)

    def _map(self, node: MappingNode, shape: MapOf) -> None:
        if len(node.entries) < shape.low:
            self.problems.error("SA055", node.span, f"expected {shape.low} entry or more, found none")
        for entry in node.entries:
            text = entry.key.text
            word = shape.keys == OWN_NAME and keyword.iskeyword(text)
            if word:
                self.problems.error(
                    "SA057",
                    entry.key.span,
                    f"'{text}' is a keyword of the expression language",
                    help=f"call it {text}_",
                )
            if not word and not matches(shape.keys, text):
                self.problems.error(
                    "SA057",
                    entry.key.span,
                    f"'{_cut(entry.key.text)}' is not {shape.what}",
                    help=_name_help(entry.key.text),
                )
            else:
                self.check(entry.value, shape.value, entry.key.span)

    def _list(self, node: SequenceNode, shape: ListOf) -> None:
        count, low, high = len(node.items), shape.low, shape.high
        if count < low or (high is not None and count > high):
            wanted = f"{low}" if low == high else f"at least {low}" if high is None else f"{low} to {high}"
            self.problems.error("SA055", node.span, f"expected a list of {wanted}, found {count}")
        for item in node.items:
            self.check(item, shape.item, item.span)

    def _scalar(self, node: ScalarNode, shape: Shape) -> None:
        match shape, node.value:
            case Text(what=what, pattern=pattern), _ if not matches(pattern, node.text):
                self.problems.error("SA055", node.span, f"expected {what}, found '{_cut(node.text)}'")
            case Choice(words, others), _ if node.text not in words:
                word = dict(others).get(node.text, node.text)
                near = did_you_mean(word[:_MAX_WORD], words)
                self.problems.error(
                    "SA055",
                    node.span,
                    f"'{_cut(node.text)}' is not a value of this key",
                    help=near or f"one of {', '.join(words)}",
                )
            case Flag(only=bool() as only), value if value is not only:
                self.problems.error("SA055", node.span, f"expected {str(only).lower()}", help="or remove the key")
            case Integer(low, high), int() | float() as value if not (_or(low, value) <= value <= _or(high, value)):
                bounds = f"{low}" if low == high else f"{low} to {high}"
                self.problems.error("SA055", node.span, f"expected {bounds}, found {_cut(node.text)}")
            case Number(bounds), int() | float() as value if _is_outside(value, bounds):
                self.problems.error("SA055", node.span, f"expected {bounds}, found {_cut(node.text)}")
            case _:
                pass


def _keys_of(shape: Shape) -> dict[str, Key]:
    """Return the keys of a record by name; none of any other shape."""
    return {key.name: key for key in shape.keys} if isinstance(shape, Record) else {}


def _named_alone(text: str, options: Iterable[Shape]) -> str:
    """Return a help for a key of a record that stands alone: ``adam`` for ``{adam: {lr: …}}``."""
    keys = (_keys_of(keys[text].shape) for keys in map(_keys_of, options) if text in keys)
    needed = next(([one.name for one in inner.values() if one.required] for inner in keys if inner), None)
    return "" if needed is None else f"write {{{text}: {{{', '.join(f'{name}: …' for name in needed)}}}}}"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _text_of(node: Node) -> str:
    return node.text if isinstance(node, ScalarNode) else ""


def _is_empty(node: Node | None) -> bool:
    return not (isinstance(node, MappingNode) and node.entries)


def _is_same(value: object, wanted: bool | int) -> bool:  # noqa: FBT001  (a bool is a value here)
    return value == wanted and isinstance(value, bool) == isinstance(wanted, bool)


def _is_outside(value: float, bounds: Bounds) -> bool:
    return bounds != ANY and value < math.inf and not bounds.contain(value)


def _or(bound: int | None, value: float) -> float:
    return value if bound is None else bound


def _either(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _expected(shape: Shape, *, alone: bool) -> str:
    match shape:
        case Text(what=what):
            return what
        case Choice(words):
            return f"one of {', '.join(words)}"
        case Integer():
            return "a whole number"
        case Number():
            return "a number"
        case Flag(only=None):
            return "true or false"
        case Flag(only=only):
            return str(only).lower()
        case ListOf():
            return "a list"
        case Record(keys=keys) if alone:
            return f"a mapping with {', '.join(k.name for k in keys[:4])}{', …' if len(keys) > 4 else ''}"
        case _:
            return "a mapping"


def _sentence(text: str) -> str:
    return text[:1].lower() + text[1:].rstrip(".")


def _shown(node: Node) -> str:
    return f" ({_cut(node.text)})" if isinstance(node, ScalarNode) and not isinstance(node.value, str) else ""


def _cut(text: str) -> str:
    line = text.split("\n", maxsplit=1)[0]
    return text if len(text) <= _MAX_WORD and line == text else line[: _MAX_WORD - 1] + "…"


def _name_help(text: str) -> str:
    if len(text) > MAX_NAME:
        return f"a name has at most {MAX_NAME} characters"
    return cut_at_comma(text) or "a name is letters, digits and _, and does not begin with a digit"
