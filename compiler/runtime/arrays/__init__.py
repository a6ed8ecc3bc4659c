"""Map arrays to names: the parameters and results of kernels, conversions, and ``.npz`` files."""
