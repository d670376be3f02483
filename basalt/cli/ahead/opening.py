"""Opening model files, those with machine code among them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import basalt
from basalt.cli.models import say
from basalt.errors import ModelFormatError, UnsupportedError
from basalt.serialization import Kind, peek_kind

__all__ = ["holds_program", "open_model", "source_of"]


def holds_program(path: Path) -> bool:
    """Whether a file is a ``.bsl`` file with machine code, by its first bytes."""
    try:
        return peek_kind(path) == Kind.PROGRAM
    except ModelFormatError:
        return False


def open_model(path: Path, trust: bool, keys: Path | None, *, eager: bool | None = None) -> Any:
    """A Runner where a file's machine code is trusted and fits; else what ``basalt.load`` gives of the model in it.

    A note on stderr says why machine code is not used.

    Raises UnsupportedError if neither can be had.
    """
    if not holds_program(path):
        return basalt.load(path, eager_first_run=eager)
    from basalt.runtime.trust import trust_in
    from basalt.serialization.program.file import open_program

    file = open_program(path)
    refusal = trust_in(file, trust, keys).refusal
    if refusal is None:
        runner = basalt.Runner(file, trust_native=trust, trusted_keys=keys)
        if runner.level is not None:
            return runner
    from basalt.compiler.ahead.source import load_source

    source = load_source(file, eager=eager)
    if source is None:
        raise UnsupportedError(f"{path}: {refusal}, and the file does not hold the model itself (--strip-source)")
    if refusal is not None:
        say(f"{path}: {refusal}; the model in the file is compiled instead")
    return source


def source_of(path: Path, *, eager: bool | None = None) -> Any:
    """The model in a file, of one with machine code that from which it was compiled.

    Raises click.ClickException if there is none.
    """
    if not holds_program(path):
        return basalt.load(path, eager_first_run=eager)
    from basalt.compiler.ahead.source import load_source
    from basalt.serialization.program.file import open_program

    source = load_source(open_program(path), eager=eager)
    if source is None:
        raise click.ClickException(f"{path}: holds machine code alone, not the model itself (--strip-source)")
    return source
