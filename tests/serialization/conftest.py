from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

# pytest's importlib mode leaves sys.path alone, yet the tests here share bsl_samples. The folder itself must not get
# into sys.path: where the onnx package is missing, "import onnx" would then find the folder onnx beside this file.
_spec = importlib.util.spec_from_file_location("bsl_samples", Path(__file__).parent / "bsl_samples.py")
assert _spec is not None and _spec.loader is not None
_module = importlib.util.module_from_spec(_spec)
sys.modules["bsl_samples"] = _module
_spec.loader.exec_module(_module)
