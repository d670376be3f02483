"""``bslc sign`` and ``bslc verify``, end to end."""

from __future__ import annotations

import json
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path

import pytest

from basalt.serialization.program.data import Signature
from basalt.serialization.program.file import open_program
from basalt.serialization.program.writing import add_signature

from .ahead import damage, unchanged
from .conftest import Bslc

pytest.importorskip("cryptography")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, models: Mapping[str, Path]) -> Path:
    folder = tmp_path_factory.mktemp("signed")
    assert Bslc(folder)("compile", models["affine"], "-o", "m.bsl", "--dim", "n=2").status == 0
    return folder / "m.bsl"


@pytest.fixture
def program(built: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(built, tmp_path / "m.bsl"))


def new_key(bslc: Bslc, name: str, *options: str) -> str:
    """Make a key, and the file of trusted keys NAME.keys; gives the public key."""
    done = bslc("sign", "--new-key", f"{name}.pem", *options)
    assert done.status == 0
    (bslc.folder / f"{name}.keys").write_text(done.out)
    return done.out.split()[0]


def test_a_new_key_is_for_its_owner_alone_and_never_overwritten(bslc: Bslc) -> None:
    done = bslc("sign", "--new-key", "me.pem")
    key, comment = done.out.split()
    assert (done.status, len(key), comment) == (0, 44, "me")
    assert done.err.startswith("note: that line goes into ")
    assert stat.S_IMODE((bslc.folder / "me.pem").stat().st_mode) == 0o600
    with unchanged(bslc.folder / "me.pem"):
        again = bslc("sign", "--new-key", "me.pem")
        assert again.status == 2 and "exists, and keys are not overwritten" in again.err


def test_what_is_signed_runs_where_the_key_is_trusted(bslc: Bslc, program: Path) -> None:
    key = new_key(bslc, "me")
    done = bslc("sign", program, "--key", "me.pem", "--json")
    assert json.loads(done.out) == {"file": str(program), "key": "me.pem", "public_key": key}
    trusting = {"BASALT_TRUSTED_KEYS": str(bslc.folder / "me.keys")}
    for options, environment in (((), trusting), (("--keys", "me.keys"), None)):
        done = bslc("run", program, "--random", "--json", *options, environment=environment)
        assert (done.status, done.err) == (0, "")
        assert json.loads(done.out)["machine_code"] == "native"
        verified = bslc("verify", program, *options, environment=environment)
        assert verified.status == 0
        assert f"signed   {key}: holds, trusted (me)\nok\n" in verified.out
    assert f"signed   {key}: holds, trusted (me)\n" in bslc("show", program, "--keys", "me.keys").out


def test_a_key_that_is_not_trusted(bslc: Bslc, program: Path) -> None:
    key = new_key(bslc, "me")
    new_key(bslc, "other")
    bslc("sign", program, "--key", "me.pem")
    done = bslc("run", program, "--random", "--json", "--keys", "other.keys")
    assert done.status == 0 and json.loads(done.out)["machine_code"] is None
    assert f"its machine code is signed by {key}, which is no trusted key" in done.err
    verified = bslc("verify", program, "--keys", "other.keys", "--json")
    report = json.loads(verified.out)
    assert (verified.status, report["ok"], report["fault"]) == (1, False, "no trusted key signed it")
    assert report["signatures"][0]["holds"] and not report["signatures"][0]["trusted"]


def test_several_sign_and_one_again(bslc: Bslc, program: Path) -> None:
    for name in ("one", "two"):
        new_key(bslc, name)
        assert bslc("sign", program, "--key", f"{name}.pem").status == 0
    bslc("sign", program, "--key", "one.pem")
    assert len(open_program(program).signatures) == 2
    for name in ("one", "two"):
        assert bslc("verify", program, "--keys", f"{name}.keys").status == 0


def test_a_signature_that_does_not_hold(bslc: Bslc, program: Path) -> None:
    key = new_key(bslc, "me")
    bslc("sign", program, "--key", "me.pem")
    held = open_program(program).signatures[0]
    add_signature(program, lambda _: Signature(held.key, bytes(64)))
    verified = bslc("verify", program, "--keys", "me.keys")
    assert verified.status == 1
    assert f"signed   {key}: DOES NOT HOLD, trusted (me)" in verified.out
    assert f"NOT OK   the signature of {key} does not hold" in verified.out
    done = bslc("run", program, "--random", "--keys", "me.keys")
    assert done.status == 1 and f"the signature of {key} does not hold" in done.err


def test_a_signed_file_that_was_changed(bslc: Bslc, program: Path) -> None:
    new_key(bslc, "me")
    bslc("sign", program, "--key", "me.pem")
    damage(program, "code:native")
    for command in (("verify", program), ("run", program, "--random"), ("sign", program, "--key", "me.pem")):
        done = bslc(*command, *([] if command[0] == "sign" else ["--keys", "me.keys"]))
        assert done.status == 1 and "CRC32C" in done.out + done.err


def test_keys_with_a_password(bslc: Bslc, program: Path) -> None:
    (bslc.folder / "word").write_text("open sesame\nmore\n")
    (bslc.folder / "wrong").write_text("open barley\n")
    (bslc.folder / "empty").write_text("\n")
    new_key(bslc, "me", "--password-file", "word")
    assert b"ENCRYPTED" in (bslc.folder / "me.pem").read_bytes()
    assert bslc("sign", program, "--key", "me.pem", "--password-file", "word").status == 0
    for options, message in (
        ([], "it is encrypted: give --password-file"),
        (["--password-file", "wrong"], "or the password is another"),
        (["--password-file", "empty"], "the first line, the password, is empty"),
    ):
        done = bslc("sign", program, "--key", "me.pem", *options)
        assert done.status == 1 and message in done.err


def test_what_is_no_key(bslc: Bslc, program: Path) -> None:
    from cryptography.hazmat.primitives import serialization as forms
    from cryptography.hazmat.primitives.asymmetric import x25519

    forms_of = (forms.Encoding.PEM, forms.PrivateFormat.PKCS8, forms.NoEncryption())
    (bslc.folder / "other.pem").write_bytes(x25519.X25519PrivateKey.generate().private_bytes(*forms_of))
    (bslc.folder / "text.pem").write_text("no key")
    with unchanged(program):
        for name, message in (("other", "a key of another algorithm than Ed25519"), ("text", "no private key in PEM")):
            done = bslc("sign", program, "--key", f"{name}.pem")
            assert done.status == 1 and f"{name}.pem: {message}" in done.err
        for options in ([], [program], ["--key", "text.pem"], ["--key", "text.pem", "--new-key", "k.pem"]):
            assert bslc("sign", *options).status == 2
        done = bslc("verify", program, "--keys", "text.pem")
        assert done.status == 1 and "is no public key" in done.out


def test_files_without_machine_code(bslc: Bslc, models: Mapping[str, Path]) -> None:
    new_key(bslc, "me")
    done = bslc("sign", models["affine"], "--key", "me.pem")
    assert done.status == 1 and "only files with machine code are signed" in done.err
    done = bslc("verify", models["affine"])
    assert done.status == 0
    assert "GRAPH, " in done.out and "checked  the CRC32C of the file, the structure" in done.out
    done = bslc("verify", models["affine"], "--keys", "me.keys")
    assert done.status == 1 and "NOT OK   it is not signed: only files with machine code can be" in done.out
    damaged = Path(shutil.copy(models["affine"], bslc.folder / "damaged.bsl"))
    content = bytearray(damaged.read_bytes())
    content[-1] ^= 1
    damaged.write_bytes(content)
    done = bslc("verify", damaged)
    assert done.status == 1 and "NOT OK   the payload's CRC32C is" in done.out
    exported = bslc("export", models["affine"], "-o", "m.onnx")
    assert exported.status == 0
    done = bslc("verify", "m.onnx", "--json")
    assert done.status == 0
    assert json.loads(done.out) | {"bytes": 0} == {
        "ok": True,
        "file": "m.onnx",
        "kind": "ONNX",
        "bytes": 0,
        "checked": "the structure of all that it holds, files of weights included; the format has no checksums",
        "fault": None,
        "signatures": [],
    }
    (bslc.folder / "cut.onnx").write_bytes((bslc.folder / "m.onnx").read_bytes()[:-3])
    assert bslc("verify", "cut.onnx").status == 1


def test_unsigned_files_need_no_key_unless_some_are_named(bslc: Bslc, program: Path) -> None:
    new_key(bslc, "me")
    done = bslc("verify", program)
    assert done.status == 0 and done.out.endswith("\nok\n")
    done = bslc("verify", program, "--keys", "me.keys")
    assert done.status == 1 and done.out.endswith("\nNOT OK   it is not signed\n")


def test_without_the_package_cryptography(bslc: Bslc, program: Path) -> None:
    new_key(bslc, "me")
    bslc("sign", program, "--key", "me.pem")
    (bslc.folder / "cryptography.py").write_text("raise ImportError('not here')\n")
    hidden = {"PYTHONPATH": str(bslc.folder)}
    done = bslc("sign", program, "--key", "me.pem", environment=hidden)
    assert done.status == 1 and "pip install 'basalt-compiler[sign]'" in done.err
    done = bslc("verify", program, "--keys", "me.keys", environment=hidden)
    assert done.status == 1 and "cannot be checked without the package cryptography" in done.out
    done = bslc("run", program, "--random", "--keys", "me.keys", environment=hidden)
    assert done.status == 0 and "the package cryptography is not installed" in done.err
