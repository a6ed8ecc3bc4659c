"""What there is to check, and what a worker is sent for each subject.

- ``description``: the subjects of a file, with the module that holds their harness kernels and twins.
- ``selection``: names on the command line.
- ``plans``: what is asked of a subject.
- ``tasks``: a plan with the kernels that it takes.
"""
