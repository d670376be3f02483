"""Writes core graphs as ONNX models: one function a core operator, over a small writer of ONNX nodes."""

from __future__ import annotations

from .model import DEFAULT_OPSET, save_onnx, to_onnx

__all__ = ["DEFAULT_OPSET", "save_onnx", "to_onnx"]
