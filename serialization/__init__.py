"""Bytes to plain data and back: the ``.bsl`` container."""

from __future__ import annotations

from .graph_data import AttrValue, Dim, GraphData, NodeData, TensorSpec

__all__ = ["AttrValue", "Dim", "GraphData", "NodeData", "TensorSpec"]
