"""Arrays of the command line: files read and written, random feeds, summaries."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from basalt.serialization.atomic import atomic_file

if TYPE_CHECKING:
    from basalt.runtime.described import TensorSpec as ProgramTensor
    from basalt.serialization import TensorSpec

__all__ = ["check_target", "flattened", "random_feeds", "read", "read_archive", "save", "summary"]

FIRST_VALUES = 5


def read(path: Path) -> np.ndarray:
    """The array in a .npy file. Raises click.ClickException where the file holds none; never unpickles."""
    try:
        array = np.load(path, allow_pickle=False)
    except (ValueError, EOFError, TypeError) as error:
        raise click.ClickException(f"{path}: not a readable .npy file: {error}") from error
    if not isinstance(array, np.ndarray):
        raise click.ClickException(f"{path}: holds several arrays, expected one .npy array")
    return array


def read_archive(path: Path) -> dict[str, np.ndarray]:
    """The arrays in a .npz file by name. Raises click.ClickException for another file; never unpickles."""
    try:
        archive = np.load(path, allow_pickle=False)
        if isinstance(archive, np.ndarray):
            raise click.ClickException(f"{path}: holds one array without a name, expected a .npz file")
        with archive:
            return {name: np.asarray(archive[name]) for name in archive.files}
    except (ValueError, EOFError, TypeError, zipfile.BadZipFile, zlib.error) as error:
        raise click.ClickException(f"{path}: not a readable .npz file: {error}") from error


def random_feeds(
    specs: Iterable[TensorSpec | ProgramTensor], shapes: Mapping[str, tuple[int, ...]], seed: int
) -> dict[str, np.ndarray]:
    """An array of its shape for each input: floats uniform in [0, 1), everything else 0 or 1.

    Raises click.ClickException for one that does not fit in memory.
    """
    from basalt.ops import numpy_dtype

    rng = np.random.default_rng(seed)
    feeds = {}
    for spec in specs:
        dtype, shape = np.dtype(numpy_dtype(spec.dtype)), shapes[spec.name]
        integral = dtype.kind in "iub" or "int" in dtype.name
        try:
            values = rng.integers(0, 2, shape, np.int8) if integral else rng.random(shape, np.float32)
            feeds[spec.name] = values.astype(dtype)
        except (MemoryError, ValueError) as error:
            raise click.ClickException(f"input {spec.name!r}: no memory for an array of {shape}: {error}") from error
    return feeds


def flattened(outputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The outputs as arrays: ``name[0]``, ... for the elements of a sequence, ``name[key]`` for those of maps.

    A sequence of maps gives one array a key; an empty optional gives nothing.
    """
    flat: dict[str, np.ndarray] = {}
    for name, value in outputs.items():
        if isinstance(value, list) and value and all(isinstance(v, dict) for v in value):
            keys = dict.fromkeys(key for row in value for key in row)
            flat.update((f"{name}[{key}]", np.array([row.get(key) for row in value])) for key in keys)
        elif isinstance(value, (list, dict)):
            entries = value.items() if isinstance(value, dict) else enumerate(value)
            flat.update(flattened({f"{name}[{key}]": entry for key, entry in entries}))
        elif value is not None:
            flat[name] = np.asarray(value)
    return flat


def summary(name: str, array: np.ndarray) -> dict[str, Any]:
    """Name, dtype, shape, min, mean, max and first values; min, mean and max are None where there are none."""
    entry: dict[str, Any] = {"name": name, "dtype": array.dtype.name, "shape": list(array.shape)}
    values = _plain(array)
    first = values.reshape(-1)[:FIRST_VALUES].tolist()
    if values.dtype.kind not in "biufc" or not values.size:
        return entry | {"min": None, "mean": None, "max": None, "first": [str(value) for value in first]}
    with np.errstate(all="ignore"):
        mean = float(values.mean(dtype=np.float64))
    return entry | {"min": values.min().item(), "mean": mean, "max": values.max().item(), "first": first}


def save(target: Path, outputs: Mapping[str, np.ndarray]) -> None:
    """Write the outputs to ``target``: a .npz file, or else a folder that gets a .npy file an output.

    Types that .npy files cannot hold are widened: bfloat16 and float8 to float32, int4 to int8.
    Each file is replaced only once its new content is complete.
    """
    plain = {name: _plain(array) for name, array in outputs.items()}
    if target.suffix == ".npz":
        with atomic_file(str(target)) as file, zipfile.ZipFile(file, "w") as archive:
            for name, array in plain.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                    np.lib.format.write_array(entry, array, allow_pickle=False)
        return
    files = _file_names(plain)
    target.mkdir(exist_ok=True)
    for name, array in plain.items():
        with atomic_file(str(target / files[name])) as file:
            np.lib.format.write_array(file, array, allow_pickle=False)


def check_target(target: Path) -> None:
    """Refuse a place where :func:`save` could not write, before the work is done for it."""
    if not target.parent.is_dir():
        raise click.UsageError(f"--output: folder {str(target.parent)!r} does not exist")
    if target.suffix == ".npz" and target.is_dir():
        raise click.UsageError(f"--output: {str(target)!r} is a folder")
    if target.suffix == ".npz" and target.exists() and not target.is_file():
        raise click.UsageError(f"--output: {str(target)!r} is no regular file")
    if target.suffix != ".npz" and target.exists() and not target.is_dir():
        raise click.UsageError(f"--output: {str(target)!r} is a file; expected FILE.npz or a folder")


def _plain(array: np.ndarray) -> np.ndarray:
    """The array in a type of NumPy's own."""
    if array.dtype.kind == "O":
        return array.astype(np.str_)
    if array.dtype.isbuiltin == 1:
        return array
    return array.astype(np.int8 if "int" in array.dtype.name else np.float32)


def _file_names(names: Mapping[str, Any]) -> dict[str, str]:
    """A file name for each output, other characters than letters, digits, '.', '-' and '_' replaced by '_'."""
    files = {name: re.sub(r"[^\w.-]", "_", name) + ".npy" for name in names}
    if len(set(files.values())) < len(files):
        raise click.UsageError("--output: two outputs would get the same file name; save to a .npz file instead")
    return files
