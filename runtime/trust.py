"""Whether machine code in a file may be run: by the caller's word, or by a signature of a key that the user trusts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from basalt.errors import ModelFormatError, ValidationError
from basalt.serialization.program.data import Signature
from basalt.serialization.program.file import ProgramFile
from basalt.serialization.program.manifest import signed_message

__all__ = ["Trust", "key_text", "read_keys", "signature_holds", "trust_in", "trusted_keys_path"]

_KEY_BYTES = 32


class Trust(NamedTuple):
    """``key`` is the trusted public key of a signature that holds; ``refusal`` says why there is no trust."""

    key: bytes | None
    refusal: str | None


def trust_in(file: ProgramFile, word: bool, keys: str | os.PathLike[str] | None = None) -> Trust:
    """Whether to trust a file.

    Where a signature decides, the SHA-256 of each part of the file is checked when it is read.

    Args:
        file: the file.
        word: the caller's word for it.
        keys: a file of trusted public keys, None for the user's.

    Raises:
        ValidationError: for a file of keys that is named and missing, or not of keys.
    """
    if word:
        return Trust(None, None)
    if not file.signatures:
        return Trust(None, "its machine code is not trusted (trust_native=True, --trust) and not signed")
    trusted = read_keys(keys)
    known = [signature for signature in file.signatures if signature.key in trusted]
    if not known:
        keys_text = ", ".join(key_text(signature.key) for signature in file.signatures)
        return Trust(None, f"its machine code is signed by {keys_text}, which is no trusted key")
    try:
        holding = next((s for s in known if signature_holds(s, file.manifest)), None)
    except ImportError:
        return Trust(None, "its signature cannot be checked: the package cryptography is not installed")
    if holding is None:
        raise ModelFormatError(f"{file.name}: the signature of {key_text(known[0].key)} does not hold")
    file.require_digests()
    return Trust(holding.key, None)


def signature_holds(signature: Signature, manifest: bytes) -> bool:
    """Whether a signature is one of a manifest (Ed25519, RFC 8032). Raises ImportError without ``cryptography``."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(signature.key).verify(signature.value, signed_message(manifest))
    except (InvalidSignature, ValueError):
        return False
    return True


def trusted_keys_path() -> Path | None:
    """Where the user's trusted keys are; None where there is no home folder."""
    named = os.environ.get("BASALT_TRUSTED_KEYS", "").strip()
    if named:
        return Path(named)
    base = os.environ.get("XDG_CONFIG_HOME", "").strip()
    try:
        folder = Path(base) if base else Path.home() / ".config"
    except RuntimeError:
        return None
    return folder / "basalt" / "trusted-keys"


def read_keys(path: str | os.PathLike[str] | None = None) -> dict[bytes, str]:
    """The public keys in a file, with their comments; of the user's own file, which may be missing, by default.

    A line holds 32 bytes in base64 or hexadecimal, then a comment; empty lines and lines that begin with # are skipped.
    Raises ValidationError, with the line, for other content, and for a file that is named and cannot be read.
    """
    place = trusted_keys_path() if path is None else Path(path)
    named = path is not None or "BASALT_TRUSTED_KEYS" in os.environ
    if place is None:
        return {}
    try:
        lines = place.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        if named:
            raise ValidationError(f"trusted keys: {place} cannot be read: {error}") from None
        return {}
    keys = {}
    for number, line in enumerate(lines, 1):
        text, _, comment = line.strip().partition(" ")
        if text and not text.startswith("#"):
            keys[_parse_key(text, f"{place}, line {number}")] = comment.strip()
    return keys


def key_text(key: bytes) -> str:
    """A public key as files of trusted keys hold it: base64."""
    from base64 import b64encode

    return b64encode(key).decode()


def _parse_key(text: str, where: str) -> bytes:
    from base64 import b64decode

    for decode in (bytes.fromhex, lambda value: b64decode(value, validate=True)):
        try:
            key = decode(text)
        except ValueError:
            continue
        if len(key) == _KEY_BYTES:
            return key
    raise ValidationError(f"{where}: {text!r} is no public key of {_KEY_BYTES} bytes in base64 or hexadecimal")
