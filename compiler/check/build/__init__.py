"""Build a program for the check: float32 and float64 libraries for the CPU."""
