"""Run a description from Python, torch or JAX: ``sa.load`` and the methods of decorated objects."""
