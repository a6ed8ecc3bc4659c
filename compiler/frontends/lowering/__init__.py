"""Lower bodies of functions from Python syntax to typed IR, for the Python and YAML front ends."""
