"""Slang text to artefacts: the Slang compiler as a library or a program, its targets, cache and messages."""
