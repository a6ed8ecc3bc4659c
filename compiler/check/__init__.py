"""Check gradients: input files become a ``report.model.Report``. ``session.check`` is the entry.

The method, step by step; each step is a room, and imports only rooms above it::

    model      frozen data that the steps hand on
    subjects   functions, kernels and pipelines of a file, with one harness kernel for each
    twins      copies that freeze declared parts, watch loops or record indices
    build      CPU libraries of all of them, in float32 and in float64
    run        libraries as functions of rows of numbers: threads, launches, pipelines
    reference  the expected derivative: differences in float64 with error bars, entry by entry
    sampling   rows: random ones, and ones that look for trouble
    kinks      entries at kinks and ties: one-sided slopes
    legs       comparisons that need no reference: modes, cotangents, sums, float32
    verdict    from findings to a verdict, and its explanation (``verdict.explain``)

``method`` runs these steps for one subject. ``repair`` and ``mutation`` change what is checked. The reference never
differentiates: it evaluates the function in float64 at many points and fits a polynomial.
"""
