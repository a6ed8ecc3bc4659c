"""Bodies of functions: Python syntax in, typed IR out. Shared by the Python and YAML front ends."""
