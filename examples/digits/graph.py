"""The digits network as a Basalt graph; run as a script, it writes digits.bsl anew from weights.npz."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import basalt

FOLDER = Path(__file__).resolve().parent


def build(weights: Mapping[str, NDArray[np.float32]]) -> basalt.MLGraph:
    """The graph of trained weights, named as train.py names them.

    Its input is ``image``, float32 (batch, 1, 8, 8) with values 0..1 and any batch size; its
    output is ``probabilities``, float32 (batch, 10).
    """
    b = basalt.MLGraphBuilder(basalt.MLContext())

    def conv3x3_relu(x: basalt.MLOperand, name: str) -> basalt.MLOperand:
        weight, bias = b.constant(weights[f"{name}.weight"]), b.constant(weights[f"{name}.bias"])
        return b.relu(b.conv2d(x, weight, bias=bias, padding=(1, 1, 1, 1), label=name))

    def max_pool2x2(x: basalt.MLOperand, name: str) -> basalt.MLOperand:
        return b.max_pool2d(x, window_dimensions=(2, 2), strides=(2, 2), label=name)

    x = b.input("image", "float32", ("batch", 1, 8, 8))
    x = conv3x3_relu(x, "conv1")
    x = conv3x3_relu(x, "conv2")
    x = max_pool2x2(x, "pool1")
    x = conv3x3_relu(x, "conv3")
    x = max_pool2x2(x, "pool2")
    x = b.reshape(x, (x.shape[0], 256), label="flatten")
    weight, bias = b.constant(weights["dense.weight"]), b.constant(weights["dense.bias"])
    x = b.gemm(x, weight, c=bias, label="dense")
    return b.build({"probabilities": b.softmax(x, 1, label="probabilities")})


def export(weights_file: Path, target: Path) -> None:
    """Write the model of a .npz file of weights to ``target``."""
    with np.load(weights_file) as weights:
        basalt.save(build(dict(weights)), target)
    print(f"{target.name}: {target.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    export(FOLDER / "weights.npz", FOLDER / "digits.bsl")
