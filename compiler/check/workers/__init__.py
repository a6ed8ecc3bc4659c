"""Processes that check subjects, so that a crash costs one subject.

- ``pool``: the workers of a session.
- ``worker``: one worker, both sides of it.
- ``subject_functions``, ``pipeline_functions``: the functions of a subject, from libraries that a worker has loaded.
"""
