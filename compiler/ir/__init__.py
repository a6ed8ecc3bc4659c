"""The intermediate representation: what front ends produce and passes, emitters and reports read.

In reading order: `types`, `expressions`, `distributions`, `nodes`, `kernels`, `pipelines`; `walk` and `calls` (the one
call graph); `build`, `subset`, `gradient_flow`, `assignment`, `default_types`; `verify/` checks a module,
`text_form/` prints it.
"""
