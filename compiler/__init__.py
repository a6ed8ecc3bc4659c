"""The compiler: descriptions in, Slang and artefacts out; ``pipeline`` is the whole way.

docs/decisions/layers.md has the order of imports.
"""
