"""Sizes that each run decides: as names, copied or inferred by Reshape, computed from the inputs' shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from basalt.ops import symbol

from .one_operator import check, numbers

N, M, H, W = (symbol(name) for name in "nmhw")
opsets = pytest.mark.parametrize("opset", [17, 18, 21])
IMAGE = {"input": ("b", 3, "h", "w")}


@opsets
@pytest.mark.parametrize(
    ("target", "given"),
    [
        ((N * M * 4,), None),
        ((N, M, 2, 2), [0, 0, 2, 2]),
        ((N * M, 4), [-1, 4]),
        ((M, N, 4), None),
        ((N, M * 4), None),
        ((N * 2, M // 2, 4), None),
    ],
    ids=str,
)
def test_reshape(target: tuple[Any, ...], given: list[int] | None, opset: int) -> None:
    model = check("reshape", [numbers("float32", 2, 6, 4)], target, dims={"input": ("n", "m", 4)}, opset=opset)
    if given is not None:
        (shape,) = model.graph.initializers
        assert shape.array().tolist() == given
        assert [node.op_type for node in model.nodes] == ["Reshape"]


@pytest.mark.parametrize("size", [0, 3])
def test_sizes_of_0_reshape_too(size: int) -> None:
    for target in ((N, 2, 2), (N * 4,), (2, N * 2), (2, N, 2)):
        check("reshape", [numbers("float32", size, 4)], target, dims={"input": ("n", 4)})


@opsets
def test_movement(opset: int) -> None:
    rows = {"input": ("n", 3)}
    check("expand", [numbers("float32", 2, 1)], (3, N, N * 2), dims={"input": ("n", 1)}, opset=opset)
    check("slice", [numbers("float32", 6, 3)], (N - 4, 1), (N - 3, 2), dims=rows, opset=opset)
    check("split", [numbers("float32", 6, 3)], 3, axis=0, dims=rows, opset=opset)
    check("split", [numbers("float32", 6, 3)], (N - 2, 2), axis=0, dims=rows, opset=opset)
    check("pad", [numbers("float32", 6, 3)], (N - 5, 0), (1, 2), dims=rows, opset=opset)
    check("tile", [numbers("float32", 6, 3)], (2, 3), dims=rows, opset=opset)
    check("top_k", [numbers("float32", 6, 3)], N - 2, dims=rows, opset=opset, again=False)


@opsets
def test_indices_are_clipped_to_sizes(opset: int) -> None:
    source = numbers("float32", 4, 3)
    dims = {"input": ("n", 3), "indices": ("m",)}
    check("gather", [source, np.array([7, -9, 1])], dims=dims, opset=opset)
    dims = {"input": ("n", 3), "indices": ("m", 2)}
    check("gather_nd", [source, np.array([[7, 1], [-9, 1]])], dims=dims, opset=opset)


@pytest.mark.parametrize("opset", [17, 19])
@pytest.mark.parametrize("op", ["average_pool2d", "l2_pool2d", "max_pool2d"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"window_dimensions": (2, 2), "strides": (2, 2), "padding": (1, 0, 1, 0)},
        {"window_dimensions": (2, 2), "strides": (2, 2), "output_shape_rounding": "ceil"},
        {"window_dimensions": (2, 3), "strides": (3, 2), "padding": (1, 1, 2, 0), "output_shape_rounding": "ceil"},
        {"window_dimensions": (2, 2), "dilations": (2, 1)},
        {"window_dimensions": (2, 2), "padding": (2, 0, 0, 0)},
    ],
    ids=str,
)
def test_pools(op: str, options: dict[str, Any], opset: int) -> None:
    for sizes in ((5, 6), (6, 5)):
        x = numbers("float32", 2, 3, *sizes)
        check(op, [x], dims=IMAGE, opset=opset, again=opset == 17, **options)


@opsets
def test_images(opset: int) -> None:
    image = numbers("float32", 2, 3, 4, 5)
    for mode in ("nearest-neighbor", "linear"):
        check("resample2d", [image], scales=(1.5, 2.0), mode=mode, dims=IMAGE, opset=opset)
        nhwc = {"input": ("b", "h", "w", 3)}
        turned = numbers("float32", 2, 4, 5, 3)
        check("resample2d", [turned], scales=(1.5, 2.0), mode=mode, axes=(1, 2), dims=nhwc, opset=opset)
    check("conv2d", [image, numbers("float32", 4, 3, 2, 2)], dims=IMAGE, opset=opset)
    sizes = {"strides": (2, 2), "output_sizes": (2 * H + 1, 2 * W)}
    check("conv_transpose2d", [image, numbers("float32", 3, 4, 2, 2)], dims=IMAGE, opset=opset, **sizes)


@opsets
def test_normalisations(opset: int) -> None:
    x = numbers("float32", 2, 3, 4)
    words = {"input": ("b", "s", 4)}
    for axes in ((2,), (1, 2)):
        check("layer_normalization", [x], axes=axes, dims=words, opset=opset, tolerance=1e-3)
    vectors = {"mean": numbers("float32", 3), "variance": np.abs(numbers("float32", 3))}
    dims = {"input": ("b", "c", 4), "mean": ("c",), "variance": ("c",)}
    check("batch_normalization", {"input": x, **vectors}, dims=dims, opset=opset)
    check("instance_normalization", [x[..., None]], dims={"input": ("b", "c", 4, 1)}, opset=opset, tolerance=1e-3)


@opsets
def test_recurrent_networks(opset: int) -> None:
    x, dims, steps = numbers("float32", 4, 2, 5), {"input": ("s", "b", 5)}, symbol("s")
    lstm = {"input": x, "weight": numbers("float32", 2, 12, 5), "recurrent_weight": numbers("float32", 2, 12, 3)}
    options: dict[str, Any] = {"dims": dims, "direction": "both", "return_sequence": True, "tolerance": 1e-3}
    check("lstm", lstm, steps, 3, opset=opset, **options)
    check("lstm", lstm | {"peephole_weight": numbers("float32", 2, 9)}, steps, 3, opset=opset, **options)


@opsets
def test_loops_and_scans(opset: int) -> None:
    integers = numbers("int32", 5), np.array(3, np.int32)
    check("pow", integers, dims={"a": ("n",)}, opset=opset)
    check("cumulative_product", [numbers("float32", 3, 4)], 1, dims={"input": ("n", "m")}, opset=opset)


@opsets
def test_quantisation(opset: int) -> None:
    x, scale = numbers("int8", 4, 4), numbers("float32", 2, 2, low=0.1)
    dims = {"input": ("n", "m"), "scale": ("k", 2), "zero_point": ("k", 2)}
    check("dequantize_linear", [x, scale, np.zeros((2, 2), np.int8)], dims=dims, opset=opset)
    dims = {"input": ("n", "m"), "scale": ("n", 1), "zero_point": ("n", 1)}
    operands = [numbers("float32", 4, 4), numbers("float32", 4, 1, low=0.1), np.zeros((4, 1), np.int8)]
    check("quantize_linear", operands, dims=dims, opset=opset)


def test_sizes_themselves() -> None:
    from basalt.compiler.interpret import interpret
    from basalt.compiler.ir import Constants, Graph, Node, Value
    from basalt.compiler.model import Model
    from basalt.compiler.onnx.export import to_onnx
    from basalt.ops import TensorType

    from .one_operator import compare, run_elsewhere

    x = Value(TensorType("float32", (2 * N + 3, N * M, M)), "x")
    dims = (N, M, N - 5, (N - 5) // 2, (N - 5) % 3, N * M - 2 * N, 7, (N + M) // M)
    end = Value(TensorType("int64", (len(dims),)))
    graph = Graph((x,), (("y", end),), (Node("sizes", (), (end,), {"dims": dims}),))
    feeds = {"x": np.zeros((5, 4, 4), np.float32)}
    results, _ = run_elsewhere(to_onnx(Model(graph, Constants())).to_bytes(), feeds)
    compare(results, interpret(graph, Constants(), feeds), None)
