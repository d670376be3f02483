"""Loading and saving models: which format a file has, and who reads it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from basalt import serialization
from basalt.errors import ModelFormatError, UnsupportedError, ValidationError
from basalt.runtime.program import Program
from basalt.serialization import MAGIC, VERSION, EstimatorData, GraphData, Kind, ModuleData
from basalt.serialization.program.data import ProgramParts

from .exchange import to_data
from .executable import Executable
from .model import Model

__all__ = ["Format", "load", "register_content", "register_format", "save"]

_BSL_MAGIC = MAGIC.to_bytes(4, "big")
_PROGRAM_START = _BSL_MAGIC + VERSION.to_bytes(4, "big") + Kind.PROGRAM.to_bytes(4, "big")
_PEEK = 64
"""Bytes that a format may look at to tell whether a file is its own."""


@dataclass(frozen=True)
class Format:
    """A file format.

    ``suffixes`` are of file names, in lower case. ``recognises`` tells by a file's first bytes, where there is no name
    or its suffix is no format's. ``load`` takes what ``basalt.load`` takes, and the options of a Model's constructor.
    """

    name: str
    suffixes: tuple[str, ...]
    recognises: Callable[[bytes], bool]
    load: Callable[..., Any]


def load(
    source: Any,
    expected: type | Kind | None = None,
    *,
    threads: int | None = None,
    eager_first_run: bool | None = None,
    trust_native: bool = False,
    trusted_keys: str | os.PathLike[str] | None = None,
) -> Any:
    """The model in a file.

    Args:
        source: a path, bytes, or a binary file object, which is read from its position to its end.
        expected: what the caller expects: a class, such as ``basalt.Estimator``, or the kind of a ``.bsl`` file, such
            as ``basalt.Kind.CLUSTERS``; anything is taken by default.
        threads: threads to run on; None for the process's setting (``set_num_threads``).
        eager_first_run: whether first runs go through NumPy while code is compiled; None leaves it to BASALT_EAGER.
        trust_native: whether machine code in the file may be run, which can do anything. Without it, or a signature by
            a trusted key, the model in the file is compiled here, with a warning.
        trusted_keys: a file of public keys to trust, None for the user's.

    Returns:
        A Model. A file that holds no graph gives what it holds instead: a Runner for machine code that is trusted,
        which has the same ``run``, an Estimator or a Module.

    Raises:
        ModelFormatError: for bytes that are truncated, damaged, or no model; names the place or the node. Also for
            something else than ``expected``; says both.
        UnsupportedError: for a format or an operator that this version does not read.
        OSError: if the file cannot be read.
    """
    name = _name_of(source)
    if isinstance(source, (str, os.PathLike)):
        format = _by_suffix(name) or _by_content(_start_of_file(source))
    else:
        source, start = _peek(source)
        format = _by_content(start) or _by_suffix(name)
    if not (expected is None or isinstance(expected, (type, Kind))):
        raise ValidationError(f"load: expected is {expected!r}, which is neither a class nor a Kind")
    trust = {"trust_native": trust_native, "trusted_keys": trusted_keys} if format in (None, _BSL) else {}
    found = (format or _BSL).load(source, threads=threads, eager=eager_first_run, **trust)
    _check_expected(found, expected, name)
    return found


def _check_expected(found: Any, expected: type | Kind | None, name: str) -> None:
    kind = getattr(found, "kind", None)
    if expected is None or (kind == expected if isinstance(expected, Kind) else isinstance(found, expected)):
        return
    wanted = f"kind {int(expected)} ({expected.name})" if isinstance(expected, Kind) else expected.__name__
    actual = f" of kind {int(kind)} ({kind.name})" if isinstance(kind, Kind) else ""
    raise ModelFormatError(f"{name}: expected {wanted}, but the file holds {_article(type(found).__name__)}{actual}")


def _article(noun: str) -> str:
    return f"{'an' if noun[0] in 'AEIOU' else 'a'} {noun}"


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model or a built graph, weights included, an estimator or a compiled program to a ``.bsl`` file.

    Under a name that ends in ``.onnx`` a model or graph becomes an ONNX model; ``save_onnx`` has options for that.
    The file appears under its name only when it is complete; an earlier file of that name stays until then.

    Raises:
        ValidationError: for anything else, for a graph larger than 2**31 - 25 bytes, and for a program under a name
            that ends in ``.onnx``.
        UnsupportedError: for what ONNX cannot say, and for a model of which no single graph is known.
        InvalidStateError: for a destroyed graph.
        OSError: if the file cannot be written.
    """
    is_onnx = os.path.splitext(os.fsdecode(path))[1].lower() in _ONNX.suffixes
    if is_onnx and isinstance(model, Program):
        raise ValidationError(f"save: a compiled program cannot become the ONNX model {os.fsdecode(path)!r}")
    if is_onnx and isinstance(model, Executable):
        from .onnx.export import save_onnx

        save_onnx(model, path)
    elif isinstance(model, Executable):
        model.check_usable("save")
        serialization.save(path, _data_of(model))
    elif callable(getattr(model, "save", None)):
        model.save(path)
    elif type(model).__module__.split(".")[0] == "sklearn":
        from .estimators import from_sklearn

        from_sklearn(model).save(path)
    else:
        raise ValidationError(f"save: got {type(model).__name__}, expected a model, a graph or a program")


def _data_of(model: Executable) -> Any:
    """The plain data that a file holds of a model or graph."""
    if isinstance(model, Model):
        return model.to_data()
    return to_data(model.graph, model.constants)


def register_format(format: Format) -> None:
    """Make ``load`` know a format; one that shares a suffix with an earlier one takes that suffix over."""
    _formats.insert(0, format)


def register_content(data_type: type, make: Callable[..., Any]) -> None:
    """Say what ``load`` makes of a ``.bsl`` file whose content is a ``data_type``: ``make(data, **options)``."""
    _contents[data_type] = make


def load_bsl(source: Any, **options: Any) -> Any:
    """The model in a ``.bsl`` file of any kind but PROGRAM; None for that kind."""
    data = serialization.load(source)
    if isinstance(data, ProgramParts):
        return None
    for data_type, make in _contents.items():
        if isinstance(data, data_type):
            return make(data, **options)
    raise UnsupportedError(
        f"the file holds a {type(data).__name__}, which cannot be run; expected a graph or a program"
    )


def _load_bsl_or_program(
    source: Any, trust_native: bool = False, trusted_keys: str | os.PathLike[str] | None = None, **options: Any
) -> Any:
    if not _holds_program(source):
        return load_bsl(source, **options)
    from .ahead.loading import load_program

    return load_program(source, trust_native, trusted_keys, **options)


def _holds_program(source: Any) -> bool:
    if isinstance(source, (str, os.PathLike)):
        start = _start_of_file(source)
    else:
        _, start = _peek(source)
    return start[:12] == _PROGRAM_START


def _load_module(data: ModuleData, **options: Any) -> Any:
    from .modules.module import Module

    return Module.from_module_data(data, **options)


def _load_estimator(data: EstimatorData, **options: Any) -> Any:
    from .estimators.files import load_estimator

    return load_estimator(data, **options)


def _load_onnx(source: Any, **options: Any) -> Any:
    from .onnx.model import load

    return load(source, **options)


def _refuse(source: Any, **options: Any) -> Any:
    """Refuse a pickle."""
    raise UnsupportedError(
        f"{_name_of(source)}: pickle and joblib files are not loaded, for loading one can run any code that its author "
        f"put into it; where you trust it, load it with its library, then write a safe file: "
        f"basalt.save(basalt.from_sklearn(estimator), 'model.bsl')"
    )


def _name_of(source: Any) -> str:
    """A source's name for messages and its suffix."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return "<bytes>"
    if isinstance(source, (str, os.PathLike)):
        return os.fsdecode(source)
    if not hasattr(source, "read"):
        raise ValidationError(f"load: got {type(source).__name__}, expected a path, bytes or a binary file object")
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else f"<{type(source).__name__}>"


def _start_of_file(path: str | os.PathLike[str]) -> bytes:
    """The first bytes of a regular file; none of anything else, which the format's own reader refuses."""
    if not os.path.isfile(path):
        return b""
    with open(path, "rb", buffering=0) as file:
        return file.read(_PEEK)


def _peek(source: Any) -> tuple[Any, bytes]:
    """The source to load from, and its first bytes; a file object that cannot seek is read as a whole."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return source, bytes(memoryview(source).cast("B")[:_PEEK])
    try:
        position = source.tell()
        start = source.read(_PEEK)
        source.seek(position)
    except (OSError, AttributeError):
        source = start = source.read()
    if not isinstance(start, bytes):
        raise ValidationError(f"load: {_name_of(source)} gives {type(start).__name__}; open it in binary mode")
    return source, start[:_PEEK]


def _by_suffix(name: str) -> Format | None:
    suffix = os.path.splitext(name)[1].lower()
    return next((f for f in _formats if suffix in f.suffixes), None)


def _by_content(start: bytes) -> Format | None:
    return next((f for f in _formats if f.recognises(start)), None)


_BSL = Format("Basalt", (".bsl",), lambda start: start.startswith(_BSL_MAGIC), _load_bsl_or_program)
# An ONNX file starts with field 1 of ModelProto, the IR version: a varint of one byte.
_ONNX = Format("ONNX", (".onnx",), lambda start: start[:1] == b"\x08" and start[1:2] < b"\x80", _load_onnx)
# From protocol 2 on, which Python 2.3 brought, a pickle starts with its protocol's number.
_PICKLE = Format(
    "pickle",
    (".joblib", ".pkl", ".pickle"),
    lambda start: start[:1] == b"\x80" and b"\2" <= start[1:2] <= b"\5",
    _refuse,
)
_formats: list[Format] = [_BSL, _ONNX, _PICKLE]
_contents: dict[type, Callable[..., Any]] = {
    GraphData: Model.from_data,
    EstimatorData: _load_estimator,
    ModuleData: _load_module,
}
