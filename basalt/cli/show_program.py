"""``bslc show`` of a model that was compiled ahead of time: for which CPUs and shapes, how large, signed by whom."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from basalt.cli.models import shape_text
from basalt.cli.output import print_json, print_table, size_text
from basalt.runtime.stored.code import level_parts, levels_of
from basalt.runtime.stored.flow import signatures
from basalt.runtime.stored.model import MODEL, SHARED_WEIGHTS, declared_values
from basalt.runtime.trust import key_text, trust_in
from basalt.serialization.program.file import ProgramFile, open_program

if TYPE_CHECKING:
    from basalt.runtime.declared import Declared
    from basalt.serialization.program.fields import Fields

__all__ = ["is_program", "show_program"]

_SOURCE = "source"


def is_program(path: Path) -> bool:
    """Whether a file is a ``.bsl`` file with machine code."""
    from basalt import BasaltError, Kind, peek_kind

    try:
        return peek_kind(path) == Kind.PROGRAM
    except BasaltError:
        return False


def show_program(path: Path, as_json: bool) -> None:
    """Print what a file says of its programs, of which nothing is loaded or run.

    Raises ModelFormatError for a damaged file.
    """
    description = _description(open_program(path))
    if as_json:
        print_json(description)
        return
    rows = [
        [kind, entry["name"], entry["dtype"], f"[{', '.join('?' if d is None else str(d) for d in entry['shape'])}]"]
        for kind in ("input", "output")
        for entry in description[f"{kind}s"]
    ]
    print_table(["", "name", "data type", "shape"], rows)
    print(f"\nkind     {description['kind']}, {size_text(description['bytes'])}")
    for shapes in description["shapes"]:
        print(f"for      {', '.join(f'{name}={shape_text(shape)}' for name, shape in shapes.items())}")
    for level in description["levels"]:
        features = f", {', '.join(level['features'])}" if level["features"] else ""
        sizes = f"code {size_text(level['code_bytes'])}, weights of its own {size_text(level['weight_bytes'])}"
        print(f"CPU      {level['platform']} {level['name']}{features}: {sizes}")
    print(f"weights  {size_text(description['weight_bytes'])}")
    print(f"model    {description['source'] or 'not in the file: other shapes cannot be compiled'}")
    for key in description["signed_by"]:
        print(f"signed   by {key}")
    print(f"trust    {description['refusal'] or 'a trusted key signed it'}")
    for key, text in description["metadata"].items():
        print(f"{key}: {text}")


def _description(file: ProgramFile) -> dict[str, Any]:
    model = file.record(MODEL)
    return {
        "kind": "PROGRAM",
        "bytes": file.nbytes,
        "inputs": [_declared(value) for value in declared_values(model, "inputs")],
        "outputs": [_declared(value) for value in declared_values(model, "outputs")],
        "shapes": _shapes(model),
        "levels": [
            {
                "platform": platform,
                "name": level.name,
                "features": list(level.features),
                "code_bytes": file.parts.get(level_parts(level.name)[1], 0),
                "weight_bytes": file.parts.get(level_parts(level.name)[2], 0),
            }
            for platform, level in levels_of(model)
        ],
        "weight_bytes": file.parts.get(SHARED_WEIGHTS, 0),
        "source": file.record(_SOURCE).text("format") if _SOURCE in file else None,
        "signed_by": [key_text(signature.key) for signature in file.signatures],
        "refusal": trust_in(file, False).refusal,
        "metadata": dict(file.metadata),
    }


def _declared(value: Declared) -> dict[str, Any]:
    dtype = value.dtype if value.kind == "tensor" else value.kind
    return {"name": value.name, "dtype": dtype, "shape": list(value.shape or ())}


def _shapes(model: Fields) -> list[dict[str, list[int]]]:
    """The shapes by input's name that there are programs for; of a model in several steps, those of the first."""
    first = next(iter(model.records("stages")), None)
    if first is None:
        return []
    names = [slot for slot, _ in first.plain("feeds")]  # type: ignore[union-attr, misc]
    return [{name: list(shape) for name, shape in zip(names, shapes)} for shapes, _ in signatures(first)]
