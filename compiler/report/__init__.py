"""Report formats: what was found goes in as data, text for people or documents for tools come out."""
