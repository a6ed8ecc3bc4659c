"""Running described functions in Python: a transformed copy of the user's code on slangad's values."""
