"""Arrays by name: what a kernel takes and returns, conversions, and ``.npz`` files."""
