"""Runs programs whose inputs, outputs and arena lie against pages without access (see test_memory_bounds)."""

from __future__ import annotations

import ctypes
import mmap
import sys
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from basalt.compiler.codegen.compile import load_kernels
from basalt.compiler.ir import Constants, Graph
from basalt.compiler.lower import compile_spec
from basalt.ops import numpy_dtype
from basalt.runtime import frame
from basalt.runtime.program import Program
from tests.compiler.graphs import random_graph
from tests.compiler.making import Maker

PAGE = mmap.PAGESIZE
WILD = {
    "int32": (-(2**31), 2**31 - 1, -1, 0, 7, 1000),
    "uint32": (2**32 - 1, 2**31, 0, 7, 1000),
    "int64": (-(2**63), 2**63 - 1, -1, 0, 7, 2**40),
}
_KEPT: list[Any] = []


def guarded(nbytes: int, at_end: bool) -> np.ndarray:
    """Bytes right before a page without access, or right after one."""
    pages = -(-max(nbytes, 1) // PAGE)
    block = mmap.mmap(-1, (pages + 2) * PAGE)
    _KEPT.append(block)
    address = ctypes.addressof(ctypes.c_char.from_buffer(block))
    for page in (0, pages + 1):
        if ctypes.CDLL(None).mprotect(ctypes.c_void_p(address + page * PAGE), ctypes.c_size_t(PAGE), 0):
            raise OSError("mprotect failed")
    return np.frombuffer(block, np.uint8, nbytes, PAGE + (pages * PAGE - nbytes if at_end else 0))


def blank(dtype: str, shape: tuple[int, ...], at_end: bool) -> np.ndarray:
    kind = numpy_dtype(dtype)
    return guarded(int(np.prod(shape, dtype=np.int64)) * kind.itemsize, at_end).view(kind).reshape(shape)


def run(graph: Graph, constants: Constants, feeds: dict[str, np.ndarray], at_end: bool) -> None:
    spec = compile_spec(graph, constants)
    given = {}
    for tensor in spec.inputs:
        given[tensor.name] = blank(tensor.dtype, tensor.shape, at_end)
        given[tensor.name][...] = feeds[tensor.name]
    out = {tensor.name: blank(tensor.dtype, tensor.shape, at_end) for tensor in spec.outputs}
    Program(spec, load_kernels(spec.kernels), threads=1).run(given, out)


def indices(at_end: bool) -> None:
    """Every index operator with the wildest indices of every data type."""
    for dtype, values in WILD.items():
        where = np.array(values, dtype)
        x = np.arange(40, dtype=np.float32).reshape(8, 5)
        for op in ("gather", "gather_elements", "gather_nd", "scatter_elements", "scatter_nd"):
            m = Maker()
            shape = {"gather": (-1,), "gather_nd": (-1, 1), "scatter_nd": (-1, 1)}.get(op)
            picked = where.reshape(shape) if shape else np.repeat(where[:, None], 5, 1)
            feeds = {"x": x, "at": picked}
            operands = [m.input("x", "float32", x.shape), m.input("at", dtype, picked.shape)]
            if op.startswith("scatter"):
                feeds["updates"] = np.ones((len(where), 5), np.float32)
                operands.append(m.input("updates", "float32", (len(where), 5)))
            run(m.graph(y=m.call(op, *operands)), m.constants, feeds, at_end)


def graphs(at_end: bool) -> None:
    """Random graphs of every operator."""
    for seed in range(12):
        sample = random_graph(seed, nodes=(5, 25))
        run(sample.graph, sample.constants.copy(), dict(sample.feeds), at_end)


def touch(at_end: bool) -> None:
    place = guarded(64, at_end)
    ctypes.memset(place.ctypes.data + (64 if at_end else -1), Random(0).randrange(256), 1)


if __name__ == "__main__":
    at_end = sys.argv[2] == "end"
    frame.aligned_empty = lambda nbytes: guarded(-(-nbytes // 64) * 64, at_end)[:nbytes]
    {"indices": indices, "graphs": graphs, "touch": touch}[sys.argv[1]](at_end)
