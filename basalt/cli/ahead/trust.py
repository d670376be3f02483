"""Signatures of files with machine code, and what they are worth."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from basalt.runtime.trust import key_text, read_keys, signature_holds
from basalt.serialization.program.file import ProgramFile

__all__ = ["SignatureReport", "signature_reports"]


class SignatureReport(NamedTuple):
    """A signature; ``holds`` is None where the package cryptography is missing, ``comment`` that of a trusted key."""

    key: str
    holds: bool | None
    trusted: bool
    comment: str

    @property
    def state(self) -> str:
        """That in words."""
        trust = f"trusted{f' ({self.comment})' if self.comment else ''}" if self.trusted else "not a trusted key"
        if self.holds is None:
            return f"{trust}; cannot be checked without the package cryptography"
        return f"{'holds' if self.holds else 'DOES NOT HOLD'}, {trust}"


def signature_reports(file: ProgramFile, keys: Path | None) -> list[SignatureReport]:
    """The file's signatures. ``keys`` is a file of trusted keys, None for the user's.

    They are over the manifest, which holds the SHA-256 of the parts; the parts are not looked at.
    Raises ValidationError for a file of keys that is none.
    """
    if not file.signatures and keys is None:
        return []
    trusted = read_keys(keys)
    found = []
    for signature in file.signatures:
        try:
            holds = signature_holds(signature, file.manifest)
        except ImportError:
            holds = None
        comment = trusted.get(signature.key, "")
        found.append(SignatureReport(key_text(signature.key), holds, signature.key in trusted, comment))
    return found
