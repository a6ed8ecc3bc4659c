"""Choose the inputs at which a subject is examined, and the sizes of its launches.

- ``in_range``, ``out_of_range``: the samples of a subject, within its ranges and outside.
- ``samples``: random samples, and samples where mistakes are likely.
- ``scouts``: cheap comparisons at many locations, whose worst become samples.
- ``blocks``: subjects of many inputs: which of them to examine.
- ``shapes``, ``pipeline_shapes``: domains and shapes of tensors.
"""
