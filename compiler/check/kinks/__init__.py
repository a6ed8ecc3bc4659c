"""Kinks: one-sided derivatives, ties and corners."""
