"""Single operators in the shapes that networks have, as ONNX models of one operator or a short chain."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from . import Case, Options

__all__ = ["PEERS", "build", "cases"]

PEERS = ("ort", "openvino", "numpy", "torch")
_F32 = 4
_GEMMS = (
    (128, 768, 768),
    (128, 768, 3072),
    (128, 3072, 768),
    (512, 512, 512),
    (1024, 1024, 1024),
    (3136, 64, 64),
    (196, 1024, 256),
    (1, 768, 3072),
    (1, 4096, 4096),
)
# Side of the image, channels in and out, kernel, stride, groups: those of ResNet-50, then depthwise of MobileNetV2.
_CONVS = {
    "3x3-56-64-64": (56, 64, 64, 3, 1, 1),
    "1x1-56-64-256": (56, 64, 256, 1, 1, 1),
    "3x3-28-128-128": (28, 128, 128, 3, 1, 1),
    "3x3-14-256-256": (14, 256, 256, 3, 1, 1),
    "3x3-7-512-512": (7, 512, 512, 3, 1, 1),
    "7x7s2-224-3-64": (224, 3, 64, 7, 2, 1),
    "depthwise-112-32": (112, 32, 32, 3, 1, 32),
    "depthwise-14-576": (14, 576, 576, 3, 1, 576),
}
_CHAIN = 6
_TRANSPOSES = (((1, 128, 12, 64), (0, 2, 1, 3)), ((1, 64, 56, 56), (0, 2, 3, 1)), ((2048, 2048), (1, 0)))
_QUICK = ("gemm/128x768x768", "gemm/1x768x3072", "conv/3x3-14-256-256", "softmax/1536x128", "transpose/1x128x12x64")
# A unit in the last place of eight bits; activations in eight bits, as accuracy level 4 says.
_BYTE, _ROUNDED_ACTIVATIONS = 1.2e-2, 3e-2


def cases(options: Options) -> list[Case]:
    """Products, convolutions, rows, attention, recurrent layers, movement, whole numbers."""
    found = [*_products(), *_convolutions(), *_rows(), *_attention(), *_movement(), *_integers()]
    return [case for case in found if not options.quick or case.name in _QUICK]


def build(case: Case, folder: Path) -> None:
    """Write ``model.onnx``, ``feeds.npz`` and ``expected.npz``."""
    from .kernel_models import build_model, expected_outputs

    model, feeds = build_model(case.params, np.random.default_rng(11))
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    np.savez(folder / "feeds.npz", **feeds)
    np.savez(folder / "expected.npz", **expected_outputs(model, feeds))


def _case(
    name: str,
    op: str,
    sizes: dict[str, Any],
    operations: float = 0,
    moved: float = 0,
    tolerance: float = 1e-4,
    kind: str = "flops",
) -> Case:
    work = {key: float(value) for key, value in ((kind, operations), ("bytes", moved)) if value}
    params = {"kind": "onnx", "bound": True, "op": op, **sizes}
    return Case("kernels", name, name.replace("/", "-"), params, tolerance, work)


def _products() -> list[Case]:
    return [
        _case(
            f"gemm/{m}x{k}x{n}",
            "gemm",
            {"m": m, "k": k, "n": n},
            2 * m * k * n,
            _F32 * (m * k + k * n + m * n),
        )
        for m, k, n in _GEMMS
    ]


def _convolutions() -> list[Case]:
    found = []
    for name, (side, inner, outer, kernel, stride, groups) in _CONVS.items():
        sizes = {"side": side, "inner": inner, "outer": outer, "kernel": kernel, "stride": stride, "groups": groups}
        out = -(-side // stride)
        flops = 2 * out * out * outer * (inner // groups) * kernel * kernel
        moved = _F32 * (side * side * inner + out * out * outer + outer * (inner // groups) * kernel * kernel)
        found.append(_case(f"conv/{name}", "conv", sizes | {"layers": 1}, flops, moved))
        if inner == outer and stride == 1:
            chain = sizes | {"layers": _CHAIN}
            found.append(_case(f"conv-chain/{name}", "conv", chain, _CHAIN * flops, _CHAIN * moved))
    return found


def _rows() -> list[Case]:
    found = []
    for op, rows, width in (
        ("softmax", 1536, 128),
        ("softmax", 64, 1000),
        ("layernorm", 128, 768),
        ("layernorm", 2048, 1024),
        ("sum", 4096, 1024),
        ("gelu", 128, 3072),
        ("tanh", 512, 4096),
    ):
        found.append(_case(f"{op}/{rows}x{width}", op, {"rows": rows, "width": width}, moved=2 * _F32 * rows * width))
    found.append(_case("add/64MiB", "add", {"rows": 4096, "width": 4096}, moved=3 * _F32 * 4096 * 4096))
    return found


def _attention() -> list[Case]:
    found = []
    for length in (128, 1024):
        sizes = {"heads": 12, "length": length, "width": 64}
        flops, moved = 4 * 12 * length * length * 64, 4 * _F32 * 12 * length * 64
        found.append(_case(f"attention/1x12x{length}x64", "attention", sizes, flops, moved))
        found.append(_case(f"attention-op/1x12x{length}x64", "attention_op", sizes, flops, moved))
    steps, hidden = 64, 128
    sizes = {"steps": steps, "hidden": hidden}
    found.append(_case("lstm/64x128", "lstm", sizes, steps * 2 * 4 * hidden * 2 * hidden, tolerance=1e-4))
    return found


def _movement() -> list[Case]:
    found = []
    for mode, side, channels in (("linear", 56, 64), ("nearest", 56, 64), ("cubic", 112, 3)):
        moved = _F32 * side * side * channels * 5
        sizes = {"mode": mode, "side": side, "channels": channels}
        found.append(_case(f"resize/{mode}-{side}x{side}x{channels}-x2", "resize", sizes, moved=moved))
    for shape, order in _TRANSPOSES:
        sizes = {"shape": list(shape), "order": list(order)}
        name = "x".join(map(str, shape))
        found.append(_case(f"transpose/{name}", "transpose", sizes, moved=2 * _F32 * prod(shape), tolerance=0.0))
    return found


def _integers() -> list[Case]:
    m, k, n = 128, 768, 768
    sizes, operations = {"m": m, "k": k, "n": n, "exact": True}, 2 * m * k * n
    side, channels = 28, 128
    image, kernel = side * side * channels, 9 * channels * channels
    conv = {"side": side, "channels": channels, "exact": True}
    found = [
        _case("int8/qlinear-128x768x768", "qlinear_matmul", sizes, operations, m * k + k * n + m * n, _BYTE, "int8"),
        _case("int8/integer-128x768x768", "matmul_integer", sizes, operations, m * k + k * n + 4 * m * n, 0.0, "int8"),
        _case("int8/qdq-conv-3x3-28-128", "qdq_conv", conv, 2 * side**2 * kernel, kernel + 2 * image, _BYTE, "int8"),
    ]
    width = 4096
    moved = width * width * (0.5 + _F32 / 32)
    for level, tolerance, kind in ((0, 1e-4, "flops"), (4, _ROUNDED_ACTIVATIONS, "int8")):
        sizes = {"k": width, "n": width, "level": level}
        found.append(_case(f"int4/1x4096x4096-level{level}", "nbits", sizes, 2 * width**2, moved, tolerance, kind))
    return found
