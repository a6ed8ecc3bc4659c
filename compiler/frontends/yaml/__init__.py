"""Load descriptions written in YAML, without executing anything of them.

``module`` is the entry. In order: ``compose`` reads nodes, ``validate`` compares them with ``sections``,
``definitions`` reads all parts except bodies into ``world``, ``functions`` lowers bodies in a ``scope``.
"""
