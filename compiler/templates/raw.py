"""Moving elements without looking at them."""

from __future__ import annotations

from ..views import View


def raw(view: View) -> View:
    """The view with its elements taken as plain bits."""
    return view.raw()
