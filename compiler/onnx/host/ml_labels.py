"""Encoders of ai.onnx.ml: LabelEncoder, CategoryMapper, OneHotEncoder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from basalt.compiler.onnx.host.checks import check_size, tensor
from basalt.compiler.onnx.host.conversion import convert
from basalt.compiler.onnx.host.element_types import STRING, is_float, is_string, string_array, type_name
from basalt.compiler.onnx.host.registry import ML, HostNode, host_op

_KINDS: dict[str, np.dtype] = {"int64s": np.dtype(np.int64), "floats": np.dtype(np.float32), "strings": STRING}


def _translate(
    x: np.ndarray, table: dict[Any, Any], default: Any, dtype: np.dtype, key: Callable[[Any], Any]
) -> np.ndarray:
    values = [table.get(key(v), default) for v in x.ravel().tolist()]
    return string_array(values, x.shape) if is_string(dtype) else np.array(values, dtype=dtype).reshape(x.shape)


@host_op("LabelEncoder", 1, domain=ML)
def label_encoder_1(n: HostNode, x: np.ndarray) -> np.ndarray:
    """Strings as their places in ``classes_strings`` (else ``default_int64``), or int64 places as strings."""
    x = tensor(n, "X", x)
    classes = list(n.required("classes_strings"))
    table = {label: place for place, label in enumerate(classes)}
    return _both_ways(n, x, table, dict(enumerate(classes)))


@host_op("CategoryMapper", 1, domain=ML)
def category_mapper(n: HostNode, x: np.ndarray) -> np.ndarray:
    """Strings as the numbers at the same places of ``cats_int64s``, or int64 numbers as the strings."""
    x = tensor(n, "X", x)
    numbers, texts = n.required("cats_int64s"), n.required("cats_strings")
    if len(numbers) != len(texts):
        raise n.error(f"cats_int64s has {len(numbers)} elements and cats_strings {len(texts)}, expected as many")
    return _both_ways(n, x, dict(zip(texts, numbers, strict=True)), dict(zip(numbers, texts, strict=True)))


def _both_ways(n: HostNode, x: np.ndarray, to_number: dict[str, int], to_text: dict[int, str]) -> np.ndarray:
    if is_string(x.dtype):
        return _translate(x, to_number, int(n.attr("default_int64", -1)), np.dtype(np.int64), str)
    if x.dtype != np.int64:
        raise n.error(f"input 'X' is of type {type_name(x.dtype)}, expected string or int64")
    return _translate(x, to_text, n.attr("default_string", "_Unused"), STRING, int)


def _column(n: HostNode, prefix: str) -> tuple[list[Any], np.dtype]:
    """The elements and their type of the only attribute among ``prefix``'s three lists and, from 4, its tensor."""
    found: list[tuple[list[Any], np.dtype]] = []
    for kind, dtype in _KINDS.items():
        values = n.attr(f"{prefix}_{kind}")
        if values is not None and len(values):
            found.append((np.array(values, dtype=dtype).tolist(), dtype))
    values = n.attr(f"{prefix}_tensor")
    if values is not None:
        found.append((np.asarray(values).reshape(-1).tolist(), np.asarray(values).dtype))
    if len(found) != 1:
        raise n.error(f"{len(found)} attributes {prefix}_* are given, expected one")
    return found[0]


def _default(n: HostNode, dtype: np.dtype) -> Any:
    """What a key that is not there gives."""
    given = n.attr("default_tensor")
    if n.attr("values_tensor") is not None:
        if given is not None:
            return np.asarray(given).reshape(-1).tolist()[0] if np.asarray(given).size else None
        return "_Unused" if is_string(dtype) else -0.0 if is_float(dtype) else -1
    if is_string(dtype):
        return n.attr("default_string", "_Unused")
    return float(n.attr("default_float", -0.0)) if is_float(dtype) else int(n.attr("default_int64", -1))


@host_op("LabelEncoder", 2, 4, domain=ML)
def label_encoder(n: HostNode, x: np.ndarray) -> np.ndarray:
    """Each element's value, from the parallel attributes ``keys_*`` and ``values_*``; else the default.

    Float keys at version 2 are compared bit by bit; at 4 as numbers, all NaNs being equal. Of equal keys the last
    counts at 4; at 2, which leaves it open, the first, as in ONNX Runtime.
    """
    x = tensor(n, "X", x)
    keys, key_type = _column(n, "keys")
    values, value_type = _column(n, "values")
    if len(keys) != len(values):
        raise n.error(f"{len(keys)} keys and {len(values)} values are given, expected as many")
    if x.dtype != key_type:
        raise n.error(f"input 'X' is of type {type_name(x.dtype)}, expected that of the keys, {type_name(key_type)}")
    if is_float(key_type) and n.version < 4:
        bits = np.dtype(f"u{key_type.itemsize}")
        x, keys = x.view(bits), np.array(keys, dtype=key_type).view(bits).tolist()
    pairs = list(zip(map(_same_nan, keys), values, strict=True))
    table = dict(reversed(pairs) if n.version < 4 else pairs)
    return _translate(x, table, _default(n, value_type), value_type, _same_nan)


def _same_nan(value: Any) -> Any:
    """``value``, or one thing for all NaNs."""
    return None if isinstance(value, float) and value != value else value


@host_op("OneHotEncoder", 1, domain=ML)
def one_hot_encoder(n: HostNode, x: np.ndarray) -> np.ndarray:
    """float32 [*, categories]: 1 at the place of each element among the categories.

    Floats are cut to integers. An element that is no category gives zeros, or an error without ``zeros``.
    """
    x = tensor(n, "X", x)
    categories: Sequence[Any] = n.attr("cats_strings" if is_string(x.dtype) else "cats_int64s") or ()
    if not categories:
        raise n.error(f"the attribute with the categories of an input of type {type_name(x.dtype)} is missing")
    check_size(n, (*x.shape, len(categories)))
    table = {category: place for place, category in enumerate(categories)}
    elements = x if is_string(x.dtype) else convert(x, np.dtype(np.int64))
    places = _translate(elements, table, -1, np.dtype(np.int64), lambda v: v)
    if not n.attr("zeros", 1) and (places < 0).any():
        raise n.error(f"input 'X' holds {x[places < 0].tolist()[0]!r}, expected one of the categories")
    return (places[..., None] == np.arange(len(categories))).astype(np.float32)
