"""Training: the optimisation loop, its state, and checkpoint files."""
