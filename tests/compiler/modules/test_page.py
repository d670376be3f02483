"""The code in docs/torch.md runs and prints what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from .compare import torch

PAGE = Path(__file__).parents[3] / "docs" / "torch.md"


def test_the_page_prints_what_it_says(tmp_path: Path) -> None:
    """Blocks are one program; a comment at a print's end is what it prints."""
    assert torch
    code = "\n".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL))
    # An installation made before the entry point was declared does not have the backend's name.
    code = code.replace('backend="basalt")', "backend=basalt.torch_backend)")
    expected = re.findall(r"^ *print\(.*\) +# (.*)$", code, re.MULTILINE)
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == expected
