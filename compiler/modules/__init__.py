"""PyTorch modules: exported by ``torch.export``, translated to core graphs ATen operator by ATen operator.

A module's way: ``exporting`` has torch write it down as a graph of ATen operators, ``program`` walks that graph with
the translators of ``ops``, which emit core nodes into a region as those of ONNX do (and call them where both standards
have the operator), and ``module`` is what runs. Only running from torch needs torch installed; a saved module does not.
"""

from __future__ import annotations

from .convert import from_torch
from .module import Module

__all__ = ["Module", "from_torch"]
