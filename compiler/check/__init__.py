"""Check gradients: input files become a ``report.model.Report``. ``session.check`` is the entry.

The method, in ten steps. Each step is a room that imports only rooms above it; ``model`` has the data that they share::

    subjects   functions, kernels and pipelines of a file, with one harness kernel for each
    twins      copies that freeze declared parts, watch loops or record indices
    build      CPU libraries of all of them, in float32 and in float64
    run        libraries as functions of rows of numbers: threads, launches, pipelines
    reference  the expected derivative: differences in float64 with error bars, entry by entry
    sampling   samples: random ones, corner cases, and those that look for trouble
    kinks      entries at kinks and ties: one-sided slopes
    legs       comparisons that need no reference: modes, cotangents, sums, float32
    verdict    from findings to a verdict, and its explanation (``verdict.explain``)
    method     all of this for one subject, one call a step

The reference never differentiates. It evaluates the function in float64 at many points and fits a polynomial.

Around the method: ``planning`` (with ``repair`` and ``mutation``) finds the subjects of a file and what to ask of each.
``workers`` are the processes that check them. ``session`` joins all of it; ``check_mutants`` does so for ``--mutate``.
``tolerances`` has every number that can change a verdict.
"""
