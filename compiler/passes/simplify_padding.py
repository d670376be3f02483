"""Rewrites of paddings that the next operator can do itself."""

from __future__ import annotations

import math

from basalt.ops.types import integer_bounds, is_float

from ..ir import Value
from .emitter import Emitter
from .patterns import Match, op
from .rewriting import rewrite
from .traits import alone, is_positive_zero, is_unsigned


def _pads_image_with_zeros(m: Match) -> bool:
    pad, layout = m.node("pad").attrs, m.root.attrs["input_layout"]
    if pad["mode"] != "constant" or not is_positive_zero(pad["value"]):
        return False
    sides = (pad["beginning_padding"], pad["ending_padding"])
    return not any(side[layout.index(letter)] for side in sides for letter in "nc")


@rewrite(
    op("conv2d", op("pad", "x", name="pad")),
    ("it pads with other elements than zeros, or other axes than height and width", _pads_image_with_zeros),
    alone("pad"),
)
def pad_into_convolution(m: Match, e: Emitter) -> Value:
    """A convolution pads its input with zeros itself, without a copy."""
    pad, attrs = m.node("pad").attrs, m.root.attrs
    sides = (pad["beginning_padding"], pad["ending_padding"])
    added = [side[attrs["input_layout"].index(letter)] for letter in "hw" for side in sides]
    padding = tuple(a + b for a, b in zip(attrs["padding"], added))
    return e.emit("conv2d", m["x"], *m.root.inputs[1:], **{**attrs, "padding": padding})


def _pads_image(m: Match) -> bool:
    pad, layout = m.node("pad").attrs, m.root.attrs["layout"]
    sides = (pad["beginning_padding"], pad["ending_padding"])
    return pad["mode"] == "constant" and not any(side[layout.index(letter)] for side in sides for letter in "nc")


def _pool_padding(m: Match) -> tuple[int, ...]:
    """What a pool has to pad if the pad before it goes."""
    pad, attrs = m.node("pad").attrs, m.root.attrs
    sides = (pad["beginning_padding"], pad["ending_padding"])
    added = [side[attrs["layout"].index(letter)] for letter in "hw" for side in sides]
    return tuple(a + b for a, b in zip(attrs["padding"], added))


def _pads_with_least(m: Match) -> bool:
    value, dtype = m.node("pad").attrs["value"], m["x"].dtype
    return bool(value == (-math.inf if is_float(dtype) else integer_bounds(dtype)[0]))


def _pads_below_all(m: Match) -> bool:
    """Whether zeros around an image without negative numbers change no window, for each has an element of the image."""
    producer = m.graph.producer(m["x"])
    known = producer is not None and (
        producer.op == "relu" or (producer.op == "clamp" and producer.attrs["min_value"] >= 0)
    )
    window, padding = m.root.attrs["window_dimensions"], _pool_padding(m)
    reached = all(p < window[i // 2] for i, p in enumerate(padding)) and m.root.attrs["dilations"] == (1, 1)
    return reached and m.node("pad").attrs["value"] == 0 and (known or is_unsigned(m.graph, m["x"]))


@rewrite(
    op("max_pool2d", op("pad", "x", name="pad")),
    ("it pads other axes than height and width, or not with one number", _pads_image),
    ("it pads with what may be larger than elements", lambda m: _pads_with_least(m) or _pads_below_all(m)),
    alone("pad"),
    exact=False,
)
def pad_into_max_pool(m: Match, e: Emitter) -> Value:
    """Padding takes no part in a maximum, as what is never larger does; not exact, for 0 and -0 are equally large."""
    return e.emit("max_pool2d", m["x"], **{**m.root.attrs, "padding": _pool_padding(m)})


REWRITES = (pad_into_convolution, pad_into_max_pool)
