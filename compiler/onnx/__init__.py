"""ONNX models: translated to core graphs, node by node, and run step by step where a graph alone cannot say them.

A model's way: ``model`` checks it and begins a ``script``; a ``tracer`` translates its nodes with the functions of
``ops`` into a ``region`` of core nodes, until the end or a step for the host (``host``, ``control``); a ``stage``
compiles the region, and goes on where translation stopped.
"""

from __future__ import annotations

from typing import Any

from basalt.serialization.onnx import OnnxModel, register_engine

__all__ = ["engine"]


def engine(model: OnnxModel) -> Any:
    """What runs a model for ``OnnxModel.run``."""
    from .model import OnnxExecutable

    return OnnxExecutable(model)


register_engine(engine)
