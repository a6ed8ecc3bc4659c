"""Gradient checks: descriptions go in, a ``report.model.Report`` comes out. ``session.check`` is the way in.

The oracle never differentiates: it runs the function alone, in float64, at many points and fits.
"""
