"""Values that a shell completes. Nothing here may import NumPy or a compiler: a shell asks at each press of a key."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Iterable
from pathlib import Path

import click
from click.shell_completion import CompletionItem

__all__ = ["METHODS", "PASSES", "file_or", "named_files", "one_of", "operator_names"]

Completion = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]

PASSES = (
    "infer_shapes",
    "dequantise_late",
    "integer_products",
    "fold_constants",
    "simplify",
    "sink_movement",
    "fold_normalisation",
    "fold_inputs",
    "fuse_attention",
    "canonicalise",
    "fold_core",
    "simplify_core",
    "widen_products",
    "common_subexpressions",
    "dead_code",
    "separate_outputs",
    "fuse",
)
"""The passes of the compiler, in order."""
METHODS = (
    "predict",
    "predict_proba",
    "predict_log_proba",
    "decision_function",
    "transform",
    "inverse_transform",
    "score_samples",
    "kneighbors",
)
"""The methods that an estimator may have."""


def one_of(names: Iterable[str]) -> Completion:
    """Completes to one of these names."""
    known = tuple(names)
    return lambda context, parameter, incomplete: [CompletionItem(n) for n in known if n.startswith(incomplete)]


def operator_names(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of operators, from the text of the builder's interface: importing them takes NumPy."""
    if context.params.get("onnx"):
        return []
    spec = importlib.util.find_spec("basalt.compiler.operator_methods")
    if spec is None or spec.origin is None:
        return []
    try:
        text = Path(spec.origin).with_suffix(".pyi").read_text(encoding="utf-8")
    except OSError:
        return []
    names = sorted(set(re.findall(r"^    def (\w+)\(", text, re.MULTILINE)))
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def file_or(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    """Some names, or else a file of the shell's choice."""
    found = [CompletionItem(name) for name in names if name.startswith(incomplete)]
    file = CompletionItem(incomplete, type="file")
    # bash forgets what stands before a file: the names go last if the beginning of one was typed.
    return [file, *found] if incomplete else [*found, file]


def named_files(incomplete: str, suffix: str) -> list[CompletionItem]:
    """``name=FILE``: files of a suffix, and folders; without a name whatever the shell finds."""
    name, separator, start = incomplete.rpartition("=")
    if not separator:
        return [CompletionItem(incomplete, type="file")]
    folder, _, beginning = start.rpartition("/")
    place = Path(folder or ("/" if start.startswith("/") else "."))
    try:
        entries = sorted(entry for entry in place.iterdir() if entry.name.startswith(beginning))
    except OSError:
        return []
    shown = [e for e in entries if beginning.startswith(".") or not e.name.startswith(".")]
    kept = [e for e in shown if e.is_dir() or e.suffix == suffix]
    before = start[: len(start) - len(beginning)]
    return [CompletionItem(f"{name}={before}{e.name}{'/' if e.is_dir() else ''}") for e in kept]
