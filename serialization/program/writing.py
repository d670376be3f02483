"""Writing compiled programs to files, and adding signatures to files."""

from __future__ import annotations

import os
from collections.abc import Callable

from ..container import save, save_payload
from ..kind_numbers import Kind
from ..payload_writer import PayloadWriter
from .codec import write_raw_program
from .data import ProgramParts, Signature
from .file import open_program
from .manifest import signed_message

__all__ = ["add_signature", "save_program"]


def save_program(path: str | os.PathLike[str], program: ProgramParts) -> None:
    """Write a program to a ``.bsl`` file, which appears only when it is complete; raises as ``serialization.save``."""
    save(path, program)


def add_signature(path: str | os.PathLike[str], sign: Callable[[bytes], Signature]) -> Signature:
    """Check the program in a file as a whole, and add what ``sign`` gives for the bytes to be signed.

    A signature by the same key is replaced. Raises ModelFormatError for a damaged file, OSError if it cannot be read
    or written; then the file is as it was.
    """
    file = open_program(path)
    file.check()
    signature = sign(signed_message(file.manifest))
    others = [other for other in file.signatures if other.key != signature.key]
    parts = {}
    for name in file.parts:
        parts[name] = PayloadWriter()
        parts[name].raw(file.raw(name))
    writer = PayloadWriter()
    write_raw_program(writer, file.manifest, [*others, signature], parts)
    save_payload(path, Kind.PROGRAM, writer)
    return signature
