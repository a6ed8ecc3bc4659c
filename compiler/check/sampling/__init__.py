"""Samples: random points, corner cases, and points that look for trouble."""
