"""ONNX operators that run as NumPy functions between compiled regions, each under its name and since-version.

Strings, sequences, optionals, maps, random numbers, images, results whose shape depends on data, and number formats
that the code generator has no arithmetic for. :func:`.registry.find` gives an operator's function.
"""

from __future__ import annotations
