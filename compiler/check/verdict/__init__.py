"""From findings to a verdict and its explanation."""
