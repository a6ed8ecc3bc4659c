"""Load Slang files as descriptions: their differentiable functions become kernels.

`module` is the entry. `reflected` reads what Slang declares, `locations` finds where, `functions` and `layout` convert
functions and types, `ranges` reads comments, `imports` and `generics` find imports to repeat and example arguments.
"""
