"""Examine kinks: entries that are right or wrong only together with entries of other inputs.

- ``corners``: kinks of several inputs at once, by slopes along them (``group_slopes``).
- ``ties``: rows that are derivatives at locations nearby.
"""
