"""A folder to import Basalt from: one for each source tree, so that two commits can be measured beside each other."""

from __future__ import annotations

import tomllib
from pathlib import Path

__all__ = ["ROOT", "import_folder"]

ROOT = Path(__file__).resolve().parents[1]


def import_folder(tree: Path, target: Path) -> Path:
    """Make ``target/basalt`` the package of the source tree, of links to its folders.

    pyproject.toml maps folders of the tree into the package; an installed Basalt follows that map, a bare path would
    not. What is in ``target`` comes before an installed Basalt when it stands in PYTHONPATH.

    Raises:
        ValueError: if the tree's pyproject.toml does not say where the package is.
        OSError: if it cannot be read, or links cannot be made.
    """
    with open(tree / "pyproject.toml", "rb") as file:
        setuptools = tomllib.load(file).get("tool", {}).get("setuptools", {})
    folders = setuptools.get("package-dir", {})
    if "basalt" not in folders:
        raise ValueError(f"{tree / 'pyproject.toml'}: [tool.setuptools.package-dir] does not map 'basalt'")
    package = target / "basalt"
    package.mkdir(parents=True, exist_ok=True)
    for entry in (tree / folders["basalt"]).iterdir():
        if entry.name != "__pycache__":
            _link(package / entry.name, entry)
    for name, folder in folders.items():
        parent, _, child = name.rpartition(".")
        if parent == "basalt":
            _link(package / child, tree / folder)
    return target


def _link(place: Path, target: Path) -> None:
    if place.is_symlink():
        place.unlink()
    place.symlink_to(target.resolve(), target_is_directory=target.is_dir())
