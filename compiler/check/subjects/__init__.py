"""Subjects: the functions, kernels and pipelines of a file that can be checked."""
