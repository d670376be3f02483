"""Translators of ai.onnx.ml."""
