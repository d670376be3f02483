"""Choices between kernels by measurement: what is faster on this machine is tried, and remembered in the cache."""
