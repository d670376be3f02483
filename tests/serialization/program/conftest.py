from __future__ import annotations

import sys
from pathlib import Path

# pytest's importlib mode leaves sys.path alone, yet the tests here share program_files.
sys.path.insert(0, str(Path(__file__).parent))
