"""PyTorch's own kernels, called eagerly under ``inference_mode``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from . import CannotRun, Prepared, Task, installed
from .files import feeds_of, kind_of, weights_of

__all__ = ["prepare", "versions"]


def versions() -> dict[str, str]:
    """PyTorch."""
    return installed("torch")


def prepare(task: Task) -> Prepared:
    """A function of the kernel's tensors; weights as PyTorch keeps them."""
    import torch

    if kind_of(task) != "onnx" or task.params.get("op") not in _MAKERS:
        raise CannotRun("PyTorch is measured on single kernels in float32 only")
    torch.set_num_threads(task.threads)
    tensors = {name: torch.from_numpy(array) for name, array in (feeds_of(task) | weights_of(task)).items()}
    function = _MAKERS[task.params["op"]](torch, tensors, task.params)
    _enter_inference()
    return Prepared(function, lambda: {"y": np.asarray(function())}, "eager")


@functools.cache
def _enter_inference() -> Any:
    """The mode of the process from now on; it would end with the object, which the cache keeps."""
    import torch

    mode = torch.inference_mode()
    mode.__enter__()
    return mode


Maker = Callable[[Any, dict[str, Any], dict[str, Any]], Callable[[], Any]]


def _gemm(torch: Any, t: dict[str, Any], p: dict[str, Any]) -> Callable[[], Any]:
    weight = t["w"].t().contiguous()
    return lambda: torch.nn.functional.linear(t["x"], weight, t["b"])


def _conv(torch: Any, t: dict[str, Any], p: dict[str, Any]) -> Callable[[], Any]:
    conv, relu = torch.nn.functional.conv2d, torch.relu

    def run() -> Any:
        value = t["x"]
        for i in range(p["layers"]):
            value = relu(conv(value, t[f"w{i}"], t[f"b{i}"], p["stride"], p["kernel"] // 2, 1, p["groups"]))
        return value

    return run


def _layernorm(torch: Any, t: dict[str, Any], p: dict[str, Any]) -> Callable[[], Any]:
    return lambda: torch.nn.functional.layer_norm(t["x"], (p["width"],), t["s"], t["b"], 1e-5)


def _attention(torch: Any, t: dict[str, Any], p: dict[str, Any]) -> Callable[[], Any]:
    return lambda: torch.nn.functional.scaled_dot_product_attention(t["q"], t["k"], t["v"])


def _lstm(torch: Any, t: dict[str, Any], p: dict[str, Any]) -> Callable[[], Any]:
    hidden = p["hidden"]
    layer = torch.nn.LSTM(hidden, hidden)

    def ordered(gates: Any) -> Any:
        # ONNX orders gates input, output, forget, cell; PyTorch input, forget, cell, output.
        i, o, f, c = gates.split(hidden)
        return torch.cat([i, f, c, o])

    state = {
        "weight_ih_l0": ordered(t["w"][0]),
        "weight_hh_l0": ordered(t["r"][0]),
        "bias_ih_l0": ordered(t["b"][0][: 4 * hidden]),
        "bias_hh_l0": ordered(t["b"][0][4 * hidden :]),
    }
    layer.load_state_dict(state)
    return lambda: layer(t["x"])[0].unsqueeze(1)


def _resize(torch: Any, t: dict[str, Any], p: dict[str, Any]) -> Callable[[], Any]:
    mode = {"linear": "bilinear", "nearest": "nearest", "cubic": "bicubic"}[p["mode"]]
    return lambda: torch.nn.functional.interpolate(t["x"], scale_factor=2.0, mode=mode)


_MAKERS: dict[str, Maker] = {
    "gemm": _gemm,
    "conv": _conv,
    "softmax": lambda torch, t, p: lambda: torch.softmax(t["x"], -1),
    "layernorm": _layernorm,
    "attention": _attention,
    "attention_op": _attention,
    "lstm": _lstm,
    "resize": _resize,
    "sum": lambda torch, t, p: lambda: torch.sum(t["x"], -1, keepdim=True),
    "gelu": lambda torch, t, p: lambda: torch.nn.functional.gelu(t["x"]),
    "tanh": lambda torch, t, p: lambda: torch.tanh(t["x"]),
    "add": lambda torch, t, p: lambda: torch.add(t["x"], t["z"]),
    "transpose": lambda torch, t, p: lambda: t["x"].permute(p["order"]).contiguous(),
}
