"""Tables in CSV files (RFC 4180, UTF-8), read in chunks."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import click
import numpy as np

from basalt.cli.rows.cells import Converter
from basalt.cli.rows.features import Chunk, Features, arranged, column_labels, shown
from basalt.cli.rows.number_blocks import BlockParser, arrow_parser, numpy_parser

__all__ = ["CsvTable"]

BLOCK = 1 << 23
"""Bytes that are parsed at once; a line may be longer, up to LONGEST_LINE."""
LONGEST_LINE = 1 << 27
RECORDS = 8192
"""Records with quotes or categories that are converted at once."""
LARGE = 1 << 25
"""Bytes of a file from which on importing pyarrow takes less time than its parser saves."""
Reader: TypeAlias = Any
"""What ``csv.reader`` gives, a type without a public name."""
_BOM = b"\xef\xbb\xbf"


class CsvTable:
    """The rows of a file.

    Blocks of plain numbers go to a compiled parser. What it does not take, and everything from the first quote on, goes
    through the csv module, which finds the place of a fault too. Errors are click.ClickExceptions that name the file,
    the line and the column. ``size`` are the file's bytes, ``read`` those that were read, ``width`` its columns,
    ``labels`` what messages call the features.
    """

    unit = "line"

    def __init__(self, path: Path, features: Features, delimiter: str, has_header: bool) -> None:
        self.name = str(path)
        if not path.is_file():
            raise click.ClickException(f"{path}: is not a regular file, which is read twice at its start")
        self.size, self.read, self.width = path.stat().st_size, 0, 0
        self._path, self._delimiter, self._has_header, self.features = path, delimiter, has_header, features
        self._line = 0
        """Lines that were read."""
        self._blank = 0
        """The first of the empty lines at their end, 0 if there is none."""

    def chunks(self) -> Iterator[Chunk]:
        """The rows; a table of none gives no chunk."""
        try:
            yield from self._chunks()
        except OSError as error:
            raise click.ClickException(f"{self.name}: cannot be read: {error.strerror or error}") from error

    def _chunks(self) -> Iterator[Chunk]:
        with open(self._path, "rb") as file:
            file.seek(len(_BOM) if file.read(len(_BOM)) == _BOM else 0)
            first = file.tell()
            header = self._first_record(file)
            if self._has_header:
                self._arrange(header, header)
            else:
                self._arrange(None, header)
                file.seek(first)
                self._line = 0
            for chunk in self._body(file):
                self.read = file.tell()
                yield chunk

    def _first_record(self, file: BinaryIO) -> list[str]:
        reader = self._reader(self._lines(file))
        record = self._next(reader, 0)
        if not record:
            what = "is empty" if record is None else "begins with an empty line"
            names = f" of the columns {shown(self.features.names)}" if self.features.names else ""
            expected = f"a header line{names}" if self._has_header else "a row"
            raise click.ClickException(f"{self.name}: {what}, expected {expected}")
        self._line = reader.line_num
        return record

    def _arrange(self, header: list[str] | None, first: list[str]) -> None:
        """Find the features among the columns; ``first`` is the first record."""
        self.width = len(first)
        places = arranged(self.features, header, len(first), self.name)
        self._order = None if places == list(range(len(first))) else places
        self._converter = Converter(self.features, places)
        self.labels = column_labels(self.features, header, places)

    def _body(self, file: BinaryIO) -> Iterator[Chunk]:
        if self.features.categories:
            yield from self._records(self._lines(file))
            return
        parse = self._parser()
        while block := self._block(file):
            if b'"' in block:
                yield from self._records(itertools.chain(io.BytesIO(block), self._lines(file)))
                return
            found = parse(block)
            if found is None:
                yield from self._records(io.BytesIO(block))
                continue
            self._check_blank()
            places = np.arange(self._line + 1, self._line + 1 + len(found))
            self._line += len(found)
            yield Chunk(found if self._order is None else found[:, self._order], places)

    def _parser(self) -> BlockParser:
        fast = arrow_parser(self._delimiter, self.width) if self.size >= LARGE else None
        return fast or numpy_parser(self._delimiter, self.width)

    def _block(self, file: BinaryIO) -> bytes:
        """The next bytes up to the end of a line."""
        block = file.read(BLOCK)
        if block and not block.endswith(b"\n"):
            block += self._line_of(file)
        return block

    def _lines(self, file: BinaryIO) -> Iterator[bytes]:
        while line := self._line_of(file):
            yield line

    def _line_of(self, file: BinaryIO) -> bytes:
        """The next line, or what is left of it; a file without an end of line does not fill the memory."""
        line = file.readline(LONGEST_LINE)
        if len(line) == LONGEST_LINE:
            raise self._fault(self._line + 1, f"this or a later line has {LONGEST_LINE} bytes or more")
        return line

    def _records(self, lines: Iterable[bytes]) -> Iterator[Chunk]:
        """The rows of lines by the csv module."""
        base, reader = self._line, self._reader(lines)
        records: list[list[str]] = []
        places: list[int] = []
        while (record := self._next(reader, base)) is not None:
            place = self._line + 1
            self._line = base + reader.line_num
            if not record:
                self._blank = self._blank or place
                continue
            self._check_blank()
            if len(record) != self.width:
                raise self._fault(place, f"{len(record)} columns, expected {self.width}")
            records.append(record)
            places.append(place)
            if len(records) == RECORDS:
                yield self._chunk(records, places)
                records, places = [], []
        if records:
            yield self._chunk(records, places)

    def _chunk(self, records: list[list[str]], places: list[int]) -> Chunk:
        try:
            return Chunk(self._converter.rows(records), np.array(places))
        except ValueError:
            row, place, cell = self._converter.fault(records)
            raise self._fault(places[row], f"{cell!r} is no number", self.labels[place]) from None

    def _reader(self, lines: Iterable[bytes]) -> Reader:
        base = self._line
        texts = (self._text(line, base + number) for number, line in enumerate(lines, 1))
        return csv.reader(texts, delimiter=self._delimiter, strict=True)

    def _text(self, line: bytes, number: int) -> str:
        try:
            return line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise self._fault(number, f"byte {error.start + 1} is not UTF-8: {error.reason}") from None

    def _next(self, reader: Reader, base: int) -> list[str] | None:
        try:
            return next(reader, None)
        except csv.Error as error:
            raise self._fault(base + reader.line_num, f"not well-formed: {error}") from None

    def _check_blank(self) -> None:
        """Refuse an empty line between others: which row it stands for is unknown."""
        if self._blank:
            raise self._fault(self._blank, f'an empty line, expected {self.width} columns (one empty cell is "")')

    def _fault(self, line: int, text: str, *column: str) -> click.ClickException:
        return click.ClickException(f"{', '.join((self.name, f'line {line}', *column))}: {text}")
