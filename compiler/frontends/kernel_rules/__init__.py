"""Rules for kernels and derivatives, the same for every front end."""
