"""Other libraries that run the same models: what ``bench --against`` and ``compare`` need of them."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import basalt

if TYPE_CHECKING:
    from basalt.serialization.onnx import OnnxModel

__all__ = ["onnx_of", "onnxruntime_call", "onnxruntime_version"]

_ERRORS_ONLY = 3
_LARGEST_MESSAGE = 2_000_000_000
"""Bytes of weights above which a model goes through a file: a message of Protocol Buffers holds 2 GiB at most."""


def onnx_of(path: Path, loaded: Any) -> Path | OnnxModel:
    """What ONNX Runtime is given of a model: an ONNX file as it stands, even inside of one with machine code.

    Raises click.ClickException for a file that holds machine code alone, UnsupportedError for what ONNX cannot say.
    """
    from basalt.cli.ahead.opening import holds_program, source_of

    if holds_program(path):
        source = source_of(path)
        return source.onnx if isinstance(source, basalt.OnnxExecutable) else basalt.to_onnx(source)
    return path if path.suffix.lower() == ".onnx" else basalt.to_onnx(loaded)


def onnxruntime_call(source: Path | OnnxModel, feeds: Mapping[str, Any], option: str) -> Callable[[], dict[str, Any]]:
    """A run of ONNX Runtime on as many threads as Basalt has; done once, so that it is known to work.

    Args:
        source: the file, or a model.
        feeds: what it is given.
        option: what on the command line asked for ONNX Runtime, for the message if it is not installed.

    Raises:
        click.ClickException: where ONNX Runtime is missing, or does not load or run the model.
    """
    onnxruntime = _imported(option)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = basalt.get_num_threads()
    options.log_severity_level = _ERRORS_ONLY
    with _loadable(source) as loadable:
        try:
            session = onnxruntime.InferenceSession(loadable, options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise click.ClickException(f"ONNX Runtime does not load the model: {_one_line(error)}") from error
    names = [output.name for output in session.get_outputs()]
    given = dict(feeds)

    def call() -> dict[str, Any]:
        return dict(zip(names, session.run(None, given), strict=True))

    try:
        call()
    except Exception as error:
        raise click.ClickException(f"ONNX Runtime does not run the model: {_one_line(error)}") from error
    return call


def onnxruntime_version(option: str) -> str:
    """Its version; errors as for :func:`onnxruntime_call`."""
    return str(_imported(option).__version__)


def _imported(option: str) -> Any:
    try:
        import onnxruntime
    except ImportError:
        raise click.ClickException(f"{option} needs ONNX Runtime: pip install onnxruntime") from None
    return onnxruntime


@contextlib.contextmanager
def _loadable(source: Path | OnnxModel) -> Iterator[str | bytes]:
    """What a session loads: a path, or a message."""
    if isinstance(source, Path):
        yield str(source)
        return
    if sum(tensor.array().nbytes for tensor in source.graph.initializers) <= _LARGEST_MESSAGE:
        yield source.to_bytes()
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.onnx")
        source.save(path, "model.weights")
        yield str(path)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
