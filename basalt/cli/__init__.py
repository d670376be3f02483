"""The ``bslc`` command line."""

from __future__ import annotations

import sys
from typing import NoReturn

__all__ = ["main"]


def main() -> NoReturn:
    """Run ``bslc`` with the process's arguments and exit with its status (docs/cli.md lists them)."""
    from basalt.cli.app import run

    sys.exit(run(sys.argv[1:]))
