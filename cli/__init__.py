"""The command line: one file per command; parses, calls the compiler, shows."""
