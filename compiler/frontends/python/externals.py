"""Signatures of ``sa.extern`` functions; their bodies stay in the Slang file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from slangad.compiler.errors.spans import Span
from slangad.compiler.frontends.lowering.functions import external_function
from slangad.compiler.frontends.python.arguments import location_of_argument
from slangad.compiler.frontends.reading.paths import shown_path
from slangad.compiler.frontends.reading.signatures import CallSignature, Parameter
from slangad.compiler.ir.nodes import External, Function
from slangad.compiler.lang.decorators.external import FILE, SIGNATURE
from slangad.compiler.lang.errors import DescriptionError

if TYPE_CHECKING:
    from slangad.compiler.frontends.reading.problems import Problems
    from slangad.compiler.lang.decorators.external import ExternalFunction


def declare_external(problems: Problems, value: ExternalFunction) -> CallSignature | None:
    """Return the signature of a Slang function, None after a report."""
    span = Span(value.location.file, value.location.line, 1, value.location.line, 2)
    try:
        params = tuple(Parameter(p.name, p.type, p.no_diff, span=span) for p in value.parameters())
        result = value.result()
    except DescriptionError as error:
        problems.error("SA017", location_of_argument(SIGNATURE, span), error.message, help=error.help)
        return None
    if not os.path.isfile(value.path):  # noqa: PTH113  (Path.is_file raises for names that are too long)
        problems.error(
            "SA002",
            location_of_argument(FILE, span),
            f"there is no Slang file {value.file} beside {value.location.file}",
            help="the path of sa.extern is relative to the describing file",
        )
        return None
    return CallSignature(f"{value.path}:{value.name}", value.name, params, result, value.differentiable)


def external_of(value: ExternalFunction, signature: CallSignature) -> Function:
    """Return the IR function for a ``sa.extern`` function."""
    span = Span(value.location.file, value.location.line, 1, value.location.line, 2)
    return external_function(signature, External(value.name, shown_path(value.path)), span=span)
