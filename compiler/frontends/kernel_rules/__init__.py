"""Rules for kernels and derivatives, the same for every front end.

``memories`` and ``policies`` check declarations. ``derivative_orders`` and ``probes`` check modules; the latter
calls ``in_place`` and ``shared_stores``.
"""
