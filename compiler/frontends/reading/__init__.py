"""Parts of front ends below lowering.

``encoding`` decodes files, ``locations`` finds spans, ``problems`` collects errors in the ``wording`` of a language,
``fence`` and ``depth`` reject syntax. ``signatures``, ``parameter_paths`` and ``paths`` are shared by all front ends.
"""
