"""Every operator is exported at the oldest, a middle and the newest opset, or refused with the opset that it needs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from basalt import ops
from basalt.compiler.onnx.export.registry import exporters

from .one_operator import check, numbers
from .test_extension import forest

X = numbers("float32", 2, 3, 4, low=0.2, high=0.9)
IMAGE = numbers("float32", 1, 2, 4, 4)
KERNEL = numbers("float32", 2, 2, 2, 2)
INTEGERS = numbers("int32", 2, 3)
BYTES = np.array([[0, 1, 5], [1, 0, 0]], np.uint8)
TREES = forest("float32")
UNITS = {"weight": numbers("float32", 1, 9, 2), "recurrent_weight": numbers("float32", 1, 9, 3)}
MORE_UNITS = {"weight": numbers("float32", 1, 12, 2), "recurrent_weight": numbers("float32", 1, 12, 3)}
SEQUENCE = {"input": numbers("float32", 4, 2, 2)}
STEP = {"input": numbers("float32", 2, 2), "hidden_state": numbers("float32", 2, 3)}

Case = tuple[Any, tuple[Any, ...], dict[str, Any]]


def cell(units: dict[str, np.ndarray], **states: np.ndarray) -> dict[str, np.ndarray]:
    return {**STEP, **{name: x[0] for name, x in units.items()}, **states}


CASES: dict[str, Case] = {
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor"), ([BYTES, BYTES[:1]], (), {})),
    "logical_not": ([BYTES], (), {}),
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor"), ([INTEGERS, INTEGERS[:1]], (), {})),
    "bitwise_not": ([INTEGERS], (), {}),
    **dict.fromkeys(("shift_left", "shift_right"), ([INTEGERS, np.abs(INTEGERS)], (), {})),
    **dict.fromkeys(("arg_max", "arg_min", "softmax", "cumulative_sum", "cumulative_product"), ([X], (1,), {})),
    **dict.fromkeys(("average_pool2d", "l2_pool2d", "max_pool2d"), ([IMAGE], (), {"window_dimensions": (2, 2)})),
    "acosh": ([X + 1], (), {}),
    "attention": (
        {"query": X, "key": X[:, :2], "value": X[:, :2], "mask": X[0, :, :2], "keep": BYTES[1:, :2]},
        (),
        {"scale": 0.5, "fill": -3.0},
    ),
    "batch_normalization": ([X, X[0, :, 0], X[0, :, 1]], (), {}),
    "cast": ([X], ("int32",), {}),
    "bitcast": ([X], ("int32",), {}),
    "clamp": ([X], (), {"min_value": 0.3, "max_value": 0.6}),
    "concat": ([X, X], (1,), {}),
    **dict.fromkeys(("conv2d", "conv_transpose2d"), ([IMAGE, KERNEL], (), {})),
    "conv_integer": ([numbers("uint8", 1, 2, 4, 4), numbers("int8", 2, 2, 2, 2)], (), {}),
    "deform_conv": ([IMAGE, KERNEL, numbers("float32", 1, 8, 3, 3, low=-1, high=1)], (), {}),
    "dft": ([X[..., :2]], (3,), {}),
    "dequantize_linear": ([numbers("int8", 2, 3), X[:1, :, 0], numbers("int8", 1, 3)], (), {}),
    "expand": ([X[:, :1]], ((2, 3, 4),), {}),
    "gather": ([X, np.array([0, -1])], (), {"axis": 1}),
    "gather_elements": ([X, np.zeros((2, 1, 4), np.int64)], (), {"axis": 1}),
    "gather_nd": ([X, np.array([[0, 1], [1, -1]])], (), {}),
    "gemm": ([X[0], X[0].T], (), {}),
    "grid_sample": ([IMAGE, numbers("float32", 1, 2, 2, 2, low=-1, high=1)], (), {}),
    "gru": ({**SEQUENCE, **UNITS}, (4, 3), {"tolerance": 1e-3}),
    "gru_cell": (cell(UNITS), (3,), {"tolerance": 1e-3}),
    "instance_normalization": ([IMAGE], (), {"tolerance": 1e-3}),
    "interpolate2d": ([IMAGE], ((5, 7), (0.25, -0.5), (0.5, 0.7)), {}),
    "layer_normalization": ([X], (), {"tolerance": 1e-3}),
    "lstm": ({**SEQUENCE, **MORE_UNITS}, (4, 3), {"tolerance": 1e-3}),
    "lstm_cell": (cell(MORE_UNITS, cell_state=numbers("float32", 2, 3)), (3,), {"tolerance": 1e-3}),
    "matmul": ([X, X[0].T], (), {}),
    "matmul_blocks": (
        [numbers("float32", 2, 7), numbers("uint8", 3, 8), numbers("float32", 3, 2), numbers("uint8", 3, 2)],
        (),
        {},
    ),
    "matmul_integer": ([numbers("uint8", 2, 3), numbers("int8", 3, 2)], (), {}),
    "max_pool_indices": ([np.arange(32, dtype=np.float32).reshape(1, 2, 4, 4)], ((2, 2),), {"again": False}),
    "max_roi_pool": ([IMAGE, np.array([[0, 0, 0, 3, 3]], np.float32)], (), {"output_height": 2}),
    "pad": ([X], ((1, 0, 0), (0, 2, 0)), {}),
    "prelu": ([X - 0.5, X[:1]], (), {}),
    "quantize_linear": ([X, X[:1, :1, :1], numbers("int8", 1, 1, 1)], (), {}),
    "recurrent": ({**SEQUENCE, **UNITS}, ("gru", 3), {"tolerance": 1e-3}),
    "resample2d": ([IMAGE], (), {"sizes": (3, 7)}),
    "reshape": ([X], ((6, 4),), {}),
    "roi_align": ([IMAGE, np.array([[0, 0, 3, 3]], np.float32), np.array([0])], (), {"tolerance": 1e-4}),
    "scatter_elements": ([X, np.zeros((2, 1, 4), np.int64), X[:, :1]], (), {"axis": 1}),
    "scatter_elements_reduce": ([X, np.zeros((2, 2, 4), np.int64), X[:, :2]], ("mul",), {"axis": 1}),
    "scatter_nd": ([X, np.array([[0, 1], [1, -1]]), X[0, :2]], (), {}),
    "scatter_nd_reduce": ([X, np.array([[0, 1], [0, 1]]), X[0, :2]], ("max",), {}),
    "sizes": ([], ((2, 3),), {}),
    "slice": ([X], ((0, 1, 0), (2, 2, 4)), {}),
    "stft": ({"input": X[..., :1], "window": X[0, 0, :2]}, (2, 1), {}),
    "split": ([X], (2,), {"axis": 2}),
    "tile": ([X], ((1, 2, 1),), {}),
    "top_k": ([X], (2,), {}),
    "tree_ensemble": ({"input": X[0, :, :3], **TREES}, (2,), {"constant": tuple(TREES)}),
    "where": ([BYTES[..., None], X, X + 1], (), {}),
}
SINCE = {"bitwise_and": 18, "bitwise_or": 18, "bitwise_xor": 18, "bitwise_not": 18, "deform_conv": 19, "bitcast": 26}
SINCE["scatter_nd_reduce"] = 18
ALL = [*ops.all_operators(), *ops.extension_operators()]


def case(op: str) -> Case:
    if op in CASES:
        return CASES[op]
    names = [o.name for o in ops.get(op).operands]
    assert names in (["input"], ["a"], ["a", "b"]), f"{op} needs a case"
    return [X, X[:1]][: len(names)], (), {}


def test_every_operator_has_an_exporter() -> None:
    assert set(exporters()) == set(ALL)


@pytest.mark.parametrize("opset", [17, 21, 28])
@pytest.mark.parametrize("op", ALL)
def test_operators(op: str, opset: int) -> None:
    operands, arguments, options = case(op)
    if opset >= SINCE.get(op, 0):
        check(op, operands, *arguments, opset=opset, **{"again": opset == 17, **options})
        return
    from basalt.errors import UnsupportedError

    with pytest.raises(UnsupportedError, match=rf"at opset {opset}:\n  {op} \(node 0\): .* from opset {SINCE[op]} on"):
        check(op, operands, *arguments, opset=opset, **options)
