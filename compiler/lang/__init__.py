"""What users import as ``sa``: types, the intrinsics table, decorators, and running described functions in Python."""
