"""One compile from input files to output files. ``compile`` has the steps."""
