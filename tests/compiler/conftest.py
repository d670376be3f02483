"""The verifier runs after every pass wherever a test compiles a graph."""

from __future__ import annotations

import os

os.environ.setdefault("BASALT_DEBUG", "verify")
