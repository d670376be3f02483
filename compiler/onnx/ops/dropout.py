"""Dropout where it does nothing; in training mode it is left to the host."""

from __future__ import annotations

import numpy as np

from ..errors import OnHostError
from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import Tensor

BOOL_MASK_SINCE = 10


def _kept(n: NodeContext) -> tuple[Tensor, ...]:
    """The input, and a mask of ones."""
    x = n.tensor(0)
    if not n.wants(1):
        return (x,)
    one = n.constant(True) if n.version >= BOOL_MASK_SINCE else n.scalar(1, like=x)
    return x, n.expand(one, x.shape)


@onnx_op("Dropout", 1, 6)
def dropout_by_attribute(n: NodeContext) -> tuple[Tensor, ...]:
    if not n.attr("is_test") and n.attr("ratio"):
        raise OnHostError
    return _kept(n)


@onnx_op("Dropout", 7, 10)
def inference_dropout(n: NodeContext) -> tuple[Tensor, ...]:
    return _kept(n)


@onnx_op("Dropout", 12, 13, 22)
def dropout(n: NodeContext) -> tuple[Tensor, ...]:
    ratio, training = n.known(1), n.known(2)
    if n.given(2) and not _is(training, False) and not (n.given(1) and _is(ratio, 0)):
        raise OnHostError
    return _kept(n)


def _is(array: np.ndarray | None, number: float) -> bool:
    return array is not None and array.size == 1 and bool(array.reshape(-1)[0] == number)
