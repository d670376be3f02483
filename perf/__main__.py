"""``python -m perf run | compare | report | figures``: see README.md beside this file."""

from __future__ import annotations

import sys

from .commands import main

if __name__ == "__main__":
    sys.exit(main())
