"""Replace derivative policies by functions. After this pass every derivative is automatic, or custom in both modes.

    derivative finite_difference(0.001, false)  ->  derivative custom("f:bwd", "f:fwd") and two generated functions

``lower.lower_derivatives`` is the pass. ``finite``, ``clip``, ``simple`` and ``derived`` have the policies.
"""

from __future__ import annotations

from slangad.compiler.passes.derivatives.lower import lower_derivatives

__all__ = ["lower_derivatives"]
