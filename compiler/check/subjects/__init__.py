"""Find the functions, kernels and pipelines of a file that can be checked.

`find` is the entry, with `pipelines` for stages. `source_facts` reads what reflection of Slang files omits. `integers`
and `slang_integers` find integers worth a try. `overloads` makes labels unique. `requested_shapes`, `refusals` and
`undeclared` explain what cannot be checked. `plans` collects the settings of one check.
"""
