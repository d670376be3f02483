"""docs/sklearn.md: its code runs and prints what it says, and it lists what is translated."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from basalt.compiler.estimators import families
from basalt.compiler.estimators.registry import known_classes

pytest.importorskip("sklearn")

PAGE = (Path(__file__).parents[3] / "docs" / "sklearn.md").read_text(encoding="utf-8")


def test_the_code_runs_and_prints_what_it_says(tmp_path: Path) -> None:
    """Blocks are one program; a comment at a print's end is what it prints."""
    code = "\n".join(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL))
    expected = re.findall(r"^ *print\(.*\)  # (.*)$", code, re.MULTILINE)
    assert len(expected) == 9
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == expected


def test_every_class_is_listed() -> None:
    assert families.__all__
    table = PAGE.split("## What is translated")[1].split("Everything else")[0]
    listed = set(
        re.findall(
            r"\b[A-Z][A-Za-z]*[A-Z][A-Za-z]*\b|\b(?:Ridge|Lasso|Lars|Normalizer|Binarizer|Nystroem|Perceptron|Pipeline)\b",
            table,
        )
    )
    assert known_classes().keys() <= listed
    assert listed - known_classes().keys() <= {"NaN", "NumPy", "ONNX"}
