"""Slang files as descriptions: their differentiable functions become kernels."""
