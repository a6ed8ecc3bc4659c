"""Functions and kernels of the IR, made from signatures and lowered bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slangad.compiler.frontends.kernel_rules.memories import is_active
from slangad.compiler.ir import nodes as ir

if TYPE_CHECKING:
    from slangad.compiler.errors.spans import Span
    from slangad.compiler.frontends.reading.signatures import CallSignature, Parameter

Body = tuple[ir.Stmt, ...] | ir.SlangBody
Doc = tuple[str, ...]
"""The lines of a comment."""


def _params(params: tuple[Parameter, ...]) -> tuple[ir.Param, ...]:
    return tuple(ir.Param(p.name, p.type, p.no_diff, p.span) for p in params)


def plain_function(
    signature: CallSignature,
    body: Body,
    derivative: ir.Derivative,
    prefer: str,
    precision: str,
    *,
    doc: Doc,
    ranges: tuple[ir.Range, ...],
    span: Span,
) -> ir.Function:
    """Return a described function or method."""
    return ir.Function(
        signature.key,
        signature.name,
        _params(signature.all_params),
        signature.result,
        body,
        signature.differentiable and signature.has_gradient,
        derivative,
        prefer,
        precision,
        owner=signature.owner.key if signature.owner is not None else "",
        static=signature.static,
        doc=doc,
        ranges=ranges,
        span=span,
    )


def custom_derivative(
    of: CallSignature, signature: CallSignature, role: ir.Role, body: Body, *, doc: Doc, span: Span
) -> ir.Function:
    """Return the custom derivative of a function."""
    passive = {p.name for p in of.all_params if p.no_diff}
    return ir.Function(
        signature.key,
        signature.name,
        tuple(ir.Param(p.name, p.type, p.name in passive, p.span) for p in signature.params),
        signature.result,
        body,
        differentiable=False,
        role=role,
        of=of.key,
        owner=of.owner.key if of.owner is not None else "",
        static=of.owner is not None,
        doc=doc,
        span=span,
    )


def external_function(
    signature: CallSignature, external: ir.External, *, span: Span, ranges: tuple[ir.Range, ...] = ()
) -> ir.Function:
    """Return the function for one in a Slang file."""
    return ir.Function(
        signature.key,
        signature.name,
        _params(signature.params),
        signature.result,
        external,
        signature.differentiable,
        ranges=ranges,
        span=span,
    )


def kernel_function(
    signature: CallSignature,
    params: tuple[ir.KernelParam, ...],
    body: Body,
    *,
    doc: Doc,
    ranges: tuple[ir.Range, ...],
    span: Span,
) -> ir.Function:
    """Return the function that one thread of a kernel runs."""
    return ir.Function(
        signature.key,
        signature.name,
        _params(signature.params),
        signature.result,
        body,
        is_active(params, signature.result),
        doc=doc,
        ranges=ranges,
        span=span,
    )
