"""TfIdfVectorizer: counts of n-grams."""

from __future__ import annotations

from typing import Any

import numpy as np

from basalt.compiler.onnx.host.checks import check_size, tensor
from basalt.compiler.onnx.host.element_types import is_string, type_name
from basalt.compiler.onnx.host.registry import HostNode, host_op

_MODES = ("TF", "IDF", "TFIDF")


def _pool(n: HostNode, wanted: range) -> dict[tuple[Any, ...], int]:
    """The output coordinate of each n-gram of a wanted length."""
    items = n.attr("pool_int64s") or n.attr("pool_strings")
    if not items or (n.attr("pool_int64s") and n.attr("pool_strings")):
        raise n.error("expected one of the attributes 'pool_int64s' and 'pool_strings'")
    starts, coordinates = [int(c) for c in n.required("ngram_counts")], n.required("ngram_indexes")
    ends = [*starts[1:], len(items)]
    if starts[:1] != [0] or any(not 0 <= a <= b <= len(items) for a, b in zip(starts, ends, strict=True)):
        raise n.error(f"attribute 'ngram_counts' is {tuple(starts)}, expected rising places in a pool of {len(items)}")
    found: dict[tuple[Any, ...], int] = {}
    number = 0
    for length, (start, end) in enumerate(zip(starts, ends, strict=True), 1):
        if (end - start) % length:
            raise n.error(f"the pool has {end - start} items of {length}-grams, expected a multiple of {length}")
        for at in range(start, end, length):
            if number >= len(coordinates):
                raise n.error(f"attribute 'ngram_indexes' has {len(coordinates)} elements, expected one an n-gram")
            if length in wanted and found.setdefault(tuple(items[at : at + length]), int(coordinates[number])) < 0:
                raise n.error(f"attribute 'ngram_indexes' holds {coordinates[number]}, expected 0 or more")
            number += 1
    return found


def _count(row: list[Any], pool: dict[tuple[Any, ...], int], lengths: range, skips: int, counts: np.ndarray) -> None:
    """Add up the n-grams of ``row`` whose items are 1 to ``skips + 1`` places apart; single items count once."""
    for step in range(1, min(skips + 1, len(row)) + 1):
        for length in lengths:
            if length == 1 and step > 1:
                continue
            for start in range(len(row) - step * (length - 1)):
                place = pool.get(tuple(row[start : start + step * (length - 1) + 1 : step]))
                if place is not None:
                    counts[place] += 1


@host_op("TfIdfVectorizer", 9)
def tfidf_vectorizer(n: HostNode, x: np.ndarray) -> np.ndarray:
    """float32 [size] or [N, size] for rows [C] or [N, C]: counts (TF), their weights (IDF) or products (TFIDF).

    ``size`` is the largest of ``ngram_indexes`` and 1. ``weights`` are looked up by the output's coordinate, as ONNX's
    reference and ONNX Runtime do (its text says: by the place in the pool; mostly the two are the same).
    """
    x = tensor(n, "X", x, (0, 1, 2))
    mode, coordinates = n.required("mode"), n.required("ngram_indexes")
    low, high, skips = (int(n.required(a)) for a in ("min_gram_length", "max_gram_length", "max_skip_count"))
    if mode not in _MODES or not 1 <= low <= high or skips < 0 or not coordinates:
        raise n.error(
            f"mode {mode!r}, gram lengths {low} to {high}, max_skip_count {skips} and {len(coordinates)} indexes given,"
            f" expected one of {', '.join(_MODES)}, lengths of 1 or more, 0 or more skips and at least one index"
        )
    if is_string(x.dtype) != bool(n.attr("pool_strings")):
        raise n.error(f"input 'X' is of type {type_name(x.dtype)}, expected the type of the pool")
    size = max(int(c) for c in coordinates) + 1
    rows = x if x.ndim == 2 else x.reshape(1, -1)
    check_size(n, (len(rows), size))
    lengths = range(low, high + 1)
    pool = _pool(n, lengths)
    counts = np.zeros((len(rows), size), dtype=np.float32)
    for row, into in zip(rows.tolist(), counts, strict=True):
        _count(row, pool, lengths, skips, into)
    result = _weighted(n, counts, mode)
    return result if x.ndim == 2 else result[0]


def _weighted(n: HostNode, counts: np.ndarray, mode: str) -> np.ndarray:
    if mode == "TF":
        return counts
    found = np.minimum(counts, 1) if mode == "IDF" else counts
    weights = n.attr("weights")
    if not weights:
        return found
    if len(weights) < counts.shape[1]:
        raise n.error(f"attribute 'weights' has {len(weights)} elements, expected {counts.shape[1]}")
    return found * np.asarray(weights[: counts.shape[1]], dtype=np.float32)
