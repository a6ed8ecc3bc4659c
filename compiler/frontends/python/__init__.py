"""Load descriptions written in Python.

``module`` is the entry. ``load`` executes the file, ``world`` collects the objects that it reaches, ``signatures``,
``kernels``, ``derivatives``, ``pipelines`` and ``externals`` read them.
"""
