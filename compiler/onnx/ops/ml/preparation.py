"""Preparation of features in ai.onnx.ml: Scaler, Normalizer, Imputer, Binarizer, and picking and joining columns."""

from __future__ import annotations

import numpy as np

from ...errors import OnHostError
from ...node import NodeContext
from ...registry import ML, onnx_op
from ...tensor import Tensor
from .scores import features


@onnx_op("Scaler", 1, domain=ML)
def scaler(n: NodeContext) -> Tensor:
    x = n.tensor(0)
    held = x if x.dtype in ("float32", "float64") else n.cast(x, "float32")
    result = held
    for attribute, op in (("offset", "sub"), ("scale", "mul")):
        values = n.attr(attribute, None)
        if values:
            if x.rank and len(values) not in (1, *n.static(x.shape[-1])):
                raise n.error(f"attribute {attribute} has {len(values)} elements, expected 1 or {x.shape[-1]}")
            result = n.emit(op, result, n.constant(np.asarray(values, np.float32).astype(held.dtype)))
    return n.cast(result, "float32")


@onnx_op("Normalizer", 1, domain=ML)
def normalizer(n: NodeContext) -> Tensor:
    """Each row over its norm; a row of zeros stays."""
    x = features(n)
    kind = n.attr("norm", "MAX")
    reduction = {"MAX": "reduce_max", "L1": "reduce_l1", "L2": "reduce_l2"}.get(kind)
    if reduction is None:
        raise n.error(f"attribute norm is {kind!r}, expected MAX, L1 or L2")
    norm = n.emit(reduction, x, axes=(1,), keep_dimensions=True)
    empty = n.emit("equal", norm, n.scalar(0, norm), dtype="bool")
    divided = n.emit("div", x, n.emit("where", empty, n.scalar(1, norm), norm))
    return n.cast(n.reshape(divided, n.tensor(0).shape), "float32")


@onnx_op("Imputer", 1, domain=ML)
def imputer(n: NodeContext) -> Tensor:
    """Missing values, which are NaN or equal a number, replaced by a number for each column."""
    x = n.tensor(0)
    floating = x.dtype in ("float32", "float64")
    values = n.attr("imputed_value_floats" if floating else "imputed_value_int64s", None)
    if not values:
        raise OnHostError
    if len(values) not in (1, *n.static(x.shape[-1])):
        raise n.error(f"{len(values)} imputed values are given, expected 1 or {x.shape[-1]}")
    replaced = n.attr("replaced_value_float" if floating else "replaced_value_int64", 0)
    if floating and np.isnan(replaced):
        missing = n.emit("is_nan", x, dtype="bool")
    else:
        missing = n.emit("equal", x, n.scalar(replaced, x), dtype="bool")
    return n.emit("where", missing, n.constant(np.asarray(values), x.dtype), x)


@onnx_op("Binarizer", 1, domain=ML)
def binarizer(n: NodeContext) -> Tensor:
    x = n.tensor(0)
    above = n.emit("greater", x, n.scalar(n.attr("threshold", 0.0), x), dtype="bool")
    return n.emit("cast", above, data_type=x.dtype, dtype=x.dtype)


@onnx_op("ArrayFeatureExtractor", 1, domain=ML)
def array_feature_extractor(n: NodeContext) -> Tensor:
    """Elements of the last axis; a vector gives one row."""
    x, places = n.tensor(0), n.tensor(1)
    if x.rank == 0:
        raise n.error(f"input X is {x}, expected at least one axis")
    count = 1
    for d in places.shape:
        count = count * d  # type: ignore[assignment]
    known = n.known(1)
    if known is None or (isinstance(x.shape[-1], int) and (known.min() < 0 or known.max() >= x.shape[-1])):
        # Only the host refuses places that lie outside.
        raise OnHostError
    chosen = n.emit("gather", x, n.reshape(places, (count,)), axis=x.rank - 1)
    return n.reshape(chosen, (1, count)) if x.rank == 1 else chosen


@onnx_op("FeatureVectorizer", 1, domain=ML)
def feature_vectorizer(n: NodeContext) -> Tensor:
    """The inputs' columns side by side, each input cut to its dimension or filled up with zeros."""
    sizes = n.attr("inputdimensions", None) or ()
    parts = []
    for i, x in enumerate(n.tensors()):
        matrix = n.reshape(x, (1, *x.shape)) if x.rank == 1 else x
        if matrix.rank != 2:
            raise OnHostError
        (columns,) = n.static(matrix.shape[1])
        wanted = int(sizes[i]) if i < len(sizes) else columns
        if wanted > columns:
            matrix = n.emit("pad", matrix, beginning_padding=(0, 0), ending_padding=(0, wanted - columns))
        elif wanted < columns:
            matrix = n.slice(matrix, 1, 0, wanted)
        parts.append(n.cast(matrix, "float32"))
    return n.emit("concat", *parts, axis=1)


@onnx_op("OneHotEncoder", 1, domain=ML)
def one_hot_encoder(n: NodeContext) -> Tensor:
    """A new last axis that is 1 at the place of the element's category."""
    categories = n.attr("cats_int64s", None)
    if not categories or not n.attr("zeros"):
        # Strings, and elements that must be among the categories.
        raise OnHostError
    x = n.tensor(0)
    if x.dtype in ("float32", "float64"):
        x = n.cast(x, "int64")
    column = n.reshape(n.cast(x, "int64"), (*x.shape, 1))
    same = n.emit("equal", column, n.constant(np.asarray(categories, np.int64)), dtype="bool")
    return n.cast(same, "float32")


@onnx_op("LabelEncoder", 2, 4, domain=ML)
def label_encoder(n: NodeContext) -> Tensor:
    """Numbers mapped to numbers, where the keys are few: a chain of comparisons, the first that is equal counting."""
    keys = n.attr("keys_int64s", None) or n.attr("keys_floats", None)
    values = n.attr("values_int64s", None) or n.attr("values_floats", None)
    if not keys or not values or len(keys) != len(values) or len(keys) > MAX_KEYS:
        raise OnHostError
    whole = bool(n.attr("values_int64s", None))
    dtype = "int64" if whole else "float32"
    x = n.tensor(0)
    result = n.scalar(n.attr("default_int64" if whole else "default_float", -1 if whole else 0.0), dtype)
    for key, value in reversed(list(zip(keys, values))):
        if isinstance(key, float) and np.isnan(key):
            same = n.emit("is_nan", x, dtype="bool")
        else:
            same = n.emit("equal", x, n.scalar(key, x), dtype="bool")
        result = n.emit("where", same, n.scalar(value, dtype), result)
    return result


MAX_KEYS = 16
