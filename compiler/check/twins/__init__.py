"""Twins: copies of functions that freeze declared parts, watch loops, or record indices."""
