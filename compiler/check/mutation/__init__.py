"""``slangad check --mutate``: break custom derivatives and count how many the check catches.

`mutate` breaks those of descriptions, `mutate_slang` those of Slang files. `surviving` explains uncaught mutants.
"""
