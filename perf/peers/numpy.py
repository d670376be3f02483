"""NumPy, for the kernels that it has as one operation or a few."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from . import CannotRun, Prepared, Task, installed
from .files import feeds_of, kind_of, weights_of

__all__ = ["prepare", "versions"]


def versions() -> dict[str, str]:
    """NumPy."""
    return installed("numpy")


def prepare(task: Task) -> Prepared:
    """A function of the kernel's arrays."""
    if kind_of(task) != "onnx" or task.params.get("op") not in _FUNCTIONS:
        raise CannotRun("NumPy has no such operation")
    arrays = feeds_of(task) | weights_of(task)
    function, params = _FUNCTIONS[task.params["op"]], task.params
    return Prepared(lambda: function(arrays, params), lambda: {"y": function(arrays, params)})


Arrays = Mapping[str, np.ndarray]
Params = Mapping[str, Any]


def _softmax(a: Arrays, p: Params) -> np.ndarray:
    e = np.exp(a["x"] - a["x"].max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def _layernorm(a: Arrays, p: Params) -> np.ndarray:
    centred = a["x"] - a["x"].mean(axis=-1, keepdims=True)
    deviation = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + np.float32(1e-5))
    return centred / deviation * a["s"] + a["b"]


def _attention(a: Arrays, p: Params) -> np.ndarray:
    scores = a["q"] @ a["k"].swapaxes(2, 3) * np.float32(p["width"] ** -0.5)
    return _softmax({"x": scores}, p) @ a["v"]


_FUNCTIONS: dict[str, Callable[[Arrays, Params], np.ndarray]] = {
    "gemm": lambda a, p: a["x"] @ a["w"] + a["b"],
    "softmax": _softmax,
    "layernorm": _layernorm,
    "attention": _attention,
    "sum": lambda a, p: a["x"].sum(axis=-1, keepdims=True),
    "tanh": lambda a, p: np.tanh(a["x"]),
    "add": lambda a, p: a["x"] + a["z"],
    "transpose": lambda a, p: np.ascontiguousarray(a["x"].transpose(p["order"])),
}
