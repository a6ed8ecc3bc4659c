"""Load descriptions written in Python."""
