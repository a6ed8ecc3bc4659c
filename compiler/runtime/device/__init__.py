"""Devices: the CPU, GPUs through slangpy, and WebGPU. ``devices`` holds the table."""
