"""DeformConv along one to three axes, against its definition and ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from basalt.compiler.onnx.tensor import onnx_dtype
from basalt.errors import BasaltError

from .one_node import allowed, close, run, versions
from .window_oracle import convolve

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from .microsoft.comparison import agree

SIZES, KERNEL, STRIDES, DILATIONS = [5, 6, 4], [2, 3, 2], [1, 2, 1], [2, 1, 1]
PADS = [1, 0, 1], [0, 1, 0]


def geometry(rank: int) -> dict[str, Any]:
    return {
        "strides": STRIDES[:rank],
        "dilations": DILATIONS[:rank],
        "pads": PADS[0][:rank] + PADS[1][:rank],
        "group": 2,
        "offset_group": 2,
    }


def operands(rank: int, dtype: str = "float32") -> list[np.ndarray]:
    """X, W, offset, B and mask."""
    random = np.random.default_rng(rank)
    places = [
        (s + b + e - (k - 1) * d - 1) // t + 1
        for s, b, e, k, d, t in zip(SIZES[:rank], *PADS, KERNEL, DILATIONS, STRIDES)
    ]
    taps = int(np.prod(KERNEL[:rank]))
    shapes = [
        (2, 4, *SIZES[:rank]),
        (6, 2, *KERNEL[:rank]),
        (2, 2 * taps * rank, *places),
        (6,),
        (2, 2 * taps, *places),
    ]
    return [(random.normal(size=s) * 1.5).astype(np.float32).astype(onnx_dtype(dtype)) for s in shapes]


@pytest.mark.parametrize("version", versions("DeformConv"))
@pytest.mark.parametrize("compiled", [False, True])
def test_images(version: int, compiled: bool) -> None:
    agree("DeformConv", operands(2), domain="", opset=version, attributes=geometry(2), compiled=compiled)
    x, w, offset, _, mask = operands(2)
    agree("DeformConv", [x, w, offset, None, mask], domain="", opset=version, attributes=geometry(2))


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize(
    ("version", "dtype"), [(v, t) for v in versions("DeformConv") for t in allowed("DeformConv", v)]
)
def test_whole_offsets_move_the_taps(version: int, dtype: str, rank: int) -> None:
    """With one offset for all taps and places the result is the convolution of a moved input."""
    x, w, offset, bias, mask = operands(rank, dtype)
    moves = [1, -2, 1][:rank]
    offset[...] = np.resize(np.array(moves), offset.shape[1]).reshape(-1, *[1] * rank)
    y = run("DeformConv", version, x, w, offset, bias, np.ones_like(mask), compiled=False, **geometry(rank))
    spread = geometry(rank)
    wanted = convolve(_moved(x, moves), w, spread["strides"], [0] * 2 * rank, spread["dilations"], 2)
    close(y, wanted + bias.astype(np.float64).reshape(-1, *[1] * rank), dtype, 32)


def _moved(x: np.ndarray, moves: list[int]) -> np.ndarray:
    """The padded input read ``moves`` places further on, 0 beyond it."""
    wide = np.pad(x.astype(np.float64), [(0, 0), (0, 0), *[(4, 4)] * len(moves)])
    spans = zip(moves, x.shape[2:], *PADS)
    return np.asarray(wide[(..., *[slice(4 + m - begin, 4 + m + size + end) for m, size, begin, end in spans])])


def test_offsets_and_masks_along_any_number_of_axes() -> None:
    """A volume of one slice is an image: its taps stay in the slice."""
    x, w, offset, bias, mask = operands(2)
    attributes = geometry(2)
    wanted = run("DeformConv", 22, x, w, offset, bias, mask, compiled=False, **attributes)
    for name, first in (("strides", 1), ("dilations", 1)):
        attributes[name] = [first, *attributes[name]]
    begins, ends = attributes["pads"][:2], attributes["pads"][2:]
    attributes["pads"] = [0, *begins, 0, *ends]
    pairs = offset.reshape(2, -1, 2, *offset.shape[2:])
    triples = np.concatenate([np.zeros_like(pairs[:, :, :1]), pairs], axis=2).reshape(2, -1, 1, *offset.shape[2:])
    y = run("DeformConv", 22, x[:, :, None], w[:, :, None], triples, bias, mask[:, :, None], **attributes)
    close(y[:, :, 0], wanted, "float32", 16)


def test_a_row_is_compiled() -> None:
    x, w, offset, bias, mask = operands(1)
    y = run("DeformConv", 22, x, w, offset, bias, mask, **geometry(1))
    wanted = run("DeformConv", 22, x, w, offset, bias, mask, compiled=False, **geometry(1))
    close(y, wanted, "float32", 16)


@pytest.mark.parametrize("rank", [1, 3])
def test_what_the_standard_does_not_allow_is_refused(rank: int) -> None:
    x, w, offset, bias, mask = operands(rank)
    with pytest.raises(BasaltError, match="offset"):
        run("DeformConv", 22, x, w, offset[:, 1:], bias, mask, compiled=False, **geometry(rank))
    with pytest.raises(BasaltError, match="mask"):
        run("DeformConv", 22, x, w, offset, bias, mask[..., 1:], compiled=False, **geometry(rank))
    with pytest.raises(BasaltError, match="group"):
        run("DeformConv", 22, x, w, offset, bias, mask, compiled=False, **{**geometry(rank), "offset_group": 3})
    with pytest.raises(BasaltError, match=r"rank|dimensions"):
        run("DeformConv", 22, x[0, 0], w, offset, compiled=False)
