"""The compiler: descriptions in, Slang and artefacts out. ``pipeline`` is the whole way; docs/decisions/layers.md the order."""
