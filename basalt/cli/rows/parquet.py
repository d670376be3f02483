"""Tables in Parquet files, read and written with pyarrow."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import click
import numpy as np

from basalt.cli.rows.features import Chunk, Features, arranged, column_labels

__all__ = ["ParquetTable", "ParquetWriter", "require_pyarrow"]

ROWS = 1 << 15
"""Rows that are read at once."""


def require_pyarrow(what: str) -> Any:
    """pyarrow with its parquet module. Raises click.ClickException, which says how to install it, if it is missing."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise click.ClickException(f"{what} needs pyarrow: pip install 'basalt-compiler[parquet]' ({error})") from error
    return pyarrow


class ParquetTable:
    """The rows of a file. Errors are click.ClickExceptions that name the file, the row and the column.

    ``size`` are the file's bytes, ``read`` about those that were read, ``width`` its columns,
    ``labels`` what messages call the features.
    """

    unit = "row"

    def __init__(self, path: Path, features: Features) -> None:
        self.name = str(path)
        self.size, self.read = path.stat().st_size, 0
        self.features = features
        self._pyarrow = require_pyarrow(f"{path}: reading Parquet")
        try:
            self._file = self._pyarrow.parquet.ParquetFile(path)
        except (self._pyarrow.ArrowException, OSError) as error:
            raise click.ClickException(f"{path}: not a readable Parquet file: {error}") from error
        self.width = len(self._file.schema_arrow.names)

    def chunks(self) -> Iterator[Chunk]:
        """The rows; a table of none gives no chunk."""
        schema = self._file.schema_arrow
        places = arranged(self.features, schema.names, self.width, self.name)
        self.labels = column_labels(self.features, schema.names, places)
        self._check_types([schema.field(i).type for i in places])
        done, total = 0, max(self._file.metadata.num_rows, 1)
        try:
            for batch in self._file.iter_batches(ROWS):
                if not batch.num_rows:
                    continue
                rows = self._rows([batch.column(i) for i in places])
                yield Chunk(rows, np.arange(done + 1, done + 1 + batch.num_rows))
                done += batch.num_rows
                self.read = self.size * done // total
        except (self._pyarrow.ArrowException, OSError) as error:
            raise click.ClickException(f"{self.name}, after row {done}: damaged: {error}") from error

    def _check_types(self, types: Sequence[Any]) -> None:
        kinds = self._pyarrow.types
        for place, kind in enumerate(types):
            is_number = (
                kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_boolean(kind) or kinds.is_null(kind)
            )
            if place not in self.features.categories and not (is_number or kinds.is_decimal(kind)):
                raise click.ClickException(f"{self.name}: {self.labels[place]} holds {kind}, expected numbers")

    def _rows(self, columns: Sequence[Any]) -> np.ndarray:
        categories = self.features.categories
        made = np.empty((len(columns[0]), len(columns)), object if categories else np.float64)
        for place, column in enumerate(columns):
            if place in categories:
                missing = None if None in categories[place] else math.nan
                made[:, place] = [missing if value is None else value for value in column.to_pylist()]
            else:
                # Booleans are cast to integers only.
                whole = column.cast(self._pyarrow.int8()) if self._pyarrow.types.is_boolean(column.type) else column
                numbers = whole.cast(self._pyarrow.float64(), safe=False)
                made[:, place] = numbers.to_numpy(zero_copy_only=False)
        return made


class ParquetWriter:
    """Writes results as columns of a Parquet file."""

    def __init__(self, file: IO[bytes], names: Sequence[str]) -> None:
        self._pyarrow = require_pyarrow("writing Parquet")
        self._file, self._names = file, list(names)
        self._writer: Any = None

    def write(self, columns: Sequence[np.ndarray]) -> None:
        """Add rows: an array [rows] for each name."""
        table = self._pyarrow.table([self._pyarrow.array(c) for c in columns], names=self._names)
        if self._writer is None:
            self._writer = self._pyarrow.parquet.ParquetWriter(self._file, table.schema)
        self._writer.write_table(table)

    def close(self) -> None:
        """Complete the file."""
        if self._writer is not None:
            self._writer.close()
