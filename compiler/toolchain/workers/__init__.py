"""Processes that run the Slang compiler: start, time limits, and the pipe protocol."""
