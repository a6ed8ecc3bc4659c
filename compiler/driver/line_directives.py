"""Put ``#line`` directives into emitted Slang, so that a debugger and Slang's messages show the description.

    #line 12 "fit.py"
        float3 error = shade(m, cos_angle) - seen;

Generated lines, such as those of entry points, keep their own numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from slangad.compiler.emit.model import EmittedModule

_NEUTRAL: Final = ("/", "[", "{", "}", "#")
"""First characters of lines without code: comments, attributes, braces, directives."""


def with_line_directives(emitted: EmittedModule) -> str:
    """Return the text of a module, with a directive wherever the next line comes from elsewhere."""
    begun = {m.line: m.span for m in reversed(emitted.mapped)}  # the outermost stretch of a line
    result: list[str] = []
    implied = (emitted.file_name, 1)
    attribute = None
    for number, line in enumerate(emitted.text.splitlines(), 1):
        place = implied
        span = begun.get(number, attribute)
        neutral = not line.strip() or line.lstrip().startswith(_NEUTRAL)
        attribute = span if line.startswith("[") else None
        if span is not None and not neutral:
            place = span.file, span.line
        elif not neutral and not line.startswith(" "):
            place = emitted.file_name, len(result) + 1
        if place != implied:
            own = place[0] == emitted.file_name
            name = place[0].replace("\\", "/").replace('"', '\\"')
            result.append(f'#line {len(result) + 2 if own else place[1]} "{name}"')
            place = (place[0], len(result) + 1) if own else place
        result.append(line)
        implied = place[0], place[1] + 1
    return "\n".join(result) + "\n"
