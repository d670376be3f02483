"""What ``basalt.load`` makes of a file with machine code."""

from __future__ import annotations

import os
import warnings
from typing import Any

from basalt.runtime.trust import trust_in
from basalt.serialization.program.file import open_program

from .source import load_source

__all__ = ["load_program"]


def load_program(
    source: Any,
    trust_native: bool,
    trusted_keys: str | os.PathLike[str] | None,
    *,
    threads: int | None = None,
    eager: bool | None = None,
) -> Any:
    """A :class:`basalt.Runner` where the code is trusted, else the model that the file holds, with a warning.

    Raises as the Runner does.
    """
    from basalt.runner import NativeCodeWarning, Runner

    file = open_program(source)
    refusal = trust_in(file, trust_native, trusted_keys).refusal
    model = None if refusal is None else load_source(file, threads=threads, eager=eager)
    if model is None:
        return Runner(file, trust_native=trust_native, threads=threads, trusted_keys=trusted_keys)
    message = f"{file.name}: {refusal}; the model in the file is compiled instead"
    warnings.warn(message, NativeCodeWarning, stacklevel=5)
    return model
