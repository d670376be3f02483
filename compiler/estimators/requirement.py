"""scikit-learn, which is never imported to translate, load or run an estimator: only to say that it is missing."""

from __future__ import annotations

from basalt.errors import UnsupportedError

__all__ = ["require_sklearn"]


def require_sklearn(what: str) -> None:
    """Raise UnsupportedError, starting with ``what``, if scikit-learn is not installed; says how to install it."""
    try:
        import sklearn  # noqa: F401
    except ImportError as error:
        raise UnsupportedError(
            f"{what} needs scikit-learn: pip install 'basalt-compiler[sklearn]' ({error})"
        ) from error
