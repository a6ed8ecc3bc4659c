"""The reference: float64 derivatives by extrapolated differences, with error bars."""
