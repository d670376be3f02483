"""Products of ONNX Runtime: fused, and with packed weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from basalt.errors import BasaltError

from .comparison import agree, basalt_results, interpreted, node_model

RNG = np.random.default_rng(2)


def random(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize(
    ("a", "b", "attributes"),
    [
        ((3, 4), (4, 5), {}),
        ((2, 3, 4), (4, 5), {"alpha": 0.5}),
        ((4, 3), (5, 4), {"transA": 1, "transB": 1}),
        ((2, 4, 3), (2, 4, 5), {"transA": 1}),
        ((4,), (4, 5), {"transA": 1}),
        ((3, 4), (4,), {"transB": 1}),
        ((3, 2, 4), (2, 4, 5), {"transBatchA": 1}),
        ((3, 2, 4), (4, 2, 5), {"transBatchA": 1, "transBatchB": 1}),
        ((4, 2, 3), (2, 5, 4), {"transBatchA": 1, "transA": 1, "transB": 1}),
        ((3, 2, 6, 4), (2, 6, 4, 5), {"transBatchA": 1}),
    ],
)
def test_fused_matmul(a: Any, b: Any, attributes: dict[str, Any]) -> None:
    agree("FusedMatMul", [random(*a), random(*b)], attributes=attributes)


def test_fused_matmul_compiled() -> None:
    agree(
        "FusedMatMul",
        [random(2, 4, 3), random(5, 4)],
        attributes={"transA": 1, "transB": 1, "alpha": 2.0},
        compiled=True,
    )


def test_transpose_matmul() -> None:
    a, b = random(4, 3), random(4, 5)
    with interpreted():
        (y,) = basalt_results(node_model("TransposeMatMul", [a, b], 1, {"transA": 1, "alpha": 2.0}), [a, b])
    np.testing.assert_allclose(y, 2 * a.T @ b, rtol=1e-5, atol=1e-6)


ACTIVATIONS = [
    ("Relu", {}),
    ("LeakyRelu", {"activation_alpha": 0.2}),
    ("Sigmoid", {}),
    ("Tanh", {}),
    ("HardSigmoid", {"activation_alpha": 0.3, "activation_beta": 0.4}),
    ("Elu", {"activation_alpha": 0.7}),
    ("Softplus", {}),
    ("Softsign", {}),
]


@pytest.mark.parametrize(("name", "parameters"), ACTIVATIONS)
def test_fused_gemm(name: str, parameters: dict[str, float]) -> None:
    attributes = {"activation": name, "alpha": 0.5, "transB": 1, **parameters}
    agree("FusedGemm", [random(3, 4), random(5, 4), random(5)], attributes=attributes)


@pytest.mark.parametrize("rest", [False, True])
@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("Relu", []),
        ("LeakyRelu", [0.2]),
        ("Clip", [-0.5, 0.5]),
        ("HardSigmoid", [0.3, 0.4]),
        ("Sigmoid", []),
        ("Tanh", []),
    ],
)
def test_fused_conv(name: str, parameters: list[float], rest: bool) -> None:
    attributes: dict[str, Any] = {"activation": name, "pads": [1, 1, 1, 1], "kernel_shape": [3, 3]}
    if parameters:
        attributes["activation_params"] = parameters
    x, w, b = random(1, 2, 5, 5), random(3, 2, 3, 3), random(3)
    agree("FusedConv", [x, w, b, random(1, 3, 5, 5) if rest else None], attributes=attributes, compiled=rest)


def test_unknown_activation() -> None:
    x = random(2, 2)
    with pytest.raises(BasaltError, match="Nonsense"):
        basalt_results(node_model("FusedGemm", [x, x], 1, {"activation": "Nonsense"}), [x, x])


def packed(codes: np.ndarray, bits: int) -> np.ndarray:
    """Codes packed along the last axis, the lowest bits of a byte first."""
    per = 8 // bits
    padded = np.pad(codes, [(0, 0)] * (codes.ndim - 1) + [(0, -codes.shape[-1] % per)])
    parts = padded.reshape(*padded.shape[:-1], -1, per).astype(np.uint16)
    return (parts << (np.arange(per, dtype=np.uint16) * bits)).sum(-1).astype(np.uint8)


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("zero", ["none", "packed", "float"])
@pytest.mark.parametrize(("depth", "size"), [(64, 16), (40, 32), (32, 32)])
def test_matmul_n_bits(bits: int, zero: str, depth: int, size: int) -> None:
    rows, blocks = 6, -(-depth // size)
    codes = RNG.integers(0, 1 << bits, (rows, blocks, size))
    scales = (RNG.random((rows, blocks)) + 0.1).astype(np.float32)
    points = RNG.integers(0, 1 << bits, (rows, blocks))
    given = {"none": None, "packed": packed(points, bits), "float": points.astype(np.float32) + 0.5}[zero]
    x, bias = random(3, 2, depth), random(rows)
    attributes = {"K": depth, "N": rows, "bits": bits, "block_size": size}
    inputs = [x, packed(codes, bits), scales, given, None, bias]
    with interpreted():
        (y,) = basalt_results(node_model("MatMulNBits", inputs, 1, attributes, constant=[1, 2, 3, 5]), inputs)
    offset = {"none": np.full_like(points, 1 << (bits - 1)), "packed": points, "float": points + 0.5}[zero]
    weights = ((codes - offset[..., None]) * scales[..., None]).reshape(rows, -1)[:, :depth]
    np.testing.assert_allclose(y, x @ weights.T + bias, rtol=1e-4, atol=1e-4)
    if not (bits == 8 and zero == "float"):
        agree("MatMulNBits", inputs, attributes=attributes, constant=[1, 2, 3, 5], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("bits", [4, 8])
def test_matmul_n_bits_compiled(bits: int) -> None:
    codes, scales = RNG.integers(0, 1 << bits, (8, 2, 32)), random(8, 2)
    inputs = [random(3, 64), packed(codes, bits), scales]
    attributes = {"K": 64, "N": 8, "bits": bits, "block_size": 32}
    agree("MatMulNBits", inputs, attributes=attributes, constant=[1, 2], rtol=1e-3, atol=1e-3, compiled=True)


def test_matmul_n_bits_in_float16() -> None:
    codes, scales = RNG.integers(0, 16, (8, 2, 32)), random(8, 2)
    inputs = [random(3, 64).astype(np.float16), packed(codes, 4), scales.astype(np.float16)]
    attributes = {"K": 64, "N": 8, "bits": 4, "block_size": 32}
    agree("MatMulNBits", inputs, attributes=attributes, constant=[1, 2], rtol=2e-2, atol=0.2)


def test_matmul_n_bits_by_group_index() -> None:
    codes, scales = RNG.integers(0, 16, (5, 2, 16)), random(5, 2)
    groups = RNG.permutation(np.repeat([0, 1], 16)).astype(np.int32)
    inputs = [random(3, 32), packed(codes, 4), scales, None, groups]
    attributes = {"K": 32, "N": 5, "bits": 4, "block_size": 16}
    with interpreted():
        (y,) = basalt_results(node_model("MatMulNBits", inputs, 1, attributes, constant=[1, 2, 4]), inputs)
    weights = (codes.reshape(5, 32) - 8) * scales[:, groups]
    np.testing.assert_allclose(y, inputs[0] @ weights.T, rtol=1e-4, atol=1e-4)  # type: ignore[operator]


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize("compiled", [False, True])
def test_matmul_bnb4(kind: int, compiled: bool) -> None:
    rows, depth, size = 6, 32, 16
    codes = RNG.integers(0, 256, rows * depth // 2).astype(np.uint8)
    top = (RNG.random(rows * depth // size) + 0.1).astype(np.float32)
    attributes = {"K": depth, "N": rows, "block_size": size, "quant_type": kind}
    agree("MatMulBnb4", [random(3, depth), codes, top], attributes=attributes, constant=[1, 2], compiled=compiled)


def test_packed_weights_of_a_wrong_size() -> None:
    inputs = [random(3, 64), np.zeros((8, 2, 15), np.uint8), random(8, 2)]
    attributes = {"K": 64, "N": 8, "bits": 4, "block_size": 32}
    with pytest.raises(BasaltError, match="expected 256"):
        basalt_results(node_model("MatMulNBits", inputs, 1, attributes, constant=[1, 2]), inputs)
