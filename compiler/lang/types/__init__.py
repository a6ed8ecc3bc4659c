"""Annotations, and the values of the language with their operators.

In reading order: ``annotations``, ``records`` (structs), ``pairs``; the classes ``scalars``, ``vectors``, ``matrices``,
``arrays`` on ``arithmetic``; ``tracing`` (derivatives); ``values`` (types and conversions), ``construct``, ``parts``,
``operators``, ``copies``; ``constants`` and ``intrinsic_functions``. Values and their operators refer to each other.
"""
