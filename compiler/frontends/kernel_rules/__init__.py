"""Rules that kernels must keep, the same for every front end."""
