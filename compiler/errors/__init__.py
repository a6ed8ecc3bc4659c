"""Diagnostics, the source locations that they point at, and the table of diagnostic codes."""
