"""Load Slang files as descriptions: their differentiable functions become kernels.

`module` is the entry. `reflected` reads what Slang declares, `locations` finds where, `functions` and `layout` convert
functions and types, `ranges` reads comments, `imports` finds imports to repeat. `generics` reads generic parameters,
`arguments` finds arguments that suit them, and `instances` those that Slang accepts.
"""
