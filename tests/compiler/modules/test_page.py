"""The code in docs/torch.md runs and prints what it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from basalt.compiler.modules.registry import find
from basalt.compiler.modules.tables import table

from .compare import torch

ROOT = Path(__file__).parents[3]


def test_the_page_prints_what_it_says(tmp_path: Path) -> None:
    """Blocks are one program; a comment at a print's end is what it prints."""
    assert torch
    _declare_backend(tmp_path)
    page = (ROOT / "docs" / "torch.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL))
    expected = re.findall(r"^ *print\(.*\) +# (.*)$", code, re.MULTILINE)
    command = [sys.executable, "-W", "ignore", "-c", code]
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == expected


def _declare_backend(folder: Path) -> None:
    """Have torch find the backend's name as after an installation, which may be older than the entry point."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = folder / "declared-0.dist-info"
    declared.mkdir()
    (declared / "METADATA").write_text("Metadata-Version: 2.1\nName: declared\nVersion: 0\n")
    entry = project["entry-points"]["torch_dynamo_backends"]["basalt"]
    (declared / "entry_points.txt").write_text(f"[torch_dynamo_backends]\nbasalt = {entry}\n")


def _listed(start: str) -> set[str]:
    """The names in code in the table that begins with a heading."""
    page = (ROOT / "docs" / "torch.md").read_text(encoding="utf-8")
    rows = page[page.index(start) :].partition("\n\n")[0]
    return set(re.findall(r"`(\w+)`", rows.partition("\n")[2].partition("\n")[2]))


def test_the_table_of_modules_has_all_of_torch() -> None:
    listed = _listed("| family | modules |") - {"max_norm", "Module"}
    bare = {
        "Container",
        "Module",
        "FractionalMaxPool2d",
        "FractionalMaxPool3d",
        "RNNBase",
        "RNNCellBase",
        "LinearCrossEntropyOptions",
    }
    names = {n for n in torch.nn.modules.__all__ if "Loss" not in n and not n.startswith("Lazy")} - bare
    assert listed == names


def test_the_table_of_operators_is_what_is_translated() -> None:
    assert (ROOT / "docs" / "torch-operators.md").read_text(encoding="utf-8") == table()


def test_all_core_operators_are_there_but_for_those_listed() -> None:
    aten = torch.ops.aten
    packets = [getattr(aten, name) for name in dir(aten) if hasattr(getattr(aten, name), "overloads")]
    core = {
        getattr(packet, o).name()
        for packet in packets
        for o in packet.overloads()
        if torch.Tag.core in getattr(packet, o).tags
    }
    missing = {name for name in core if find(name if "." in name else f"{name}.default") is None}
    listed = _listed("| core operators | why |")
    names = {name.removeprefix("aten::").partition(".")[0] for name in missing if not name.endswith(".out")}
    # Which names torch lists of itself depends on what it has been asked for in this process.
    assert names <= listed
    assert not [name for name in listed if find(f"aten::{name}.default") is not None]
