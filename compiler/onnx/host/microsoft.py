"""Operators of ONNX Runtime by NumPy: Inverse, Range, Unique, CropAndResize, MurmurHash3 and NGramRepeatBlock."""

from __future__ import annotations

import numpy as np

from basalt.compiler.onnx.host.number_range import number_range as standard_range
from basalt.compiler.onnx.host.registry import HostNode, host_op

MICROSOFT = "com.microsoft"
_LOW = 0xFFFFFFFF


@host_op("Inverse", 1, domain=MICROSOFT)
def inverse(n: HostNode, x: np.ndarray) -> np.ndarray:
    """The inverses of the matrices [*, M, M]; float16 is computed in float32."""
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise n.error(f"input 'X' has shape {x.shape}, expected [*, M, M]")
    try:
        return np.linalg.inv(x.astype(np.float32) if x.dtype == np.float16 else x).astype(x.dtype)
    except np.linalg.LinAlgError as error:
        raise n.error(str(error)) from None


@host_op("Range", 1, domain=MICROSOFT)
def number_range(n: HostNode, start: np.ndarray, limit: np.ndarray, step: np.ndarray | None = None) -> np.ndarray:
    """The standard's Range, whose step is 1 by default and whose inputs may be vectors of one element."""
    given = (start, limit, np.ones((), start.dtype) if step is None else step)
    if any(v.size != 1 for v in given):
        raise n.error(f"shapes {[v.shape for v in given]}, expected one element each")
    return standard_range(n, *[v.reshape(()) for v in given])


@host_op("Unique", 1, domain=MICROSOFT)
def unique(n: HostNode, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A vector's distinct elements in order of appearance, the place of each element among them, and their counts."""
    if x.ndim != 1:
        raise n.error(f"input 'x' has shape {x.shape}, expected a vector")
    _, first, places, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    return x[first[order]], rank[places.reshape(-1)].astype(np.int64), counts[order].astype(np.int64)


@host_op("CropAndResize", 1, domain=MICROSOFT)
def crop_and_resize(n: HostNode, x: np.ndarray, boxes: np.ndarray, images: np.ndarray, crop: np.ndarray) -> np.ndarray:
    """Boxes [regions, (y1, x1, y2, x2)], in shares of the image's size less one, resampled to one size."""
    if x.ndim != 4 or boxes.ndim != 2 or boxes.shape[1] != 4 or images.shape != boxes.shape[:1] or crop.size != 2:
        raise n.error(f"shapes {x.shape}, {boxes.shape}, {images.shape}, {crop.shape} do not fit")
    mode, filler = n.attr("mode", "bilinear"), n.attr("extrapolation_value", 0.0)
    if mode not in ("bilinear", "nearest"):
        raise n.error(f"mode is {mode!r}, expected 'bilinear' or 'nearest'")
    height, width = (int(v) for v in crop.reshape(-1))
    if images.size and not 0 <= images.min() <= images.max() < len(x):
        raise n.error(f"batch_indices hold {images.min()} to {images.max()}, expected 0 to {len(x) - 1}")
    result = np.full((len(boxes), x.shape[1], height, width), filler, x.dtype)
    for i, (top, left, bottom, right) in enumerate(boxes.astype(np.float32)):
        rows = _samples(top, bottom, height, x.shape[2])
        columns = _samples(left, right, width, x.shape[3])
        inside = np.ix_((rows >= 0) & (rows <= x.shape[2] - 1), (columns >= 0) & (columns <= x.shape[3] - 1))
        kept = result[i][:, inside[0], inside[1]]
        if kept.size:
            good_rows, good_columns = rows[inside[0].reshape(-1)], columns[inside[1].reshape(-1)]
            result[i][:, inside[0], inside[1]] = _sampled(x[images[i]], good_rows, good_columns, mode)
    return result


def _samples(start: float, end: float, count: int, size: int) -> np.ndarray:
    """The places of an axis that are sampled."""
    if count == 1:
        return np.array([0.5 * (start + end) * (size - 1)], np.float32)
    step = np.float32((end - start) * (size - 1) / (count - 1))
    return np.asarray(start * (size - 1) + np.arange(count, dtype=np.float32) * step, np.float32)


def _sampled(image: np.ndarray, rows: np.ndarray, columns: np.ndarray, mode: str) -> np.ndarray:
    if mode == "nearest":
        places = [np.floor(v + 0.5).astype(np.int64) for v in (rows, columns)]
        return image[:, places[0][:, None], places[1]]
    low = [np.floor(v).astype(np.int64) for v in (rows, columns)]
    high = [np.ceil(v).astype(np.int64) for v in (rows, columns)]
    down, across = (rows - low[0])[:, None], columns - low[1]
    top = image[:, low[0][:, None], low[1]] * (1 - across) + image[:, low[0][:, None], high[1]] * across
    bottom = image[:, high[0][:, None], low[1]] * (1 - across) + image[:, high[0][:, None], high[1]] * across
    return np.asarray(top * (1 - down) + bottom * down)


@host_op("MurmurHash3", 1, domain=MICROSOFT)
def murmur_hash(n: HostNode, x: np.ndarray) -> np.ndarray:
    """MurmurHash3_x86_32 (Appleby 2011) of each element's bytes."""
    seed = int(n.attr("seed", 0)) & _LOW
    texts = x.dtype == object
    flat = x.reshape(-1)
    hashes = [_hash(str(v).encode() if texts else np.asarray(v).tobytes(), seed) for v in flat]
    found = np.array(hashes, np.uint32).reshape(x.shape)
    return found if n.attr("positive", 1) else found.view(np.int32)


def _hash(data: bytes, seed: int) -> int:
    value = seed
    for start in range(0, len(data) - len(data) % 4, 4):
        value ^= _mixed(int.from_bytes(data[start : start + 4], "little"))
        value = (_rotated(value, 13) * 5 + 0xE6546B64) & _LOW
    tail = data[len(data) - len(data) % 4 :]
    if tail:
        value ^= _mixed(int.from_bytes(tail, "little"))
    value ^= len(data)
    value = ((value ^ value >> 16) * 0x85EBCA6B) & _LOW
    value = ((value ^ value >> 13) * 0xC2B2AE35) & _LOW
    return value ^ value >> 16


def _mixed(block: int) -> int:
    return (_rotated((block * 0xCC9E2D51) & _LOW, 15) * 0x1B873593) & _LOW


def _rotated(value: int, bits: int) -> int:
    return ((value << bits) | (value >> (32 - bits))) & _LOW


@host_op("NGramRepeatBlock", 1, domain=MICROSOFT)
def n_gram_repeat_block(n: HostNode, ids: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Scores [batch, words], -infinity for words that would end an n-gram that stands in ``ids`` [batch, length]."""
    size = int(n.required("ngram_size"))
    if size < 1 or ids.ndim != 2 or scores.ndim != 2 or len(ids) != len(scores):
        raise n.error(f"ngram_size is {size}, shapes are {ids.shape} and {scores.shape}")
    result = scores.copy()
    length = ids.shape[1]
    for row, blocked in zip(ids, result):
        last = row[length - size + 1 :] if size > 1 else row[:0]
        for i in range(length - size + 1):
            if np.array_equal(row[i : i + size - 1], last):
                word = int(row[i + size - 1])
                if not 0 <= word < len(blocked):
                    raise n.error(f"word {word} has no score; there are {len(blocked)}")
                blocked[word] = -np.inf
    return result
