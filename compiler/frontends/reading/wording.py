"""The words of helps that differ between the languages of descriptions.

The rules about bodies are the same for all. ``Problems`` holds the words of its file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Wording:
    """Advice in one language, as the second half of a help.

    Attributes:
        function: The way to define a function separately.
        struct: The way to define a struct separately.
        module: The way to import a module.
        show: The way to print a value.
        differentiable: The way to make a function differentiable.
        not_differentiated: The name of a function that is not differentiated.
        dims: The way to give a kernel ``{dims}`` dimensions, ``{count}`` in letters.
        result: The way to declare a result of type ``{type}``.
        factory: The way to use the factory ``{name}``; empty where the names of a body say it.
        none: The way to branch on ``{test}`` of None; empty where no constant is None.
    """

    function: str
    struct: str
    module: str
    show: str
    differentiable: str
    not_differentiated: str
    dims: str
    result: str
    factory: str = ""
    none: str = ""


PYTHON: Final = Wording(
    function="define it at module level",
    struct="define it at module level, with @sa.struct",
    module="import at the top of the file",
    show="call the function in Python and print its result",
    differentiable="decorate it with @sa.differentiable, or give it a derivative=",
    not_differentiated="an @sa.function",
    dims="@sa.kernel(dims={dims}) gives a kernel {count} dimensions",
    result="annotate the result: -> {type}",
    factory="call it outside of the body and use what it makes: made = {name}(…)",
    none="a body may branch on a constant: given = {test} outside of it, then if given:",
)
YAML: Final = Wording(
    function="define it under functions:",
    struct="define it under structs:",
    module="list Slang files under imports:, and declare their functions with extern:",
    show="return it as one more result",
    differentiable="take away its differentiable: false, or give it a derivative:",
    not_differentiated="a function with differentiable: false",
    dims="dims: {dims} gives a kernel {count} dimensions",
    result="declare the result: returns: {type}",
)
