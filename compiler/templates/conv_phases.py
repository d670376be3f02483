"""Transposed convolutions as convolutions: the results that lie a stride apart meet the same taps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..codegen.kernel import Call
from ..codegen.lowering import Lowering
from ..kernels.target import target
from ..views import View
from .conv import Convolution
from .conv_parts import Derived, part_of, replaced
from .conv_windows import windows_call
from .geometry import Places, Window

MOST_PHASES = 16


def phase_calls(c: Convolution, lowering: Lowering) -> list[Call]:
    """The kernels of a transposed convolution, none if this way of computing does not suit it."""
    w = c.window
    constant = c.filter.is_constant and w.dilations == (1, 1)
    if not constant or target().registers > 16 or c.image.strides[2] != 1:
        return []
    if c.places.channels_last:
        steps = (min(w.strides[0], w.outputs[0]), min(w.strides[1], w.outputs[1]))
        if steps[0] * steps[1] > MOST_PHASES:
            return []
        parts = [_phase(c, y, x) for y in range(steps[0]) for x in range(steps[1])]
    else:
        parts = [_all_phases(c, lowering)]
    calls = [None if part is None else windows_call(part, lowering) for part in parts]
    if any(call is None for call in calls):
        return []
    return [call for call in calls if call is not None]


def _phase(c: Convolution, y: int, x: int) -> Convolution | None:
    """The results ``y, y + stride, ...`` of each column, ``x, x + stride, ...`` of each row; None if no tap is met."""
    w, (sy, sx) = c.window, c.window.strides
    # Tap first + i * stride meets input number (phase + begin - first) / stride - i of a row's or column's start.
    first = [(p + b) % s for p, b, s in zip((y, x), w.begin, w.strides)]
    taps = [-(-(t - f) // s) for t, f, s in zip(w.taps, first, w.strides)]
    if min(taps) < 1:
        return None
    begin = [t - 1 - (p + b - f) // s for t, p, b, f, s in zip(taps, (y, x), w.begin, first, w.strides)]
    outputs = [-(-(n - p) // s) for n, p, s in zip(w.outputs, (y, x), w.strides)]
    window = Window((taps[0], taps[1]), (1, 1), (1, 1), (begin[0], begin[1]), w.inputs, (outputs[0], outputs[1]))

    def derive(weights: np.ndarray) -> np.ndarray:
        return weights[..., first[0] :: sy, first[1] :: sx][..., ::-1, ::-1]

    def see(view: View) -> View:
        return view.sliced((0, 0, y, x), (*view.shape[:2], *outputs), (1, 1, sy, sx))

    return _derived(c, c.outputs, window, part_of(c.places, see), ("phase", *first, sy, sx), derive)


def _all_phases(c: Convolution, lowering: Lowering) -> Convolution | None:
    """The results that see an element of the image as its outputs, if there is one channel of them; copied later."""
    w, places = c.window, c.places
    (height, width), (sy, sx) = w.inputs, w.strides
    whole = w.taps == w.strides and w.begin == (0, 0) and w.outputs == (height * sy, width * sx)
    if not whole or c.outputs * c.groups > 1 or any(v.size != 1 for _, v in places.epilogue.extras):
        return None
    shape = (c.batch, sy * sx, height, width)
    extras = [(value, view.reshaped((1, 1, 1, 1))) for value, view in places.epilogue.extras]
    results = []
    for value, view in places.epilogue.results:
        own = lowering.scratch(view.dtype, (c.batch, height, width, sy, sx))
        order = [places.layout.index(letter) for letter in "nhwc"]
        seen = view.permuted(order).reshaped((c.batch, height, sy, width, sx))
        merged = own.reshaped((c.batch, height, width, sy * sx))
        if seen is None or merged is None:
            return None
        results.append((value, merged.permuted((0, 3, 1, 2)), own.permuted((0, 1, 3, 2, 4)), seen))
    moved = replaced(places, shape, [(v, e) for v, e in extras if e is not None], [r[:2] for r in results])
    window = replace(w, taps=(1, 1), strides=(1, 1), outputs=w.inputs)
    for _, _, source, target_ in results:
        lowering.copy_later(source, target_)

    def derive(weights: np.ndarray) -> np.ndarray:
        return weights.reshape(1, 1, -1, sy * sx).transpose(0, 3, 2, 1)[..., None]

    return _derived(c, sy * sx, window, moved, ("phases",), derive)


def _derived(
    c: Convolution, outputs: int, window: Window, places: Places, key: tuple[object, ...], derive: object
) -> Convolution:
    return Derived(
        c.image,
        c.filter,
        c.layout,
        c.order,
        c.groups,
        outputs,
        window,
        places,
        key,
        derive,  # type: ignore[arg-type]
    )
