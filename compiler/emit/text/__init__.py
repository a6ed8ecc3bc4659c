"""Slang text: the writer, names, keywords, literals, and the spelling of types."""
