"""Kernels of one loop around one expression, compiled from primitives as generated kernels are."""

from __future__ import annotations

import ctypes
import functools
import re
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
from numba import njit, types

from basalt.compiler.kernels.intrinsics import resolve
from basalt.compiler.kernels.namespace import SUFFIXES

KERNEL = types.void(types.voidptr, types.intp, types.intp)
OPTIONS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "error_model": "numpy"}
# Numba's native convention: status f(return slot, exception slot, arguments...).
NATIVE = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_ssize_t
)
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
NAME = re.compile(r"\b(?:ptr|offset|[a-z][a-z0-9]*(?:_[a-z0-9]+)+)\b")
KEYWORDS = {"table", "start", "stop"}


def dtype_of(name: str) -> np.dtype[Any]:
    return BFLOAT16 if name == "bfloat16" else np.dtype(name)


class Kernel:
    """The compiled function ``k(table, start, stop)`` of `source`, whose primitives are found by name."""

    def __init__(self, source: str) -> None:
        scope: dict[str, Any] = dict(resolve(set(NAME.findall(source)) - KEYWORDS))
        exec(source, scope)
        self.dispatcher = njit([KERNEL], **OPTIONS)(scope["k"])
        (result,) = self.dispatcher.overloads.values()
        self._library = result.library
        self._native = NATIVE(result.library.get_pointer_to_function(result.fndesc.llvm_func_name))

    @property
    def assembly(self) -> str:
        return str(self._library.get_asm_str())

    def __call__(self, table: list[npt.NDArray[Any] | int | float], start: int, stop: int) -> None:
        slots = np.empty(len(table), np.uint64)
        for index, entry in enumerate(table):
            if isinstance(entry, np.ndarray):
                slots[index] = entry.ctypes.data
            else:
                slots[index : index + 1].view(np.float64 if isinstance(entry, float) else np.int64)[0] = entry
        written = np.empty(2, np.uint64)  # the return and exception slots
        first, second = written.ctypes.data, written[1:].ctypes.data
        assert self._native(first, second, slots.ctypes.data, start, stop) == 0


def kernel_of_call(name: str, operands: str, pointers: str, integers: str) -> Kernel:
    """The kernel that calls a primitive once; its table has the ``pointers``, then the ``integers``, named in order."""
    lines = [f"    {p} = ptr(table, {i})" for i, p in enumerate(pointers.split())]
    lines += [f"    {n} = par_i64(table, {i})" for i, n in enumerate(integers.split(), len(lines))]
    return Kernel("\n".join(["def k(table, start, stop):", *lines, f"    {name}({operands})", ""]))


class Loop:
    """``out[i] = expression`` of ``x0, x1, ...``, elements of arrays with the data types `inputs`."""

    def __init__(self, expression: str, inputs: tuple[str, ...], output: str, form: str = "") -> None:
        lines = [f"    p{i} = ptr(table, {i})" for i in range(len(inputs))]
        lines += [f"    o = ptr(table, {len(inputs)})", "    for i in range(start, stop):"]
        lines += [f"        x{i} = load{form}_{SUFFIXES[dtype]}(p{i}, i)" for i, dtype in enumerate(inputs)]
        lines += [f"        store{form}_{SUFFIXES[output]}(o, i, {expression})"]
        self.inputs, self.output = inputs, output
        self.kernel = Kernel("\n".join(["def k(table, start, stop):", *lines, ""]))

    def __call__(self, *arrays: npt.ArrayLike) -> npt.NDArray[Any]:
        """Flat arrays of one length in, one array out."""
        given = [np.ascontiguousarray(array, dtype_of(name)) for array, name in zip(arrays, self.inputs, strict=True)]
        out = np.empty(given[0].shape, dtype_of(self.output))
        self.kernel([*given, out], 0, given[0].size)
        return out


@functools.cache
def unary(name: str, dtype: str, output: str | None = None) -> Loop:
    """The loop ``out[i] = name(x[i])``."""
    return Loop(f"{name}(x0)", (dtype,), output or dtype)


@functools.cache
def binary(name: str, dtype: str, output: str | None = None) -> Loop:
    """The loop ``out[i] = name(x[i], y[i])``."""
    wrapped = f"bool_u8({name}(x0, x1))" if output == "bool" else f"{name}(x0, x1)"
    return Loop(wrapped, (dtype, dtype), output or dtype)
