"""Build a program for the check: float32 and float64 libraries for the CPU.

`libraries` is the entry. `double` makes the float64 twin of a program. `separately` finds kernels that must be built
one by one. `cpp_faults` removes functions that a C++ compiler rejects.
"""
