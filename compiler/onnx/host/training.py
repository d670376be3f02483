"""The optimisers of ai.onnx.preview.training: Adagrad, Adam and Momentum, one step each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from basalt.compiler.onnx.host.checks import integer, number, tensor
from basalt.compiler.onnx.host.element_types import type_name
from basalt.compiler.onnx.host.registry import PREVIEW_TRAINING, HostNode, host_op

Step = Callable[..., tuple[np.ndarray, ...]]


def _step_each(
    n: HostNode, inputs: Sequence[np.ndarray], groups: tuple[str, ...], step: Step
) -> tuple[np.ndarray, ...]:
    """``step`` for each optimised tensor: inputs and outputs come as all tensors of one group, then of the next."""
    count, rest = divmod(len(inputs), len(groups))
    if rest or not count:
        raise n.error(f"{len(inputs)} tensors are given, expected as many each of {', '.join(groups)}")
    results = []
    for i in range(count):
        taken = [tensor(n, f"{name} {i}", inputs[g * count + i]) for g, name in enumerate(groups)]
        for name, value in zip(groups, taken, strict=True):
            if value.shape != taken[0].shape or value.dtype != taken[0].dtype or value.dtype.kind != "f":
                raise n.error(
                    f"{name} {i} is {type_name(value.dtype)}{value.shape}, expected float32 or float64 tensors alike"
                )
        with np.errstate(all="ignore"):
            results.append([np.asarray(y, dtype=taken[0].dtype) for y in step(*taken)])
    return tuple(y for outputs in zip(*results, strict=True) for y in outputs)


def _rate_and_count(n: HostNode, rate: np.ndarray, count: np.ndarray) -> tuple[float, int]:
    return number(n, "R", rate), integer(n, "T", count)


@host_op("Adagrad", 1, domain=PREVIEW_TRAINING)
def adagrad(n: HostNode, rate: np.ndarray, count: np.ndarray, *inputs: np.ndarray) -> tuple[np.ndarray, ...]:
    """New tensors, then their accumulated squared gradients, from tensors, gradients and accumulated squares.

    Duchi, Hazan and Singer, "Adaptive Subgradient Methods for Online Learning and Stochastic Optimization", 2011.
    """
    r, t = _rate_and_count(n, rate, count)
    decay, epsilon = float(n.attr("decay_factor", 0.0)), float(n.attr("epsilon", 1e-6))
    norm = float(n.attr("norm_coefficient", 0.0))

    def step(x: np.ndarray, g: np.ndarray, h: np.ndarray) -> tuple[np.ndarray, ...]:
        regularized = norm * x + g
        squared = h + regularized * regularized
        return x - r / (1 + t * decay) * regularized / (np.sqrt(squared) + epsilon), squared

    return _step_each(n, inputs, ("tensor", "gradient", "accumulated squared gradient"), step)


@host_op("Adam", 1, domain=PREVIEW_TRAINING)
def adam(n: HostNode, rate: np.ndarray, count: np.ndarray, *inputs: np.ndarray) -> tuple[np.ndarray, ...]:
    """New tensors, momenta and averaged squared gradients, from tensors, gradients, momenta and averaged squares.

    Kingma and Ba, "Adam: A Method for Stochastic Optimization", 2014, with the regularisation that ONNX adds.
    """
    r, t = _rate_and_count(n, rate, count)
    alpha, beta, epsilon = float(n.attr("alpha", 0.9)), float(n.attr("beta", 0.999)), float(n.attr("epsilon", 1e-6))
    norm, norm_post = float(n.attr("norm_coefficient", 0.0)), float(n.attr("norm_coefficient_post", 0.0))
    if t > 0:
        r = float(np.float64(r) * np.sqrt(1 - beta**t) / (1 - alpha**t)) if alpha**t != 1 else np.inf

    def step(x: np.ndarray, g: np.ndarray, v: np.ndarray, h: np.ndarray) -> tuple[np.ndarray, ...]:
        regularized = norm * x + g
        momentum = alpha * v + (1 - alpha) * regularized
        squared = beta * h + (1 - beta) * regularized * regularized
        moved = x - r * momentum / (np.sqrt(squared) + epsilon)
        return (1 - norm_post) * moved, momentum, squared

    return _step_each(n, inputs, ("tensor", "gradient", "momentum", "averaged squared gradient"), step)


@host_op("Momentum", 1, domain=PREVIEW_TRAINING)
def momentum(n: HostNode, rate: np.ndarray, count: np.ndarray, *inputs: np.ndarray) -> tuple[np.ndarray, ...]:
    """New tensors, then their momenta, from tensors, gradients and momenta; ``mode`` is standard or nesterov."""
    r, t = _rate_and_count(n, rate, count)
    mode = n.required("mode")
    if mode not in ("standard", "nesterov"):
        raise n.error(f"attribute 'mode' is {mode!r}, expected 'standard' or 'nesterov'")
    alpha, norm = float(n.required("alpha")), float(n.required("norm_coefficient"))
    beta = float(n.required("beta")) if t > 0 else 1.0

    def step(x: np.ndarray, g: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, ...]:
        regularized = norm * x + g
        moved = alpha * v + beta * regularized
        direction = moved if mode == "standard" else regularized + alpha * moved
        return x - r * direction, moved

    return _step_each(n, inputs, ("tensor", "gradient", "momentum"), step)
