"""Torch, which is imported when it is first needed."""

from __future__ import annotations

from typing import Any

from basalt.errors import UnsupportedError

__all__ = ["require_torch"]


def require_torch(what: str) -> Any:
    """The torch package.

    Raises:
        UnsupportedError: starting with ``what``, if it is not installed; says how to install it.
    """
    try:
        import torch
    except ImportError as error:
        raise UnsupportedError(f"{what} needs PyTorch: pip install 'basalt-compiler[torch]' ({error})") from error
    return torch
