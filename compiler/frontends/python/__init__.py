"""Descriptions written in Python: a file in, an ``ir`` module out."""
