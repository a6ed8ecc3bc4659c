"""Types and values that users write: scalars, vectors, matrices, arrays and structs."""
