"""``bslc show`` of a file with machine code: what it holds, without trusting or mapping any of the code."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from basalt.cli.output import print_json, print_table, size_text
from basalt.runtime.host import host_platform
from basalt.runtime.levels import lacks
from basalt.runtime.stored.code import level_parts, levels_of
from basalt.runtime.stored.model import MODEL, SOURCE, declared_values, stored_signatures
from basalt.serialization import Kind
from basalt.serialization.program.file import ProgramFile, open_program

from .native import tensor_specs
from .report import sizes_text
from .trust import signature_reports

__all__ = ["show_program"]


def show_program(path: Path, keys: Path | None, as_json: bool) -> None:
    """Print kind, versions, CPUs, signatures, parts, inputs and outputs of the file.

    Raises ModelFormatError for a damaged one.
    """
    file = open_program(path)
    facts = _facts(file, keys)
    if as_json:
        print_json(facts)
        return
    _print(facts)


def _facts(file: ProgramFile, keys: Path | None) -> dict[str, Any]:
    model = file.record(MODEL)
    borders = {
        name: [asdict(spec) for spec in tensor_specs(declared_values(model, name))] for name in ("inputs", "outputs")
    }
    return {
        "kind": Kind.PROGRAM.name,
        "bytes": file.nbytes,
        "metadata": dict(file.metadata),
        **borders,
        "shapes": stored_signatures(model),
        "levels": [
            {
                "name": level.name,
                "platform": platform,
                "features": list(level.features),
                "missing": _missing(platform, level),
                "code_bytes": file.parts.get(level_parts(level.name)[1], 0),
                "weight_bytes": file.parts.get(level_parts(level.name)[2], 0),
            }
            for platform, level in levels_of(model)
        ],
        "source": file.record(SOURCE).text("format") if SOURCE in file else None,
        "signatures": [{**report._asdict(), "state": report.state} for report in signature_reports(file, keys)],
        "parts": file.parts,
    }


def _missing(platform: str, level: Any) -> list[str]:
    """What this machine lacks to run a level."""
    return lacks(level) if platform == host_platform() else [f"a machine of {platform}"]


def _print(facts: dict[str, Any]) -> None:
    rows = [
        [kind, entry["name"], entry["dtype"], f"[{', '.join(map(str, entry['shape']))}]"]
        for kind in ("input", "output")
        for entry in facts[f"{kind}s"]
    ]
    print_table(["", "name", "data type", "shape"], rows)
    print(f"\nkind     {facts['kind']} ({int(Kind.PROGRAM)})")
    print(f"size     {size_text(facts['bytes'])}")
    model = {"onnx": "an ONNX model", "bsl": "a .bsl file", None: "left out"}.get(facts["source"], facts["source"])
    print(f"model    {model}")
    for shapes in facts["shapes"]:
        print(f"for      {sizes_text(shapes) or 'no input'}")
    for signature in facts["signatures"]:
        print(f"signed   {signature['key']}: {signature['state']}")
    if not facts["signatures"]:
        print("signed   by nobody")
    for name, text in facts["metadata"].items():
        print(f"{name}: {text}")
    print()
    levels = [
        [level["name"], level["platform"], _runs(level["missing"]), " ".join(level["features"])]
        for level in facts["levels"]
    ]
    print_table(["CPU", "platform", "runs here", "features that it needs too"], levels)
    print()
    print_table(["part", "bytes"], [[name, f"{size:,}"] for name, size in facts["parts"].items()], right=["bytes"])


def _runs(missing: list[str]) -> str:
    return f"no, lacks {', '.join(missing)}" if missing else "yes"
