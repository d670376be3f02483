"""What runs compiled programs: contexts and tensors, the executor and its threads, the cache and loader of kernels.

Nothing here imports a compiler: a program whose kernels are in the cache runs without Numba.
"""
