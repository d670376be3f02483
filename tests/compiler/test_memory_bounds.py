"""Programs keep inside their memory: inputs, outputs and arena lie against pages that nobody may touch.

A process of its own runs them, for touching such a page ends it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "compiled" / "guard_pages.py"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="pages are protected through Linux's mprotect")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, timeout=600)


@pytest.mark.parametrize("end", ["end", "start"])
@pytest.mark.parametrize("what", ["indices", "graphs"])
def test_nothing_outside_is_touched(what: str, end: str) -> None:
    done = run(what, end)
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"


def test_a_touch_would_be_noticed() -> None:
    assert run("touch", "end").returncode < 0
