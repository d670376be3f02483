"""The values that options take: files, shapes, sizes and numbers of bytes, and the model's path."""

from __future__ import annotations

import functools
import os
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

import click
from click.shell_completion import CompletionItem

from basalt.cli.completing import named_files

__all__ = [
    "ARRAYS_FILE",
    "BYTES",
    "MODEL",
    "NAMED_FILE",
    "NAMED_SHAPE",
    "NAMED_SIZE",
    "OUTPUT_FILE",
    "by_name",
    "help_if_alone",
    "model_argument",
    "random_input_option",
    "random_seed_option",
    "shape_options",
    "size_options",
    "threads_option",
]

MODEL = click.Path(exists=True, dir_okay=False, readable=True, path_type=Path)

_LARGEST_SIZE = 2**32 - 1
_UNITS = {"": 1, "b": 1} | {
    f"{letter}{suffix}": base**power
    for power, letter in enumerate("kmgt", 1)
    for suffix, base in (("", 1000), ("b", 1000), ("ib", 1024))
}
_Decorated = TypeVar("_Decorated", bound=Callable[..., Any])


class NamedFile(click.ParamType):
    """``name=file.npy``, or ``file.npy`` alone for a model's only input: a (name or None, path) pair."""

    name = "NAME=FILE.npy"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str | None, Path]:
        name, separator, file = value.partition("=")
        if not separator or Path(value).is_file():
            name, file = "", value
        path = Path(file)
        if path.suffix != ".npy":
            self.fail(f"{value!r}: expected NAME=FILE.npy", param, ctx)
        if not path.is_file():
            self.fail(f"file {file!r} does not exist", param, ctx)
        return name or None, path

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return named_files(incomplete, ".npy")


class OutputFile(click.Path):
    """The path of a file to write, refused before the work is done for it if it cannot be one."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if not path.parent.is_dir():
            self.fail(f"folder {str(path.parent)!r} does not exist", param, ctx)
        if path.exists() and not path.is_file():
            self.fail(f"{str(path)!r} is no regular file", param, ctx)
        return path


class NamedShape(click.ParamType):
    """``name=1x3x224x224`` (``name=scalar`` for rank 0): a (name, sizes) pair."""

    name = "NAME=1x3x224x224"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, tuple[int, ...]]:
        name, _, sizes = value.rpartition("=")
        if not name or not re.fullmatch(r"[0-9]+(x[0-9]+)*|scalar", sizes):
            self.fail(f"{value!r}: expected NAME=1x3x224x224, or NAME=scalar", param, ctx)
        shape = () if sizes == "scalar" else tuple(int(size) for size in sizes.split("x"))
        if any(size > _LARGEST_SIZE for size in shape):
            self.fail(f"{value!r}: a size is more than {_LARGEST_SIZE}", param, ctx)
        return name, shape


class NamedSize(click.ParamType):
    """``name=8``: a (name, size) pair."""

    name = "NAME=SIZE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        name, _, size = value.rpartition("=")
        if not name or not re.fullmatch(r"[0-9]+", size):
            self.fail(f"{value!r}: expected NAME=SIZE, such as batch=8", param, ctx)
        if int(size) > _LARGEST_SIZE:
            self.fail(f"{value!r}: the size is more than {_LARGEST_SIZE}", param, ctx)
        return name, int(size)


class ArraysFile(click.Path):
    """An ``.npz`` file: a (name, shape) pair for each of its arrays."""

    name = "FILE.npz"

    def __init__(self) -> None:
        super().__init__(exists=True, dir_okay=False, readable=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = os.fsdecode(super().convert(value, param, ctx))
        try:
            return tuple(_shapes_in(path))
        except (ValueError, EOFError, OSError, zipfile.BadZipFile) as error:
            self.fail(f"{path!r} is no readable .npz file: {error}", param, ctx)


def _shapes_in(path: str) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Names and shapes of an archive's arrays, of which no elements are read."""
    from numpy.lib import format as npy

    headers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    with zipfile.ZipFile(path) as archive:
        for member in archive.namelist():
            with archive.open(member) as file:
                version = npy.read_magic(file)
                if version not in headers:
                    raise ValueError(f"{member} is of version {version}")
                yield member.removesuffix(".npy"), headers[version](file)[0]


class ByteCount(click.ParamType):
    """A number of bytes with an optional unit, of 1000 (``kB``, ``MB``, ``GB``, ``TB``) or 1024 (``KiB`` and so on)."""

    name = "SIZE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?([a-z]*)", value.strip().lower())
        if found is None or found[2] not in _UNITS:
            self.fail(f"{value!r}: expected a number of bytes such as 500MB, 2GB or 64MiB", param, ctx)
        return int(float(found[1]) * _UNITS[found[2]])


ARRAYS_FILE = ArraysFile()
BYTES = ByteCount()
NAMED_FILE = NamedFile()
NAMED_SHAPE = NamedShape()
NAMED_SIZE = NamedSize()
OUTPUT_FILE = OutputFile()
model_argument = click.argument("model", type=MODEL)
threads_option = click.option(
    "--threads", type=click.IntRange(min=1), metavar="N", help="Threads to use.  [default: one a core]"
)

random_input_option = click.option(
    "--input",
    "inputs",
    type=NAMED_FILE,
    metavar=NAMED_FILE.name,
    multiple=True,
    help="An input's values; random numbers where none are given.",
)
random_seed_option = click.option(
    "--seed", type=click.IntRange(min=0), metavar="N", default=0, show_default=True, help="Of the random numbers."
)


def shape_options(command: _Decorated) -> _Decorated:
    """Give a command the options that decide symbolic dimensions, its parameters ``shapes`` and ``dims``.

    A command that takes arrays from files in a way of its own has :func:`size_options` instead.
    """

    @functools.wraps(command)
    def with_shapes_of_file(*args: Any, shapes: Any, shapes_from: Any, **rest: Any) -> Any:
        return command(*args, shapes=(*shapes, *(shapes_from or ())), **rest)

    from_file = click.option(
        "--shapes-from", type=ARRAYS_FILE, metavar=ArraysFile.name, help="Shapes of inputs: those of a file's arrays."
    )
    return cast("_Decorated", size_options(from_file(with_shapes_of_file)))


def size_options(command: _Decorated) -> _Decorated:
    """Give a command ``--shape`` and ``--dim``, its parameters ``shapes`` and ``dims``."""
    shape = click.option(
        "--shape", "shapes", type=NAMED_SHAPE, metavar=NamedShape.name, multiple=True, help="Shape of an input."
    )
    dim = click.option(
        "--dim",
        "dims",
        type=NAMED_SIZE,
        metavar=NamedSize.name,
        multiple=True,
        help="Size of a symbolic dimension; 1 if nothing tells it.",
    )
    return shape(dim(command))


def help_if_alone(context: click.Context) -> None:
    """Show the help of a group that was given no command, as an error."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help(), err=True)
        context.exit(2)


def by_name(option: str, pairs: Sequence[tuple[str | None, Any]], names: Sequence[str], what: str) -> dict[str, Any]:
    """The option's values by name of an input or a dimension, ``what`` saying which.

    A value without a name goes to the only one. Raises click.UsageError where a name is not one of ``names``, is given
    twice, or is missing though there are several.
    """
    known = ", ".join(names) or "none"
    values: dict[str, Any] = {}
    for name, value in pairs:
        if name is None and len(names) != 1:
            raise click.UsageError(f"{option} needs a name here: the model's {what}s are {known}")
        key = names[0] if name is None else name
        if key not in names:
            raise click.UsageError(f"{option}: the model has no {what} {key!r}; its {what}s are {known}")
        if key in values:
            raise click.UsageError(f"{option}: {what} {key!r} is given twice")
        values[key] = value
    return values
