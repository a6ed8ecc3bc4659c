"""Python execution of described functions: a transformed copy of the user's code runs on slangad's values."""
