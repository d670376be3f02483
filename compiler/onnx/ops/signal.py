"""DFT and STFT of ai.onnx."""

from __future__ import annotations

from basalt.ops import Dim, SymDim
from basalt.ops.dims import dim_max

from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import Tensor
from .building import convert, iota, wide
from .fourier import SHORT, half_inverse, transform


@onnx_op("DFT", 17)
def dft_17(n: NodeContext) -> Tensor:
    return _dft(n, n.attr("axis"))


@onnx_op("DFT", 20)
def dft_20(n: NodeContext) -> Tensor:
    axis = -2
    if n.given(2):
        (axis,) = _one(n, 2)
    return _dft(n, axis)


def _one(n: NodeContext, place: int) -> tuple[int, ...]:
    numbers = n.ints(place)
    if len(numbers) != 1:
        raise n.error(f"input {n.input_name(place)} has {len(numbers)} elements, expected 1")
    return numbers


def _dft(n: NodeContext, axis: int) -> Tensor:
    x = n.tensor(0)
    parts = x.shape[-1] if x.rank else 0
    if x.rank < 2 or parts not in (1, 2):
        raise n.error(f"input is {x}, expected rank 2 or more and a last dimension of 1 or 2")
    along = n.axis(axis, x.rank)
    if along == x.rank - 1:
        raise n.error("axis is the last one, which holds real and imaginary parts")
    inverse, half = bool(n.attr("inverse")), bool(n.attr("onesided"))
    (signal,) = n.static(x.shape[along])
    length = 2 * (signal - 1) if inverse and half else signal
    if n.given(1):
        (length,) = _one(n, 1)
    if length < 1:
        raise n.error(f"the transform has length {length}, expected at least 1")
    order = [i for i in range(x.rank) if i != along]
    order.insert(x.rank - 2, along)
    held = n.transpose(convert(n, x, wide(x.dtype)), order)
    if inverse and half:
        y = half_inverse(n, held, length)
    else:
        y = transform(n, held, length, half, inverse)
    back = [order.index(i) for i in range(x.rank)]
    return convert(n, n.transpose(y, back), x.dtype)


@onnx_op("STFT", 17)
def stft(n: NodeContext) -> Tensor:
    x, window = n.tensor(0), n.optional(2)
    if x.rank == 2:
        x = n.reshape(x, (*x.shape, 1))
    if x.rank != 3 or x.shape[2] not in (1, 2):
        raise n.error(f"signal is {x}, expected [batch, length, 1] or [batch, length, 2]")
    (step,) = _one(n, 1)
    length = _frame_length(n, x, window)
    if step < 1 or length < 1:
        raise n.error(f"frames of {length} elements every {step} elements, expected at least 1 of both")
    held = convert(n, x, wide(x.dtype))
    onesided = bool(n.attr("onesided"))
    weights = None if window is None else convert(n, window, held.dtype)
    if x.shape[2] == 1 and length <= SHORT:
        framed = _frames(n, held, length, step)
        if weights is not None:
            framed = n.emit("mul", framed, n.reshape(weights, (length, 1)))
        return convert(n, transform(n, framed, length, onesided, False), x.dtype)
    y = n.emit("stft", held, weights, length=length, step=step, onesided=onesided)
    return convert(n, y, x.dtype)


def _frame_length(n: NodeContext, x: Tensor, window: Tensor | None) -> int:
    if window is not None and window.rank != 1:
        raise n.error(f"window is {window}, expected rank 1")
    if n.given(3):
        (length,) = _one(n, 3)
        if window is not None and isinstance(window.shape[0], int) and window.shape[0] != length:
            raise n.error(f"frame_length is {length}, but window has {window.shape[0]} elements")
        return length
    (length,) = n.static(x.shape[1] if window is None else window.shape[0])
    return length


def _frames(n: NodeContext, x: Tensor, length: int, step: int) -> Tensor:
    """Stretches of a signal ``[batch, length, parts]`` every ``step`` elements, ``[batch, frames, length, parts]``.

    Without a remainder and an overlap they are the signal in another shape.
    """
    batch, total, parts = x.shape
    count: Dim = (total - length) // step + 1
    count = dim_max(count, 0) if isinstance(count, SymDim) else max(count, 0)
    if length == step and isinstance(count, int):
        return n.reshape(n.slice(x, 1, 0, count * step), (batch, count, length, parts))
    starts = n.emit("mul", n.reshape(iota(n, count), (count, 1)), n.scalar(step, "int64"))
    return n.emit("gather", x, n.emit("add", starts, iota(n, length)), axis=1)
