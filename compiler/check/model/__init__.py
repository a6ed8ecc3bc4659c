"""Frozen data and protocols that the steps of a check hand on. Nothing here runs a program or decides anything.

- ``arrays``: types of arrays of numbers.
- ``names``: names that the check gives to kernels and functions it adds.
- ``columns``, ``launch_columns``: inputs and results as columns of numbers, of a thread and of a launch.
- ``integers``: values of integer parameters worth a try.
- ``subject``: one function, kernel or pipeline to check.
- ``plan``: what is asked of one subject.
- ``effort``: how many samples a launch can afford.
- ``samples``: rows of inputs.
- ``functions``: protocols of functions of rows, with and without derivatives.
- ``findings``: the state of every entry, and the outcome of every leg.
"""
