"""Operators of ONNX Runtime (domain com.microsoft), one file a family."""
