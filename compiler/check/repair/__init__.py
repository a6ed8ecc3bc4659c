"""Slang files that do not compile: find the parts that can be checked."""
