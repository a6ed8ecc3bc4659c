"""Compare derivatives with each other, without the reference. Each comparison is a leg.

In reading order:

- ``table``: all legs in running order, with the condition under which each applies.
- ``context``: what legs compare.
- ``comparison``: numbers that are compared, and several comparisons as one.
- ``transpose``, ``proportion``: forward mode against reverse mode, and linearity of both.
- ``repetition``: two runs of one launch.
- ``clipped``: clipped gradients against clipped forward mode.
- ``primal``: values that forward mode computes.
- ``accumulation``: sums over threads.
- ``loop_bounds``: loops against their bounds.
- ``stages``: a pipeline with joined stages against its stages by themselves.
- ``float32``: float32 against float64, with ``float32_steps`` and ``float32_coverage``.
- ``lost_gradients``: parameters of Slang functions without a gradient; it is apart from the table.
"""
