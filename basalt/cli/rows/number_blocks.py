"""Blocks of text that hold nothing but numbers, parsed by compiled code."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

__all__ = ["BlockParser", "arrow_parser", "numpy_parser"]

BlockParser: TypeAlias = Callable[[bytes], "np.ndarray | None"]
"""Takes whole lines without quotes; gives float64 [lines, columns], or None for what it does not take.

Both parsers round correctly and take a part of what ``float`` takes, so that it never shows which one was used.
"""


def numpy_parser(delimiter: str, columns: int) -> BlockParser:
    """By NumPy's parser: 80 to 280 ns a number."""

    def parse(block: bytes) -> np.ndarray | None:
        lines = _unix_lines(block)
        if lines is None or not lines.isascii():
            return None
        text = _filled(lines.decode("ascii"), delimiter)
        try:
            found = np.loadtxt(io.StringIO(text), np.float64, comments=None, delimiter=delimiter, ndmin=2)
        except ValueError:
            return None
        return found if found.shape == (lines.count(b"\n"), columns) else None

    return parse


def arrow_parser(delimiter: str, columns: int) -> BlockParser | None:
    """By pyarrow's parser, 60 to 85 ns a number on one thread; None where pyarrow is not installed."""
    try:
        import pyarrow
        from pyarrow import csv
    except ImportError:
        return None
    names = [str(i) for i in range(columns)]
    types = dict.fromkeys(names, pyarrow.float64())
    parsing = csv.ParseOptions(delimiter=delimiter, quote_char=False, ignore_empty_lines=False)
    converting = csv.ConvertOptions(column_types=types, null_values=[""])
    reading = csv.ReadOptions(column_names=names)

    def parse(block: bytes) -> np.ndarray | None:
        lines = _unix_lines(block)
        if lines is None:
            return None
        try:
            table = csv.read_csv(
                pyarrow.py_buffer(lines), read_options=reading, parse_options=parsing, convert_options=converting
            )
        except pyarrow.ArrowInvalid:
            return None
        if table.num_rows != lines.count(b"\n"):
            return None
        found = np.empty((table.num_rows, columns))
        for place, column in enumerate(table.columns):
            found[:, place] = column.to_numpy()
        return found

    return parse


def _unix_lines(block: bytes) -> bytes | None:
    """The block with lines that end in LF; None if one is empty or a CR stands elsewhere."""
    if b"\r" in block:
        block = block.replace(b"\r\n", b"\n")
        if b"\r" in block:
            return None
    if not block.endswith(b"\n"):
        block += b"\n"
    return None if block.startswith(b"\n") or b"\n\n" in block else block


def _filled(text: str, delimiter: str) -> str:
    """The text with NaN in empty cells, which NumPy's parser refuses."""
    text = "\n" + text
    # Cells side by side share a delimiter, of which one replacement takes every other.
    for _ in range(2):
        text = text.replace(delimiter * 2, f"{delimiter}nan{delimiter}")
    text = text.replace(f"\n{delimiter}", f"\nnan{delimiter}").replace(f"{delimiter}\n", f"{delimiter}nan\n")
    return text[1:]
