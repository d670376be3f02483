"""Compiling ahead of time: a model's programs for some shapes and CPUs, in a file that starts without a compiler."""
