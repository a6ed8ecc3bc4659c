"""Device code: expressions, statements, functions and their derivatives."""
