"""Compute the reference: derivatives in float64 by differences, with error bars.

In reading order:

- ``function``: what is examined.
- ``entries``: the Jacobians against the reference, entry by entry; ``deep`` examines those that disagree.
- ``differences``: slopes by windows of several sizes; ``stencil`` has the polynomials.
- ``slack``: how far off entries may be; ``rounding`` what rounding explains; ``overflow`` samples that show nothing.
- ``noise``: rounding of the values. ``median``: the median of known numbers.
"""
