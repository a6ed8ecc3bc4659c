"""Frozen data that the steps of a check hand on."""
