"""Find the subjects to check, and make a task for each.

- ``description``: the subjects of a file, with the module that holds their harness kernels and twins.
- ``selection``: names on the command line.
- ``plans``: what is asked of a subject.
- ``tasks``: a plan with the kernels that it takes.
"""
