"""The ``bslc`` command line."""

from __future__ import annotations

import sys
from typing import NoReturn

__all__ = ["main"]


def main() -> NoReturn:
    """Run ``bslc`` with the process's arguments and exit with its status (docs/cli.md lists them)."""
    try:
        from basalt.cli.app import run

        status = run(sys.argv[1:])
    except KeyboardInterrupt:
        # While modules are still being imported, nobody else handles it.
        status = 130
    sys.exit(status)
