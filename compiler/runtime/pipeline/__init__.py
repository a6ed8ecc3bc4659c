"""Pipelines on a device: shapes, buffers, gradient flow, and launches. A kernel is a pipeline of one stage."""
