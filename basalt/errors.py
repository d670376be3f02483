"""The errors that Basalt raises; :class:`BasaltError` is the root of them all."""

from __future__ import annotations

__all__ = [
    "BasaltError",
    "DeadlineExceeded",
    "InvalidStateError",
    "ModelFormatError",
    "UnsupportedError",
    "ValidationError",
]


class BasaltError(Exception):
    """Root of every error that Basalt raises on purpose."""


class ValidationError(BasaltError, TypeError, ValueError):
    """A call, shape, data type or value that the operator or method does not allow (WebNN throws TypeError)."""


class InvalidStateError(BasaltError, RuntimeError):
    """A builder, graph, tensor or context used after it was built or destroyed."""


class ModelFormatError(BasaltError, ValueError):
    """A model file whose bytes are truncated, damaged or not of the stated format."""


class UnsupportedError(BasaltError, NotImplementedError):
    """An operator, version or combination that Basalt does not implement; names operator, domain, version and node."""


class DeadlineExceeded(BasaltError, TimeoutError):
    """A run that did not end within its timeout; the program can be run again at once."""
