"""Results of rows on their way to a file or to stdout."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Protocol

import click
import numpy as np

from basalt.cli.rows.parquet import ParquetWriter, require_pyarrow
from basalt.cli.rows.predictors import Predictor, column_names
from basalt.serialization.atomic import atomic_file

__all__ = ["Results", "check_output", "opened"]

SUFFIXES = (".csv", ".npy", ".parquet")


class Results(Protocol):
    """Takes results in the order of their rows."""

    def write(self, parts: Sequence[np.ndarray]) -> None:
        """Add the results of some rows."""

    def close(self) -> None:
        """Add what stands at the end."""


class CsvResults:
    """Lines of CSV under a header."""

    def __init__(self, stream: IO[str], predictor: Predictor, delimiter: str) -> None:
        self._stream, self._predictor = stream, predictor
        self._writer = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
        self._is_first = True

    def write(self, parts: Sequence[np.ndarray]) -> None:
        if self._is_first:
            self._writer.writerow(column_names(self._predictor, parts))
            self._is_first = False
        columns = [column for part in parts for column in _columns(part)]
        self._writer.writerows(zip(*map(_printed, columns)))

    def close(self) -> None:
        self._stream.flush()


class ParquetResults:
    """Columns of a Parquet file."""

    def __init__(self, file: IO[bytes], predictor: Predictor) -> None:
        self._file, self._predictor = file, predictor
        self._writer: ParquetWriter | None = None

    def write(self, parts: Sequence[np.ndarray]) -> None:
        if self._writer is None:
            self._writer = ParquetWriter(self._file, column_names(self._predictor, parts))
        self._writer.write([_plain(column) for part in parts for column in _columns(part)])

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


class NpyResults:
    """One array in a .npy file, which grows as rows come: the header, which has room for that, is written last."""

    def __init__(self, file: IO[bytes], predictor: Predictor) -> None:
        self._file, self._method = file, predictor.method
        self._rows = 0
        self._kind: np.ndarray | None = None
        self._start = 0

    def write(self, parts: Sequence[np.ndarray]) -> None:
        if len(parts) != 1:
            raise click.ClickException(f"{self._method} gives {len(parts)} arrays, a .npy file holds one; write CSV")
        part = np.ascontiguousarray(_plain(parts[0]))
        if self._kind is None:
            self._kind = part[:0]
            self._write_header()
            self._start = self._file.tell()
        part = part.astype(self._kind.dtype, copy=False)
        self._file.write(part.tobytes())
        self._rows += len(part)

    def close(self) -> None:
        if self._kind is not None:
            self._file.seek(0)
            self._write_header()
            assert self._file.tell() == self._start

    def _write_header(self) -> None:
        assert self._kind is not None
        header = {
            "descr": np.lib.format.dtype_to_descr(self._kind.dtype),
            "fortran_order": False,
            "shape": (self._rows, *self._kind.shape[1:]),
        }
        np.lib.format.write_array_header_1_0(self._file, header)


def check_output(output: Path) -> None:
    """Refuse a place or a form of results that cannot be written, before the work is done for it."""
    if output.suffix.lower() not in SUFFIXES:
        raise click.UsageError(f"--output: {str(output)!r} ends in none of {', '.join(SUFFIXES)}")
    if not output.parent.is_dir():
        raise click.UsageError(f"--output: folder {str(output.parent)!r} does not exist")
    if output.is_dir():
        raise click.UsageError(f"--output: {str(output)!r} is a folder")
    if output.suffix.lower() == ".parquet":
        require_pyarrow(f"{output}: writing Parquet")


@contextmanager
def opened(output: Path | None, predictor: Predictor, delimiter: str) -> Iterator[Results]:
    """Where results go: a file, which appears when the block ends without an error, or stdout."""
    if output is None:
        results: Results = CsvResults(sys.stdout, predictor, delimiter)
        yield results
        results.close()
        return
    with atomic_file(str(output)) as file:
        match output.suffix.lower():
            case ".npy":
                results = NpyResults(file, predictor)
            case ".parquet":
                results = ParquetResults(file, predictor)
            case _:
                text = io.TextIOWrapper(file, "utf-8", newline="", write_through=True)
                results = CsvResults(text, predictor, delimiter)
        try:
            yield results
            results.close()
        finally:
            if isinstance(results, CsvResults):
                text.detach()


def _columns(part: np.ndarray) -> list[np.ndarray]:
    return [part] if part.ndim == 1 else list(part.T)


def _printed(column: np.ndarray) -> list[Any]:
    """Values that print in the fewest digits that give them back."""
    if column.dtype.kind == "f" and column.dtype.itemsize < 8:
        return column.astype(np.str_).tolist()
    return column.tolist()


def _plain(array: np.ndarray) -> np.ndarray:
    """Labels of any type as text, which files take that hold no Python objects."""
    return array.astype(np.str_) if array.dtype.kind == "O" else array
