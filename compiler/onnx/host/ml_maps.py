"""Maps of ai.onnx.ml: DictVectorizer, CastMap, ZipMap."""

from __future__ import annotations

from typing import Any

import numpy as np

from basalt.compiler.onnx.host.checks import check_size, tensor
from basalt.compiler.onnx.host.element_types import STRING, is_string, string_array
from basalt.compiler.onnx.host.number_text import to_numbers
from basalt.compiler.onnx.host.registry import ML, HostNode, host_op


def _map(n: HostNode, value: Any) -> dict[Any, Any]:
    if not isinstance(value, dict):
        raise n.error(f"input 'X' is a {type(value).__name__}, expected a map")
    if len({isinstance(v, str) for v in value.values()}) > 1:
        raise n.error("input 'X' is a map to strings and numbers, expected one type of values")
    return value


def _value_type(n: HostNode, values: list[Any]) -> np.dtype:
    """The element type of a map's values, as far as they show it; Python's floats stand for float32."""
    if n.output_dtypes and n.output_dtypes[0]:
        return STRING if n.output_dtypes[0] == "string" else np.dtype(n.output_dtypes[0])
    if values and isinstance(values[0], str):
        return STRING
    if values and isinstance(values[0], np.generic | np.ndarray):
        return values[0].dtype
    return np.dtype(np.int64 if values and all(isinstance(v, int) for v in values) else np.float32)


@host_op("DictVectorizer", 1, domain=ML)
def dict_vectorizer(n: HostNode, x: dict[Any, Any]) -> np.ndarray:
    """[1, vocabulary] of the map's values at the places of their keys in the vocabulary, 0 or "" elsewhere.

    The leading axis, which the standard does not ask for, is ONNX Runtime's: models rely on a matrix.
    """
    given = _map(n, x)
    vocabulary = n.attr("string_vocabulary") or n.attr("int64_vocabulary")
    if not vocabulary or (n.attr("string_vocabulary") and n.attr("int64_vocabulary")):
        raise n.error("expected one of the attributes 'string_vocabulary' and 'int64_vocabulary'")
    unknown = [key for key in given if key not in set(vocabulary)]
    if unknown:
        raise n.error(f"input 'X' has the key {unknown[0]!r}, expected keys of the vocabulary")
    dtype = _value_type(n, list(given.values()))
    values = [given.get(key, "" if is_string(dtype) else 0) for key in vocabulary]
    return string_array(values, (1, len(values))) if is_string(dtype) else np.array([values], dtype=dtype)


_TARGETS: dict[str, np.dtype] = {"TO_FLOAT": np.dtype(np.float32), "TO_INT64": np.dtype(np.int64), "TO_STRING": STRING}


def _cast(n: HostNode, values: list[Any], dtype: np.dtype) -> np.ndarray:
    """The map's values, floats or strings, as a tensor [1, count]; floats with six decimals as strings."""
    if values and isinstance(values[0], str):
        texts = string_array(values, (1, len(values)))
        return texts if is_string(dtype) else to_numbers(n, texts, dtype, saturate=True, round_mode="up")
    if is_string(dtype):
        return string_array([f"{float(v):f}" for v in values], (1, len(values)))
    return np.array([[dtype.type(v) for v in values]], dtype=dtype)


@host_op("CastMap", 1, domain=ML)
def cast_map(n: HostNode, x: dict[int, Any]) -> np.ndarray:
    """[1, count] of the map's values by rising key, or with ``map_form`` SPARSE [1, max_map], each at its key.

    The leading axis and the form of numbers as strings are ONNX Runtime's; the standard says nothing of either.
    """
    given = _map(n, x)
    form, cast_to = n.attr("map_form", "DENSE"), n.attr("cast_to", "TO_FLOAT")
    if form not in ("DENSE", "SPARSE") or cast_to not in _TARGETS:
        raise n.error(f"map_form is {form!r} and cast_to {cast_to!r}, expected DENSE or SPARSE and TO_FLOAT, ...")
    if not all(isinstance(key, int | np.integer) for key in given):
        raise n.error("input 'X' is a map from strings, expected one from integers")
    keys = sorted(given)
    cast = _cast(n, [given[key] for key in keys], _TARGETS[cast_to])
    if form == "DENSE":
        return cast
    (size,) = check_size(n, (int(n.attr("max_map", 1)),))
    if keys and not (keys[0] >= 0 and keys[-1] < size):
        raise n.error(f"input 'X' has keys {keys[0]} to {keys[-1]}, expected 0 to {size - 1} (max_map)")
    strings = bool(keys) and isinstance(given[keys[0]], str)
    blank = _cast(n, ["" if strings and cast_to == "TO_STRING" else "0" if strings else 0.0], _TARGETS[cast_to])
    result = np.repeat(blank, size, axis=1)
    result[:, keys] = cast
    return result


@host_op("ZipMap", 1, domain=ML)
def zip_map(n: HostNode, x: np.ndarray) -> list[dict[Any, float]]:
    """A map from class labels to the row's values for each row of [N, E] (or for [E])."""
    x = tensor(n, "X", x, (1, 2))
    labels = n.once("labels", lambda: _labels(n))
    if x.shape[-1] != len(labels):
        raise n.error(f"input 'X' has shape {x.shape}, expected {len(labels)} columns, one a label")
    rows = x.tolist() if x.ndim == 2 else [x.tolist()]
    return [dict(zip(labels, row)) for row in rows]


def _labels(n: HostNode) -> Any:
    labels = n.attr("classlabels_strings") or n.attr("classlabels_int64s")
    if not labels or (n.attr("classlabels_strings") and n.attr("classlabels_int64s")):
        raise n.error("expected one of the attributes 'classlabels_strings' and 'classlabels_int64s'")
    return labels
