"""Explanations of failures: causes, callers, stages, races and the traps of Slang."""
