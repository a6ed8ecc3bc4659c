"""Print and read the text form of the IR; ``parse(show(module)) == module``."""
