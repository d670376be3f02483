"""``bslc verify``: whether a file is whole, and whether a trusted key signed it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import click

from basalt.cli.ahead.options import keys_option
from basalt.cli.arguments import MODEL
from basalt.cli.output import json_option, print_json, size_text
from basalt.errors import BasaltError

__all__ = ["verify"]

_CHECKED = {
    "PROGRAM": "the CRC32C of the file, the CRC32C and SHA-256 of each part",
    "bsl": "the CRC32C of the file, the structure of all that it holds",
    "ONNX": "the structure of all that it holds, files of weights included; the format has no checksums",
}


@dataclass
class Verdict:
    """What was found: ``fault`` says what is wrong, ``checked`` what was looked at."""

    file: str
    kind: str
    bytes: int
    checked: str
    fault: str | None = None
    signatures: list[dict[str, Any]] = field(default_factory=list)


@click.command("verify")
@click.argument("file", type=MODEL)
@keys_option
@json_option
@click.pass_context
def verify(context: click.Context, file: Path, keys: Path | None, as_json: bool) -> None:
    """Check FILE as a whole, and its signatures; nothing in it is run.

    The exit status is 0 if the file is whole and, where it is signed or --keys is given, a trusted signature holds.
    Else it is 1.
    """
    verdict = _verdict(file, keys)
    if as_json:
        print_json({"ok": verdict.fault is None} | asdict(verdict))
    else:
        _print(verdict)
    if verdict.fault is not None:
        context.exit(1)


def _verdict(path: Path, keys: Path | None) -> Verdict:
    from basalt.cli.ahead.opening import holds_program

    verdict = Verdict(str(path), "unknown", path.stat().st_size, "")
    try:
        if holds_program(path):
            _check_program(path, keys, verdict)
        else:
            _check_model(path, verdict)
            if keys is not None:
                verdict.fault = "it is not signed: only files with machine code can be"
    except BasaltError as error:
        verdict.fault = str(error).removeprefix(f"{path}: ")
    return verdict


def _check_program(path: Path, keys: Path | None, verdict: Verdict) -> None:
    from basalt.cli.ahead.trust import signature_reports
    from basalt.serialization.program.file import open_program

    verdict.kind = "PROGRAM"
    file = open_program(path)
    found = signature_reports(file, keys)
    verdict.signatures = [{**report._asdict(), "state": report.state} for report in found]
    file.check()
    verdict.checked = _CHECKED["PROGRAM"]
    false = next((report for report in found if report.holds is False), None)
    if false is not None:
        verdict.fault = f"the signature of {false.key} does not hold"
    elif (found or keys is not None) and not any(report.holds and report.trusted for report in found):
        unchecked = any(report.holds is None and report.trusted for report in found)
        verdict.fault = (
            "its signature cannot be checked without the package cryptography: pip install 'basalt-compiler[sign]'"
            if unchecked
            else "no trusted key signed it"
            if found
            else "it is not signed"
        )


def _check_model(path: Path, verdict: Verdict) -> None:
    from basalt import serialization

    if path.suffix.lower() == ".onnx" or _start(path)[:1] == b"\x08":
        verdict.kind = "ONNX"
        model = serialization.OnnxModel.load(path)
        for tensor in model.graph.initializers:
            tensor.array()
        verdict.checked = _CHECKED["ONNX"]
        return
    verdict.kind = serialization.peek_kind(path).name
    serialization.load(path)
    verdict.checked = _CHECKED["bsl"]


def _start(path: Path) -> bytes:
    with open(path, "rb") as file:
        return file.read(1)


def _print(verdict: Verdict) -> None:
    print(f"{verdict.file}: {verdict.kind}, {size_text(verdict.bytes)}")
    if verdict.checked:
        print(f"checked  {verdict.checked}")
    for signature in verdict.signatures:
        print(f"signed   {signature['key']}: {signature['state']}")
    print(f"NOT OK   {verdict.fault}" if verdict.fault else "ok")
