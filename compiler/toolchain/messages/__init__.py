"""Slang's messages as diagnostics at the user's locations."""
