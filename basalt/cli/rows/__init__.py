"""``bslc run MODEL --csv FILE``: a result for each row of a table, in chunks, so that no table is too long."""

from __future__ import annotations

from .command import predict_rows

__all__ = ["predict_rows"]
