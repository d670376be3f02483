"""The flow of rows: read, predicted, written, chunk by chunk."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import numpy as np

from basalt.cli.ahead.opening import source_of
from basalt.cli.output import note, progress_bar, seconds_text
from basalt.cli.row_options import RowOptions
from basalt.cli.rows.csv_table import CsvTable
from basalt.cli.rows.features import Chunk
from basalt.cli.rows.parquet import ParquetTable
from basalt.cli.rows.predictors import Predictor, predictor_of
from basalt.cli.rows.refusals import neutral_row, refused_cell
from basalt.cli.rows.results import check_output, opened
from basalt.errors import ValidationError

__all__ = ["predict_rows"]

ROWS = 8192
"""Rows that the model gets at once: every chunk but the last, so that one plan serves them all."""
Table: TypeAlias = CsvTable | ParquetTable


def predict_rows(model: Path, options: RowOptions) -> None:
    """Write a result for each row of the table.

    Raises click exceptions and BasaltErrors that name file, line and column; a file that was there before then stays.
    """
    if options.output is not None:
        check_output(options.output)
    predictor = predictor_of(source_of(model), options.method, str(model))
    table = _table(predictor, options)
    start, done = time.perf_counter(), 0
    with opened(options.output, predictor, options.delimiter) as results, _progress(table, options.output) as show:
        for chunk in _regrouped(table.chunks()):
            results.write(_predicted(predictor, table, chunk))
            done += len(chunk.rows)
            show(done, table.read)
        if not done:
            results.write([part[:0] for part in predictor(neutral_row(table.features, table.width))])
    note(f"{done:,} rows in {seconds_text(time.perf_counter() - start)}")


def _table(predictor: Predictor, options: RowOptions) -> Table:
    if options.parquet is not None:
        return ParquetTable(options.parquet, predictor.features)
    assert options.csv is not None
    return CsvTable(options.csv, predictor.features, options.delimiter, options.has_header)


def _predicted(predictor: Predictor, table: Table, chunk: Chunk) -> list[np.ndarray]:
    try:
        return predictor(chunk.rows)
    except ValidationError as error:
        row, column = refused_cell(predictor, chunk.rows, table.features)
        where = f"{table.name}, {table.unit} {chunk.places[row]}"
        if column is None:
            raise ValidationError(f"{where}: {error}") from None
        value = chunk.rows[row, column]
        is_missing = value is None or value != value
        given = "an empty cell" if is_missing else repr(value.item() if isinstance(value, np.generic) else value)
        raise ValidationError(f"{where}, {table.labels[column]}: {given}: {error}") from None


def _regrouped(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """The same rows in chunks of ROWS, but for the last."""
    held: list[Chunk] = []
    count = 0
    for chunk in chunks:
        held.append(chunk)
        count += len(chunk.rows)
        if count < ROWS:
            continue
        joined = _joined(held)
        whole = count - count % ROWS
        for start in range(0, whole, ROWS):
            yield Chunk(joined.rows[start : start + ROWS], joined.places[start : start + ROWS])
        held = [Chunk(joined.rows[whole:], joined.places[whole:])] if whole < count else []
        count -= whole
    if held:
        yield _joined(held)


def _joined(chunks: list[Chunk]) -> Chunk:
    if len(chunks) == 1:
        return chunks[0]
    return Chunk(np.concatenate([c.rows for c in chunks]), np.concatenate([c.places for c in chunks]))


@contextmanager
def _progress(table: Table, output: Path | None) -> Iterator[Callable[[int, int], None]]:
    """What is told of rows that are done and of bytes that are read, and shows them on stderr if that is a terminal.

    Where results go to a terminal themselves, nothing is shown between them.
    """
    if output is None and sys.stdout.isatty():
        yield lambda rows, read: None
        return
    with progress_bar("predicting") as show:
        yield lambda rows, read: show(read, max(table.size, 1), f"{rows:,} rows")
