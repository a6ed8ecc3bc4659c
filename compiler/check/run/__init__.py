"""Run built programs as functions of rows of numbers, on the CPU and on devices.

- ``thread``: one thread a row. ``thread_sums`` adds up threads of a launch.
- ``launch``: one launch of a kernel a row.
- ``pipeline``, ``row_device``: one run of a pipeline a row, by the runtime's plan. ``pipeline_stages`` runs stages.
- ``device``, ``on_device``: the same in float32 on a device. ``filtering`` allows for its texture filters.
- ``companions``, ``derivative``: the functions of one subject, and their derivatives.
"""
