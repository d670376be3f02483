"""What the documentation states and a program can check: code, links, options, variables, packages."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from basalt.cli.app import cli

ROOT = Path(__file__).resolve().parents[1]
CODE = ("basalt", "ops", "compiler", "runtime", "serialization")
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("examples/*/*.md"), *ROOT.glob("perf/*.md")])


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def modules() -> Iterator[tuple[Path, ast.Module]]:
    """Every module of the package, and its syntax."""
    for folder in CODE:
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield path, ast.parse(path.read_text(encoding="utf-8"))


def test_the_code_in_the_readme_runs_and_prints_what_it_says(tmp_path: Path) -> None:
    """Blocks of one page are one program; a comment at a print's end is what it prints."""
    blocks = re.findall(r"```python\n(.*?)```", page("README.md"), re.DOTALL)
    code = "\n".join(blocks)
    expected = re.findall(r"^ *print\(.*\) +# (.*)$", code, re.MULTILINE)
    assert blocks and expected
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == expected


@pytest.mark.parametrize(
    ("name", "expected"), [("serving", ""), ("ahead-of-time", "(32, 10)")], ids=["serving", "ahead-of-time"]
)
def test_the_code_in_pages_runs(tmp_path: Path, name: str, expected: str) -> None:
    code = "\n".join(re.findall(r"```python\n(.*?)```", page(f"docs/{name}.md"), re.DOTALL))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False)
    older = expected and "no machine code fits" in done.stdout
    assert (done.returncode, done.stderr) == (0, "") and (older or done.stdout.strip() == expected)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text)
    broken = [t for t in targets if not re.match(r"https?:", t) and not (path.parent / t).exists()]
    assert broken == []


def test_every_page_is_in_the_table_of_contents() -> None:
    listed = set(re.findall(r"\]\(([\w-]+\.md)\)", page("docs/README.md")))
    assert listed == {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}


def test_every_environment_variable_is_documented() -> None:
    """A variable is a string in capitals in a module that reads the environment, or names Basalt's own anywhere."""
    read: set[str] = set()
    for path, module in modules():
        names = {
            node.value
            for node in ast.walk(module)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(VARIABLE, node.value)
        }
        own = {name for name in names if name.startswith("BASALT_")}
        reads = "os.environ" in path.read_text(encoding="utf-8")
        read |= (names - exported(module) - NO_VARIABLES) if reads else own
    rows = re.findall(r"^\| (`.*?) \|", page("docs/environment.md"), re.MULTILINE)
    documented = {name for row in rows for name in re.findall(r"`([A-Z0-9_]+)`", row)}
    assert documented == read


VARIABLE = r"[A-Z][A-Z0-9]*_[A-Z0-9_]+|LOCALAPPDATA|TERM"
NO_VARIABLES = {"COMP_CWORD", "COMP_WORDS", "O_BINARY", "O_CLOEXEC", "O_NONBLOCK", "O_TMPFILE", "NUM_THREADS"}
"""Attributes that are looked up by name, and what the script of a shell tells that asks for completions."""


def exported(module: ast.Module) -> set[str]:
    """The names in a module's ``__all__``."""
    for node in module.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return set(ast.literal_eval(node.value))
    return set()


def test_every_option_of_the_command_is_documented() -> None:
    text = page("docs/cli.md")
    for command in cli.commands.values():
        members = command.commands.values() if isinstance(command, click.Group) else [command]
        for member in members:
            options = {o for p in member.params if isinstance(p, click.Option) for o in p.opts if o.startswith("--")}
            missing = {option for option in options if not re.search(rf"{option}\b", text)}
            assert not missing, f"{command.name} {member.name}"
        assert f"bslc {command.name}" in text


def test_every_dependency_is_explained_and_used() -> None:
    project = tomllib.loads(page("pyproject.toml"))["project"]
    required = {re.match(r"[\w-]+", entry)[0] for entry in project["dependencies"]}  # type: ignore[index]
    text = page("docs/dependencies.md")
    sections = text.split("## ")
    explained = set(re.findall(r"^\| ([\w-]+)(?: \(.*\))? \|", sections[1], re.MULTILINE)) - {"package"}
    assert explained == required
    extras = set(re.findall(r"^\| `(\w+)` \|", sections[2], re.MULTILINE))
    assert extras == set(project["optional-dependencies"])
    imported = {name.replace("_", "-") for _, module in modules() for name in imports(module)}
    outside = imported - set(sys.stdlib_module_names) - {"basalt", "pkg-resources", "--future--"}
    optional = {"onnx", "PIL", "onnxruntime", "sklearn", "torch", "pandas", "pyarrow", "cryptography"}
    assert outside - optional == {name.replace("_", "-") for name in required}


def imports(module: ast.Module) -> Iterator[str]:
    """The top-level packages that a module imports."""
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield node.module.split(".")[0]
