"""slangad: differentiable pipelines in Python or YAML, emitted as Slang.

Users write ``import slangad as sa``. The names they reach that way live in
``slangad.compiler.lang`` and are loaded on first use, so that the command line
starts without them.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"
"""The version: packages, `slangad --version` and reports take it from here."""

_ELSEWHERE = {
    "load": "slangad.compiler.api.load",
    "CompileError": "slangad.compiler.errors.diagnostics",
    "InputError": "slangad.compiler.runtime.arrays.prepare",
    "SlangadError": "slangad.compiler.errors.diagnostics",
    "ToolchainError": "slangad.compiler.errors.diagnostics",
}
"""Names that are no words of descriptions, and the modules that have them."""

if TYPE_CHECKING:
    from slangad.compiler import nn as nn
    from slangad.compiler.api.load import load as load
    from slangad.compiler.errors.diagnostics import CompileError as CompileError
    from slangad.compiler.errors.diagnostics import SlangadError as SlangadError
    from slangad.compiler.errors.diagnostics import ToolchainError as ToolchainError
    from slangad.compiler.lang.public import *  # noqa: F403
    from slangad.compiler.runtime.arrays.prepare import InputError as InputError


def _run_methods() -> object:
    from slangad.compiler.api import live

    return live


def _check_methods() -> object:
    from slangad.compiler.check import live

    return live


def __getattr__(name: str) -> Any:  # noqa: ANN401  (module attribute of any kind)
    if name.startswith("__") and name != "__all__":
        raise AttributeError(name)
    from slangad.compiler.errors.diagnostics import SlangadError
    from slangad.compiler.errors.tracebacks import hide_own_frames
    from slangad.compiler.lang.decorators.methods import bind_methods
    from slangad.compiler.lang.errors import DescriptionError

    hide_own_frames(SlangadError, DescriptionError)
    bind_methods(_run_methods, _check_methods)
    if name in _ELSEWHERE:
        from importlib import import_module

        return getattr(import_module(_ELSEWHERE[name]), name)
    if name == "nn":
        from slangad.compiler import nn

        return nn
    from slangad.compiler.lang import public

    try:
        return getattr(public, name)
    except AttributeError:
        from slangad.compiler.lang.other_names import other_name

        help_ = other_name(name)
        message = f"module 'slangad' has no attribute {name!r}" + (f"; {help_}" if help_ else "")
        raise AttributeError(message, name=name, obj=sys.modules[__name__]) from None


def __dir__() -> list[str]:
    from slangad.compiler.lang import public

    return sorted([*public.__all__, *_ELSEWHERE, "__version__", "nn"])
