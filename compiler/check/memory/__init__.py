"""Make memory and global parameters inputs of a Slang function, so that it can be checked like any other.

`apply` is the entry: it puts wrappers in place of the functions of a module. `plan` decides which functions get one,
and with what memory. `wrappers` writes functions that take memory as arrays. `copy` makes the text with these
functions, in which buffers are arrays. `gradients` finds the memory in which the gradient of other memory accumulates.
"""
