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

Around the method, in the order in which a session uses them: ``options``; ``description`` (with ``repair`` and
``mutation``): the subjects of a file; ``selection``: names on the command line; ``plans`` and ``tasks``: what a worker
is sent for a subject; ``worker``: the process that checks it, with its functions from ``subject_functions`` and
``pipeline_functions``; ``check_mutants``: ``--mutate``. ``tolerances`` has every number that can change a verdict.
"""
