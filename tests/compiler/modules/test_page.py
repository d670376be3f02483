"""The code in docs/torch.md runs and prints what it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

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
