"""Memory: buffers, tensors, textures and probes, with the functions that access them."""
