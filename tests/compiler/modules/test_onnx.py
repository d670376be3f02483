"""Modules as ONNX models, in ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import basalt

from .compare import numbers, torch

ort = pytest.importorskip("onnxruntime")
nn = torch.nn


def network() -> Any:
    return nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.SiLU(), nn.MaxPool2d(2), nn.Flatten())


MODULES = {
    "network": (network, (2, 3, 6, 6)),
    "encoder": (lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (2, 5, 8)),
    "lstm": (lambda: nn.LSTM(4, 8, batch_first=True, bidirectional=True), (2, 5, 4)),
}


@pytest.mark.parametrize("name", MODULES)
def test_onnx_runtime_gives_the_same(name: str, tmp_path: Path) -> None:
    make, shape = MODULES[name]
    module = make().eval()
    model = basalt.from_torch(module, (numbers(*shape),), ({0: torch.export.Dim("batch")},))
    basalt.save(model, tmp_path / "m.onnx")
    session = ort.InferenceSession(tmp_path / "m.onnx")
    assert session.get_inputs()[0].shape[0] == "batch"
    x = numbers(3, *shape[1:])
    with torch.no_grad():
        expected = module(x)
    expected = (expected[0], *expected[1]) if isinstance(expected, tuple) else (expected,)
    for result, wanted in zip(session.run(None, {model.inputs[0].name: x.numpy()}), expected, strict=True):
        np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-5)
