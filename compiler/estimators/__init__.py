"""Fitted scikit-learn estimators as compiled graphs: one translator an estimator class.

scikit-learn is never imported here: estimators are told by the names of their classes.
"""

from __future__ import annotations

from .convert import from_sklearn
from .estimator import Estimator

__all__ = ["Estimator", "from_sklearn"]
