"""The package list of pyproject.toml names every folder with code, and importing stays light."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = {
    "basalt": "basalt",
    "ops": "basalt.ops",
    "compiler": "basalt.compiler",
    "runtime": "basalt.runtime",
    "serialization": "basalt.serialization",
}


def modules_after(statement: str) -> set[str]:
    """Names of the modules that a fresh interpreter has loaded after ``statement``."""
    code = f"{statement}\nimport sys\nprint('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT / "tests")
    return set(done.stdout.split())


def test_every_package_is_listed() -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    found = {
        ".".join([package, *init.parent.relative_to(ROOT / folder).parts])
        for folder, package in FOLDERS.items()
        for init in (ROOT / folder).rglob("__init__.py")
    }
    assert set(listed) == found


def test_every_folder_with_modules_is_a_package() -> None:
    orphans = {
        str(module.parent.relative_to(ROOT))
        for folder in FOLDERS
        for module in (ROOT / folder).rglob("*.py")
        if not (module.parent / "__init__.py").exists()
    }
    assert orphans == set()


@pytest.mark.parametrize(
    "statement", ["import basalt", "import basalt.runtime, basalt.serialization", "import basalt.ops"]
)
def test_import_loads_no_compiler(statement: str) -> None:
    assert modules_after(statement) & {"numba", "llvmlite", "onnx", "scipy", "sklearn", "rich", "click"} == set()


def test_importing_the_command_line_loads_no_numpy() -> None:
    assert modules_after("import basalt.cli.app") & {"numpy", "numba", "llvmlite", "rich", "ml_dtypes"} == set()
