"""Decorators, policies, and the words for derivatives and loops.

In reading order: ``frames``, ``source``, ``resolve`` (the user's source), ``factories``, ``check_settings``,
``policies``; ``functions``, ``struct``, ``kernels``, ``external``; ``signature``; ``derivatives``, ``loops``.
``python_execution`` holds the functions of the higher room ``execution`` that decorated objects call.
"""
