"""Python execution of described functions: a transformed copy of the user's code runs on slangad's values.

In reading order: ``run`` (calls), ``names``, ``locals``, ``transform``, ``runtime``; ``elements``, ``memories``,
``launch`` (kernels); ``differentiate``, ``rules``, ``gradients`` (derivatives). Functions call functions and take their
derivatives, so ``run``, ``runtime``, ``differentiate`` and ``rules`` refer to each other.
"""
