"""What ``sa.load`` and decorated objects do: run a description from Python, torch or JAX."""
