"""Reading descriptions: decoding, the fence, locations, and collecting diagnostics."""
