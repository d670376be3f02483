"""What sizes Resize and Upsample ask for: of each axis the size before and after, and the factor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from basalt.ops import Dim, SymDim

from ..node import NodeContext
from ..tensor import Tensor
from .ranges import quotient


@dataclass(frozen=True)
class Target:
    """An axis to resize; ``scale`` is None where it is ``count / size``."""

    axis: int
    size: Dim
    count: Dim
    scale: float | None = None
    roi: tuple[float, float] = (0.0, 1.0)

    @property
    def factor(self) -> float:
        """The factor of known sizes."""
        return float(self.count / self.size) if self.scale is None else self.scale  # type: ignore[operator]

    @property
    def exact(self) -> bool:
        """Whether ``count`` is ``size * scale`` without rounding down."""
        if self.scale is None:
            return True
        if isinstance(self.size, SymDim) or isinstance(self.count, SymDim):
            return self.scale.is_integer()
        return self.scale * self.size == self.count

    @property
    def repeats(self) -> int | None:
        """By what number the size is multiplied, None if by none that is whole."""
        if isinstance(self.size, SymDim) or isinstance(self.count, SymDim):
            if self.scale is not None:
                return int(self.scale) if self.scale.is_integer() else None
            times = _quotient(self.count, self.size)
        else:
            times = self.count // self.size if self.size and self.count % self.size == 0 else None
        return times if times and self.exact else None

    @property
    def idle(self) -> bool:
        """Whether nothing changes along the axis."""
        same = self.size == self.count and (self.scale is None or math.isclose(self.scale, 1.0))
        return same and math.isclose(self.roi[0], 0.0, abs_tol=1e-9) and math.isclose(self.roi[1], 1.0)


def _quotient(count: Dim, size: Dim) -> int | None:
    times = quotient([count], [size])
    return times if isinstance(times, int) else None


def scaled_size(n: NodeContext, size: Dim, scale: float) -> Dim:
    """``floor(size * scale)`` as ONNX Runtime multiplies: in float32."""
    if isinstance(size, SymDim):
        fraction = Fraction(scale)
        if fraction.denominator <= 1024:
            return size * fraction.numerator // fraction.denominator
        (size,) = n.static(size)
    with np.errstate(over="ignore"):
        scaled = float(np.floor(np.float32(size) * np.float32(scale)))
    # A size beyond all floats is refused as any other that is too large.
    return int(min(scaled, 2.0**62))


def by_scales(
    n: NodeContext, x: Tensor, scales: Sequence[float], axes: Sequence[int], rois: Sequence[tuple[float, float]]
) -> list[Target]:
    """The targets of factors, one for each of ``axes``."""
    if len(scales) != len(axes):
        raise n.error(f"scales has {len(scales)} values, expected {len(axes)}")
    if not all(0 < s < math.inf for s in scales):
        raise n.error(f"scales are {list(scales)}, expected finite numbers above 0")
    return [Target(a, x.shape[a], scaled_size(n, x.shape[a], s), s, roi) for a, s, roi in zip(axes, scales, rois)]


def by_sizes(
    n: NodeContext,
    x: Tensor,
    sizes: Sequence[Dim],
    axes: Sequence[int],
    rois: Sequence[tuple[float, float]],
    policy: str = "stretch",
) -> list[Target]:
    """The targets of sizes, one for each of ``axes``; ``policy`` is ONNX's ``keep_aspect_ratio_policy``."""
    if len(sizes) != len(axes):
        raise n.error(f"sizes has {len(sizes)} values, expected {len(axes)}")
    if any(isinstance(s, int) and s < 0 for s in sizes):
        raise n.error(f"sizes are {list(map(str, sizes))}, expected no negative ones")
    if policy == "stretch":
        return [Target(a, x.shape[a], s, None, roi) for a, s, roi in zip(axes, sizes, rois)]
    if policy not in ("not_larger", "not_smaller"):
        raise n.error(f"keep_aspect_ratio_policy is {policy!r}, expected stretch, not_larger or not_smaller")
    wanted, given = n.static(*sizes), n.static(*(x.shape[a] for a in axes))
    if 0 in given:
        raise n.error(f"the input {x} is empty, so that its aspect ratio cannot be kept")
    choose = min if policy == "not_larger" else max
    scale = choose(w / g for w, g in zip(wanted, given))
    return [Target(a, g, math.floor(scale * g + 0.5), scale, roi) for a, g, roi in zip(axes, given, rois)]
