"""``python -m perf figures [NAME ...]``: measures the core's figures and prints them as a table."""

from __future__ import annotations

import argparse
import importlib
import os
import sys

from .measure import _BLAS_OVERRIDES

_FIGURES = ("startup", "calls", "chain", "memory", "compiling", "onnx")


def main() -> int:
    """Parse the command line and measure; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m perf", description="Measure Basalt.")
    commands = parser.add_subparsers(dest="command", required=True)
    figures = commands.add_parser(
        "figures", help="the core's figures: start-up, calls, a fused chain, memory, compiling, ONNX models"
    )
    figures.add_argument(
        "names", nargs="*", choices=[[], *_FIGURES], help=f"which of {', '.join(_FIGURES)}; all if none"
    )
    chosen = parser.parse_args().names or _FIGURES
    for name in _BLAS_OVERRIDES:
        if name in os.environ:
            print(f"note: {name} is set and slows NumPy's BLAS; unset it to compare with NumPy", file=sys.stderr)
    for name in chosen:
        for figure in importlib.import_module(f".figures.{name}", __package__).measure():
            mark = {True: "met", False: "MISSED", None: ""}[figure.met]
            aim = f"aim {figure.aim}" if figure.aim else ""
            print(f"{figure.name:<62} {figure.value:<46} {aim:<12} {mark}".rstrip(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
