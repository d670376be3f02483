"""``bslc sign``: sign a file with machine code, and make keys for that."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from basalt.cli.arguments import MODEL, OUTPUT_FILE
from basalt.cli.output import json_option, print_json

__all__ = ["sign"]


@click.command("sign")
@click.argument("file", type=MODEL, required=False)
@click.option("--key", type=MODEL, metavar="KEY.pem", help="The private key: Ed25519, PEM, PKCS #8.")
@click.option(
    "--new-key",
    type=OUTPUT_FILE,
    metavar="KEY.pem",
    help="Make a private key, into a file that does not exist yet.",
)
@click.option("--password-file", type=MODEL, metavar="FILE", help="Its first line encrypts the private key.")
@json_option
def sign(file: Path | None, key: Path | None, new_key: Path | None, password_file: Path | None, as_json: bool) -> None:
    """Sign FILE, which `bslc compile -o` wrote, so that those who trust the key run its machine code.

    The public key is printed as files of trusted keys hold it. A signature by the same key is replaced, others stay.
    """
    if (key is None) == (new_key is None):
        raise click.UsageError("give --key KEY.pem to sign a file, or --new-key KEY.pem to make a key")
    if key is not None and file is None:
        raise click.UsageError("which file is to be signed?")
    _need_cryptography()
    password = None if password_file is None else _password(password_file)
    if new_key is not None:
        _write(private := _generate(), new_key, password)
        key = new_key
    else:
        assert key is not None
        private = _read(key, password)
    public: bytes = private.public_key().public_bytes_raw()
    if file is not None:
        _sign(file, private, public)
    _print(file, key, public, new_key is not None, as_json)


def _print(file: Path | None, key: Path, public: bytes, is_new: bool, as_json: bool) -> None:
    from basalt.runtime.trust import key_text, trusted_keys_path

    if as_json:
        print_json({"file": None if file is None else str(file), "key": str(key), "public_key": key_text(public)})
        return
    print(f"{key_text(public)} {key.stem}")
    if is_new:
        place = trusted_keys_path()
        where = "a file of trusted keys" if place is None else f"{place}, or another file of trusted keys"
        click.echo(f"note: that line goes into {where}; keep {key} to yourself", err=True)


def _sign(file: Path, private: Any, public: bytes) -> None:
    from basalt.cli.ahead.opening import holds_program
    from basalt.serialization.program.data import Signature
    from basalt.serialization.program.writing import add_signature

    if not holds_program(file):
        raise click.ClickException(f"{file}: only files with machine code are signed, which `bslc compile -o` writes")
    add_signature(file, lambda message: Signature(public, private.sign(message)))


def _need_cryptography() -> None:
    try:
        import cryptography  # noqa: F401
    except ImportError:
        raise click.ClickException(
            "signing needs the package cryptography: pip install 'basalt-compiler[sign]'"
        ) from None


def _generate() -> Any:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.generate()


def _write(private: Any, path: Path, password: bytes | None) -> None:
    """Write a key to a file that only its owner can read; one that is there is never overwritten."""
    from cryptography.hazmat.primitives import serialization as forms

    cipher = forms.NoEncryption() if password is None else forms.BestAvailableEncryption(password)
    content = private.private_bytes(forms.Encoding.PEM, forms.PrivateFormat.PKCS8, cipher)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    except FileExistsError:
        raise click.UsageError(f"--new-key: {str(path)!r} exists, and keys are not overwritten") from None
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _read(path: Path, password: bytes | None) -> Any:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        private = load_pem_private_key(path.read_bytes(), password)
    except TypeError:
        reason = "it is encrypted: give --password-file" if password is None else "it is not encrypted"
        raise click.ClickException(f"{path}: {reason}") from None
    except (ValueError, UnsupportedAlgorithm):
        reason = "no private key in PEM" if password is None else "no private key in PEM, or the password is another"
        raise click.ClickException(f"{path}: {reason}") from None
    if not isinstance(private, Ed25519PrivateKey):
        raise click.ClickException(f"{path}: a key of another algorithm than Ed25519")
    return private


def _password(path: Path) -> bytes:
    found = path.read_bytes().split(b"\n", 1)[0].rstrip(b"\r")
    if not found:
        raise click.ClickException(f"{path}: the first line, the password, is empty")
    return found
