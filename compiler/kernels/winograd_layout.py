"""Winograd's minimal filtering for windows of 3: its points and matrices, and how weights lie; imports no compiler.

F(m, 3) computes m neighbouring outputs from m + 2 inputs by m + 2 products: filter and inputs are evaluated, as
polynomials, at the points 0, ±p for each p of :data:`POINTS`, and infinity, and the values' products interpolated. In
two dimensions that is done along both. Sources: Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks",
2016; for the choice of points Barabasz et al., "Error Analysis and Improving the Accuracy of Winograd Convolution for
Deep Neural Networks", 2020. Of all pairs of eighths these have the smallest errors; they and all coefficients made of
them are exact in float32.
"""

from __future__ import annotations

import math
from functools import reduce

import numpy as np

__all__ = ["CHAIN", "LINE", "POINTS", "TAPS", "coefficients", "depth_of", "transformed_weights"]

TAPS = 3
"""Elements of a window along each dimension."""
POINTS = {2: (1.0,), 4: (0.625, 1.5)}
"""By the outputs of a tile along a dimension, the positive points."""
LINE = 16
"""Elements of a cache line."""
CHAIN = 64
"""Most products that are summed up in one go."""
_UNROLLED = 4


def coefficients(points: tuple[float, ...]) -> list[float]:
    """The coefficients of the product of ``x - p * p`` over some points, from the constant term up."""
    return reduce(lambda c, p: [b - p * p * a for a, b in zip([*c, 0.0], [0.0, *c])], points, [1.0])


def depth_of(channels: int) -> int:
    """Channels that products sum up over, zeros among them: the loop over them takes several at a time."""
    return -(-channels // _UNROLLED) * _UNROLLED


def transformed_weights(weights: np.ndarray, outputs: int, columns: int) -> np.ndarray:
    """The weights [output channels, channels, 3, 3] of tiles as panels [points, panels, depth, columns].

    Args:
        weights: any floating-point array; it is transformed in float64 and rounded once.
        outputs: the outputs of a tile along each dimension.
        columns: the output channels of a panel; the last one is filled up with zeros.
    """
    matrix = _weights_matrix(outputs)
    count, channels = weights.shape[:2]
    size, panels = outputs + TAPS - 1, -(-count // columns)
    found = np.zeros((size * size, panels, depth_of(channels), columns), np.float32)
    for panel in range(panels):
        part = weights[panel * columns : (panel + 1) * columns].astype(np.float64)
        values = np.einsum("ay,ocyx,bx->abco", matrix, part, matrix, optimize=True)
        found[:, panel, :channels, : part.shape[0]] = values.reshape(size * size, channels, part.shape[0])
    return found


def _weights_matrix(outputs: int) -> np.ndarray:
    """[points, 3]: a filter's values at the points 0, p, -p, ..., infinity over what the inputs' are scaled by."""
    points = [0.0, *(s for p in POINTS[outputs] for s in (p, -p))]
    rows = [[p**i / math.prod(p - other for other in points if other != p) for i in range(TAPS)] for p in points]
    return np.array([*rows, [0.0, 0.0, 1.0]])
