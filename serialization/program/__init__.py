"""Compiled programs in ``.bsl`` files: parts that are checked when they are used, each a record of plain values."""
