"""The digits example as ONNX: the same predictions in ONNX Runtime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import basalt

from .one_operator import onnx, onnxruntime

FOLDER = Path(__file__).resolve().parents[4] / "examples" / "digits"


@pytest.mark.parametrize("opset", [17, 21])
def test_predictions(opset: int, tmp_path: Path) -> None:
    model = basalt.load(FOLDER / "digits.bsl")
    basalt.save_onnx(model, tmp_path / "digits.onnx", opset=opset)
    onnx.checker.check_model(str(tmp_path / "digits.onnx"), full_check=True)
    with np.load(FOLDER / "test_images.npz") as shipped:
        images, labels = shipped["images"], shipped["labels"]
    session = onnxruntime.InferenceSession(tmp_path / "digits.onnx", providers=["CPUExecutionProvider"])
    (given,) = session.get_inputs()
    batch = images.reshape(-1, *model.inputs[0].shape[1:]).astype(np.float32)
    assert (given.name, given.shape) == (model.inputs[0].name, list(model.inputs[0].shape))
    (ours,) = model.run({given.name: batch}).values()
    (theirs,) = session.run(None, {given.name: batch})
    np.testing.assert_allclose(theirs, ours, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(theirs.argmax(1), ours.argmax(1))
    assert (theirs.argmax(1) == labels).mean() > 0.95
