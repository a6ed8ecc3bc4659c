"""The text form of the IR: a printer and a reader; ``parse(show(module)) == module``."""
