"""The layers of the digits network in plain NumPy, each with its gradient, and the Adam optimiser.

Images are float32 in the order (batch, channel, row, column), convolution filters in the order
(output channel, input channel, row, column).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]


class Layer(Protocol):
    """What the network needs of a layer; ``parameters`` and ``gradients`` have the same keys."""

    parameters: dict[str, Array]
    gradients: dict[str, Array]

    def forward(self, x: Array) -> Array:
        """Return the layer's output and remember what the gradient needs."""

    def backward(self, dy: Array) -> Array:
        """Take the loss's gradient by the output, set ``gradients``, return the gradient by the input."""


def _he_normal(rng: np.random.Generator, shape: tuple[int, ...], fan_in: int) -> Array:
    """Initial weights for layers followed by a ReLU (He et al., 2015)."""
    return (rng.standard_normal(shape) * np.sqrt(2.0 / fan_in)).astype(np.float32)


class Conv3x3:
    """3x3 convolution, stride 1, zero padding 1, as one matrix product over unfolded patches."""

    def __init__(self, rng: np.random.Generator, inputs: int, outputs: int) -> None:
        weight = _he_normal(rng, (outputs, inputs, 3, 3), 9 * inputs)
        self.parameters = {"weight": weight, "bias": np.zeros(outputs, np.float32)}
        self.gradients: dict[str, Array] = {}

    def forward(self, x: Array) -> Array:
        batch, channels, height, width = x.shape
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
        self._patches = windows.transpose(0, 2, 3, 1, 4, 5).reshape(batch * height * width, channels * 9)
        self._shape = x.shape
        weight = self.parameters["weight"]
        y = self._patches @ weight.reshape(len(weight), -1).T + self.parameters["bias"]
        return y.reshape(batch, height, width, -1).transpose(0, 3, 1, 2)

    def backward(self, dy: Array) -> Array:
        batch, channels, height, width = self._shape
        weight = self.parameters["weight"]
        rows = dy.transpose(0, 2, 3, 1).reshape(-1, len(weight))
        self.gradients = {"weight": (rows.T @ self._patches).reshape(weight.shape), "bias": rows.sum(axis=0)}
        patches = (rows @ weight.reshape(len(weight), -1)).reshape(batch, height, width, channels, 3, 3)
        dx = np.zeros((batch, height + 2, width + 2, channels), np.float32)
        for row in range(3):
            for column in range(3):
                dx[:, row : row + height, column : column + width] += patches[..., row, column]
        return dx[:, 1:-1, 1:-1].transpose(0, 3, 1, 2)


class Relu:
    """max(x, 0)."""

    def __init__(self) -> None:
        self.parameters: dict[str, Array] = {}
        self.gradients: dict[str, Array] = {}

    def forward(self, x: Array) -> Array:
        self._positive = x > 0
        return x * self._positive

    def backward(self, dy: Array) -> Array:
        return dy * self._positive


class MaxPool2x2:
    """Maximum over disjoint 2x2 windows; height and width are even. Ties share the gradient."""

    def __init__(self) -> None:
        self.parameters: dict[str, Array] = {}
        self.gradients: dict[str, Array] = {}

    def forward(self, x: Array) -> Array:
        batch, channels, height, width = x.shape
        windows = x.reshape(batch, channels, height // 2, 2, width // 2, 2)
        y = windows.max(axis=(3, 5), keepdims=True)
        winners = windows == y
        self._share = winners / winners.sum(axis=(3, 5), keepdims=True, dtype=np.float32)
        return y[:, :, :, 0, :, 0]

    def backward(self, dy: Array) -> Array:
        batch, channels, height, width = dy.shape
        dx = self._share * dy[:, :, :, None, :, None]
        return dx.reshape(batch, channels, 2 * height, 2 * width)


class Dense:
    """Flattens all but the batch and computes ``x @ weight + bias``; weight is (inputs, outputs)."""

    def __init__(self, rng: np.random.Generator, inputs: int, outputs: int) -> None:
        weight = _he_normal(rng, (inputs, outputs), inputs)
        self.parameters = {"weight": weight, "bias": np.zeros(outputs, np.float32)}
        self.gradients: dict[str, Array] = {}

    def forward(self, x: Array) -> Array:
        self._shape = x.shape
        self._rows = x.reshape(len(x), -1)
        return self._rows @ self.parameters["weight"] + self.parameters["bias"]

    def backward(self, dy: Array) -> Array:
        self.gradients = {"weight": self._rows.T @ dy, "bias": dy.sum(axis=0)}
        return (dy @ self.parameters["weight"].T).reshape(self._shape)


def softmax(logits: Array) -> Array:
    """Row-wise softmax of (batch, classes) logits."""
    exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
    return exponentials / exponentials.sum(axis=1, keepdims=True)


def cross_entropy(logits: Array, labels: NDArray[np.integer]) -> tuple[float, Array]:
    """Mean softmax cross-entropy in nats and its gradient by the logits."""
    probabilities = softmax(logits)
    rows = np.arange(len(labels))
    loss = -np.log(np.maximum(probabilities[rows, labels], 1e-12)).mean()
    gradient = probabilities
    gradient[rows, labels] -= 1
    return float(loss), gradient / np.float32(len(labels))


class Adam:
    """Adam (Kingma and Ba, 2015) with decoupled weight decay (Loshchilov and Hutter, 2019)."""

    def __init__(self, layers: dict[str, Layer], weight_decay: float) -> None:
        self._layers = layers
        self._decay = weight_decay
        self._step = 0
        self._moments = {
            (name, key): (np.zeros_like(value), np.zeros_like(value))
            for name, layer in layers.items()
            for key, value in layer.parameters.items()
        }

    def update(self, rate: float) -> None:
        """Move every parameter one step along its last gradient, in place."""
        self._step += 1
        for (name, key), (first, second) in self._moments.items():
            value, gradient = self._layers[name].parameters[key], self._layers[name].gradients[key]
            first += 0.1 * (gradient - first)
            second += 0.001 * (gradient * gradient - second)
            mean = first / (1 - 0.9**self._step)
            deviation = np.sqrt(second / (1 - 0.999**self._step)) + 1e-8
            decay = self._decay * value if key == "weight" else 0.0
            value -= rate * (mean / deviation + decay)
