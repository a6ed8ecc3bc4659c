"""Turn findings into a verdict.

- ``decide``: the table of outcomes and their verdicts; nothing else sets a verdict.
- ``describe``: findings in the words of the report.
- ``conclude``: the result of a subject that was run.
- ``final_results``: when the row of a subject can be shown.
- ``refusals``: results of subjects that did not build.
- ``not_run``: results of subjects that crash or do not end, and of files that can't be read.
- ``explain``: causes, callers, stages, races, and the traps of Slang.
"""
