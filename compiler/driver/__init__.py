"""One compile from input files to output files. ``compile`` holds the whole way."""
