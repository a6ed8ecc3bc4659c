"""Open devices, keep buffers on them, and launch kernels.

1. ``table``: the one table of devices; ``model``: the interface of all devices; ``open``, ``choice``: open one.
2. ``cpu_device``: the C++ target in a worker process (``cpu_worker``, ``cpu_kernels``, ``cxx``, ``segments``).
3. ``slangpy_device``: Vulkan, CUDA, Direct3D 12 and Metal. ``webgpu_device``: WGSL (``wgsl``, ``std140``,
   ``webgpu_limits``). Both use ``gpu_launches``.
4. ``cpu_rows``, ``cpu_bounds``: many small launches on the CPU, for the check. ``layout``: argument blocks of C++.
5. ``tensors``: torch tensors as buffers. ``memory``: refuse what does not fit.
6. ``inventory``, ``probe``: ``slangad doctor``.
"""
