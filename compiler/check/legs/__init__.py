"""Legs: comparisons of derivatives that need no reference."""
