"""Read a YAML text as nodes, under limits, without knowledge of descriptions.

PyYAML's scanner and parser yield events; its constructors are not used. Each of these is refused, with its location:

- syntax errors and several documents,
- repeated keys, keys other than text, tags other than YAML's own,
- aliases without an anchor or to themselves,
- documents that are too long, nested too deeply, or grow too much by their aliases.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from yaml import YAMLError
from yaml.error import MarkedYAMLError
from yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    DocumentStartEvent,
    Event,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceStartEvent,
)
from yaml.parser import Parser
from yaml.reader import Reader, ReaderError
from yaml.scanner import Scanner

from slangad.compiler.errors.diagnostics import CompileError
from slangad.compiler.errors.spans import Span
from slangad.compiler.frontends.reading.problems import Problems
from slangad.compiler.frontends.yaml.nodes import (
    Document,
    MappingEntry,
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    Style,
    YamlText,
)
from slangad.compiler.frontends.yaml.scalars import resolve, resolve_as

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_CHARACTERS: Final = 1 << 19
MAX_DEPTH: Final = 48
MAX_NODES: Final = 100_000

_STYLES: Final[dict[str | None, Style]] = {
    None: "plain",
    "": "plain",
    "'": "single",
    '"': "double",
    "|": "literal",
    ">": "folded",
}
_TAG: Final = "tag:yaml.org,2002:"
_PROPERTIES: Final = re.compile(r"(?:[&!]\S*|\s+|(?<=\s)#[^\r\n]*)*")
_SCALAR_TAGS: Final = frozenset({"str", "int", "float", "bool", "null"})


class _Events(Reader, Scanner, Parser):
    """PyYAML's scanner and parser."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)

    def __iter__(self) -> Iterator[Event]:
        while self.check_event():
            yield self.get_event()  # type: ignore[no-untyped-call]  # not in the stubs of PyYAML


def _range(event: Event) -> tuple[int, int]:
    """Return start and end of an event in the text."""
    start, end = event.start_mark, event.end_mark
    return (start.index if start is not None else 0), (end.index if end is not None else 0)


class _Refused(Exception):  # noqa: N818  (control flow)
    """The document has a reported error and can't be read further."""


@dataclass(slots=True)
class _Open:
    """An incomplete collection."""

    start: int
    mapping: bool
    anchor: str | None
    items: list[Node] = field(default_factory=list)
    size: int = 1


def compose(file: str, text: str) -> Document:
    """Return the document of a text.

    Raises:
        CompileError: with its errors as YAML.
    """
    source = YamlText(file, text)
    problems = Problems()
    composer = _Composer(source, problems)
    root: Node | None = None
    try:
        root = composer.compose()
    except _Refused:
        pass
    except (YAMLError, ValueError, OverflowError) as error:
        _report_syntax(source, problems, error)
    problems.raise_if_any()
    if not isinstance(root, MappingNode):
        span = root.span if root is not None else Span(file, 1, 1, 1, 1)
        problems.error("SA055", span, "a description is a mapping", help="begin with slangad: 1 and functions:")
        problems.raise_if_any()
    assert isinstance(root, MappingNode)  # noqa: S101  (anything else was raised)
    return Document(source, root)


def _report_syntax(source: YamlText, problems: Problems, error: Exception) -> None:
    index, message, help_ = 0, str(error), ""
    if isinstance(error, ReaderError):
        index = error.position
        message = f"the character U+{ord(source.text[index]):04X} is not allowed in it"
    elif isinstance(error, MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        index = mark.index if mark is not None else 0
        message = error.problem or error.context or message
        help_ = _syntax_help(message)
        begun = error.context_mark
        if mark is not None and begun is not None and begun.line < mark.line:
            message += f", in the part that begins in line {source.position(begun.index)[0]}"
    else:
        message = "an escape names no character"
    index = min(index, len(source.text))
    problems.error("SA050", source.span(index, index + 1), f"not valid YAML: {message}", help=help_)


def _syntax_help(message: str) -> str:
    if r"'\t'" in message:
        return "indent with spaces: YAML takes no tabs"
    if "mapping values are not allowed" in message:
        return "a text with ': ' in it needs quotes or a block: body: |"
    if "expected ',' or" in message:
        return "inside { } and [ ] a text with a comma needs quotes"
    return ""


def cut_at_comma(key: str) -> str:
    """Return a help for the second half of a text that was read as a key; empty for keys."""
    return "inside { } a text with a comma needs quotes" if any(c in key for c in ")>]") else ""


class _Composer:
    """Build nodes bottom up with an explicit stack, so that depth needs no recursion."""

    def __init__(self, source: YamlText, problems: Problems) -> None:
        self.source = source
        self.problems = problems
        self.open: list[_Open] = []
        self.anchors: dict[str, tuple[Node, int]] = {}
        self.sizes = 0

    def compose(self) -> Node | None:
        """Return the root of the only document; None for an empty file."""
        if len(self.source.text) > MAX_CHARACTERS:
            raise self._refuse("SA051", 0, 1, f"the file has more than {MAX_CHARACTERS} characters", "split it")
        root: Node | None = None
        documents = 0
        for event in _Events(self.source.text):
            if isinstance(event, DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise self._refuse_event("SA050", event, "a file holds one document", "remove the second ---")
            node = self._take(event)
            if node is not None and not self.open:
                root = node
        return root

    def _refuse(self, code: str, start: int, end: int, message: str, help_: str = "") -> _Refused:
        self.problems.error(code, self.source.span(start, end), message, help=help_)
        return _Refused(message)

    def _refuse_event(self, code: str, event: Event, message: str, help_: str = "") -> _Refused:
        start, end = _range(event)
        return self._refuse(code, start, max(end, start + 1), message, help_)

    def _take(self, event: Event) -> Node | None:
        """Process one event; return the node that it completes."""
        match event:
            case AliasEvent():
                node, size = self._alias(event)
            case ScalarEvent():
                node, size = self._scalar(event), 1
                self._name(event.anchor, node, 1)
            case SequenceStartEvent() | MappingStartEvent():
                self._begin(event)
                return None
            case CollectionEndEvent():
                node, size = self._close(event)
            case _:
                return None
        self._add(event, node, size)
        return node

    def _add(self, event: Event, node: Node, size: int) -> None:
        if not self.open:
            return
        self.open[-1].items.append(node)
        self.open[-1].size += size
        if self.open[-1].size > MAX_NODES:
            raise self._refuse_event(
                "SA051",
                event,
                f"the document has more than {MAX_NODES} values",
                "an alias counts as all values of its anchor",
            )

    def _begin(self, event: SequenceStartEvent | MappingStartEvent) -> None:
        if len(self.open) >= MAX_DEPTH:
            raise self._refuse_event("SA051", event, f"nested more than {MAX_DEPTH} deep", "no description needs that")
        mapping = isinstance(event, MappingStartEvent)
        self._check_tag(event, "map" if mapping else "seq")
        self.open.append(_Open(_range(event)[0], mapping, event.anchor))

    def _check_tag(self, event: NodeEvent, *allowed: str) -> str:
        """Return the tag of a node, shortened; empty when it has none."""
        tag = getattr(event, "tag", None)
        if tag is None or tag == "!":
            return "str" if tag == "!" and "str" in allowed else ""
        short = str(tag).removeprefix(_TAG)
        if str(tag).startswith(_TAG) and short in allowed:
            return short
        what = "a Python object" if "python" in str(tag) else f"the tag {str(tag).replace(_TAG, '!!')}"
        raise self._refuse_event(
            "SA056",
            event,
            f"{what} is not allowed here" if what.startswith("the") else f"YAML can't name {what}",
            "values are text, numbers, true, false, lists and mappings",
        )

    def _scalar(self, event: ScalarEvent) -> ScalarNode:
        style = _STYLES.get(event.style, "plain")
        tag = self._check_tag(event, *_SCALAR_TAGS)
        text = str(event.value)
        if any("\ud800" <= c <= "\udfff" for c in text):
            raise self._refuse_event("SA050", event, "not valid YAML: an escape names half a character")
        value = resolve(text) if style == "plain" else text
        if tag:
            value, fits = resolve_as(tag, text)
            if not fits:
                raise self._refuse_event("SA056", event, f"'{text[:40]}' is no {tag}", "remove the tag")
        start, end = _range(event)
        if tag or event.anchor is not None:
            start = self._skip_properties(start)
        span = self.source.span(start, end)
        if style in ("literal", "folded"):
            span = self.source.span(start, start + 1)
        return ScalarNode(text, value, span, start, end, style)

    def _skip_properties(self, start: int) -> int:
        """Return the start of a scalar after its anchor and tag."""
        occurrence = _PROPERTIES.match(self.source.text, start)
        return occurrence.end() if occurrence else start

    def _alias(self, event: AliasEvent) -> tuple[Node, int]:
        name = str(event.anchor)
        if name in self.anchors:
            return self.anchors[name]
        inside = any(o.anchor == name for o in self.open)
        raise self._refuse_event(
            "SA059",
            event,
            f"*{name} is inside &{name}" if inside else f"there is no &{name} before *{name}",
            "" if inside else f"write &{name} at the value to repeat",
        )

    def _name(self, anchor: str | None, node: Node, size: int) -> None:
        if anchor is not None:
            self.anchors[anchor] = (node, size)

    def _close(self, event: Event) -> tuple[Node, int]:
        done = self.open.pop()
        span = self.source.first_line(done.start, _range(event)[1])
        node: Node
        if done.mapping:
            node = MappingNode(self._merged(self._pairs(done.items)), span)
        else:
            node = SequenceNode(tuple(done.items), span)
        self._name(done.anchor, node, done.size)
        return node, done.size

    def _pairs(self, items: list[Node]) -> list[MappingEntry]:
        """Return the entries of a mapping; each key is text and unique."""
        entries: list[MappingEntry] = []
        seen: dict[str, Span] = {}
        for key, value in zip(items[::2], items[1::2], strict=True):
            if not isinstance(key, ScalarNode):
                self.problems.error("SA055", key.span, "a key is a name, not a list or mapping")
                continue
            if key.text in seen:
                self.problems.error(
                    "SA052",
                    key.span,
                    f"'{_short(key.text)}' occurs twice",
                    label="the second",
                    help=cut_at_comma(key.text) or f"the first is in line {seen[key.text].line}: keep one",
                )
                continue
            seen[key.text] = key.span
            entries.append(MappingEntry(key, value))
        return entries

    def _merged(self, entries: list[MappingEntry]) -> tuple[MappingEntry, ...]:
        """Return the entries with those of ``<<`` first; own keys win, then those of earlier mappings."""
        merges = [e for e in entries if e.key.text == "<<" and e.key.style == "plain"]
        if not merges:
            return tuple(entries)
        result: dict[str, MappingEntry] = {}
        for value in [v for m in merges for v in (m.value.items if isinstance(m.value, SequenceNode) else (m.value,))]:
            if not isinstance(value, MappingNode):
                self.problems.error("SA059", value.span, "<< takes a mapping or a list of them", help="write <<: *name")
                continue
            for entry in value.entries:
                result.setdefault(entry.key.text, entry)
        result.update({e.key.text: e for e in entries if not (e.key.text == "<<" and e.key.style == "plain")})
        return tuple(result.values())


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:39] + "…"


__all__ = ["MAX_CHARACTERS", "MAX_DEPTH", "MAX_NODES", "CompileError", "compose"]
