"""Verify the rules that every module of the IR keeps."""
