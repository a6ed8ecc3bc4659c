"""Parts of ``compare_commits.py``: write the programs, run the jobs, record what they print and write, compare."""
