"""Lower bodies of functions from Python syntax to typed IR, for the Python and YAML front ends.

Start with ``body``, then ``statements`` and ``expressions``; they call one file per kind of syntax. ``entities`` are
the meanings of names, ``vocabulary`` those of the language's words. ``context`` is the state of one body. ``aliases``
refuses shared writes. ``pipelines``, ``values`` and ``sizes`` lower pipelines. ``functions`` and ``assembly`` make the
module.
"""
