"""Small models for the command line's tests."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np

import basalt


def affine(target: Path) -> None:
    """``y = relu(2 x - 1)`` for x of shape (n, 4): one kernel."""
    b = basalt.MLGraphBuilder(basalt.MLContext())
    x = b.input("x", "float32", ("n", 4))
    scaled = b.mul(x, b.constant(np.full(4, 2, np.float32)), label="scale")
    y = b.relu(b.sub(scaled, b.constant(np.ones(4, np.float32)), label="shift"), label="clip")
    basalt.save(b.build({"y": y}), target)


def pair(target: Path) -> None:
    """Two inputs that share a dimension, and two outputs of different types."""
    b = basalt.MLGraphBuilder(basalt.MLContext())
    a = b.input("a", "float32", ("n", "m"))
    k = b.input("k", "int32", ("n",))
    basalt.save(b.build({"sums": b.reduce_sum(a, axes=[1]), "double": b.add(k, k)}), target)


def many(target: Path) -> None:
    """16 pairs of functions, each of an input of its own, so that none shares a kernel with another."""
    b = basalt.MLGraphBuilder(basalt.MLContext())
    functions = (b.exp, b.sin, b.tanh, b.sqrt)
    outputs = {}
    for index, (first, second) in enumerate(itertools.product(functions, repeat=2)):
        outputs[f"y{index}"] = second(first(b.input(f"x{index}", "float32", (3,))))
    basalt.save(b.build(outputs), target)
