"""Compile Slang text to artefacts: targets, cache, worker processes, and messages. ``session`` is the entry."""
